//! Which issuers' tokens are taken, and under which address clients reach this gateway.

use serde_json::Value;
use toolrail_identity::{ClaimNames, Grant, IssuerSettings};

use super::keys::keys_of;
use super::wording::{fault, read_at, step, unknown_key};

/// What is wrong with a list of issuers.
pub(super) fn faults(list: &[Value], has_public_url: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let place = format!("/issuers/{index}");
        let mut value = value.clone();
        faults.extend(without_unknown_keys(&place, &mut value));
        match read_at::<IssuerSettings>(&place, value) {
            Err(fault) => faults.push(fault),
            Ok(settings) => {
                let wrong = settings.faults(has_public_url);
                faults.extend(wrong.iter().map(|(pointer, told)| fault(&format!("{place}{pointer}"), told)));
                if seen.contains(&settings.issuer) {
                    faults.push(fault(&format!("{place}/issuer"), "is there twice; put all grants into one"));
                }
                seen.push(settings.issuer);
            }
        }
    }
    faults
}

/// Takes the keys away that nothing is called, so that they do not hide what else is wrong, and tells each with its place.
fn without_unknown_keys(place: &str, issuer: &mut Value) -> Vec<String> {
    let mut faults = unknown(keys_of::<IssuerSettings>(), place, issuer);
    faults.extend(without_unknown_rules(place, issuer));
    faults
}

/// The same for what says who somebody is and what he may do.
pub(super) fn without_unknown_rules(place: &str, issuer: &mut Value) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(claims) = issuer.get_mut("claims") {
        faults.extend(unknown(keys_of::<ClaimNames>(), &format!("{place}/claims"), claims));
    }
    let grants = issuer.get_mut("grants").and_then(Value::as_array_mut);
    for (index, grant) in grants.into_iter().flatten().enumerate() {
        faults.extend(unknown(keys_of::<Grant>(), &format!("{place}/grants/{index}"), grant));
    }
    faults
}

pub(super) fn unknown(known: &'static [&'static str], place: &str, value: &mut Value) -> Vec<String> {
    let Some(members) = value.as_object_mut() else {
        return Vec::new();
    };
    let odd: Vec<String> = members.keys().filter(|key| !known.contains(&key.as_str())).cloned().collect();
    members.retain(|key, _| known.contains(&key.as_str()));
    odd.iter().map(|key| fault(&format!("{place}/{}", step(key)), &unknown_key(key, known))).collect()
}

/// What is wrong with the address under which clients reach the gateway.
pub(super) fn public_url_fault(url: &str) -> Option<String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let is_url = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
    let is_plain = !url.contains(['?', '#', '@', ' ', '"', '\\']);
    (!is_url || !is_plain).then(|| {
        "publicUrl must be the address under which clients reach this gateway, such as https://tools.example.com or https://example.com/tools".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_fault_of_an_issuer_is_told_at_once_with_its_place() {
        let list = [json!({
            "issuer": "http://login.example.com", "grant": 1, "claims": {"nmae": "x"},
            "grants": [{"role": "call", "scope": ["a"]}]
        })];
        let told = faults(&list, true);
        let begins = [
            "/issuers/0/grant:",
            "/issuers/0/claims/nmae:",
            "/issuers/0/grants/0/scope:",
            "/issuers/0/issuer:",
        ];
        assert_eq!(told.len(), begins.len(), "{told:?}");
        for (told, begin) in told.iter().zip(begins) {
            assert!(told.starts_with(begin), "{told}");
        }
    }

    #[test]
    fn a_value_of_the_wrong_sort_is_told_at_its_own_place() {
        let issuer = |more: (&str, Value)| {
            let mut issuer = json!({"issuer": "https://login.example.com", "grants": [{"role": "call"}]});
            issuer[more.0] = more.1;
            faults(&[issuer], true)
        };
        for (name, value, begin) in [
            (
                "grants",
                json!([{"role": "call"}, {"role": "boss"}]),
                "/issuers/0/grants/1/role: \"boss\" is not known",
            ),
            (
                "grants",
                json!([{"role": "call", "scopes": "a"}]),
                "/issuers/0/grants/0/scopes: must be a list",
            ),
            ("claims", json!({"name": 5}), "/issuers/0/claims/name: must be a text"),
            ("algorithms", json!(["RS256", "HS256"]), "/issuers/0/algorithms/1: "),
            ("clockSkew", json!("x"), "/issuers/0/clockSkew: "),
        ] {
            let told = issuer((name, value));
            assert!(told.len() == 1 && told[0].starts_with(begin), "{begin}: {told:?}");
        }
    }
}
