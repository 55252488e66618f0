//! Headers and cookies: names are checked at registration, values cannot bring in another line.

use std::sync::{Arc, LazyLock};

use http::header::{ACCEPT, CONTENT_TYPE, COOKIE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use toolrail_core::{CallError, Problems};

use super::auth::Rendered;
use super::{BodyType, RequestSettings, header_value, scalar_text, written_out};
use crate::template::{Compiler, NamedHost, Place, Rendering, Template};

/// What every request says about itself unless the definition says otherwise.
pub(super) const AGENT: &str = concat!("toolrail/", env!("CARGO_PKG_VERSION"));
const ACCEPTED: &str = "application/json, */*;q=0.8";

static DEFAULTS: LazyLock<Arc<HeaderMap>> = LazyLock::new(|| {
    let defaults =
        [(ACCEPT, HeaderValue::from_static(ACCEPTED)), (USER_AGENT, HeaderValue::from_static(AGENT))];
    Arc::new(defaults.into_iter().collect())
});

/// Headers that belong to the connection and not to the request.
const OF_THE_CONNECTION: &[&str] = &[
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Compiled headers and cookies.
#[derive(Debug)]
pub(super) struct Headers {
    /// Those without templates, and the defaults; shared by the many tools that have no others.
    fixed: Arc<HeaderMap>,
    values: Vec<(HeaderName, Template)>,
    cookies: Vec<(String, Template)>,
}

impl Headers {
    /// Compiles `headers` and `cookies`, noting what is wrong.
    pub(super) fn compile(settings: &RequestSettings<'_>, compiler: &mut Compiler<'_>) -> Option<Self> {
        let values = compile_headers(settings, compiler);
        let cookies = compile_cookies(settings, compiler);
        let (values, cookies) = (values?, cookies?);
        let mut headers = Self { fixed: Arc::clone(&DEFAULTS), values: Vec::new(), cookies };
        let varying: Vec<HeaderName> = values
            .iter()
            .filter(|(_, template)| template.literal().is_none())
            .map(|(name, _)| name.clone())
            .collect();
        let mut last = None;
        for (name, template) in values {
            match template.literal() {
                // A list keeps its order, so all of it waits for the call if any of it must.
                Some(text) if !varying.contains(&name) => {
                    place(Arc::make_mut(&mut headers.fixed), &name, header_value(text), &mut last);
                }
                _ => headers.values.push((name, template)),
            }
        }
        Some(headers)
    }

    /// Fills the values in.
    pub(super) fn render(
        &self,
        rendering: &mut Rendering<'_>,
        credential: Option<&Rendered<'_>>,
    ) -> Result<HeaderMap, CallError> {
        let mut headers = HeaderMap::clone(&self.fixed);
        let mut last = None;
        for (name, template) in &self.values {
            template.each(rendering, |text| {
                let mut value = header_value(text);
                value.set_sensitive(template.names_secret());
                place(&mut headers, name, value, &mut last);
                Ok(())
            })?;
        }
        self.render_cookies(rendering, credential, &mut headers)?;
        if let Some((name, text)) = credential.and_then(Rendered::header) {
            let mut value = header_value(text);
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }

    fn render_cookies(
        &self,
        rendering: &mut Rendering<'_>,
        credential: Option<&Rendered<'_>>,
        headers: &mut HeaderMap,
    ) -> Result<(), CallError> {
        let credential = credential.and_then(Rendered::cookie);
        if self.cookies.is_empty() && credential.is_none() {
            return Ok(());
        }
        let mut line = String::new();
        let mut secret = credential.is_some();
        let mut add = |name: &str, value: &str| {
            line.push_str(if line.is_empty() { "" } else { "; " });
            line.extend([name, "=", value]);
        };
        for (name, template) in &self.cookies {
            secret |= template.names_secret();
            template.each(rendering, |value| {
                add(name, value);
                Ok(())
            })?;
        }
        if let Some((name, value)) = credential {
            add(name, value);
        }
        if !line.is_empty() {
            let mut value = header_value(&line);
            value.set_sensitive(secret);
            headers.insert(COOKIE, value);
        }
        Ok(())
    }
}

/// The first value of a name replaces the default, the next ones stand beside it; values of one name follow each other.
fn place(headers: &mut HeaderMap, name: &HeaderName, value: HeaderValue, last: &mut Option<HeaderName>) {
    if last.as_ref() == Some(name) {
        headers.append(name, value);
    } else {
        headers.insert(name, value);
        *last = Some(name.clone());
    }
}

fn compile_headers(
    settings: &RequestSettings<'_>,
    compiler: &mut Compiler<'_>,
) -> Option<Vec<(HeaderName, Template)>> {
    let mut values: Vec<(HeaderName, Template)> = Vec::new();
    let mut names: Vec<(HeaderName, &str)> = Vec::new();
    let mut whole = Some(());
    for (written, value, pointer) in settings.header_members() {
        let name = name(written, &pointer, compiler.problems);
        if let Some(name) = &name {
            if let Some((_, other)) = names.iter().find(|(known, _)| known == name) {
                compiler.problems.error(
                    &pointer,
                    format!("is the same header as {other:?}; keep one of them, or give it a list"),
                );
            }
            names.push((name.clone(), written));
            check_meaning(name, &pointer, settings, compiler.problems);
        }
        for (place, item) in items(value, pointer) {
            let text = scalar_text(item, &place, compiler.problems);
            let template = text.and_then(|text| compiler.template(&text, &place, Place::Header));
            if let Some(literal) = template.as_ref().and_then(Template::literal) {
                written_out::warn(written, literal, &place, compiler.problems);
            }
            match (&name, template) {
                (Some(name), Some(template)) => {
                    note_host(name, &template, &place, compiler);
                    values.push((name.clone(), template));
                }
                _ => whole = None,
            }
        }
    }
    whole.map(|()| values)
}

/// Notes what a header says about the host, for the check of where secrets may go.
pub(super) fn note_host(name: &HeaderName, template: &Template, pointer: &str, compiler: &mut Compiler<'_>) {
    if *name == HOST {
        let literal = template.literal().map(str::to_owned);
        compiler.named_hosts.push(NamedHost { literal, pointer: pointer.to_owned() });
    }
}

fn compile_cookies(
    settings: &RequestSettings<'_>,
    compiler: &mut Compiler<'_>,
) -> Option<Vec<(String, Template)>> {
    let mut cookies = Vec::new();
    let mut whole = Some(());
    for (name, value, pointer) in settings.members("cookies", settings.cookies) {
        let named = check_cookie_name(name, &pointer, compiler.problems);
        let text = scalar_text(value, &pointer, compiler.problems);
        let template = text.and_then(|text| compiler.template(&text, &pointer, Place::Cookie));
        match (named, template) {
            (Some(()), Some(template)) => cookies.push((name.to_owned(), template)),
            _ => whole = None,
        }
    }
    whole.map(|()| cookies)
}

fn items(value: &Value, pointer: String) -> Vec<(String, &Value)> {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, item)| (format!("{pointer}/{index}"), item)).collect()
        }
        other => vec![(pointer, other)],
    }
}

