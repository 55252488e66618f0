//! A gateway that speaks TLS: its certificate, the versions of HTTP, the certificates of clients, and commands that find it.

mod certificates;
mod clients;
mod commands;
mod serving;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolrail_testkit::{Authority, Gateway, GatewayBuilder, TlsClient};

use crate::support::gateway;

/// An authority, and a folder with a pair for 127.0.0.1 that it issued.
struct Site {
    authority: Authority,
    folder: TempDir,
    cert: PathBuf,
    key: PathBuf,
}

impl Site {
    fn new() -> Self {
        let authority = Authority::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (cert, key) = authority.for_server("127.0.0.1").unwrap().write(folder.path(), "server").unwrap();
        Self { authority, folder, cert, key }
    }

    fn gateway(&self) -> GatewayBuilder {
        gateway().arg("--tls-cert").arg(&self.cert).arg("--tls-key").arg(&self.key)
    }

    /// A gateway of a configuration that has this beside certificate and key.
    fn configured(&self, tls: &Value) -> GatewayBuilder {
        gateway().arg("--config").arg(self.configuration(tls))
    }

    fn configuration(&self, tls: &Value) -> PathBuf {
        let mut config = json!({"tls": {"cert": "server.pem", "key": "server.key"}});
        for (name, value) in tls.as_object().unwrap() {
            config["tls"][name] = value.clone();
        }
        self.write("toolrail.json", &config.to_string())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file
    }

    fn client(&self) -> TlsClient {
        TlsClient::trusting(&self.authority).unwrap()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn address_of(gateway: &Gateway) -> String {
    gateway.url().trim_start_matches("https://").to_owned()
}

fn list() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
}
