//! How a request proves itself: a key, basic or bearer credentials. Whatever stands in them counts as secret, also what
//! the author wrote out.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderName, StatusCode};
use serde_json::Map;
use toolrail_core::{
    ApiKeyPlace, Auth, CallError, Definition, ErrorCode, MASK, Outcome, Problems, Secret, Secrets,
};

use super::query::{Parameter, encoded_name};
use super::{RequestSettings, headers};
use crate::template::{Compiler, Place, Placement, Rendering, Template};

const BASIC: &str = "Basic ";
const BEARER: &str = "Bearer ";

/// How a request proves itself, and where that is written.
#[derive(Clone, Debug)]
pub(crate) struct Proof<'a> {
    /// The way.
    pub(crate) auth: &'a Auth,
    /// Its JSON pointer.
    pub(crate) pointer: String,
}

impl<'a> Proof<'a> {
    /// That of a definition.
    pub(crate) fn of(definition: &'a Definition) -> Option<Self> {
        Some(Self { auth: definition.auth.as_ref()?, pointer: "/auth".to_owned() })
    }

    /// The way itself, if nothing applies it yet.
    pub(crate) fn unapplied(&self) -> Option<Auth> {
        matches!(self.auth, Auth::OAuth2(_)).then(|| self.auth.clone())
    }
}

/// Says why there was no credential, where an upstream refuses a request that should have had a token.
pub(crate) fn told_without_token(proof: Option<&Auth>, status: StatusCode, outcome: Outcome) -> Outcome {
    let refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    outcome.map_err(|mut error| {
        if refused && matches!(proof, Some(Auth::OAuth2(_))) {
            error.message.push_str(
                "; no token was sent: \"oauth2\" is not applied yet, so whoever wrote the definition must give a token with \"bearer\"",
            );
        }
        error
    })
}

/// A compiled credential.
#[derive(Debug)]
pub(super) struct Credential {
    place: CredentialPlace,
    form: CredentialForm,
}

#[derive(Debug)]
enum CredentialPlace {
    Header(HeaderName),
    /// The encoded name with its `=`.
    Query(String),
    Cookie(String),
}

#[derive(Debug)]
enum CredentialForm {
    /// The text itself, after a word such as `Bearer `.
    Plain(&'static str, Template),
    Basic {
        username: Template,
        password: Template,
    },
    /// A token in the caller's name.
    OnBehalf,
}

/// A credential ready to be placed.
#[derive(Debug)]
pub(super) struct Rendered<'c> {
    place: &'c CredentialPlace,
    text: String,
}

