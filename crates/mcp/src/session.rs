//! Session ids of Streamable HTTP: self-contained and sealed, so that every replica knows a session without having seen it
//! and nobody can make one up. What a session needs beyond that is in `live`.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolrail_core::Principal;
use toolrail_protocol::revision;

use crate::peer::Session;
use crate::sign::Signer;
use crate::stamp::{now, tag};

/// How long a session id is good for.
const LIFETIME: Duration = Duration::from_hours(7 * 24);
const PURPOSE: &str = "session";
/// Longer descriptions than this are cut down to what matters here: the id travels in a header.
const LONGEST_CAPABILITIES: usize = 1024;

/// Whose a session is, and where it is held. At another endpoint its id is unknown: what a client was told there does not hold.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub(crate) principal: &'a Principal,
    /// The group, if it is the endpoint of one.
    pub(crate) group: Option<&'a str>,
}

/// What a session id says.
#[derive(Serialize, Deserialize)]
struct SessionIdContent {
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
    /// The group whose endpoint it was settled at.
    #[serde(rename = "g", default, skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    /// When it began, in seconds.
    #[serde(rename = "t")]
    begun: u64,
}

/// The id of a session that has just been settled; nothing if none was.
pub(crate) fn issue(signer: &Signer, session: &Session, owner: Owner<'_>) -> Option<String> {
    let told = SessionIdContent {
        revision: (*session.revision.get()?).to_owned(),
        capabilities: session.capabilities.get().map_or(json!({}), shortened),
        client_info: session.client_info.get().and_then(named),
        principal: tag(owner.principal).to_owned(),
        group: owner.group.map(str::to_owned),
        begun: now(),
    };
    signer.seal(PURPOSE, &serde_json::to_vec(&told).ok()?)
}

/// What was settled under a session id, if we issued it to that owner not too long ago.
pub(crate) fn recognise(signer: &Signer, id: &str, owner: Owner<'_>) -> Option<Session> {
    let told: SessionIdContent = serde_json::from_slice(&signer.open(PURPOSE, id)?).ok()?;
    let is_theirs = told.principal == tag(owner.principal) && told.group.as_deref() == owner.group;
    if !is_theirs || now().saturating_sub(told.begun) > LIFETIME.as_secs() {
        return None;
    }
    let session = Session { begun: Some(told.begun), ..Session::default() };
    let revision = revision::LEGACY.iter().find(|known| **known == told.revision)?;
    let _ = session.revision.set(revision);
    let _ = session.capabilities.set(told.capabilities);
    if let Some(client_info) = told.client_info {
        let _ = session.client_info.set(client_info);
    }
    Some(session)
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

    const ANYBODY: Owner<'static> = Owner { principal: &Principal::Anonymous, group: None };

    fn of(principal: &Principal) -> Owner<'_> {
        Owner { principal, group: None }
    }

    fn settled() -> Session {
        let session = Session::default();
        session.revision.set("2025-06-18").unwrap();
        session.capabilities.set(json!({"elicitation": {}})).unwrap();
        session
    }

    #[test]
    fn another_replica_knows_a_session_by_its_id_alone() {
        let (one, other) = (Signer::new(&[7; 32]), Signer::new(&[7; 32]));
        let id = issue(&one, &settled(), ANYBODY).unwrap();
        let known = recognise(&other, &id, ANYBODY).unwrap();
        assert_eq!(known.revision.get(), Some(&"2025-06-18"));
        assert_eq!(known.capabilities.get(), Some(&json!({"elicitation": {}})));
        assert!(recognise(&Signer::new(&[8; 32]), &id, ANYBODY).is_none());
    }

    #[test]
    fn a_session_is_known_to_its_tenant_only() {
        let signer = Signer::new(&[7; 32]);
        let acme = Principal::of_tenant("acme").unwrap();
        let id = issue(&signer, &settled(), of(&acme)).unwrap();
        assert!(recognise(&signer, &id, of(&acme)).is_some());
        for other in [Principal::Anonymous, Principal::of_tenant("globex").unwrap()] {
            assert!(recognise(&signer, &id, of(&other)).is_none(), "{other:?}");
        }
        let id = issue(&signer, &settled(), ANYBODY).unwrap();
        assert!(recognise(&signer, &id, of(&acme)).is_none());
    }

    #[test]
    fn a_session_is_known_at_its_endpoint_only() {
        let signer = Signer::new(&[7; 32]);
        let group = Owner { group: Some("git"), ..ANYBODY };
        let id = issue(&signer, &settled(), group).unwrap();
        assert!(recognise(&signer, &id, group).is_some() && recognise(&signer, &id, ANYBODY).is_none());
        assert!(recognise(&signer, &id, Owner { group: Some("other"), ..ANYBODY }).is_none());
        let id = issue(&signer, &settled(), ANYBODY).unwrap();
        assert!(recognise(&signer, &id, group).is_none());
    }

    #[test]
    fn an_id_fits_into_a_header_however_much_the_client_says() {
        let signer = Signer::new(&[7; 32]);
        let session = Session::default();
        session.revision.set("2025-11-25").unwrap();
        session.capabilities.set(json!({"sampling": {"x": "y".repeat(100_000)}})).unwrap();
        session.client_info.set(json!({"name": "n".repeat(100_000), "version": "1"})).unwrap();
        let id = issue(&signer, &session, ANYBODY).unwrap();
        assert!(id.len() < 2_000 && id.bytes().all(|byte| byte.is_ascii_graphic()), "{}", id.len());
        let known = recognise(&signer, &id, ANYBODY).unwrap();
        assert_eq!(known.capabilities.get(), Some(&json!({"sampling": {}})));
    }

    #[test]
    fn nothing_is_issued_before_a_revision_is_settled() {
        assert_eq!(issue(&Signer::new(&[7; 32]), &Session::default(), ANYBODY), None);
    }
}
