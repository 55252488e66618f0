//! Variables: values that differ from one environment to the next and are not secret, such as base URLs. Definitions name
//! them as `{{vars.NAME}}`.

use std::collections::BTreeMap;

/// The variables that definitions may name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// The prefix of the environment variables that are variables of definitions.
    pub const PREFIX: &'static str = "TOOLRAIL_VAR_";

    /// No variables at all.
    pub const fn none() -> Self {
        Self(BTreeMap::new())
    }

    /// Those of a configuration, overruled by every `TOOLRAIL_VAR_NAME` in `environment`, overruled by those that were
    /// `given` on the command line.
    pub fn new(
        configured: impl IntoIterator<Item = (String, String)>,
        environment: impl IntoIterator<Item = (String, String)>,
        given: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let prefixed = environment
            .into_iter()
            .filter_map(|(name, value)| Some((name.strip_prefix(Self::PREFIX)?.to_owned(), value)));
        Self(configured.into_iter().chain(prefixed).chain(given).collect())
    }

    /// The value of that name.
    pub fn find(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Whether that is the name of a variable, as it can be written in a template.
    pub fn is_name(name: &str) -> bool {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    }

    /// How to give the variable `name` a value, for error messages.
    pub fn how_to_set(name: &str) -> String {
        format!(
            "start with --var {name}=VALUE, set the environment variable {}{name}, or put {name} under `vars` in the configuration",
            Self::PREFIX
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_goes_before_the_environment_and_that_before_the_configuration() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let variables = Variables::new(
            [pair("A", "file"), pair("B", "file"), pair("C", "file")],
            [pair("TOOLRAIL_VAR_B", "environment"), pair("TOOLRAIL_VAR_C", "environment"), pair("D", "no")],
            [pair("C", "flag")],
        );
        let found = ["A", "B", "C", "D"].map(|name| variables.find(name));
        assert_eq!(found, [Some("file"), Some("environment"), Some("flag"), None]);
    }
}
