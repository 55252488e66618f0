//! Three replicas on one store of every kind: what is written on one, or by another program, holds on all within the bound,
//! and no call fails because of it.

#![expect(clippy::print_stdout, reason = "how long things took is worth seeing")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolrail_testkit::{Connection, Database, DatabaseKind, wait_until};

use crate::replicas::fleet::{Fleet, SOON, call, insert, switch};
use crate::support::{listed, plain, register};

/// Ten times what is promised (the polling interval of these replicas and 100 ms): a machine that runs tests does much else.
/// The promise itself is measured by `cargo xtask bench store`.
const BOUND: Duration = Duration::from_millis(10 * (250 + 100));
/// How many changes stream through under load.
const CHANGES: usize = 1_000;

/// Replicas, their database, and another program's connection to it.
struct Shared {
    fleet: Fleet,
    database: Database,
    program: Connection,
}

async fn shared(kind: DatabaseKind) -> Shared {
    let database = Database::fresh(kind).await.unwrap();
    let fleet = Fleet::start(database.url()).await;
    let program = database.connect().await.unwrap();
    Shared { fleet, database, program }
}

#[track_caller]
fn within_bound(kind: DatabaseKind, what: &str, took: Duration) {
    println!("{kind}: {what} everywhere after {took:?}");
    assert!(took < BOUND, "{kind}: {what} everywhere only after {took:?}");
}

