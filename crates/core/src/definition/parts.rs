//! The parts of a definition that have several types, each with fields of its own: `auth` and `responseMapping`.

use serde_json::Value;

use super::document::{AuthDocument, AuthType, MappingDocument};
use super::split_form::{self, Spelling};
use super::{ApiKeyPlace, Auth, OAuth2, OAuthUser, ResponseMapping, TokenExchange};
use crate::{HostPattern, Problems, WrongHost};

/// Reads a credential that stands elsewhere than in a definition.
pub(super) fn read_auth(value: &Value, place: &str, problems: &mut Problems) -> Option<Auth> {
    let mut value = value.clone();
    if let Some(members) = value.as_object_mut() {
        split_form::lift_config(members, &mut Spelling::default());
    }
    match serde_json::from_value::<AuthDocument>(value) {
        Ok(document) if document.kind.is_none() => {
            problems.error(place, "the field \"type\" is missing; add it");
            None
        }
        Ok(document) => auth_of(document, place, problems),
        Err(error) => {
            problems.error(place, error.to_string());
            None
        }
    }
}

/// How it proves itself, from the form in which that is written at `base`.
pub(super) fn auth_of(document: AuthDocument, base: &str, problems: &mut Problems) -> Option<Auth> {
    let kind = document.kind.clone()?;
    let auth_type = AuthType::parse(&kind);
    refuse_other_auth(&document, auth_type, base, problems);
    let Some(auth_type) = auth_type else {
        let known = AuthType::ALL.map(AuthType::word).join(", ");
        problems.error(format!("{base}/type"), format!("{kind:?} is not one of {known}"));
        return None;
    };
    let AuthDocument { place, name, value, username, password, token, .. } = document;
    let AuthDocument {
        token_url,
        client_id,
        client_secret,
        scopes,
        audience,
        grant,
        resource,
        hosts,
        issuer,
        ..
    } = document;
    let hosts = hosts_of(hosts.unwrap_or_default(), base, problems);
    let mut needed = |field: &str, given: Option<String>| {
        if given.is_none() {
            problems.error(
                base,
                format!("auth of type {kind:?} needs {field:?}; add it, for example \"{{{{secrets.KEY}}}}\""),
            );
        }
        given
    };
    match auth_type {
        AuthType::None => Some(Auth::None),
        AuthType::ApiKey => Some(Auth::ApiKey {
            place: place.unwrap_or(ApiKeyPlace::Header),
            name: name.unwrap_or_else(|| "X-API-Key".into()),
            value: needed("value", value)?,
        }),
        AuthType::Basic => {
            let (username, password) = (needed("username", username), needed("password", password));
            Some(Auth::Basic { username: username?, password: password? })
        }
        AuthType::Bearer => Some(Auth::Bearer { token: needed("token", token)? }),
        AuthType::CallerToken => Some(Auth::CallerToken { hosts }),
        AuthType::TokenExchange => {
            let (token_url, client_id) = (needed("tokenUrl", token_url), needed("clientId", client_id));
            Some(Auth::TokenExchange(Box::new(TokenExchange {
                token_url: token_url?,
                client_id: client_id?,
                client_secret,
                scopes: scopes_of(scopes.as_ref()),
                audience,
                resource,
                hosts,
            })))
        }
        AuthType::OAuthUser => Some(Auth::OAuthUser(Box::new(OAuthUser {
            issuer,
            client_id,
            client_secret,
            scopes: scopes_of(scopes.as_ref()),
        }))),
        AuthType::OAuth2 => {
            problems.warning(
                base,
                "\"oauth2\" is understood but not applied yet: requests go out without a token, so an upstream that wants one refuses them; until then give a token with \"bearer\"",
            );
            let scopes = scopes_of(scopes.as_ref());
            Some(Auth::OAuth2(Box::new(OAuth2 {
                token_url,
                client_id,
                client_secret,
                scopes,
                audience,
                grant,
            })))
        }
    }
}

/// The hosts that may get a token.
fn hosts_of(written: Vec<String>, base: &str, problems: &mut Problems) -> Vec<HostPattern> {
    let read = |(at, host): (usize, String)| match host.parse() {
        Ok(pattern) => Some(pattern),
        Err(wrong) => {
            let wrong: WrongHost = wrong;
            problems.error(format!("{base}/hosts/{at}"), wrong.to_string());
            None
        }
    };
    written.into_iter().enumerate().filter_map(read).collect()
}

/// A list of texts, or a text with spaces.
fn scopes_of(written: Option<&Value>) -> Vec<String> {
    match written {
        Some(Value::String(text)) => text.split_whitespace().map(str::to_owned).collect(),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// Notes fields that belong to another way than the one that was chosen.
fn refuse_other_auth(
    document: &AuthDocument,
    auth_type: Option<AuthType>,
    base: &str,
    problems: &mut Problems,
) {
    let fits = |field: &&str| auth_type.is_some_and(|chosen| chosen.fields().contains(field));
    let kind = document.kind.as_deref().unwrap_or_default();
    let present = [
        ("in", document.place.is_some()),
        ("name", document.name.is_some()),
        ("value", document.value.is_some()),
        ("username", document.username.is_some()),
        ("password", document.password.is_some()),
        ("token", document.token.is_some()),
        ("tokenUrl", document.token_url.is_some()),
        ("clientId", document.client_id.is_some()),
        ("clientSecret", document.client_secret.is_some()),
        ("scopes", document.scopes.is_some()),
        ("audience", document.audience.is_some()),
        ("grant", document.grant.is_some()),
        ("resource", document.resource.is_some()),
        ("hosts", document.hosts.is_some()),
        ("issuer", document.issuer.is_some()),
    ];
    for (field, _) in present.into_iter().filter(|(field, there)| *there && !fits(field)) {
        problems
            .error(format!("{base}/{field}"), format!("has no effect with auth of type {kind:?}; remove it"));
    }
}

/// What becomes of the answer, likewise.
pub(super) fn mapping_of(document: MappingDocument, problems: &mut Problems) -> Option<ResponseMapping> {
    let MappingDocument { kind, path, template } = document;
    let kind = kind?;
    for (field, there, wanted) in
        [("path", path.is_some(), "jsonPath"), ("template", template.is_some(), "template")]
    {
        if there && kind != wanted {
            problems.error(
                format!("/responseMapping/{field}"),
                format!("has no effect with a mapping of type {kind:?}; remove it"),
            );
        }
    }
    let mut needed = |field: &str, given: Option<String>| {
        if given.is_none() {
            problems.error("/responseMapping", format!("a mapping of type {kind:?} needs {field:?}; add it"));
        }
        given
    };
    match kind.as_str() {
        "passthrough" => Some(ResponseMapping::Passthrough),
        "jsonPath" => Some(ResponseMapping::JsonPath { path: needed("path", path)? }),
        "template" => Some(ResponseMapping::Template { template: needed("template", template)? }),
        _ => None,
    }
}
