//! `requestState`: what a request that was interrupted by questions must know when it comes again (2026-07-28). Sealed, and
//! bound to who asked, what was asked, and when.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolrail_core::{CallError, Principal};

use crate::sign::Signer;
use crate::stamp::{now, tag};

const PURPOSE: &str = "state";
/// How long a client may take to come back with the answers.
const LIFETIME_SECONDS: u64 = 60 * 60;

/// What is remembered.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct RequestState {
    /// Answers of earlier rounds.
    #[serde(rename = "a")]
    pub(crate) answers: Map<String, Value>,
    /// What whoever carries the request out wants to remember.
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    pub(crate) remembered: Option<Value>,
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    #[serde(flatten)]
    state: RequestState,
    #[serde(rename = "p")]
    principal: String,
    #[serde(rename = "d")]
    digest: String,
    #[serde(rename = "t")]
    since: u64,
}

/// What a state belongs to.
pub(crate) struct Belonging<'a> {
    pub(crate) principal: &'a Principal,
    /// The request but for its answers: method, name or URI, arguments.
    pub(crate) digest: String,
}

/// The digest of a request, the same however the client orders the keys of its arguments.
pub(crate) fn digest_of(method: &str, name: &str, arguments: Option<&str>) -> String {
    let arguments: Value = arguments.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let text = format!("{method}\n{name}\n{}", sorted(&arguments));
    let hash = digest(&SHA256, text.as_bytes());
    URL_SAFE_NO_PAD.encode(&hash.as_ref()[..16])
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            members.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// Seals a state.
pub(crate) fn seal(signer: &Signer, state: RequestState, belonging: &Belonging<'_>) -> Option<String> {
    let sealed = Sealed {
        state,
        principal: tag(belonging.principal).to_owned(),
        digest: belonging.digest.clone(),
        since: now(),
    };
    signer.seal(PURPOSE, &serde_json::to_vec(&sealed).ok()?)
}

/// Opens a state that came back.
pub(crate) fn open(
    signer: &Signer,
    text: &str,
    belonging: &Belonging<'_>,
) -> Result<RequestState, CallError> {
    let refused = |why: &str| {
        CallError::invalid_params(format!("requestState {why}; make the request again without it"))
    };
    let sealed = signer.open(PURPOSE, text).and_then(|bytes| serde_json::from_slice::<Sealed>(&bytes).ok());
    let Some(sealed) = sealed else {
        return Err(refused("was not issued by this server, or was changed"));
    };
    if sealed.principal != tag(belonging.principal) || sealed.digest != belonging.digest {
        return Err(refused("belongs to another request"));
    }
    if now().saturating_sub(sealed.since) > LIFETIME_SECONDS {
        return Err(refused("has expired"));
    }
    Ok(sealed.state)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn belonging(arguments: &str) -> Belonging<'static> {
        Belonging { principal: &Principal::Anonymous, digest: digest_of("tools/call", "t", Some(arguments)) }
    }

    #[test]
    fn a_state_comes_back_for_the_same_request_only() {
        let signer = Signer::new(&[3; 32]);
        let state = RequestState { remembered: Some(json!(5)), ..RequestState::default() };
        let sealed = seal(&signer, state, &belonging("{\"a\":1,\"b\":[2]}")).unwrap();
        let opened = open(&signer, &sealed, &belonging("{ \"b\": [2], \"a\": 1 }")).unwrap();
        assert_eq!(opened.remembered, Some(json!(5)));
        let other = open(&signer, &sealed, &belonging("{\"a\":2,\"b\":[2]}")).err().unwrap();
        assert!(other.message.contains("another request"), "{}", other.message);
        let acme = Principal::of_tenant("acme").unwrap();
        let of_acme = Belonging { principal: &acme, ..belonging("{\"a\":1,\"b\":[2]}") };
        assert!(open(&signer, &sealed, &of_acme).is_err(), "it is of nobody's tenant");
        let changed = open(&signer, &format!("A{}", &sealed[1..]), &belonging("{}")).err().unwrap();
        assert_eq!(changed.rpc.unwrap().code, -32602);
    }
}
