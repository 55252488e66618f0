//! Secrets: values that may leave the process in an outgoing request and in no other way.

use std::collections::HashMap;
use std::fmt;

/// What is shown where a secret would stand.
pub const MASK: &str = "***";

/// A value that neither prints nor serialises.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// Takes a value into hiding.
    pub fn new(value: impl Into<Box<str>>) -> Self {
        Self(value.into())
    }

    /// The value itself; only the outbound side may ask.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(MASK)
    }
}

/// The secrets that definitions may name as `{{secrets.KEY}}`: an allow-list, never the whole environment.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    values: HashMap<String, Secret>,
}

impl Secrets {
    /// The prefix that makes an environment variable a secret without further configuration.
    pub const PREFIX: &'static str = "TOOLRAIL_SECRET_";

    /// Picks the secrets out of `environment`: every `TOOLRAIL_SECRET_KEY` as `KEY`, and the variables in `listed`
    /// under their own names. Where both give a key, the prefixed one wins.
    pub fn from_environment(
        environment: impl IntoIterator<Item = (String, String)>,
        listed: &[String],
    ) -> Self {
        let mut values = HashMap::new();
        let mut prefixed = HashMap::new();
        for (name, value) in environment {
            if let Some(key) = name.strip_prefix(Self::PREFIX) {
                prefixed.insert(key.to_owned(), Secret::new(value));
            } else if listed.contains(&name) {
                values.insert(name, Secret::new(value));
            }
        }
        values.extend(prefixed);
        Self { values }
    }

    /// The secret of that name, if it is on the list and has a value.
    pub fn find(&self, key: &str) -> Option<&Secret> {
        self.values.get(key)
    }

    /// How to give the secret `key` a value, for error messages.
    pub fn how_to_set(key: &str) -> String {
        format!(
            "set the environment variable {}{key} and restart, or list {key} under `secrets` in the configuration",
            Self::PREFIX
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_and_prefixed_variables_become_secrets() {
        let environment = [("TOOLRAIL_SECRET_WEATHER", "w"), ("GITHUB_TOKEN", "g"), ("PATH", "/bin")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let secrets = Secrets::from_environment(environment, &["GITHUB_TOKEN".into()]);
        assert_eq!(secrets.find("WEATHER").unwrap().reveal(), "w");
        assert_eq!(secrets.find("GITHUB_TOKEN").unwrap().reveal(), "g");
        assert_eq!(secrets.find("PATH"), None);
    }

    #[test]
    fn a_secret_does_not_print() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), MASK);
    }
}
