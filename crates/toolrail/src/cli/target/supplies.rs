//! What definitions use beside themselves, for commands that work on a store without a server.

use std::path::PathBuf;

use clap::Args;

use crate::config::{ConfigFile, Layer, ListedSecret, SecretsFile, assignment};

/// Over the flags in the help.
const HEADING: &str = "Where no server does the work";

#[derive(Args)]
pub(super) struct SupplyArgs {
    /// Configuration file that has the secrets, variables and services of the definitions
    #[arg(long, global = true, help_heading = HEADING, env = "TOOLRAIL_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Environment variable that definitions may use as {{secrets.NAME}}, beside TOOLRAIL_SECRET_*; with @HOST it is sent to
    /// that host only; may be repeated
    #[arg(
        long = "secret",
        global = true,
        help_heading = HEADING,
        env = "TOOLRAIL_SECRETS",
        value_name = "NAME[@HOST]",
        value_delimiter = ',',
        value_parser = ListedSecret::parse
    )]
    secrets: Vec<ListedSecret>,
    /// Value that definitions may use as {{vars.NAME}}, over TOOLRAIL_VAR_NAME; may be repeated
    #[arg(long = "var", global = true, help_heading = HEADING, value_name = "NAME=VALUE", value_parser = assignment)]
    vars: Vec<(String, String)>,
}

impl SupplyArgs {
    /// As much of the configuration as is about what definitions use.
    pub(super) fn config(&self) -> anyhow::Result<ConfigFile> {
        let file = self.config.as_deref().map(ConfigFile::read).transpose()?.unwrap_or_default();
        let flags = ConfigFile {
            secrets: (!self.secrets.is_empty()).then(|| SecretsFile(self.secrets.clone())),
            given_vars: Some(self.vars.clone()),
            ..ConfigFile::default()
        };
        Ok(flags.over(ConfigFile {
            secrets: file.secrets,
            vars: file.vars,
            services: file.services,
            allow_commands: file.allow_commands,
            allow_scripts: file.allow_scripts,
            allow_agent_secrets: file.allow_agent_secrets,
            ..ConfigFile::default()
        }))
    }
}
