//! The applications that people sign in for. None is kept: what one registers is sealed into its id, and one that has a page of
//! its own (a client id metadata document) is looked up there.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answer::Failure;
use crate::keys::{Keys, Purpose};
use crate::redirect;

/// What ids of registered clients begin with.
const PREFIX: &str = "trc_";
/// The most addresses of one client, and the most bytes of them all: they are part of its id.
const MOST_REDIRECTS: usize = 10;
const MOST_REDIRECT_BYTES: usize = 1_500;
/// The longest name, in characters.
const LONGEST_NAME: usize = 80;

/// An application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Application {
    /// What it calls itself.
    pub(crate) name: String,
    pub(crate) redirects: Vec<String>,
    /// The host that speaks for it, if it has a page of its own.
    pub(crate) host: Option<String>,
}

/// What is sealed into the id of a registered client.
#[derive(Serialize, Deserialize)]
struct Registered {
    #[serde(rename = "n")]
    name: String,
    #[serde(rename = "r")]
    redirects: Vec<String>,
}

impl Application {
    /// Reads what a client says of itself (RFC 7591, 2).
    pub(crate) fn read(said: &Value, patterns: &[String]) -> Result<Self, Failure> {
        let wrong = |about: String| Failure::refused("invalid_redirect_uri", about);
        let list = said["redirect_uris"].as_array().filter(|list| !list.is_empty());
        let list = list.ok_or_else(|| wrong("redirect_uris: at least one address is needed".to_owned()))?;
        if list.len() > MOST_REDIRECTS {
            return Err(wrong(format!("redirect_uris: at most {MOST_REDIRECTS} addresses are taken")));
        }
        let mut redirects = Vec::new();
        for (index, address) in list.iter().enumerate() {
            let address =
                address.as_str().ok_or_else(|| wrong(format!("redirect_uris/{index} is no text")))?;
            redirect::check(address, patterns)
                .map_err(|why| wrong(format!("redirect_uris/{index} {why}")))?;
            redirects.push(address.to_owned());
        }
        if redirects.iter().map(String::len).sum::<usize>() > MOST_REDIRECT_BYTES {
            return Err(wrong(format!(
                "redirect_uris: at most {MOST_REDIRECT_BYTES} bytes of addresses are taken"
            )));
        }
        let name = shown(said["client_name"].as_str().unwrap_or_default());
        Ok(Self { name, redirects, host: None })
    }

    /// The id of a client that registers this.
    pub(crate) fn seal(&self, keys: &Keys) -> Result<String, Failure> {
        let registered = Registered { name: self.name.clone(), redirects: self.redirects.clone() };
        Ok(format!("{PREFIX}{}", keys.seal(Purpose::Client, &registered)?))
    }

    /// The client of that id, if it was registered here.
    pub(crate) fn open(id: &str, keys: &Keys) -> Option<Self> {
        let Registered { name, redirects } = keys.open(Purpose::Client, id.strip_prefix(PREFIX)?)?;
        Some(Self { name, redirects, host: None })
    }

    /// The answer to its registration (RFC 7591, 3.2.1): what it is given, which may be less than it asked for.
    pub(crate) fn registration(&self, id: &str, now: u64) -> Value {
        json!({
            "client_id": id,
            "client_id_issued_at": now,
            "client_name": self.name,
            "redirect_uris": self.redirects,
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        })
    }

    /// Whether people may be sent back to that address for it.
    pub(crate) fn has_redirect(&self, asked: &str) -> bool {
        self.redirects.iter().any(|registered| redirect::is_same(asked, registered))
    }
}

/// A name as it is shown to people: nothing in it that would change how the rest reads.
fn shown(name: &str) -> String {
    let is_plain = |letter: &char| {
        !letter.is_control()
            && !matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let name: String = name.chars().filter(is_plain).take(LONGEST_NAME).collect();
    name.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_is_carried_by_its_id_alone() {
        let keys = Keys::from_shared(&[1; 32], "https://id").unwrap();
        let said = json!({"client_name": " Cla\u{202e}ude\n", "redirect_uris": ["http://127.0.0.1/cb", "https://claude.ai/cb"]});
        let application = Application::read(&said, &[]).unwrap();
        assert_eq!(application.name, "Claude");
        let id = application.seal(&keys).unwrap();
        assert_eq!(Application::open(&id, &keys), Some(application));
        assert_eq!(Application::open(&id, &Keys::from_shared(&[2; 32], "https://id").unwrap()), None);
        assert_eq!(Application::open("trc_AAAA", &keys), None);
    }

    #[test]
    fn what_cannot_be_registered_is_told_with_its_place() {
        let long = format!("https://a.example/{}", "x".repeat(900));
        for (said, part) in [
            (json!({}), "at least one"),
            (json!({"redirect_uris": []}), "at least one"),
            (json!({"redirect_uris": ["https://a/cb", 1]}), "redirect_uris/1"),
            (json!({"redirect_uris": ["javascript:alert(1)"]}), "redirect_uris/0"),
            (json!({"redirect_uris": vec!["https://a/cb"; 11]}), "at most 10"),
            (json!({"redirect_uris": [long, long]}), "1500 bytes"),
        ] {
            let failure = Application::read(&said, &[]).unwrap_err();
            assert!(failure.about.contains(part), "{failure}");
            assert_eq!(failure.code, "invalid_redirect_uri");
        }
    }
}
