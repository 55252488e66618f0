//! What tells clients of OAuth where to get a token (RFC 9728): the description of this gateway as a protected resource, and the
//! challenge that leads to it (RFC 6750).

use axum::body::Body;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, HOST, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Request, Response};
use serde_json::json;
use toolrail_core::{NeededRole, Role};

/// Where the description is, before the path of what it describes.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// This gateway, as those see it who need a token for it.
#[derive(Clone, Debug)]
pub struct ProtectedResource {
    /// Under which address it is reached, if that is known: without a slash at its end.
    public_url: Option<String>,
    issuers: Vec<String>,
    scopes: Vec<String>,
    name: String,
    /// By which scopes somebody may have a role.
    scopes_for: Vec<(Role, Vec<String>)>,
}

impl ProtectedResource {
    /// A gateway that is reached under that address and takes tokens of those issuers, with any of those scopes.
    pub fn new(public_url: Option<&str>, issuers: Vec<String>, scopes: Vec<String>, name: &str) -> Self {
        let public_url = public_url.map(|url| url.trim_end_matches('/').to_owned());
        Self { public_url, issuers, scopes, name: name.to_owned(), scopes_for: Vec::new() }
    }

    /// The same, where those scopes give those roles.
    #[must_use]
    pub fn with_scopes_for(self, scopes_for: Vec<(Role, Vec<String>)>) -> Self {
        Self { scopes_for, ..self }
    }

    /// What a client is told whose token gives too small a role: the scopes that would give it, if there are any.
    pub(super) fn step_up(&self, asked: (&str, &HeaderMap, bool), needed: Role) -> Option<HeaderValue> {
        let scopes = self.scopes_for.iter().find(|(role, _)| *role == needed)?.1.as_slice();
        let about = format!("this needs the role {}", needed.word());
        (!scopes.is_empty()).then(|| self.told(asked, scopes, Some(("insufficient_scope", &about))))?
    }

    /// The description, if that is what is at the path.
    pub(super) fn describe(&self, path: &str, headers: &HeaderMap, is_tls: bool) -> Option<Response<Body>> {
        let of = path.strip_prefix(WELL_KNOWN).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        let of = if of == "/" { "" } else { of };
        // Clients put the well-known path before the whole path of the address, with the prefix under which a proxy has us.
        let stripped = self.prefix().and_then(|prefix| of.strip_prefix(prefix));
        let of = stripped.filter(|rest| rest.is_empty() || rest.starts_with('/')).unwrap_or(of);
        let body = json!({
            "resource": format!("{}{of}", self.base(headers, is_tls)),
            "resource_name": self.name,
            "authorization_servers": self.issuers,
            "scopes_supported": self.scopes,
            "bearer_methods_supported": ["header"],
        });
        let mut response = Response::new(Body::from(body.to_string()));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // There is nothing in it that a page might not know.
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=300"));
        Some(response)
    }

    /// What a client is told that showed nothing, or nothing good, at that path.
    pub(super) fn challenge(
        &self,
        asked: (&str, &HeaderMap, bool),
        error: Option<(&str, &str)>,
    ) -> Option<HeaderValue> {
        self.told(asked, &self.scopes, error)
    }

    fn told(
        &self,
        (path, headers, is_tls): (&str, &HeaderMap, bool),
        scopes: &[String],
        error: Option<(&str, &str)>,
    ) -> Option<HeaderValue> {
        let of = if toolrail_mcp::speaks_mcp(path) { path } else { "" };
        let mut told = format!(
            "Bearer realm=\"toolrail\", resource_metadata=\"{}{WELL_KNOWN}{of}\"",
            self.base(headers, is_tls)
        );
        if !scopes.is_empty() {
            told = format!("{told}, scope=\"{}\"", scopes.join(" "));
        }
        if let Some((error, about)) = error {
            let about: String =
                about.chars().filter(|letter| !matches!(letter, '"' | '\\') && letter.is_ascii()).collect();
            told = format!("{told}, error=\"{error}\", error_description=\"{about}\"");
        }
        HeaderValue::try_from(told).ok()
    }

    /// Under which address the request was made; its Host is one of ours.
    fn base(&self, headers: &HeaderMap, is_tls: bool) -> String {
        if let Some(url) = &self.public_url {
            return url.clone();
        }
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
        format!("{}://{host}", if is_tls { "https" } else { "http" })
    }

