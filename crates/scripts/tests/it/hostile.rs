//! Scripts that would take everything: each is ended within its limits, and the next call works.

use std::time::Duration;

use serde_json::json;
use toolrail_scripts::{Excess, Failure, Limits};

use crate::support::{Heard, adopt, call, pool, run, run_with};

fn short() -> Limits {
    Limits { cpu_ms: 200, memory: 16 << 20, ..Limits::default() }
}

#[tokio::test]
async fn what_takes_too_much_is_ended() {
    let cpu = [
        "for (;;) {}",
        "await 0; for (;;) {}",
        "for (;;) await 0",
        "const again = () => Promise.resolve().then(again); await again()",
        "return /^(a+)+$/.test('a'.repeat(40) + 'b')",
        "const a = []; for (let i = 0; i < 1e6; i++) a.push(Math.random()); for (;;) a.sort()",
        "try { for (;;) {} } finally { for (;;) {} }",
    ];
    for body in cpu {
        let ended = run_with(body, &Heard::default(), short()).await;
        assert!(matches!(ended, Err(Failure::Exceeded(Excess::Cpu | Excess::Memory))), "{body}: {ended:?}");
    }
    let memory = [
        "const a = []; for (;;) a.push(new Array(1000).fill(1))",
        "return 'x'.repeat(1e9)",
        "let s = 'x'; for (;;) s += s",
        "const promises = []; for (;;) promises.push(new Promise(() => {}))",
    ];
    for body in memory {
        let ended = run_with(body, &Heard::default(), Limits { cpu_ms: 5_000, ..short() }).await;
        assert!(
            matches!(ended, Err(Failure::Exceeded(Excess::Memory) | Failure::Thrown { .. })),
            "{body}: {ended:?}"
        );
    }
    let stack = run("const deep = (n: number): number => deep(n + 1) + 1; return deep(0)").await;
    assert!(matches!(&stack, Err(Failure::Thrown { message, .. }) if message.contains("stack")), "{stack:?}");
    let output =
        run_with("return 'x'.repeat(1000)", &Heard::default(), Limits { output: 100, ..short() }).await;
    assert_eq!(output, Err(Failure::Exceeded(Excess::Output)));
    let stuck = run("await new Promise(() => {})").await;
    assert_eq!(stuck, Err(Failure::Stuck));
}

#[tokio::test]
async fn requests_messages_and_timers_are_counted() {
    let heard = Heard::default();
    let few = Limits { asks: 3, messages: 5, ..Limits::default() };
    let made = run_with("let n = 0; try { for (;;) { await fetch('https://x'); n += 1 } } catch (error) { for (let i = 0; i < 1e4; i++) console.log(i); return [n, error.name] }", &heard, few).await;
    assert_eq!(made, Ok(json!([3, "RangeError"])));
    assert_eq!(heard.said.lock().unwrap().len(), 5);
    let timers = run("try { for (;;) setTimeout(() => {}, 1e6) } catch (error) { return error.name }").await;
    assert_eq!(timers, Ok(json!("RangeError")));
}

#[tokio::test]
async fn what_cannot_be_interrupted_is_killed_and_others_go_on() {
    let pool = pool();
    let bad = adopt(&pool, "export default async () => new Array(1e9) + ''");
    let good = adopt(&pool, "export default async () => 1");
    let heard = Heard::default();
    let limits = Limits { memory: 1 << 30, ..Limits::default() };
    let running = tokio::time::timeout(Duration::from_millis(300), bad.run("{}", limits, false, &heard));
    assert!(running.await.is_err(), "it would run for minutes");
    assert_eq!(call(&good, &heard, Limits::default()).await, Ok(json!(1)));
    // Its worker is gone within a moment, and so it can be called again.
    let gone = async {
        while pool.workers() > 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap();
    let running = tokio::time::timeout(Duration::from_millis(300), bad.run("{}", limits, false, &heard));
    assert!(running.await.is_err());
}

#[test]
fn the_walls_stand() {
    let walls = toolrail_scripts::walls(std::path::Path::new(crate::support::WORKER)).unwrap();
    assert_eq!(walls.len(), 9);
    for wall in walls {
        assert!(wall.refused.is_some(), "{wall:?}");
    }
}

/// Two descriptors for its channel, standard output and error to nowhere, and nothing of the gateway's.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_worker_has_nothing_but_its_channel() {
    let pool = pool();
    let good = adopt(&pool, "export default async () => 1");
    call(&good, &Heard::default(), Limits::default()).await.unwrap();
    let mine = std::process::id().to_string();
    let workers = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let path = entry.ok()?.path();
        let status = std::fs::read_to_string(path.join("stat")).ok()?;
        let parent = status.rsplit_once(')')?.1.split_whitespace().nth(1)?.to_owned();
        (parent == mine).then_some(path)
    });
    let mut seen = 0;
    for worker in workers {
        seen += 1;
        let environment = std::fs::read_to_string(worker.join("environ")).unwrap_or_default();
        assert!(environment.is_empty(), "{environment}");
        let open: Vec<_> = std::fs::read_dir(worker.join("fd")).map(Iterator::collect).unwrap_or_default();
        assert!(open.len() <= 5, "{open:?}");
    }
    assert_eq!(seen, 1);
}
