//! Whom a command believes over TLS, and the certificate that it shows itself.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use toolrail_executors::outbound::Trust;

#[derive(Args)]
pub(in crate::cli) struct TrustArgs {
    /// Authority that issued the certificate of an https:// server (PEM), in place of those that this machine trusts
    #[arg(long, global = true, env = "TOOLRAIL_CA_FILE", value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Certificate to show to a server that asks for one (PEM)
    #[arg(long, global = true, env = "TOOLRAIL_CLIENT_CERT", value_name = "FILE", requires = "client_key")]
    client_cert: Option<PathBuf>,
    /// Private key of that certificate (PEM)
    #[arg(long, global = true, env = "TOOLRAIL_CLIENT_KEY", value_name = "FILE", requires = "client_cert")]
    client_key: Option<PathBuf>,
}

impl TrustArgs {
    /// What flags and environment say.
    pub(in crate::cli) fn trust(&self) -> anyhow::Result<Trust> {
        let mut trust = Trust::default();
        if let Some(file) = &self.ca_file {
            let read = trust.with_authorities(&read(file)?);
            trust = read.with_context(|| format!("--ca-file {} is no good", file.display()))?;
        }
        if let Some((cert, key)) = self.client_cert.as_ref().zip(self.client_key.as_ref()) {
            let read = trust.with_identity(&read(cert)?, &read(key)?);
            trust = read.with_context(|| {
                format!("--client-cert {} with --client-key {} is no good", cert.display(), key.display())
            })?;
        }
        Ok(trust)
    }
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))
}
