//! A real identity provider, and the official clients on the whole way to a token and back for another: where the provider registers
//! them itself, and where we do.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use toolrail_testkit::{Balancer, Gateway, HttpClient, Upstream, wait_until};

use crate::identity::{ask, first_key};
use crate::mcp::clients::{Client, told_by};
use crate::support::{echo_tool, gateway, installed};

/// Nobody listens there.
const NOWHERE: &str = "http://127.0.0.1:1";

/// panva's oidc-provider; ended when dropped.
pub(crate) struct RealProvider {
    pub(crate) issuer: String,
    _child: Child,
}

impl RealProvider {
    /// One that knows a gateway which is reached under that address.
    pub(crate) async fn start(public_url: &str) -> Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/oidc/provider.mjs");
        let mut child = Command::new(installed("TOOLRAIL_TEST_NODE"))
            .arg(script)
            .arg(format!("{public_url}/oauth/callback"))
            .env("NODE_ENV", "test")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        let told = async {
            while let Some(line) = lines.next_line().await? {
                if let Ok(said) = serde_json::from_str::<Value>(&line) {
                    return Ok(said["issuer"].as_str().context("no issuer")?.to_owned());
                }
            }
            anyhow::bail!("the provider ended")
        };
        let issuer = tokio::time::timeout(Duration::from_mins(1), told).await??;
        // What it says later must not fill its pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { issuer, _child: child })
    }

    async fn rotate(&self) -> Result<()> {
        let url = format!("{}/rotate", self.issuer);
        let reply = HttpClient::new().send_json(http::Method::POST, &url, None).await?;
        ensure!(reply.status == 204, "{}", reply.text());
        Ok(())
    }
}

/// Two gateways on one store behind a balancer, so that no two requests in a row reach the same, and a real provider.
struct Fleet {
    provider: RealProvider,
    balancer: Balancer,
    _gateways: [Gateway; 2],
    _upstream: Upstream,
    _folder: tempfile::TempDir,
}

impl Fleet {
    async fn start(config: impl FnOnce(&str) -> Value) -> Result<Self> {
        let (upstream, folder) = (Upstream::start().await?, tempfile::tempdir()?);
        let balancer = Balancer::start(&[NOWHERE, NOWHERE]).await?;
        let provider = RealProvider::start(balancer.url()).await?;
        let mut config = config(&provider.issuer);
        config["publicUrl"] = json!(balancer.url());
        let file = folder.path().join("toolrail.json");
        std::fs::write(&file, config.to_string())?;
        let store = format!("sqlite:{}", folder.path().join("shared.db").display());
        let start = || {
            let gateway = gateway().arg("--config").arg(&file).store(&store);
            gateway.env("TOOLRAIL_SECRET_SIGN_IN", "s3cret-of-the-gateway").start()
        };
        let gateways = [start().await?, start().await?];
        let admin = first_key(&gateways[0]).await?;
        let tool = echo_tool("weather.now", &upstream);
        let made = ask(&gateways[0], Some(&admin), (http::Method::POST, "/admin/tools"), Some(&tool)).await?;
        ensure!(made.status < 300, "{}", made.text());
        for (number, gateway) in gateways.iter().enumerate() {
            wait_until("the tool to be everywhere", Duration::from_secs(20), async || {
                let list = ask(gateway, Some(&admin), (http::Method::GET, "/mcp/tools"), None).await;
                list.ok().filter(|list| list.text().contains("weather.now")).map(|_| ())
            })
            .await?;
            balancer.moved(number, gateway.url());
        }
        Ok(Self { provider, balancer, _gateways: gateways, _upstream: upstream, _folder: folder })
    }

    /// We register clients, and the provider knows nothing of them.
    async fn with_broker() -> Result<Self> {
        let grants = json!([{"claim": "groups", "value": "staff", "scopes": ["tools.call"], "role": "call"}]);
        Self::start(|issuer| {
            json!({"broker": {
                "provider": "oidc", "issuer": issuer, "clientId": "gateway", "clientSecret": "{{secrets.SIGN_IN}}",
                "claims": {"name": "email"}, "grants": grants,
            }})
        })
        .await
    }

    /// The provider registers clients and gives tokens for us.
    async fn with_issuer() -> Result<Self> {
        let grants = json!([{"scopes": ["tools.call"], "role": "call"}]);
        Self::start(|issuer| json!({"issuers": [{"issuer": issuer, "grants": grants}]})).await
    }

    async fn told_by(&self, client: Client) -> Value {
        let mut command = client.script("sign_in", None);
        command.args(["--tool", "weather.now", "--args", r#"{"q":"hello"}"#, "http"]);
        told_by(command.arg(format!("{}/mcp", self.balancer.url()))).await
    }

    async fn check(&self, client: Client) {
        let told = self.told_by(client).await;
        assert_eq!(told["tools"], json!(["weather.now"]), "{told}");
        assert_eq!(told["result"]["isError"], false, "{told}");
        assert!(told["result"]["content"][0]["text"].as_str().unwrap().contains("q=hello"), "{told}");
        assert_eq!((&told["refreshed"], &told["scope"]), (&json!(true), &json!("tools.call")), "{told}");
    }
}

#[tokio::test]
async fn the_python_client_signs_in_here() -> Result<()> {
    Fleet::with_broker().await?.check(Client::Python).await;
    Ok(())
}

#[tokio::test]
async fn the_python_client_signs_in_at_the_provider() -> Result<()> {
    Fleet::with_issuer().await?.check(Client::Python).await;
    Ok(())
}

#[tokio::test]
async fn the_typescript_client_signs_in_here() -> Result<()> {
    Fleet::with_broker().await?.check(Client::TypeScript).await;
    Ok(())
}

#[tokio::test]
async fn the_typescript_client_signs_in_at_the_provider() -> Result<()> {
    Fleet::with_issuer().await?.check(Client::TypeScript).await;
    Ok(())
}

#[tokio::test]
async fn the_older_typescript_sdk_signs_in_here() -> Result<()> {
    Fleet::with_broker().await?.check(Client::OldTypeScript).await;
    Ok(())
}

/// Keys that are not known are looked for at most every ten seconds.
#[tokio::test]
async fn a_provider_that_signs_with_another_key_is_believed_soon() -> Result<()> {
    let fleet = Fleet::with_broker().await?;
    fleet.check(Client::TypeScript).await;
    fleet.provider.rotate().await?;
    wait_until("a sign-in with the new key", Duration::from_mins(1), async || {
        let mut command = Client::TypeScript.script("sign_in", None);
        command.arg("http").arg(format!("{}/mcp", fleet.balancer.url()));
        command.output().await.ok().filter(|output| output.status.success()).map(|_| ())
    })
    .await?;
    Ok(())
}
