//! Who sends a request: whoever holds the key that it shows, or the certificate of its connection; or anybody, where nobody is
//! asked.

use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderMap, HeaderName};
use toolrail_access::{Permissions, RulesUnknown};
use toolrail_core::{CallerToken, Identity, Principal, Role};
use toolrail_identity::{Directory, Rejection, TokenRejection, Tokens, is_token};

use super::guard::Refusal;
use super::plane;
use super::resource::ProtectedResource;
use super::tenant::{TENANT, Tenants};

/// The other header that may have a key.
pub const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Who is let in.
pub enum Doorkeeper {
    /// Everybody, for the tenant that the request names.
    Open(Tenants),
    /// Whoever has a key, or a token of a known issuer.
    Asking(Credentials),
}

/// What proves who somebody is.
pub struct Credentials {
    /// The keys there are.
    pub keys: Arc<Directory>,
    /// The issuers whose tokens are taken, and what tells clients where to get one.
    pub tokens: Option<(Arc<Tokens>, ProtectedResource)>,
    /// The rules that say what they may do.
    pub permissions: Arc<Permissions>,
}

impl Doorkeeper {
    /// Who sends a request with those headers to that path, by a connection whose certificate stands for somebody.
    pub(super) fn principal(
        &self,
        headers: &HeaderMap,
        path: &str,
        certified: Option<Principal>,
    ) -> Result<Principal, Refusal> {
        match self {
            Self::Open(tenants) => match certified {
                Some(principal) => for_named_tenant(principal, headers, path),
                None => tenants.principal(headers),
            },
            Self::Asking(credentials) => {
                // Where both are shown the key decides: a proxy with a certificate may bring the keys of many.
                let Some(key) = key_in(headers)? else {
                    let certified = certified.ok_or_else(|| credentials.nothing_shown())?;
                    let certified = for_named_tenant(certified, headers, path)?;
                    return credentials.ruled(certified);
                };
                credentials.ruled(for_named_tenant(credentials.recognise(key)?, headers, path)?)
            }
        }
    }

    /// The same once the keys of that issuer were looked at.
    pub(super) async fn principal_of_issuer(
        &self,
        issuer: usize,
        headers: &HeaderMap,
        path: &str,
    ) -> Result<Principal, Refusal> {
        let Self::Asking(credentials @ Credentials { tokens: Some((tokens, _)), .. }) = self else {
            return Err(Refusal::WrongKey);
        };
        let token = key_in(headers)?.ok_or_else(|| credentials.nothing_shown())?;
        let principal = tokens.recognise_with(issuer, token).await.map_err(Refusal::from)?;
        credentials.ruled(for_named_tenant(principal, headers, path)?)
    }

    /// The token of another issuer that the request of somebody shows, for whoever may be asked in his name. Never a key, nor a
    /// token that this gateway gave: whoever got that could come back with it.
    pub(super) fn token(&self, headers: &HeaderMap, principal: &Principal) -> Option<CallerToken> {
        match self {
            Self::Asking(Credentials { tokens: Some((tokens, _)), .. }) if !tokens.are_own(principal) => {
                let shown = key_in(headers).ok().flatten();
                shown.filter(|text| is_token(text)).map(CallerToken::new)
            }
            Self::Asking(_) | Self::Open(_) => None,
        }
    }

    /// What tells clients where to get a token, if one was shown.
    pub(super) fn resource_of_token(&self, headers: &HeaderMap) -> Option<&ProtectedResource> {
        self.resource().filter(|_| key_in(headers).ok().flatten().is_some_and(is_token))
    }

    /// What tells clients where to get a token, if tokens are taken.
    pub(super) fn resource(&self) -> Option<&ProtectedResource> {
        match self {
            Self::Asking(Credentials { tokens: Some((_, resource)), .. }) => Some(resource),
            Self::Asking(_) | Self::Open(_) => None,
        }
    }
}

impl Credentials {
    fn ruled(&self, principal: Principal) -> Result<Principal, Refusal> {
        self.permissions.apply(principal).map_err(|RulesUnknown(why)| Refusal::RulesUnknown(why))
    }

    /// How somebody is refused who shows nothing.
    fn nothing_shown(&self) -> Refusal {
        if self.tokens.is_some() { Refusal::NothingShown } else { Refusal::NoKey }
    }

    fn recognise(&self, text: &str) -> Result<Principal, Refusal> {
        if let Some((tokens, _)) = &self.tokens
            && is_token(text)
        {
            return tokens.recognise(text).map_err(Refusal::from);
        }
        self.keys.recognise(text).map_err(|rejection| match rejection {
            Rejection::Unknown => Refusal::WrongKey,
            Rejection::Expired => Refusal::ExpiredKey,
            Rejection::NotReady => Refusal::KeysUnread,
        })
    }
}

