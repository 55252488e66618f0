//! The pages that people see who connect an account.

use axum::body::Body;
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use crate::answer::Failure;
use crate::page::{escaped, html, put, redirect};
use crate::words::Words;

/// What somebody is shown, or where sent.
pub(super) enum ConnectPage {
    Confirm(Confirming),
    Redirect(String),
    Refused,
    Connected { server: String, person: String },
}

/// What somebody is asked.
pub(super) struct Confirming {
    pub(super) action: String,
    /// The request, sealed.
    pub(super) request: String,
    pub(super) server: String,
    pub(super) url: String,
    pub(super) person: String,
    pub(super) gateway: String,
    pub(super) cookie: String,
}

/// Why an account is not connected.
#[derive(Debug)]
pub(super) enum ConnectTrouble {
    /// It is too long ago, was done before, or was never begun.
    Stale,
    /// It was begun elsewhere.
    OtherBrowser,
    /// Whoever signed in is not the one whose account it is to be.
    OtherPerson(String),
    /// The server, or its authorisation server, is at fault, or says no.
    Upstream(String),
    /// Anything else.
    Failed(Failure),
}

impl From<Failure> for ConnectTrouble {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The answer for a browser that sent those headers.
pub(super) fn answer(headers: &HeaderMap, page: Result<ConnectPage, ConnectTrouble>) -> Response<Body> {
    let words = Words::of(headers);
    let plain = |status, title: &str, told: &str, why: &str| {
        let why =
            if why.is_empty() { String::new() } else { format!("<p><small>{}</small></p>", escaped(why)) };
        html(status, words, &format!("<h1>{title}</h1><p>{told}</p>{why}"))
    };
    match page {
        Ok(ConnectPage::Redirect(to)) => redirect(&to),
        Ok(ConnectPage::Confirm(asked)) => {
            let mut response = html(StatusCode::OK, words, &confirm(words, &asked));
            if let Ok(cookie) = HeaderValue::try_from(asked.cookie) {
                response.headers_mut().insert(SET_COOKIE, cookie);
            }
            response
        }
        Ok(ConnectPage::Refused) => plain(StatusCode::OK, words.not_connected, words.connect_refused, ""),
        Ok(ConnectPage::Connected { server, person }) => {
            let told = put(&put(words.connected, &bold(&server)), &bold(&person));
            plain(StatusCode::OK, words.connected_title, &told, "")
        }
        Err(trouble) => {
            let (status, told, why) = match &trouble {
                ConnectTrouble::Stale => (StatusCode::BAD_REQUEST, words.connect_stale, ""),
                ConnectTrouble::OtherBrowser => (StatusCode::BAD_REQUEST, words.connect_other_browser, ""),
                ConnectTrouble::OtherPerson(person) => {
                    (StatusCode::FORBIDDEN, words.connect_other_person, person.as_str())
                }
                ConnectTrouble::Upstream(why) => {
                    (StatusCode::BAD_GATEWAY, words.connect_upstream, why.as_str())
                }
                ConnectTrouble::Failed(failure) => (failure.status, words.refused, failure.about.as_str()),
            };
            plain(status, words.not_connected, told, why)
        }
    }
}

fn bold(text: &str) -> String {
    format!("<b>{}</b>", escaped(text))
}

fn confirm(words: &Words, asked: &Confirming) -> String {
    format!(
        "<h1>{title}</h1><p>{ask}</p>\
         <dl><dt>{to}</dt><dd><b>{person}</b><small>{gateway}</small></dd><dt>{at}</dt><dd>{url}</dd></dl>\
         <p class=\"warn\">{warning}</p>\
         <form method=\"post\" action=\"{action}\"><input type=\"hidden\" name=\"request\" value=\"{request}\">\
         <button class=\"yes\" name=\"answer\" value=\"yes\">{yes}</button>\
         <button name=\"answer\" value=\"no\">{no}</button></form>",
        title = put(words.connect_title, &escaped(&asked.server)),
        ask = put(&put(words.connect_ask, &bold(&asked.server)), &bold(&asked.person)),
        to = words.connect_to,
        person = escaped(&asked.person),
        gateway = escaped(&asked.gateway),
        at = words.connect_at,
        url = escaped(&asked.url),
        warning = put(words.connect_warning, &bold(&asked.person)),
        action = escaped(&asked.action),
        request = escaped(&asked.request),
        yes = words.connect_yes,
        no = words.no,
    )
}
