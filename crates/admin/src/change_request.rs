//! A request for a change: who asks, from where and by what way, for which tenant, and what must be there.

use axum::extract::FromRequestParts;
use axum::response::Response;
use http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use toolrail_core::{Author, Expected, PeerAddress, Principal, Revision, Way, author_name};
use toolrail_registry::Which;

use crate::Admin;
use crate::failure::Failure;

/// Who makes a change, as the client says where nobody is asked for a key.
pub const AUTHOR: HeaderName = HeaderName::from_static("toolrail-author");
/// By what way it comes, as our command line says.
pub const VIA: HeaderName = HeaderName::from_static("toolrail-via");

/// A request for a change.
pub(crate) struct ChangeRequest {
    /// Whose definitions are meant; the shared ones if absent.
    pub(crate) tenant: Option<String>,
    /// Who asks.
    pub(crate) author: Author,
    /// What must be there.
    pub(crate) expected: Expected,
    /// Whether the request itself says by what way it comes.
    says_way: bool,
}

impl FromRequestParts<Admin> for ChangeRequest {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, admin: &Admin) -> Result<Self, Failure> {
        let principal: Principal = parts.extensions.get().cloned().unwrap_or_default();
        let address = parts.extensions.get::<PeerAddress>().map(|PeerAddress(address)| address.to_string());
        let way = way(&parts.headers)?;
        // Whoever has proved who he is cannot say that he is another.
        let who = principal.name().map_or_else(|| who(&parts.headers), author_name);
        let author = Author { who, address, via: way.unwrap_or(admin.writer).word().to_owned() };
        Ok(Self {
            tenant: principal.tenant().map(str::to_owned),
            author,
            expected: expected(&parts.headers)?,
            says_way: way.is_some(),
        })
    }
}

impl ChangeRequest {
    /// The definition of that name, under the condition of the request.
    pub(crate) fn which(&self, name: &str) -> Which {
        Which { tenant: self.tenant.clone(), name: name.to_owned(), expected: self.expected }
    }

    /// Who asks, by that way unless the request names one.
    pub(crate) fn author_by(&self, way: Way) -> Author {
        let via = if self.says_way { self.author.via.clone() } else { way.word().to_owned() };
        Author { via, ..self.author.clone() }
    }

    /// A request about many definitions can have no condition on one.
    pub(crate) fn unconditional(&self) -> Result<(), Failure> {
        match self.expected {
            Expected::Anything => Ok(()),
            Expected::Absent | Expected::Version(_) => Err(Failure::bad_request(
                "If-Match and If-None-Match are for requests about one definition; leave them out",
            )),
        }
    }
}

fn who(headers: &HeaderMap) -> String {
    let said = headers.get(AUTHOR).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    author_name(&said.unwrap_or_default())
}

fn way(headers: &HeaderMap) -> Result<Option<Way>, Failure> {
    let Some(said) = headers.get(VIA) else {
        return Ok(None);
    };
    let known = Way::OF_REQUESTS.into_iter().find(|way| said.as_bytes() == way.word().as_bytes());
    let words = || Way::OF_REQUESTS.map(Way::word).join(", ");
    let unknown = || Failure::bad_request(format!("Toolrail-Via is none of {}", words()));
    known.map(Some).ok_or_else(unknown)
}

/// What `If-Match` and `If-None-Match` demand (RFC 9110, 13.1).
fn expected(headers: &HeaderMap) -> Result<Expected, Failure> {
    for name in [IF_MATCH, IF_NONE_MATCH] {
        if headers.get_all(&name).iter().nth(1).is_some() {
            return Err(Failure::bad_request("If-Match and If-None-Match stand in one line each; send one"));
        }
    }
    let text = |name: HeaderName| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    match (text(IF_MATCH), text(IF_NONE_MATCH)) {
        (None, None) => Ok(Expected::Anything),
        (Some(tag), None) => version_of(&tag).map(Expected::Version).ok_or_else(|| {
            Failure::bad_request("If-Match takes one version in quotes, as ETag has it: If-Match: \"7\"")
        }),
        (None, Some(tag)) if tag.trim() == "*" => Ok(Expected::Absent),
        (None, Some(_)) => Err(Failure::bad_request(
            "If-None-Match takes *, which means that there must be no such definition yet",
        )),
        (Some(_), Some(_)) => Err(Failure::bad_request("If-Match and If-None-Match exclude each other")),
    }
}

fn version_of(tag: &str) -> Option<Revision> {
    let tag = tag.trim();
    let number = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).unwrap_or(tag);
    // As ETag has it, and in no other spelling: neither "+7" nor "07".
    number.parse().ok().filter(|version: &Revision| *version > 0 && version.to_string() == number)
}

/// The answer with the version of the definition it is about, to be sent back as `If-Match`.
pub(crate) fn with_version(mut answer: Response, version: Option<Revision>) -> Response {
    let tag = version.and_then(|version| HeaderValue::from_str(&format!("\"{version}\"")).ok());
    if let Some(tag) = tag {
        answer.headers_mut().insert(ETAG, tag);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn conditions_are_a_version_or_absence() {
        let of = |pairs: &[(HeaderName, &'static str)]| expected(&headers(pairs)).ok();
        assert_eq!(of(&[]), Some(Expected::Anything));
        assert_eq!(of(&[(IF_MATCH, "\"7\"")]), Some(Expected::Version(7)));
        assert_eq!(of(&[(IF_MATCH, "7")]), Some(Expected::Version(7)));
        assert_eq!(of(&[(IF_NONE_MATCH, "*")]), Some(Expected::Absent));
        for wrong in ["", "*", "\"+7\"", "\"07\"", "\" 7\"", "\"x\"", "\"7", "-1", "\"1\", \"2\"", "W/\"7\""]
        {
            let tag = HeaderValue::from_static(wrong);
            assert!(expected(&HeaderMap::from_iter([(IF_MATCH, tag)])).is_err(), "{wrong}");
        }
        assert_eq!(of(&[(IF_MATCH, "7"), (IF_NONE_MATCH, "*")]), None);
        let mut twice = headers(&[(IF_MATCH, "\"7\"")]);
        twice.append(IF_MATCH, HeaderValue::from_static("\"8\""));
        assert!(expected(&twice).is_err());
        assert_eq!(of(&[(IF_NONE_MATCH, "\"7\"")]), None);
    }

    #[test]
    fn an_author_is_plain_and_short_and_anonymous_if_nobody_says() {
        assert_eq!(who(&HeaderMap::new()), "anonymous");
        assert_eq!(who(&headers(&[(AUTHOR, "  ")])), "anonymous");
        assert_eq!(who(&headers(&[(AUTHOR, " anna\t")])), "anna");
        let bytes = HeaderValue::from_bytes("安娜\u{85}".as_bytes()).unwrap();
        assert_eq!(who(&HeaderMap::from_iter([(AUTHOR, bytes)])), "安娜");
        let long = HeaderValue::from_str(&"x".repeat(500)).unwrap();
        assert_eq!(who(&HeaderMap::from_iter([(AUTHOR, long)])).len(), 64);
    }

    #[test]
    fn a_way_is_one_of_the_known_ones() {
        assert_eq!(way(&headers(&[(VIA, "sync")])).ok().flatten(), Some(Way::Sync));
        assert!(way(&headers(&[(VIA, "magic")])).is_err());
    }
}
