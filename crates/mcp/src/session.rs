//! Session ids of Streamable HTTP: self-contained and sealed, so that every replica knows a session without having seen it
//! and nobody can make one up. What a session needs beyond that is in `live`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolrail_core::Principal;

use crate::dialect;
use crate::peer::Session;
use crate::sign::Signer;

/// How long a session id is good for.
const LIFETIME: Duration = Duration::from_hours(7 * 24);
const PURPOSE: &str = "session";
/// Longer descriptions than this are cut down to what matters here: the id travels in a header.
const LONGEST_CAPABILITIES: usize = 1024;

/// What a session id says.
#[derive(Serialize, Deserialize)]
struct Told {
    /// The revision.
    #[serde(rename = "r")]
    revision: String,
    /// What the client can do.
    #[serde(rename = "c")]
    capabilities: Value,
    /// How the client introduced itself.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    client_info: Option<Value>,
    /// Whose session it is.
    #[serde(rename = "p")]
    principal: String,
    /// When it began, in seconds.
    #[serde(rename = "t")]
    begun: u64,
}

/// The id of a session that has just been settled; nothing if none was.
pub(crate) fn issue(signer: &Signer, session: &Session, principal: &Principal) -> Option<String> {
    let told = Told {
        revision: (*session.revision.get()?).to_owned(),
        capabilities: session.capabilities.get().map_or(json!({}), shortened),
        client_info: session.client_info.get().and_then(named),
        principal: tag(principal).to_owned(),
        begun: now(),
    };
    signer.seal(PURPOSE, &serde_json::to_vec(&told).ok()?)
}

/// What was settled under a session id, if we issued it to that principal not too long ago.
pub(crate) fn recognise(signer: &Signer, id: &str, principal: &Principal) -> Option<Session> {
    let told: Told = serde_json::from_slice(&signer.open(PURPOSE, id)?).ok()?;
    if told.principal != tag(principal) || now().saturating_sub(told.begun) > LIFETIME.as_secs() {
        return None;
    }
    let session = Session::default();
    let revision = dialect::LEGACY.iter().find(|known| **known == told.revision)?;
    let _ = session.revision.set(revision);
    let _ = session.capabilities.set(told.capabilities);
    if let Some(client_info) = told.client_info {
        let _ = session.client_info.set(client_info);
    }
    Some(session)
}

/// A principal in what we seal.
pub(crate) fn tag(principal: &Principal) -> &str {
    // No tenant has an empty name.
    principal.tenant().unwrap_or_default()
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Capabilities as far as they matter: those of the standard, if the client has much more to say.
fn shortened(capabilities: &Value) -> Value {
    if capabilities.to_string().len() <= LONGEST_CAPABILITIES {
        return capabilities.clone();
    }
    let known = ["elicitation", "sampling", "roots"];
    let kept = known.iter().filter(|name| capabilities.get(**name).is_some());
    Value::Object(kept.map(|name| ((*name).to_owned(), json!({}))).collect())
}

/// Name and version of a client, if they are not too long.
fn named(client_info: &Value) -> Option<Value> {
    let text = |field: &str| client_info.get(field)?.as_str().filter(|text| text.len() <= 100);
    Some(json!({"name": text("name")?, "version": text("version")?}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled() -> Session {
        let session = Session::default();
        session.revision.set("2025-06-18").unwrap();
        session.capabilities.set(json!({"elicitation": {}})).unwrap();
        session
    }

    #[test]
    fn another_replica_knows_a_session_by_its_id_alone() {
        let (one, other) = (Signer::new(&[7; 32]), Signer::new(&[7; 32]));
        let id = issue(&one, &settled(), &Principal::Anonymous).unwrap();
        let known = recognise(&other, &id, &Principal::Anonymous).unwrap();
        assert_eq!(known.revision.get(), Some(&"2025-06-18"));
        assert_eq!(known.capabilities.get(), Some(&json!({"elicitation": {}})));
        assert!(recognise(&Signer::new(&[8; 32]), &id, &Principal::Anonymous).is_none());
    }

    #[test]
    fn a_session_is_known_to_its_tenant_only() {
        let signer = Signer::new(&[7; 32]);
        let acme = Principal::of_tenant("acme").unwrap();
        let id = issue(&signer, &settled(), &acme).unwrap();
        assert!(recognise(&signer, &id, &acme).is_some());
        for other in [Principal::Anonymous, Principal::of_tenant("globex").unwrap()] {
            assert!(recognise(&signer, &id, &other).is_none(), "{other:?}");
        }
        let id = issue(&signer, &settled(), &Principal::Anonymous).unwrap();
        assert!(recognise(&signer, &id, &acme).is_none());
    }

    #[test]
    fn an_id_fits_into_a_header_however_much_the_client_says() {
        let signer = Signer::new(&[7; 32]);
        let session = Session::default();
        session.revision.set("2025-11-25").unwrap();
        session.capabilities.set(json!({"sampling": {"x": "y".repeat(100_000)}})).unwrap();
        session.client_info.set(json!({"name": "n".repeat(100_000), "version": "1"})).unwrap();
        let id = issue(&signer, &session, &Principal::Anonymous).unwrap();
        assert!(id.len() < 2_000 && id.bytes().all(|byte| byte.is_ascii_graphic()), "{}", id.len());
        let known = recognise(&signer, &id, &Principal::Anonymous).unwrap();
        assert_eq!(known.capabilities.get(), Some(&json!({"sampling": {}})));
    }

    #[test]
    fn nothing_is_issued_before_a_revision_is_settled() {
        assert_eq!(issue(&Signer::new(&[7; 32]), &Session::default(), &Principal::Anonymous), None);
    }
}
