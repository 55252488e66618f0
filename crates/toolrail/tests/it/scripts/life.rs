//! The processes behind scripts: started when needed, killed when they must, gone with the gateway.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use toolrail_testkit::{Gateway, Upstream, wait_until};

use super::support::{Workshop, tool};

/// The workers of a gateway.
fn workers(gateway: &Gateway) -> Result<Vec<i32>> {
    let gateway = gateway.pid().context("it runs")?.to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let path = entry?.path();
        let Some(pid) = path.file_name().and_then(|name| name.to_str()?.parse().ok()) else { continue };
        let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        if parent == Some(gateway.as_str()) {
            found.push(pid);
        }
    }
    Ok(found)
}

fn lives(pid: i32) -> bool {
    let stat = std::fs::read_to_string(PathBuf::from(format!("/proc/{pid}/stat"))).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

async fn none_live(pids: &[i32]) -> Result<()> {
    wait_until("the end of the workers", Duration::from_secs(20), async || {
        pids.iter().all(|pid| !lives(*pid)).then_some(())
    })
    .await
}

#[tokio::test]
async fn no_worker_runs_while_there_is_no_script() -> Result<()> {
    let shop = Workshop::with(&[("a.yaml", "name: a\ndescription: x\nhttp: {url: 'http://127.0.0.1:1/'}\n")])
        .await?;
    assert!(workers(&shop.gateway)?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_killed_worker_is_replaced() -> Result<()> {
    let shop = Workshop::with(&[("one.ts", &tool("one", "return 'here'"))]).await?;
    assert_eq!(shop.text("one", json!({})).await?, "here");
    let running = workers(&shop.gateway)?;
    assert!(!running.is_empty());
    for pid in &running {
        kill_process(Pid::from_raw(*pid).context("a process")?, Signal::KILL)?;
    }
    none_live(&running).await?;
    shop.gives("one", "here").await
}

#[tokio::test]
async fn workers_end_with_a_gateway_that_is_killed() -> Result<()> {
    let mut shop = Workshop::with(&[
        ("one.ts", &tool("one", "return 'here'")),
        ("busy.ts", &tool("busy", "for (;;) {}")),
    ])
    .await?;
    shop.text("one", json!({})).await?;
    let busy = shop.call("busy", json!({}));
    let _ = tokio::time::timeout(Duration::from_millis(200), busy).await;
    let running = workers(&shop.gateway)?;
    assert!(!running.is_empty());
    shop.gateway.kill().await?;
    none_live(&running).await
}

/// What cannot be interrupted is killed; other scripts and other calls go on meanwhile.
#[tokio::test]
async fn a_script_that_never_ends_harms_nobody_else() -> Result<()> {
    let stuck = tool("stuck", "return new Array(1e9) + ''").replace(
        "properties: {}",
        "properties: {}, policy: { timeoutMs: 700 }, script: { limits: { memoryMb: 512 } }",
    );
    let shop = Workshop::with(&[("stuck.ts", &stuck), ("one.ts", &tool("one", "return 'here'"))]).await?;
    let calls = async {
        for _ in 0..20 {
            assert_eq!(shop.text("one", json!({})).await?, "here");
        }
        Ok::<_, anyhow::Error>(())
    };
    let (stuck, calls) = tokio::join!(shop.call("stuck", json!({})), calls);
    calls?;
    let stuck = stuck?;
    assert_eq!(stuck["isError"], true);
    assert!(
        stuck["content"][0]["text"].as_str().unwrap().contains("did not finish within 700 ms"),
        "{stuck}"
    );
    Ok(())
}

#[tokio::test]
async fn destroy_is_called_before_a_script_is_replaced() -> Result<()> {
    let upstream = Upstream::start().await?;
    let version = |n: u32| {
        let body = format!("return 'version {n}'");
        let bye = format!(
            "export async function destroy() {{ console.log('goodbye of version {n}'); await new Promise((done) => setTimeout(done, 5)); console.log('done with version {n}') }}\n"
        );
        tool("one", &body) + &bye
    };
    let shop = Workshop::with(&[("one.ts", &version(1))]).await?;
    shop.gives("one", "version 1").await?;
    shop.write("one.ts", &version(2))?;
    shop.gives("one", "version 2").await?;
    shop.gateway.said("done with version 1").await?;
    drop(upstream);
    Ok(())
}

#[tokio::test]
async fn a_hanging_destroy_holds_nothing_up() -> Result<()> {
    let first = tool("one", "return 'old'") + "export async function destroy() { for (;;) {} }\n";
    let shop = Workshop::with(&[("one.ts", &first)]).await?;
    shop.gives("one", "old").await?;
    for n in 0..5 {
        shop.write("one.ts", &tool("one", &format!("return 'new {n}'")))?;
        shop.gives("one", &format!("new {n}")).await?;
    }
    Ok(())
}
