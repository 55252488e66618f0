//! What tells applications how to have people sign in here (RFC 8414).

use serde_json::{Value, json};

use crate::{AUTHORIZE, Broker, JWKS, REGISTER, REVOKE, TOKEN};

/// Where descriptions are, before the path under which a proxy has us.
const WELL_KNOWN: [&str; 2] =
    ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];

/// Whether a description is at that path.
pub(crate) fn is_here(path: &str) -> bool {
    WELL_KNOWN
        .iter()
        .any(|known| path.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// The description, if it is of what stands behind the well-known part of the path: us.
pub(crate) fn describe(broker: &Broker, path: &str) -> Option<Value> {
    let rest = WELL_KNOWN.iter().find_map(|known| path.strip_prefix(known))?;
    let is_ours = rest.is_empty() || rest == "/" || rest == broker.prefix;
    is_ours.then(|| description(broker))
}

fn description(broker: &Broker) -> Value {
    let at = |path: &str| format!("{}{path}", broker.url);
    json!({
        "issuer": broker.url,
        "authorization_endpoint": at(AUTHORIZE),
        "token_endpoint": at(TOKEN),
        "registration_endpoint": at(REGISTER),
        "revocation_endpoint": at(REVOKE),
        "jwks_uri": at(JWKS),
        "scopes_supported": broker.scopes,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": true,
        // For readers of OpenID's description; no id tokens are given.
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["EdDSA"],
    })
}