impl Credential {
    /// Compiles it; the outer nothing means that an error was noted, the inner that there is no credential.
    #[expect(clippy::option_option, reason = "no credential is a good outcome, unlike a faulty one")]
    pub(super) fn compile(proof: Option<&Proof<'_>>, compiler: &mut Compiler<'_>) -> Option<Option<Self>> {
        let Some(Proof { auth, pointer }) = proof else {
            return Some(None);
        };
        let at = |field: &str| format!("{pointer}/{field}");
        let header = |template: Option<Template>, word: &'static str| {
            template.map(|template| {
                Some(Self {
                    place: CredentialPlace::Header(AUTHORIZATION),
                    form: CredentialForm::Plain(word, template),
                })
            })
        };
        match auth {
            Auth::None | Auth::OAuth2(_) => Some(None),
            Auth::CallerToken { .. } | Auth::TokenExchange(_) | Auth::OAuthUser(_) => {
                let place = CredentialPlace::Header(AUTHORIZATION);
                Some(Some(Self { place, form: CredentialForm::OnBehalf }))
            }
            Auth::Bearer { token } => {
                if token.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("bearer ")) {
                    compiler
                        .problems
                        .error(at("token"), "the word Bearer is added by itself; give the token alone");
                    return None;
                }
                header(template(token, &at("token"), Place::Header, compiler), "Bearer ")
            }
            Auth::Basic { username, password } => {
                // The user name is no secret, so it may well be written out.
                let username = compiler.template(username, &at("username"), Place::Text);
                let password = template(password, &at("password"), Place::Text, compiler);
                let form = CredentialForm::Basic { username: username?, password: password? };
                Some(Some(Self { place: CredentialPlace::Header(AUTHORIZATION), form }))
            }
            Auth::ApiKey { place, name, value } => {
                let (key_place, template_place) = match place {
                    ApiKeyPlace::Header => (
                        headers::name(name, &at("name"), compiler.problems).map(CredentialPlace::Header),
                        Place::Header,
                    ),
                    ApiKeyPlace::Query => (Some(CredentialPlace::Query(encoded_name(name))), Place::Query),
                    ApiKeyPlace::Cookie => {
                        let named = headers::check_cookie_name(name, &at("name"), compiler.problems);
                        (named.map(|()| CredentialPlace::Cookie(name.clone())), Place::Cookie)
                    }
                };
                let value = template(value, &at("value"), template_place, compiler);
                if let (Some(CredentialPlace::Header(name)), Some(value)) = (&key_place, &value) {
                    headers::note_host(name, value, &at("value"), compiler);
                }
                Some(Some(Self { place: key_place?, form: CredentialForm::Plain("", value?) }))
            }
        }
    }

    /// Whether it becomes a query parameter.
    pub(super) fn goes_into_query(&self) -> bool {
        matches!(self.place, CredentialPlace::Query(_))
    }

    /// Fills the values in; nothing if an argument in it is absent.
    pub(super) fn render(&self, rendering: &mut Rendering<'_>) -> Result<Option<Rendered<'_>>, CallError> {
        let mut text = String::new();
        match &self.form {
            CredentialForm::Plain(word, template) => {
                text.push_str(word);
                if template.write(rendering, &mut text)? == Placement::Dropped {
                    return Ok(None);
                }
                if rendering.is_shown() {
                    text.replace_range(word.len().., MASK);
                } else if !self.is_constant() {
                    rendering.derive(&text[word.len()..]);
                }
            }
            CredentialForm::OnBehalf => {
                text.push_str(BEARER);
                match rendering.bearer() {
                    _ if rendering.is_shown() => text.push_str(MASK),
                    Some(token) => {
                        text.push_str(token.reveal());
                        rendering.derive(token.reveal());
                    }
                    None => return Err(nobody()),
                }
            }
            CredentialForm::Basic { username, password } => {
                let Some(pair) = basic_pair(username, password, rendering)? else {
                    return Ok(None);
                };
                text.push_str(BASIC);
                if rendering.is_shown() {
                    text.push_str(MASK);
                } else {
                    STANDARD.encode_string(&pair, &mut text);
                    if !self.is_constant() {
                        rendering.derive(&text[BASIC.len()..]);
                    }
                }
            }
        }
        Ok(Some(Rendered { place: &self.place, text }))
    }

    /// What it is in every call, in the forms in which an upstream may echo it; nothing if it varies.
    pub(super) fn fixed_texts(&self, secrets: &Secrets) -> Vec<Secret> {
        if !self.is_constant() {
            return Vec::new();
        }
        let arguments = Map::new();
        let mut rendering = Rendering::to_send(&arguments, secrets);
        let Ok(Some(Rendered { text, .. })) = self.render(&mut rendering) else {
            return Vec::new();
        };
        let word = match &self.form {
            CredentialForm::Plain(word, _) => word,
            CredentialForm::Basic { .. } => BASIC,
            CredentialForm::OnBehalf => BEARER,
        };
        let text = text.strip_prefix(word).unwrap_or(&text);
        let mut texts = vec![Secret::new(text)];
        if let CredentialForm::Basic { password, .. } = &self.form {
            texts.extend(password.literal().map(Secret::new));
        }
        texts
    }

    fn is_constant(&self) -> bool {
        let varies =
            |template: &Template| template.expressions().any(crate::template::Expression::names_arguments);
        match &self.form {
            CredentialForm::Plain(_, template) => !varies(template),
            CredentialForm::OnBehalf => false,
            CredentialForm::Basic { username, password } => !varies(username) && !varies(password),
        }
    }
}

