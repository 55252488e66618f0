//! Which issuers' tokens are taken, and under which address clients reach this gateway.

use serde_json::Value;
use toolrail_identity::IssuerSettings;

use super::wording::{fault, in_plain_words};

/// What is wrong with a list of issuers.
pub(super) fn faults(list: &[Value], has_public_url: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let place = format!("/issuers/{index}");
        match serde_json::from_value::<IssuerSettings>(value.clone()) {
            Err(error) => faults.push(fault(&place, &in_plain_words(&error.to_string()))),
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

/// What is wrong with the address under which clients reach the gateway.
pub(super) fn public_url_fault(url: &str) -> Option<String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let is_url = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
    let is_plain = !url.contains(['?', '#', '@', ' ', '"', '\\']);
    (!is_url || !is_plain).then(|| {
        "publicUrl must be the address under which clients reach this gateway, such as https://tools.example.com or https://example.com/tools".to_owned()
    })
}
