//! With whose accounts people sign in here, where their identity provider knows no MCP clients.

use serde_json::Value;
use toolrail_broker::BrokerSettings;

use super::issuers::{unknown, without_unknown_rules};
use super::keys::keys_of;
use super::wording::{fault, read_at};

const PLACE: &str = "/broker";

/// What is wrong with the broker of a gateway that is reached under that address.
pub(super) fn faults(value: &Value, public_url: Option<&Value>) -> Vec<String> {
    let mut value = value.clone();
    let mut faults = unknown(keys_of::<BrokerSettings>(), PLACE, &mut value);
    faults.extend(without_unknown_rules(PLACE, &mut value));
    match read_at::<BrokerSettings>(PLACE, value) {
        Err(fault) => faults.push(fault),
        Ok(settings) => {
            let wrong = settings.faults(public_url.and_then(Value::as_str));
            faults.extend(wrong.iter().map(|(pointer, told)| fault(&format!("{PLACE}{pointer}"), told)));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::super::ConfigFile;
    use super::*;

    #[test]
    fn the_examples_of_the_documentation_can_be_used() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/broker.md");
        let page = std::fs::read_to_string(page).unwrap();
        let examples: Vec<&str> =
            page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert_eq!(examples.len(), 7, "one in the beginning, and one for each provider");
        for example in examples {
            let url = "publicUrl: https://tools.example.com\n";
            let whole =
                if example.contains("publicUrl") { example.to_owned() } else { format!("{url}{example}") };
            let read = ConfigFile::parse(Path::new("toolrail.yaml"), &whole);
            assert!(read.is_ok_and(|file| file.broker.is_some()), "{example}");
        }
    }

    #[test]
    fn a_value_of_the_wrong_sort_is_told_at_its_own_place() {
        for (name, value, begin) in [
            ("provider", json!("okto"), "/broker/provider: \"okto\" is not known"),
            ("grants", json!([{"role": "boss"}]), "/broker/grants/0/role: "),
            ("tokenMinutes", json!("x"), "/broker/tokenMinutes: "),
            ("redirects", json!(["https://x/*", 5]), "/broker/redirects/1: "),
        ] {
            let mut broker = json!({"provider": "oidc", "issuer": "https://id.example.com", "clientId": "c", "grants": [{"role": "call"}]});
            broker[name] = value;
            let told = faults(&broker, Some(&json!("https://tools.example.com")));
            assert!(told.len() == 1 && told[0].starts_with(begin), "{begin}: {told:?}");
        }
    }

    #[test]
    fn every_fault_of_the_broker_is_told_at_once_with_its_place() {
        let broker = json!({
            "provider": "keycloak", "realms": "x", "clientId": "c", "clientSecret": "hunter2", "claims": {"nmae": "x"},
            "grants": [{"role": "call", "scope": ["a"]}]
        });
        let told = faults(&broker, None);
        let begins = [
            "/broker/realms:",
            "/broker/claims/nmae:",
            "/broker/grants/0/scope:",
            "/broker:",
            "/broker/url:",
            "/broker/realm:",
            "/broker/clientSecret:",
        ];
        assert_eq!(told.len(), begins.len(), "{told:?}");
        for (told, begin) in told.iter().zip(begins) {
            assert!(told.starts_with(begin) && !told.contains("hunter2"), "{told}");
        }
    }
}