impl Rendered<'_> {
    /// Appends it to a query, if that is its place.
    pub(super) fn write_query(&self, separator: char, out: &mut String) {
        if let CredentialPlace::Query(name) = self.place {
            out.push(separator);
            out.push_str(name);
            out.push_str(&self.text);
        }
    }

    /// Its header and value, if that is its place.
    pub(super) fn header(&self) -> Option<(&HeaderName, &str)> {
        match self.place {
            CredentialPlace::Header(name) => Some((name, &self.text)),
            CredentialPlace::Query(_) | CredentialPlace::Cookie(_) => None,
        }
    }

    /// Its cookie's name and value, if that is its place.
    pub(super) fn cookie(&self) -> Option<(&str, &str)> {
        match self.place {
            CredentialPlace::Cookie(name) => Some((name, &self.text)),
            CredentialPlace::Query(_) | CredentialPlace::Header(_) => None,
        }
    }
}

/// Notes a place that both `auth` and the request set.
pub(super) fn check_conflicts(
    proof: Option<&Proof<'_>>,
    settings: &RequestSettings<'_>,
    query: &[Parameter],
    problems: &mut Problems,
) {
    let Some(Proof { auth, pointer }) = proof else {
        return;
    };
    let both = "is also set by auth; keep one of them";
    let check_header = |wanted: &str, problems: &mut Problems| {
        for (name, _, pointer) in settings.header_members() {
            if name.eq_ignore_ascii_case(wanted) {
                problems.error(pointer, format!("the header {name:?} {both}"));
            }
        }
    };
    match auth {
        Auth::None | Auth::OAuth2(_) => {}
        Auth::Basic { .. }
        | Auth::Bearer { .. }
        | Auth::CallerToken { .. }
        | Auth::TokenExchange(_)
        | Auth::OAuthUser(_) => {
            check_header("authorization", problems);
        }
        Auth::ApiKey { place: ApiKeyPlace::Header, name, .. } => check_header(name, problems),
        Auth::ApiKey { place: ApiKeyPlace::Query, name, .. } => {
            if query.iter().any(|parameter| parameter.names().contains(name)) {
                problems.error(
                    format!("{pointer}/name"),
                    format!("the query parameter {name:?} is also set by the request; keep one of them"),
                );
            }
        }
        Auth::ApiKey { place: ApiKeyPlace::Cookie, name, .. } => {
            check_header("cookie", problems);
            if settings.cookies.is_some_and(|cookies| cookies.contains_key(name)) {
                problems.error(
                    crate::template::child(&settings.pointer("cookies"), name),
                    format!("the cookie {name:?} {both}"),
                );
            }
        }
    }
}

fn nobody() -> CallError {
    CallError::new(ErrorCode::Internal, "nobody's token is there to be sent; this is a fault of Toolrail")
}

/// Compiles a credential's text and warns if it is written out.
fn template(text: &str, pointer: &str, place: Place, compiler: &mut Compiler<'_>) -> Option<Template> {
    let template = compiler.template(text, pointer, place)?;
    if text.is_empty() {
        compiler.problems.error(pointer, "is empty; give a value such as {{secrets.KEY}}");
        return None;
    }
    if template.literal().is_some() {
        compiler
            .problems
            .warning(pointer, "the credential is written out; keep it in a secret and write {{secrets.KEY}}");
    }
    Some(template)
}

fn basic_pair(
    username: &Template,
    password: &Template,
    rendering: &mut Rendering<'_>,
) -> Result<Option<String>, CallError> {
    let mut pair = String::new();
    if username.write(rendering, &mut pair)? == Placement::Dropped {
        return Ok(None);
    }
    if pair.contains(':') {
        return Err(CallError::at_field(
            ErrorCode::InvalidArguments,
            username.pointer(),
            "the user name for basic authentication must not contain a colon",
        ));
    }
    pair.push(':');
    Ok((password.write(rendering, &mut pair)? == Placement::Placed).then_some(pair))
}