/// Checks the name of a header.
pub(super) fn name(written: &str, pointer: &str, problems: &mut Problems) -> Option<HeaderName> {
    let Ok(name) = HeaderName::from_bytes(written.as_bytes()) else {
        problems.error(
            pointer,
            format!("{written:?} is not a header name; use letters, digits and -, without spaces, colons or templates"),
        );
        return None;
    };
    if OF_THE_CONNECTION.contains(&name.as_str()) {
        problems.error(
            pointer,
            format!("the header {written:?} belongs to the connection and is set by itself; remove it"),
        );
        return None;
    }
    Some(name)
}

/// Checks the name of a cookie (RFC 6265 takes a token, as header names are).
pub(super) fn check_cookie_name(name: &str, pointer: &str, problems: &mut Problems) -> Option<()> {
    if HeaderName::from_bytes(name.as_bytes()).is_ok() {
        return Some(());
    }
    problems.error(
        pointer,
        format!("{name:?} is not a cookie name; use letters, digits, - and _, without templates"),
    );
    None
}

fn check_meaning(name: &HeaderName, pointer: &str, settings: &RequestSettings<'_>, problems: &mut Problems) {
    if name == COOKIE && settings.cookies.is_some_and(|cookies| !cookies.is_empty()) {
        problems.error(pointer, "there is cookies too; put all cookies there or all into this header");
    }
    if name == CONTENT_TYPE && settings.body_type == Some(BodyType::Multipart) {
        problems.error(
            pointer,
            "a multipart body sets its own Content-Type with its boundary; remove this header",
        );
    }
}
