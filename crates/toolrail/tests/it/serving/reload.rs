//! SIGHUP: the configuration is read again while everything goes on.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::Full;
use hyper::Request;
use serde_json::{Value, json};
use tempfile::TempDir;
use toolrail_testkit::{Gateway, Upstream, wait_until};

use crate::support::{call, echo_tool, gateway, listed, register_all};

struct Configured {
    gateway: Gateway,
    upstream: Upstream,
    folder: TempDir,
}

impl Configured {
    async fn with(config: &str) -> Result<Self> {
        let (folder, upstream) = (tempfile::tempdir()?, Upstream::start().await?);
        for name in ["one", "two"] {
            std::fs::create_dir(folder.path().join(name))?;
            let file = folder.path().join(name).join("tool.json");
            std::fs::write(file, echo_tool(&format!("from.{name}"), &upstream).to_string())?;
        }
        let path = write(folder.path(), config)?;
        let gateway = gateway().arg("--config").arg(path).start().await?;
        Ok(Self { gateway, upstream, folder })
    }

    /// Changes the configuration, asks for it to be read, and waits until a line of the log says so.
    async fn change(&self, config: &str, told: &str) -> Result<()> {
        write(self.folder.path(), config)?;
        let before = self.gateway.stderr().matches(told).count();
        let pid = i32::try_from(self.gateway.pid().context("it runs")?)?;
        let pid = rustix::process::Pid::from_raw(pid).context("a process")?;
        rustix::process::kill_process(pid, rustix::process::Signal::HUP)?;
        wait_until(told, Duration::from_secs(20), async || {
            (self.gateway.stderr().matches(told).count() > before).then_some(())
        })
        .await
        .with_context(|| self.gateway.stderr())
    }

    async fn status_for(&self, host: &str) -> Result<u16> {
        let request = Request::get("/mcp/tools").header("host", host).body(Full::default())?;
        Ok(self.gateway.request(request).await?.status)
    }
}

fn write(folder: &Path, config: &str) -> Result<PathBuf> {
    let path = folder.join("toolrail.yaml");
    std::fs::write(&path, config)?;
    Ok(path)
}

const IN_EFFECT: &str = "the configuration was read again and is in effect";
const STAYS: &str = "the new configuration cannot be used; the old one stays in place";

#[tokio::test]
async fn folders_hosts_groups_and_memory_change_without_a_restart() -> Result<()> {
    let it = Configured::with("tools: [one]\n").await?;
    register_all(&it.gateway, &[echo_tool("stored", &it.upstream)]).await?;
    assert_eq!(listed(&it.gateway).await?, ["from.one", "stored"]);
    let config = "tools: [two]\nallowHosts: [new.example]\nmemory: 64MB\ngroups: {some: {tools: [stored]}}\n";
    it.change(config, IN_EFFECT).await?;
    assert_eq!(listed(&it.gateway).await?, ["from.two", "stored"]);
    assert_eq!(it.status_for("new.example").await?, 200);
    assert_eq!(call(&it.gateway, "from.two", json!({"q": "x"})).await?.status, 200);
    assert_eq!(call(&it.gateway, "from.one", json!({"q": "x"})).await?.status, 404);
    let page = it.gateway.get("/metrics").await?.text();
    assert!(page.contains("toolrail_inflight_limit_bytes 67108864\n"), "{page}");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let group = it.gateway.post_json("/mcp/some", &list).await?.json()?;
    assert_eq!(group["result"]["tools"].as_array().map(Vec::len), Some(1), "{group}");
    // Changes are followed as before.
    register_all(&it.gateway, &[echo_tool("later", &it.upstream)]).await?;
    assert_eq!(listed(&it.gateway).await?, ["from.two", "later", "stored"]);
    it.change("{}\n", IN_EFFECT).await?;
    assert_eq!(it.status_for("new.example").await?, 403);
    assert_eq!(listed(&it.gateway).await?, ["later", "stored"]);
    Ok(())
}

