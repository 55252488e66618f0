//! Lets web pages of other origins read answers (CORS): those whose requests the guard lets through, and nobody else.
//! Without this a browser sends what a page asks for and then keeps the answer from it. It is by hand because the guard has
//! judged the origin already, and because headers are allowed by a prefix (`Mcp-Param-`): tower-http knows lists, or all.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, HOST, HeaderMap,
    HeaderName, ORIGIN, VARY,
};
use http::{HeaderValue, Response, StatusCode};

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE, OPTIONS");
/// What a page may send to any route.
const HEADERS: &str = "content-type, authorization, x-api-key, accept, if-match, if-none-match, last-event-id, mcp-session-id, \
                       mcp-protocol-version, mcp-method, mcp-name, toolrail-tenant";
/// Before the name of an argument that a modern client repeats in a header.
const ARGUMENT: &str = "mcp-param-";
/// What a page may read beside the headers that every page may.
const EXPOSED: HeaderValue =
    HeaderValue::from_static("Mcp-Session-Id, ETag, Toolrail-Revision, WWW-Authenticate");
/// How many seconds a browser may go without asking again.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// The origin of a web page that is not ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page(HeaderValue);

impl Page {
    /// The page that sent a request which the guard has let through; nothing if it is one of ours, or no page at all.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let origin = headers.get(ORIGIN)?;
        let (_, authority) = origin.to_str().ok()?.split_once("://")?;
        let ours =
            headers.get(HOST).is_some_and(|host| host.as_bytes().eq_ignore_ascii_case(authority.as_bytes()));
        (!ours).then(|| Self(origin.clone()))
    }

    /// The answer to a browser that asks, before it sends a request of the page, whether it may.
    pub(super) fn welcome<B: Default>(self, asked: &HeaderMap) -> Response<B> {
        let mut response = Response::new(B::default());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed_headers(asked));
        headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        self.admit(headers);
        response
    }

    /// Lets the page read an answer with those headers.
    pub(super) fn admit(self, headers: &mut HeaderMap) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, self.0);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }
}

/// The usual headers, and those for arguments that are asked for: no pattern stands for them.
fn allowed_headers(asked: &HeaderMap) -> HeaderValue {
    let mut allowed = HEADERS.to_owned();
    let asked = asked.get_all(ACCESS_CONTROL_REQUEST_HEADERS).iter().filter_map(|value| value.to_str().ok());
    for name in asked.flat_map(|value| value.split(',')) {
        if let Ok(name) = HeaderName::from_bytes(name.trim().as_bytes())
            && name.as_str().starts_with(ARGUMENT)
        {
            allowed.push_str(", ");
            allowed.push_str(name.as_str());
        }
    }
    HeaderValue::from_str(&allowed).unwrap_or(HeaderValue::from_static(HEADERS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn only_pages_of_other_origins_need_admission() {
        let page = |host, origin| Page::of(&headers(&[(HOST, host), (ORIGIN, origin)])).is_some();
        assert!(page("localhost:8080", "http://localhost:3000"));
        assert!(page("127.0.0.1:8080", "http://localhost:8080"));
        assert!(!page("Gateway.local", "https://gateway.local"));
        assert_eq!(Page::of(&headers(&[(HOST, "localhost")])), None);
    }

    #[test]
    fn only_headers_for_arguments_are_allowed_on_demand() {
        let asked = headers(&[(
            ACCESS_CONTROL_REQUEST_HEADERS,
            "Mcp-Param-City, x-evil,,mcp-param-a b,mcp-param-id",
        )]);
        let expected = format!("{HEADERS}, mcp-param-city, mcp-param-id");
        assert_eq!(allowed_headers(&asked), expected.as_str());
    }
}