    /// The path under which a proxy has us.
    fn prefix(&self) -> Option<&str> {
        let (_, rest) = self.public_url.as_deref()?.split_once("://")?;
        rest.find('/').map(|slash| &rest[slash..])
    }
}

/// What tells somebody with a token that his role is too small, should that turn out.
pub(super) struct StepUp<'r> {
    resource: &'r ProtectedResource,
    path: String,
    /// The host that was asked.
    headers: HeaderMap,
    is_tls: bool,
}

impl<'r> StepUp<'r> {
    pub(super) fn of<B>(resource: &'r ProtectedResource, request: &Request<B>, is_tls: bool) -> Self {
        let host = request.headers().get(HOST).map(|host| (HOST, host.clone()));
        Self { resource, path: request.uri().path().to_owned(), headers: HeaderMap::from_iter(host), is_tls }
    }

    /// Tells it in the headers of the answer, if that says so.
    pub(super) fn tell<B>(&self, response: &mut Response<B>) {
        if let Some(NeededRole(role)) = response.extensions_mut().remove()
            && let Some(told) = self.resource.step_up((&self.path, &self.headers, self.is_tls), role)
        {
            response.headers_mut().insert(WWW_AUTHENTICATE, told);
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use serde_json::Value;

    use super::*;

    fn resource(public_url: Option<&str>) -> ProtectedResource {
        let issuers = vec!["https://login.example.com".to_owned()];
        ProtectedResource::new(public_url, issuers, vec!["tools.call".to_owned()], "Toolrail")
    }

    fn headers() -> HeaderMap {
        Request::builder().header(HOST, "127.0.0.1:8080").body(()).unwrap().into_parts().0.headers
    }

    async fn described(resource: &ProtectedResource, path: &str) -> Option<String> {
        let body =
            resource.describe(path, &headers(), false)?.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        Some(body["resource"].as_str().unwrap().to_owned())
    }

    #[tokio::test]
    async fn the_resource_is_the_address_as_clients_type_it() {
        let local = resource(None);
        let known = |path: &'static str| described(&local, path);
        assert_eq!(known(WELL_KNOWN).await.as_deref(), Some("http://127.0.0.1:8080"));
        let mcp = "/.well-known/oauth-protected-resource/mcp";
        assert_eq!(known(mcp).await.as_deref(), Some("http://127.0.0.1:8080/mcp"));
        assert_eq!(known("/.well-known/oauth-protected-resources").await, None);
        assert_eq!(known("/mcp").await, None);
        let behind = resource(Some("https://example.com/tools/"));
        for path in [mcp, "/.well-known/oauth-protected-resource/tools/mcp"] {
            assert_eq!(
                described(&behind, path).await.as_deref(),
                Some("https://example.com/tools/mcp"),
                "{path}"
            );
        }
    }

    #[test]
    fn whoever_has_too_small_a_role_is_told_which_scope_would_do() {
        let for_roles = vec![(Role::Write, vec!["tools.write".to_owned()]), (Role::Admin, Vec::new())];
        let resource = resource(Some("https://example.com")).with_scopes_for(for_roles);
        let told = resource.step_up(("/admin/tools", &headers(), true), Role::Write).unwrap();
        assert_eq!(
            told,
            "Bearer realm=\"toolrail\", resource_metadata=\"https://example.com/.well-known/oauth-protected-resource\", scope=\"tools.write\", error=\"insufficient_scope\", error_description=\"this needs the role write\""
        );
        assert_eq!(resource.step_up(("/admin/keys", &headers(), true), Role::Admin), None);
    }

    #[test]
    fn a_challenge_leads_to_the_description_of_what_was_asked_for() {
        let told = resource(Some("https://example.com/tools"));
        let told = told.challenge(("/mcp", &headers(), true), Some(("invalid_token", "it \"has\" expired")));
        assert_eq!(
            told.unwrap(),
            "Bearer realm=\"toolrail\", resource_metadata=\"https://example.com/tools/.well-known/oauth-protected-resource/mcp\", scope=\"tools.call\", error=\"invalid_token\", error_description=\"it has expired\""
        );
    }
}
