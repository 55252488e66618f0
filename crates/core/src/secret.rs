//! Secrets: values that may leave the process in an outgoing request and in no other way, and where they may go.

mod binding;
mod caller_token;

use std::collections::{HashMap, HashSet};
use std::fmt;

pub use binding::{Binding, HostPattern, WrongHost};
pub use caller_token::CallerToken;

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
    bindings: HashMap<String, Binding>,
    /// Variables of the environment that are no secrets because nobody listed them: their names.
    unlisted: HashSet<String>,
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
        let (mut values, mut prefixed, mut unlisted) = (HashMap::new(), HashMap::new(), HashSet::new());
        for (name, value) in environment {
            if let Some(key) = name.strip_prefix(Self::PREFIX) {
                prefixed.insert(key.to_owned(), Secret::new(value));
            } else if listed.contains(&name) {
                values.insert(name, Secret::new(value));
            } else {
                unlisted.insert(name);
            }
        }
        values.extend(prefixed);
        Self { values, bindings: HashMap::new(), unlisted }
    }

    /// The same, some of them bound to where they may go.
    #[must_use]
    pub fn bound(mut self, bindings: impl IntoIterator<Item = (String, Binding)>) -> Self {
        self.bindings.extend(bindings);
        self
    }

    /// The secret of that name, if it is on the list and has a value.
    pub fn find(&self, key: &str) -> Option<&Secret> {
        self.values.get(key)
    }

    /// Where the secret of that name may go; anywhere, if nothing.
    pub fn binding(&self, key: &str) -> Option<&Binding> {
        self.bindings.get(key)
    }

    /// How to give the secret `key` a value, for error messages.
    pub fn how_to_set(&self, key: &str) -> String {
        if self.unlisted.contains(key) {
            return format!(
                "the environment variable {key} is there but not listed; restart with --secret {key}, or list {key} under `secrets` in the configuration"
            );
        }
        format!(
            "set the environment variable {}{key} and restart; or set {key} and restart with --secret {key}",
            Self::PREFIX
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> impl Iterator<Item = (String, String)> {
        let variables = [("TOOLRAIL_SECRET_WEATHER", "w"), ("GITHUB_TOKEN", "g"), ("PATH", "/bin")];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter()
    }

    #[test]
    fn only_listed_and_prefixed_variables_become_secrets() {
        let secrets = Secrets::from_environment(environment(), &["GITHUB_TOKEN".into()]);
        assert_eq!(secrets.find("WEATHER").unwrap().reveal(), "w");
        assert_eq!(secrets.find("GITHUB_TOKEN").unwrap().reveal(), "g");
        assert_eq!(secrets.find("PATH"), None);
    }

    /// C35.
    #[test]
    fn what_would_supply_a_secret_is_named_exactly() {
        let secrets = Secrets::from_environment(environment(), &[]);
        let told = secrets.how_to_set("GITHUB_TOKEN");
        assert!(told.starts_with("the environment variable GITHUB_TOKEN is there but not listed"), "{told}");
        assert!(told.contains("--secret GITHUB_TOKEN"), "{told}");
        let told = secrets.how_to_set("SHOP_KEY");
        assert!(told.contains("set the environment variable TOOLRAIL_SECRET_SHOP_KEY"), "{told}");
        assert!(told.contains("--secret SHOP_KEY"), "{told}");
    }

    #[test]
    fn a_secret_does_not_print() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), MASK);
    }
}