impl From<TokenRejection> for Refusal {
    fn from(rejection: TokenRejection) -> Self {
        match rejection {
            TokenRejection::Bad(why) => Self::BadToken(why),
            TokenRejection::NothingGranted(why) => Self::NothingGranted(why),
            TokenRejection::KeysNeeded(issuer) => Self::IssuerUnread(Some(issuer)),
            TokenRejection::KeysMissing => Self::IssuerUnread(None),
        }
    }
}

/// The key that a request shows.
fn key_in(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let bearer = only(headers, &AUTHORIZATION)?.map(bearer).transpose()?;
    let plain = only(headers, &API_KEY)?;
    match (bearer, plain) {
        (Some(one), Some(other)) if one != other => Err(Refusal::TwoKeys),
        (one, other) => Ok(one.or(other)),
    }
}

fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(Refusal::TwoKeys);
    }
    value.to_str().map(|text| Some(text.trim())).map_err(|_| Refusal::WrongKey)
}

fn bearer(value: &str) -> Result<&str, Refusal> {
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        _ => Err(Refusal::NotBearer),
    }
}

/// Whose definitions are meant is for the key to say. Only somebody of no tenant, who may change those of all, says it himself
/// when he administers.
fn for_named_tenant(principal: Principal, headers: &HeaderMap, path: &str) -> Result<Principal, Refusal> {
    if !headers.contains_key(&TENANT) {
        return Ok(principal);
    }
    let named = Tenants::default().principal(headers)?;
    let Some(tenant) = named.shared_tenant() else {
        return Ok(principal);
    };
    match &principal {
        Principal::Known(identity) if identity.tenant.as_ref() == Some(tenant) => Ok(principal),
        Principal::Known(identity)
            if identity.tenant.is_none() && principal.may(Role::Write) && plane::is_administration(path) =>
        {
            Ok(Principal::Known(Arc::new(Identity {
                id: format!("{}@{tenant}", identity.id).into(),
                name: identity.name.clone(),
                tenant: Some(Arc::clone(tenant)),
                role: identity.role,
                groups: identity.groups.clone(),
                scopes: identity.scopes.clone(),
                reach: identity.reach.clone(),
                ending: identity.ending.clone(),
            })))
        }
        _ => Err(Refusal::OtherTenant),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use toolrail_core::Ending;

    use super::*;

    fn headers(pairs: &[(&HeaderName, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn a_key_stands_in_either_header() {
        for (pairs, expected) in [
            (vec![], Ok(None)),
            (vec![(&AUTHORIZATION, "Bearer abc")], Ok(Some("abc"))),
            (vec![(&AUTHORIZATION, "bearer  abc ")], Ok(Some("abc"))),
            (vec![(&API_KEY, "abc")], Ok(Some("abc"))),
            (vec![(&API_KEY, "abc"), (&AUTHORIZATION, "Bearer abc")], Ok(Some("abc"))),
            (vec![(&API_KEY, "abc"), (&AUTHORIZATION, "Bearer abd")], Err(Refusal::TwoKeys)),
            (vec![(&API_KEY, "abc"), (&API_KEY, "abc")], Err(Refusal::TwoKeys)),
            (vec![(&AUTHORIZATION, "Basic abc")], Err(Refusal::NotBearer)),
            (vec![(&AUTHORIZATION, "abc")], Err(Refusal::NotBearer)),
        ] {
            assert_eq!(key_in(&headers(&pairs)), expected, "{pairs:?}");
        }
    }

    fn known(tenant: Option<&str>, role: Role) -> Principal {
        Principal::Known(Arc::new(Identity {
            id: "key:1".into(),
            name: "k".to_owned(),
            tenant: tenant.map(Into::into),
            role,
            groups: Vec::new(),
            scopes: Vec::new(),
            reach: None,
            ending: Ending::default(),
        }))
    }

    #[test]
    fn a_header_names_a_tenant_only_for_whoever_administers_all() {
        let acme = headers(&[(&TENANT, "acme")]);
        let tenant = |principal, path| {
            let found = for_named_tenant(principal, &acme, path);
            found.map(|principal| principal.tenant().map(str::to_owned))
        };
        assert_eq!(tenant(known(Some("acme"), Role::Call), "/mcp"), Ok(Some("acme".to_owned())));
        assert_eq!(tenant(known(Some("globex"), Role::Admin), "/admin/tools"), Err(Refusal::OtherTenant));
        assert_eq!(tenant(known(None, Role::Call), "/mcp"), Err(Refusal::OtherTenant));
        assert_eq!(tenant(known(None, Role::Admin), "/mcp"), Err(Refusal::OtherTenant));
        assert_eq!(tenant(known(None, Role::Call), "/admin/tools"), Err(Refusal::OtherTenant));
        assert_eq!(tenant(known(None, Role::Write), "/admin/tools"), Ok(Some("acme".to_owned())));
        assert_eq!(
            for_named_tenant(known(None, Role::Read), &HeaderMap::new(), "/mcp").unwrap().tenant(),
            None
        );
    }
}