/// One test of each kind of store.
macro_rules! with_every_store {
    ($($fact:ident)*) => {
        mod sqlite { $(#[tokio::test] async fn $fact() { super::$fact(toolrail_testkit::DatabaseKind::Sqlite).await; })* }
        mod postgres { $(#[tokio::test] async fn $fact() { super::$fact(toolrail_testkit::DatabaseKind::Postgres).await; })* }
        mod mysql { $(#[tokio::test] async fn $fact() { super::$fact(toolrail_testkit::DatabaseKind::Mysql).await; })* }
    };
}

with_every_store! {
    a_write_on_one_replica_holds_on_all
    what_another_program_writes_holds_on_all
    a_write_is_effective_before_its_answer
    calls_under_way_finish_on_the_snapshot_they_began_with
    no_call_fails_while_a_thousand_changes_stream_through
    a_rollback_of_everything_ends_while_another_program_writes
}

/// The triggers are gone: whoever relies on them notices, and what is removed is refused.
#[tokio::test]
async fn on_postgres_a_tool_is_removed_although_a_trigger_is_missing() {
    let lost = "DROP TRIGGER trg_mcp_tool_toolrail_3_record ON mcp_tool";
    a_tool_is_removed_although_a_trigger_is_missing(DatabaseKind::Postgres, lost).await;
}

#[tokio::test]
async fn on_mysql_a_tool_is_removed_although_a_trigger_is_missing() {
    a_tool_is_removed_although_a_trigger_is_missing(DatabaseKind::Mysql, "DROP TRIGGER toolrail_deleted")
        .await;
}

async fn a_tool_is_removed_although_a_trigger_is_missing(kind: DatabaseKind, lost: &str) {
    let Shared { fleet, mut program, database: _database } = shared(kind).await;
    register(&fleet.replicas[0], &fleet.tool("t1")).await;
    register(&fleet.replicas[0], &fleet.tool("t2")).await;
    fleet.all_serve("t2").await;
    program.execute(lost).await.unwrap();
    let reply = fleet.replicas[0].delete("/admin/tools/t2").await.unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(call(&fleet.replicas[0], "t2").await, Some(404), "removed, but callable");
    fleet.all_refuse("t2").await;
    fleet.converge(&mut program).await;
    let report = fleet.replicas[1].get("/admin/audit/verify").await.unwrap().json().unwrap();
    assert_eq!((&report["broken"], &report["strays"]), (&Value::Null, &json!([])), "{report:#}");
}

/// R128 and the bound of the issue; the exact figures are those of `cargo xtask bench`.
async fn a_write_on_one_replica_holds_on_all(kind: DatabaseKind) {
    let Shared { fleet, mut program, database: _database } = shared(kind).await;
    for writer in &fleet.replicas {
        let name = format!("of-{}", writer.pid().unwrap());
        register(writer, &fleet.tool(&name)).await;
        within_bound(kind, "a new tool is served", fleet.all_serve(&name).await);
        let reply = writer.post_json(&format!("/admin/tools/{name}/disable"), &Value::Null).await.unwrap();
        assert_eq!(reply.status, 200, "{}", reply.text());
        within_bound(kind, "a disabled tool is refused", fleet.all_refuse(&name).await);
    }
    fleet.converge(&mut program).await;
}

async fn what_another_program_writes_holds_on_all(kind: DatabaseKind) {
    let Shared { fleet, mut program, database: _database } = shared(kind).await;
    program.execute(&insert("plain", &fleet.tool("plain"))).await.unwrap();
    within_bound(kind, "a row is served", fleet.all_serve("plain").await);
    program.execute(&switch("plain", "FALSE")).await.unwrap();
    within_bound(kind, "a disabled row is refused", fleet.all_refuse("plain").await);
    program.execute(&switch("plain", "TRUE")).await.unwrap();
    fleet.all_serve("plain").await;
    program.execute("DELETE FROM mcp_tool WHERE name = 'plain'").await.unwrap();
    fleet.all_refuse("plain").await;
    // Twice within a second, which a comparison of times would miss.
    program.execute(&insert("plain", &fleet.tool("plain"))).await.unwrap();
    program.execute(&switch("plain", "FALSE")).await.unwrap();
    program.execute(&switch("plain", "TRUE")).await.unwrap();
    fleet.all_serve("plain").await;
    fleet.converge(&mut program).await;
}

async fn a_write_is_effective_before_its_answer(kind: DatabaseKind) {
    let Shared { fleet, database: _database, .. } = shared(kind).await;
    for (index, writer) in fleet.replicas.iter().cycle().take(12).enumerate() {
        let name = format!("own-{index}");
        register(writer, &fleet.tool(&name)).await;
        assert_eq!(call(writer, &name).await, Some(200), "{name} was acknowledged, but is not there");
        let disabled = writer.post_json(&format!("/admin/tools/{name}/disable"), &Value::Null).await.unwrap();
        assert_eq!(disabled.status, 200, "{}", disabled.text());
        assert_eq!(call(writer, &name).await, Some(404), "{name} is disabled, but was called");
        assert!(!listed(writer).await.unwrap().contains(&name));
    }
}

async fn calls_under_way_finish_on_the_snapshot_they_began_with(kind: DatabaseKind) {
    let Shared { fleet, mut program, database: _database } = shared(kind).await;
    let slow = plain("slow", &fleet.upstream.url("/slow/3000"));
    register(&fleet.replicas[0], &slow).await;
    fleet.converge(&mut program).await;
    let calls = fleet.replicas.iter().map(|replica| call(replica, "slow"));
    let under_way = futures_util::future::join_all(calls);
    let change = async {
        wait_until("the calls to begin", SOON, async || {
            (fleet.upstream.total() >= fleet.replicas.len()).then_some(())
        })
        .await
        .unwrap();
        program.execute(&switch("slow", "FALSE")).await.unwrap();
        let took = fleet.all_unlist("slow").await;
        fleet.all_refuse("slow").await;
        took
    };
    let (answers, took) = tokio::join!(under_way, change);
    within_bound(kind, "a disabled row is no longer listed", took);
    assert!(answers.iter().all(|answer| *answer == Some(200)), "{answers:?}");
}

/// Half of them by another program, half over the admin interface of all replicas in turn.
async fn no_call_fails_while_a_thousand_changes_stream_through(kind: DatabaseKind) {
    let Shared { fleet, mut program, database } = shared(kind).await;
    register(&fleet.replicas[0], &fleet.tool("steady")).await;
    fleet.all_serve("steady").await;
    let load = fleet.load("steady");
    let started = Instant::now();
    let mut other_program = database.connect().await.unwrap();
    let by_program = async {
        for index in 0..CHANGES / 2 {
            until_done(&mut other_program, &nth_change(index, &fleet)).await;
        }
    };
    let by_admin = async {
        for index in 0..CHANGES / 20 {
            // Each other than the last of its name: an equal one would be no change.
            let tool = |tool: usize| {
                let mut definition = fleet.tool(&format!("batch-{tool}-{}", index % 7));
                definition["description"] = format!("as of {index}").into();
                definition
            };
            let tools: Vec<Value> = (0..10).map(tool).collect();
            let writer = &fleet.replicas[index % fleet.replicas.len()];
            let reply = writer.post_json("/admin/tools/batch", &json!({ "tools": tools })).await.unwrap();
            assert_eq!(reply.status, 200, "{}", reply.text());
        }
    };
    tokio::join!(by_program, by_admin);
    let (revision, list) = fleet.converge(&mut program).await;
    let calls = load.ended_without_failure().await;
    println!(
        "{kind}: {CHANGES} changes and {calls} calls in {:?}; {} bytes of tools",
        started.elapsed(),
        list.len()
    );
    assert!(revision >= i64::try_from(CHANGES).unwrap(), "the revision is only {revision}");
    let served = listed(&fleet.replicas[0]).await.unwrap();
    assert!(served.contains(&"steady".to_owned()) && served.contains(&"batch-9-6".to_owned()), "{served:?}");
}

async fn a_rollback_of_everything_ends_while_another_program_writes(kind: DatabaseKind) {
    let Shared { fleet, mut program, database } = shared(kind).await;
    let gateway = &fleet.replicas[0];
    for number in 0..20 {
        register(gateway, &fleet.tool(&format!("t{number}"))).await;
    }
    let then = gateway.get("/admin/history?limit=1").await.unwrap().json().unwrap();
    let revision = then["versions"][0]["version"].clone();
    program.execute("UPDATE mcp_tool SET enabled = FALSE").await.unwrap();
    fleet.all_refuse("t19").await;
    let mut other_program = database.connect().await.unwrap();
    let mut pace = tokio::time::interval(Duration::from_millis(20));
    let writing = async {
        for number in (0..20).cycle() {
            pace.tick().await;
            let statement = format!("UPDATE mcp_tool SET enabled = FALSE WHERE name = 't{number}'");
            // SQLite may be too busy for a moment.
            other_program.execute(&statement).await.ok();
        }
    };
    let wish = json!({"toRevision": revision});
    let rolling = gateway.post_json("/admin/rollback", &wish);
    let reply = tokio::select! {
        reply = rolling => reply.unwrap(),
        () = writing => unreachable!("it writes for ever"),
    };
    assert_eq!(reply.status, 200, "{}", reply.text());
}

/// As every program does with MySQL, where the server may choose any of two writers to begin anew.
async fn until_done(program: &mut Connection, statement: &str) {
    while let Err(error) = program.execute(statement).await {
        let text = format!("{error:#}");
        assert!(text.contains("try restarting transaction"), "{text}");
        println!("a deadlock at {statement:.60}");
    }
}

/// A few tools that come, are switched off and on, and go.
fn nth_change(index: usize, fleet: &Fleet) -> String {
    let name = format!("changing-{}", index / 5);
    match index % 5 {
        0 => insert(&name, &fleet.tool(&name)),
        1 | 3 => switch(&name, "FALSE"),
        2 => switch(&name, "TRUE"),
        _ => format!("DELETE FROM mcp_tool WHERE name = '{name}'"),
    }
}
