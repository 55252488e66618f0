//! The pages that people see: one that asks, and one that says what went wrong. Plain HTML without scripts; whatever others said
//! is escaped.

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use crate::answer::Failure;
use crate::redirect::{Place, place, with_parameters};
use crate::session::Asked;
use crate::words::Words;
use crate::{Broker, CONSENT};

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:16px/1.55 system-ui,sans-serif;margin:0;min-height:100vh;display:grid;place-items:center;background:#f4f5f7;color:#1c2024}\
main{box-sizing:border-box;width:min(30rem,calc(100vw - 2rem));margin:1rem;padding:2rem;background:#fff;border:1px solid #dfe3e8;border-radius:12px}\
h1{font-size:1.35rem;line-height:1.3;margin:0 0 1rem;overflow-wrap:anywhere}\
p{margin:.6rem 0;overflow-wrap:anywhere}\
dl{margin:1.2rem 0;padding:1rem;background:#f4f5f7;border-radius:8px}\
dt{font-size:.85rem;color:#60646c}\
dd{margin:0 0 .7rem;overflow-wrap:anywhere}\
dd:last-child{margin-bottom:0}\
small{display:block;color:#60646c;font-weight:400}\
.warn{color:#8a4b00}\
form{display:flex;flex-wrap:wrap;gap:.75rem;margin-top:1.5rem}\
button,a.button{font:inherit;padding:.6rem 1.1rem;border-radius:8px;border:1px solid #c5cad1;background:none;color:inherit;cursor:pointer;text-decoration:none;display:inline-block}\
button.yes{background:#1f5fd6;border-color:#1f5fd6;color:#fff}\
button:focus-visible,a:focus-visible{outline:3px solid #7aa7ff;outline-offset:2px}\
@media(prefers-color-scheme:dark){body{background:#111417;color:#eceef0}main{background:#1a1e22;border-color:#30363d}dl{background:#111417}dt,small{color:#a0a7b0}.warn{color:#ffb35c}button,a.button{border-color:#454c55}button.yes{background:#3b7cf5;border-color:#3b7cf5}}";

/// What somebody is shown, or where sent.
pub(crate) enum Page {
    Asking(Asking),
    Redirect(String),
}

/// What somebody is asked.
pub(crate) struct Asking {
    /// The request, sealed.
    pub(crate) request: String,
    /// What the application calls itself.
    pub(crate) name: String,
    /// Who speaks for it.
    pub(crate) host: Option<String>,
    /// Where the person will be sent.
    pub(crate) place: String,
    pub(crate) kind: Place,
    pub(crate) scope: String,
    pub(crate) cookie: String,
}

/// Why somebody is not signed in.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// What was begun is too long ago, or was never begun.
    Stale,
    /// It was begun elsewhere.
    OtherBrowser,
    /// The provider answers nonsense.
    Provider(String),
    /// The provider says no.
    NotSignedIn(String),
    /// The rules say no.
    NoRights(String),
    /// Anything else.
    Failed(Failure),
    /// Any of these, where there is a way back.
    WithBack(Box<Trouble>, Back),
}

/// The way back to an application.
#[derive(Clone, Debug)]
pub(crate) struct Back {
    pub(crate) redirect: String,
    pub(crate) state: Option<String>,
    pub(crate) name: String,
}

impl Back {
    pub(crate) fn of(asked: &Asked) -> Self {
        Self { redirect: asked.redirect.clone(), state: asked.state.clone(), name: asked.name.clone() }
    }

    /// With what the application wanted; it is told who gives it (RFC 9207).
    pub(crate) fn with_code(&self, code: &str, issuer: &str) -> String {
        self.with(&[("code", code)], issuer)
    }

    pub(crate) fn with_error(&self, failure: &Failure, issuer: &str) -> String {
        self.with(&[("error", failure.code), ("error_description", &failure.description())], issuer)
    }

    fn with(&self, pairs: &[(&str, &str)], issuer: &str) -> String {
        let state = self.state.as_deref().map(|state| ("state", state));
        let all: Vec<_> = pairs.iter().copied().chain(state).chain([("iss", issuer)]).collect();
        with_parameters(&self.redirect, &all)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Trouble {
    pub(crate) fn with_back(self, back: Back) -> Self {
        match self {
            Self::WithBack(..) => self,
            trouble => Self::WithBack(Box::new(trouble), back),
        }
    }

    /// What the application is told.
    fn failure(&self) -> Failure {
        match self {
            Self::Stale => Failure::invalid("the sign-in took too long"),
            Self::OtherBrowser => Failure::invalid("the sign-in was begun in another browser"),
            Self::Provider(_) => Failure {
                status: StatusCode::BAD_GATEWAY,
                ..Failure::internal("the identity provider answered something that cannot be used")
            },
            Self::NotSignedIn(_) => denied("the identity provider did not sign the person in"),
            Self::NoRights(_) => denied("the person may not use this gateway"),
            Self::Failed(failure) => failure.clone(),
            Self::WithBack(trouble, _) => trouble.failure(),
        }
    }

    /// What the person is told, and the particulars.
    fn told(&self, words: &Words) -> (&'static str, String) {
        match self {
            Self::Stale => (words.stale, String::new()),
            Self::OtherBrowser => (words.other_browser, String::new()),
            Self::Provider(why) => (words.provider, why.clone()),
            Self::NotSignedIn(why) => (words.not_signed_in, why.clone()),
            Self::NoRights(why) => (words.no_rights, why.clone()),
            Self::Failed(failure) if failure.status.is_server_error() => {
                (words.unavailable, failure.about.clone())
            }
            Self::Failed(failure) => (words.refused, failure.about.clone()),
            Self::WithBack(trouble, _) => trouble.told(words),
        }
    }
}

fn denied(about: &str) -> Failure {
    Failure { status: StatusCode::FORBIDDEN, ..Failure::refused("access_denied", about) }
}

/// The answer for a browser that sent those headers.
pub(crate) fn answer(broker: &Broker, headers: &HeaderMap, page: Result<Page, Trouble>) -> Response<Body> {
    let words = Words::of(headers);
    match page {
        Ok(Page::Redirect(to)) => redirect(&to),
        Ok(Page::Asking(asking)) => {
            let mut response = html(StatusCode::OK, words, &ask(broker, words, &asking));
            if let Ok(cookie) = HeaderValue::try_from(asking.cookie) {
                response.headers_mut().insert(SET_COOKIE, cookie);
            }
            response
        }
        Err(trouble) => html(trouble.failure().status, words, &explain(broker, words, &trouble)),
    }
}

/// Not 307, which would send a form on.
pub(crate) fn redirect(to: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let headers = response.headers_mut();
    if let Ok(to) = HeaderValue::try_from(to) {
        headers.insert(LOCATION, to);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

fn ask(broker: &Broker, words: &Words, asking: &Asking) -> String {
    let name =
        if asking.name.is_empty() { words.nameless.to_owned() } else { format!("“{}”", asking.name) };
    let speaks = match &asking.host {
        Some(host) => put(words.vouched, &format!("<b>{}</b>", escaped(host))),
        None => words.unchecked.to_owned(),
    };
    let about = match asking.kind {
        Place::ThisMachine => format!("<small class=\"warn\">{}</small>", words.this_machine),
        Place::Program => format!("<small class=\"warn\">{}</small>", words.program),
        Place::Elsewhere => String::new(),
    };
    let scopes = match asking.scope.as_str() {
        "" => String::new(),
        scope => format!("<dt>{}</dt><dd>{}</dd>", words.scopes, escaped(scope)),
    };
    format!(
        "<h1>{title}</h1><p>{ask}</p><p><small>{speaks}</small></p>\
         <dl><dt>{goes_to}</dt><dd><b>{place}</b>{about}</dd>{scopes}<dt>{sign_in_at}</dt><dd>{provider}</dd></dl>\
         <p class=\"warn\">{warning}</p>\
         <form method=\"post\" action=\"{action}\"><input type=\"hidden\" name=\"request\" value=\"{request}\">\
         <button class=\"yes\" name=\"answer\" value=\"yes\">{yes}</button>\
         <button name=\"answer\" value=\"no\">{no}</button></form>",
        title = put(words.ask_title, &escaped(&name)),
        ask = put(words.ask, &format!("<b>{}</b>", escaped(host_in(&broker.url)))),
        goes_to = words.goes_to,
        place = escaped(&asking.place),
        sign_in_at = words.sign_in_at,
        provider = escaped(host_in(&broker.provider.issuer)),
        warning = words.warning,
        action = escaped(&format!("{}{CONSENT}", broker.url)),
        request = escaped(&asking.request),
        yes = words.yes,
        no = words.no,
    )
}

fn explain(broker: &Broker, words: &Words, trouble: &Trouble) -> String {
    let (told, why) = trouble.told(words);
    let why = if why.is_empty() { why } else { format!("<p><small>{}</small></p>", escaped(&why)) };
    let back = match trouble {
        Trouble::WithBack(trouble, back) => {
            let name = if back.name.is_empty() { words.nameless } else { &back.name };
            format!(
                "<p><a class=\"button\" href=\"{}\">{} ({})</a></p>",
                escaped(&back.with_error(&trouble.failure(), &broker.url)),
                put(words.back, &escaped(name)),
                escaped(&place(&back.redirect).0),
            )
        }
        _ => String::new(),
    };
    format!("<h1>{}</h1><p>{told}</p>{why}{back}", words.trouble_title)
}

/// A whole page. Without `form-action`: browsers hold it against the redirects that follow a form too, and those lead to the
/// provider and to applications.
pub(crate) fn html(status: StatusCode, words: &Words, inside: &str) -> Response<Body> {
    let page = format!(
        "<!doctype html><html lang=\"{}\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{}</title><style>{STYLE}</style></head><body><main>{inside}</main></body></html>",
        words.language, words.title,
    );
    let mut response = Response::new(Body::from(page));
    *response.status_mut() = status;
    let hash = STANDARD.encode(ring::digest::digest(&ring::digest::SHA256, STYLE.as_bytes()));
    let policy =
        format!("default-src 'none'; style-src 'sha256-{hash}'; frame-ancestors 'none'; base-uri 'none'");
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (X_FRAME_OPTIONS, "DENY"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Not `no-referrer`: with that, browsers do not say which page sends the form.
        (REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

pub(crate) fn put(words: &str, what: &str) -> String {
    words.replacen("{}", what, 1)
}

fn host_in(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_was_said_is_taken_for_html() {
        assert_eq!(escaped("<b a=\"'&'\">"), "&lt;b a=&quot;&#39;&amp;&#39;&quot;&gt;");
        assert_eq!(host_in("https://a.example:1/x"), "a.example:1");
    }
}
