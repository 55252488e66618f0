//! `--demo`: a small REST service on loopback and tools against it, so that the first list, preview and call work at
//! once and offline.

mod picture;
mod service;

use std::path::Path;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::assemble::BuiltIn;

const TOOLS: &str = include_str!("tools.yaml");

/// The secret that the demonstration's tools send; not secret at all.
pub(crate) const TOKEN: (&str, &str) = ("DEMO_TOKEN", "demo-0a1b2c3d4e5f");

/// A running demonstration; ends when dropped.
pub(crate) struct Demo {
    /// What differs from the guides.
    pub(crate) note: Option<String>,
    _service: AbortOnDropHandle<()>,
}

/// Where the service listens if it can, so that it can be written about.
const USUAL_PORT: u16 = 8081;

/// Starts the service on loopback and gives the tools against it.
pub(crate) async fn start() -> anyhow::Result<(Demo, BuiltIn)> {
    let listener = listen().await.context("the demonstration found no free loopback port")?;
    let address = listener.local_addr()?;
    let documents =
        toolrail_registry::read_documents(Path::new("tools.yaml"), &tools_for(&address.to_string()))
            .map_err(|fault| anyhow::anyhow!("the demonstration's tools are {fault}"))?;
    let service = tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, service::routes()).await {
            tracing::warn!(%error, "demonstration service ended");
        }
    });
    let built_in = BuiltIn {
        description: format!("demonstration at http://{address}"),
        documents: documents.into_iter().map(|document| document.value).collect(),
        secrets: vec![(TOKEN.0.to_owned(), TOKEN.1.to_owned())],
    };
    let note = (address.port() != USUAL_PORT).then(|| {
        format!(
            "port {USUAL_PORT} is taken, so the demonstration's service has port {}; write that where the guides say {USUAL_PORT}",
            address.port()
        )
    });
    Ok((Demo { note, _service: AbortOnDropHandle::new(service) }, built_in))
}

async fn listen() -> std::io::Result<TcpListener> {
    match TcpListener::bind(("127.0.0.1", USUAL_PORT)).await {
        Ok(listener) => Ok(listener),
        Err(_) => TcpListener::bind(("127.0.0.1", 0)).await,
    }
}

fn tools_for(address: &str) -> String {
    TOOLS.replace("DEMO_ADDRESS", address)
}