#[tokio::test]
async fn the_log_names_the_definitions_that_came_changed_and_went() -> Result<()> {
    let it = Configured::with("tools: [one]\n").await?;
    register_all(&it.gateway, &[echo_tool("stored", &it.upstream)]).await?;
    it.change("tools: [two]\n", IN_EFFECT).await?;
    let line = |log: &str| {
        let told = log.lines().rfind(|line| line.contains("definitions changed because"));
        told.unwrap_or_default().to_owned()
    };
    let told = line(&it.gateway.stderr());
    for part in ["added=\"from.two\"", "changed=\"none\"", "removed=\"from.one\""] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    // The first folder to have a name keeps it, so another text goes by it now.
    let mut other = echo_tool("from.two", &it.upstream);
    other["description"] = json!("Of another folder.");
    std::fs::write(it.folder.path().join("one/tool.json"), other.to_string())?;
    it.change("tools: [one, two]\n", IN_EFFECT).await?;
    let told = line(&it.gateway.stderr());
    assert!(told.contains("changed=\"from.two\"") && told.contains("removed=\"none\""), "{told}");
    Ok(())
}

#[tokio::test]
async fn a_configuration_that_cannot_be_used_changes_nothing() -> Result<()> {
    let it = Configured::with("tools: [one]\nallowHosts: [old.example]\n").await?;
    for broken in ["tools: [one\n", "toolz: [one]\n", "tools: [nowhere]\n", "memory: 1MB\n", "pollMs: 1\n"] {
        it.change(broken, STAYS).await?;
        assert_eq!(listed(&it.gateway).await?, ["from.one"], "{broken}");
        assert_eq!(it.status_for("old.example").await?, 200, "{broken}");
    }
    Ok(())
}

#[tokio::test]
async fn what_needs_a_restart_is_said_and_a_call_under_way_finishes() -> Result<()> {
    let mut it = Configured::with("tools: [one]\n").await?;
    let slow = crate::support::get_tool("slow", &it.upstream.url("/slow/2000"));
    register_all(&it.gateway, &[slow]).await?;
    let calling = call(&it.gateway, "slow", json!({}));
    let changing = async {
        wait_until("the call to reach the upstream", Duration::from_secs(10), async || {
            (it.upstream.count("/slow/2000") == 1).then_some(())
        })
        .await?;
        it.change("tools: [two]\ndata: elsewhere\nstore: 'memory:'\n", IN_EFFECT).await
    };
    let (called, changed) = tokio::join!(calling, changing);
    changed?;
    assert_eq!(called?.status, 200);
    let log = it.gateway.said("needs a restart").await?;
    assert!(log.contains("store"), "{log}");
    assert_eq!(listed(&it.gateway).await?, ["from.two", "slow"]);
    it.change("tools: [two]\n", "has no other changes").await?;
    assert!(it.gateway.stop().await?.success());
    Ok(())
}

/// A client that does not come back to the stream of its session is told when it next asks for something.
#[tokio::test]
async fn a_session_that_meets_another_process_hears_that_lists_may_have_changed() -> Result<()> {
    let (mut gateway, upstream) = (gateway().start().await?, Upstream::start().await?);
    let post = async |gateway: &Gateway, session: Option<&str>, message: Value| {
        let mut request = Request::post("/mcp")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(session) = session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-06-18");
        }
        gateway.request(request.body(Full::new(message.to_string().into()))?).await
    };
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let reply = post(&gateway, None, initialize).await?;
    let session = reply.header("mcp-session-id").context("a session")?.to_owned();
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let before = post(&gateway, Some(&session), list.clone()).await?.text();
    assert!(!before.contains("list_changed"), "{before}");
    register_all(&gateway, &[echo_tool("new", &upstream)]).await?;
    // The id of a session tells its age in seconds.
    let second = || std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    let begun = second();
    wait_until("the next second", Duration::from_secs(5), async || (second() > begun).then_some(())).await?;
    gateway.kill().await?;
    gateway.restart().await?;
    let after = post(&gateway, Some(&session), list.clone()).await?.text();
    for told in
        ["notifications/tools/list_changed", "notifications/resources/list_changed", "\"name\":\"new\""]
    {
        assert!(after.contains(told), "{told}: {after}");
    }
    let again = post(&gateway, Some(&session), list).await?.text();
    assert!(!again.contains("list_changed"), "{again}");
    Ok(())
}
