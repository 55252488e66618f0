//! The id tokens of a provider that people sign in with: read once, for what they say of somebody.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::grant::{ClaimNames, Grant, NoGrant, identity_of};
use super::issuer::{FetchDocument, Issuer, IssuerSettings, REST};
use super::jwt::{Unverified, value_at};
use super::refusal;
use super::{TokenRejection, now};

/// What a token of our own says by itself, whatever the provider says.
const OURS: [&str; 11] =
    ["iss", "sub", "aud", "exp", "nbf", "iat", "jti", "sid", "scope", "scp", "client_id"];

/// Checks the id tokens that a provider gives to one client.
pub struct IdTokens {
    issuer: Arc<Issuer>,
    documents: Arc<dyn FetchDocument>,
    client: String,
}

impl IdTokens {
    /// Those that this issuer gives to the client of that id.
    pub fn new(issuer: &str, client: &str, documents: Arc<dyn FetchDocument>) -> Self {
        let settings = IssuerSettings {
            issuer: issuer.to_owned(),
            audiences: vec![client.to_owned()],
            jwks: None,
            algorithms: Vec::new(),
            clock_skew: None,
            claims: ClaimNames::default(),
            grants: Vec::new(),
        };
        Self { issuer: Arc::new(Issuer::new(settings, None)), documents, client: client.to_owned() }
    }

    /// What a token says, if it is good; why not, otherwise.
    pub async fn claims(&self, text: &str) -> Result<Map<String, Value>, String> {
        let token = Unverified::read(text)?;
        if token.text("iss") != Some(&self.issuer.settings.issuer) {
            return Err("it is of another issuer (iss)".to_owned());
        }
        if !self.issuer.takes(token.algorithm) {
            return Err(format!("it is signed with {}, which is not taken", token.algorithm.word()));
        }
        self.issuer.check_claims(&token, now())?;
        let audiences = token.claims.get("aud").and_then(Value::as_array);
        let has_several = audiences.is_some_and(|list| list.len() > 1);
        if token.text("azp").map_or(has_several, |party| party != self.client) {
            return Err("it was given to another client (azp)".to_owned());
        }
        if !self.issuer.keys().may_have_signed(&token) {
            self.issuer.begin_look((&self.documents, REST), || {});
            self.issuer.looked().await;
        }
        let keys = self.issuer.keys();
        if !keys.may_have_signed(&token) && self.issuer.has_failed() {
            return Err("the keys of the identity provider cannot be read at the moment".to_owned());
        }
        if !keys.signed(&token) {
            return Err("its signature is not that of the identity provider".to_owned());
        }
        Ok(token.claims)
    }
}

/// Of what is said of somebody, all that the rules look at and nothing else.
pub fn claims_for_rules(
    claims: &Map<String, Value>,
    (names, grants): (&ClaimNames, &[Grant]),
) -> Map<String, Value> {
    let named = [&names.name, &names.tenant].into_iter().flatten().chain([&names.groups]);
    let paths = named.chain(grants.iter().filter_map(|grant| grant.claim.as_ref()));
    let mut kept = Map::new();
    for path in paths {
        let Some(value) = value_at(claims, path) else { continue };
        let is_whole = claims.contains_key(path);
        let steps: Vec<&str> = if is_whole { vec![path] } else { path.split('.').collect() };
        if !OURS.contains(&steps[0]) {
            put(&mut kept, &steps, value);
        }
    }
    kept
}

fn put(into: &mut Map<String, Value>, steps: &[&str], value: &Value) {
    let [first, rest @ ..] = steps else { return };
    if rest.is_empty() {
        into.insert((*first).to_owned(), value.clone());
        return;
    }
    let inner = into.entry(*first).or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(inner) = inner {
        put(inner, rest, value);
    }
}

/// The name and the tenant of whoever those claims are of, if the rules give him anything; why not, otherwise.
pub fn granted_to(
    claims: &Map<String, Value>,
    (names, grants): (&ClaimNames, &[Grant]),
) -> Result<(String, Option<Arc<str>>), String> {
    let identity = identity_of("", claims, (names, grants));
    identity.map(|identity| (identity.name, identity.tenant)).map_err(|why| match why {
        NoGrant::NoRule => "no rule of this gateway gives that account any rights".to_owned(),
        why => match refusal(why) {
            TokenRejection::Bad(told) | TokenRejection::NothingGranted(told) => told,
            TokenRejection::KeysNeeded(_) | TokenRejection::KeysMissing => String::new(),
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_rules_look_at_is_kept_and_nothing_that_we_say_ourselves() {
        let claims = json!({
            "sub": "u", "email": "ann@example.com", "phone": "1", "org": "acme", "groups": ["a"], "scope": "all",
            "realm_access": {"roles": ["r"], "more": 1}, "https://example.com/x": "y"
        });
        let names = ClaimNames {
            name: Some("email".to_owned()),
            tenant: Some("org".to_owned()),
            ..ClaimNames::default()
        };
        let grants: Vec<Grant> = serde_json::from_value(json!([
            {"claim": "realm_access.roles", "role": "call"}, {"claim": "https://example.com/x", "role": "call"},
            {"claim": "scope", "role": "admin"}, {"claim": "sub", "role": "call"}, {"claim": "not.there", "role": "call"},
        ]))
        .unwrap();
        let kept = claims_for_rules(claims.as_object().unwrap(), (&names, &grants));
        assert_eq!(
            Value::Object(kept),
            json!({
                "email": "ann@example.com", "org": "acme", "groups": ["a"], "realm_access": {"roles": ["r"]},
                "https://example.com/x": "y"
            })
        );
    }
}
