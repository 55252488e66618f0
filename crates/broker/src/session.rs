//! Somebody who has signed in for one application: what the store keeps of that, and the texts by which it is known outside.
//!
//! One record is all there is: it begins with a code, goes on with one refresh token after the other, and whatever is shown a second
//! time ends it (RFC 9700, 4.14), but for a refresh token within a few seconds, as programs do that refresh twice at the same time. The texts hold no secret of their own: each is the id of the record, a number and a tag.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::keys::Keys;

/// What codes and refresh tokens begin with.
const CODE: &str = "trcode_";
const REFRESH: &str = "trr_";
/// How many seconds a code is good.
pub(crate) const CODE_SECONDS: u64 = 60;

/// What the store keeps, sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    /// Who it is, as the provider says.
    pub(crate) subject: String,
    /// The name for people.
    pub(crate) name: String,
    pub(crate) tenant: Option<String>,
    /// What else the provider says, as far as rules look at it.
    pub(crate) claims: Map<String, Value>,
    /// What the application asked for.
    pub(crate) asked: Asked,
    /// How many refresh tokens there were; none before the code is redeemed.
    pub(crate) generation: u64,
    /// When it went on to the newest of them, in seconds since 1970.
    #[serde(default)]
    pub(crate) advanced: u64,
    /// When it began, in seconds since 1970.
    pub(crate) begun: u64,
    /// When it is over at the latest.
    pub(crate) until: u64,
    /// The provider's own refresh token, by which it says whether all of this is still true.
    pub(crate) provider_refresh: Option<String>,
}

/// What an application asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Asked {
    /// The hash of its id.
    #[serde(rename = "c")]
    pub(crate) client: String,
    /// What it is called.
    #[serde(rename = "n")]
    pub(crate) name: String,
    #[serde(rename = "r")]
    pub(crate) redirect: String,
    /// What it wants to see again.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<String>,
    /// The hash of what it will prove itself with (PKCE).
    #[serde(rename = "p")]
    pub(crate) challenge: String,
    #[serde(rename = "u")]
    pub(crate) resource: String,
    #[serde(rename = "o")]
    pub(crate) scope: String,
}

impl Session {
    /// When the record can be forgotten.
    pub(crate) fn ends(&self) -> u64 {
        if self.generation == 0 { self.begun + CODE_SECONDS } else { self.until }
    }
}

/// A text that stands for a session, as it was shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The id of the record.
    pub(crate) id: String,
    /// Which of its texts this is: 0 is the code.
    pub(crate) generation: u64,
}

impl Shown {
    /// The code of a session.
    pub(crate) fn code(id: &str, keys: &Keys) -> String {
        format!("{CODE}{id}.{}", keys.tag("code", id.as_bytes()))
    }

    /// Its refresh token of that number.
    pub(crate) fn refresh(id: &str, generation: u64, keys: &Keys) -> String {
        let known = format!("{id}.{generation}");
        let tag = keys.tag("refresh", known.as_bytes());
        format!("{REFRESH}{known}.{tag}")
    }

    /// What a code stands for; nothing if we did not make it.
    pub(crate) fn read_code(text: &str, keys: &Keys) -> Option<Self> {
        let (id, tag) = text.strip_prefix(CODE)?.split_once('.')?;
        keys.is_tag(tag, "code", id.as_bytes()).then(|| Self { id: id.to_owned(), generation: 0 })
    }

    /// What a refresh token stands for.
    pub(crate) fn read_refresh(text: &str, keys: &Keys) -> Option<Self> {
        let (known, tag) = text.strip_prefix(REFRESH)?.rsplit_once('.')?;
        if !keys.is_tag(tag, "refresh", known.as_bytes()) {
            return None;
        }
        let (id, generation) = known.split_once('.')?;
        Some(Self { id: id.to_owned(), generation: generation.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_for_what_they_are_and_by_whoever_has_the_key_only() {
        let (keys, other) = (
            Keys::from_shared(&[1; 32], "https://id").unwrap(),
            Keys::from_shared(&[2; 32], "https://id").unwrap(),
        );
        let (code, refresh) = (Shown::code("ab", &keys), Shown::refresh("ab", 7, &keys));
        assert_eq!(Shown::read_code(&code, &keys), Some(Shown { id: "ab".into(), generation: 0 }));
        assert_eq!(Shown::read_refresh(&refresh, &keys), Some(Shown { id: "ab".into(), generation: 7 }));
        assert_eq!(Shown::read_code(&code, &other), None);
        assert_eq!(Shown::read_refresh(&refresh, &other), None);
        assert_eq!(Shown::read_refresh(&refresh.replace(".7.", ".8."), &keys), None);
        assert_eq!(Shown::read_refresh(&code.replace(CODE, REFRESH), &keys), None);
        for text in ["", "trr_", "trr_a.b", "trcode_", "trcode_a", "trr_a.1.AAAA"] {
            assert!(Shown::read_code(text, &keys).is_none() && Shown::read_refresh(text, &keys).is_none());
        }
    }
}
