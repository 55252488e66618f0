//! Databases and replicas that fail under load: what was acknowledged is kept, calls go on, `/readyz` says how things stand,
//! and once the database is back nothing that was switched off is callable, on any replica.

#![expect(clippy::print_stdout, reason = "how long things took is worth seeing")]

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::Value;
use tokio::task::JoinSet;
use toolrail_testkit::{
    Connection, Database, DatabaseKind, Gateway, HttpClient, Server, ServerOptions, wait_until,
};

use crate::replicas::fleet::{Fleet, Load, NOTICED_WITHIN, SOON, end_connections, switch};
use crate::support::{listed, register};

/// Writes that are acknowledged before something breaks, and again once it is mended.
const WRITES: usize = 12;
/// A write is given up after ten seconds, of which waiting for a connection is a part.
const ANSWERED_WITHIN: Duration = Duration::from_secs(20);

/// A fleet with calls and writes under way.
struct Scene {
    kind: DatabaseKind,
    fleet: Fleet,
    load: Load,
    writers: Writers,
}

impl Scene {
    /// Calls go to the replicas from `first_called` on; the others may be killed.
    async fn start(database: &Database, first_called: usize) -> Self {
        let fleet = Fleet::start(database.url()).await;
        for tool in ["steady", "switched"] {
            register(&fleet.replicas[0], &fleet.tool(tool)).await;
            fleet.all_serve(tool).await;
        }
        let load = fleet.load_from(first_called, "steady");
        let writers = Writers::start(&fleet);
        writers.acknowledged(WRITES).await;
        Self { kind: database.kind(), fleet, load, writers }
    }

    /// The database is back: what is switched off there is refused everywhere, and nothing is lost.
    async fn recovers(self, database: &Database) {
        let mut program = connected(database).await;
        program.execute(&switch("switched", "FALSE")).await.unwrap();
        println!(
            "{}: refused everywhere {:?} after it was switched off",
            self.kind,
            self.fleet.all_refuse("switched").await
        );
        println!("{}: all ready {:?} later", self.kind, self.fleet.all_are("ready").await);
        self.writers.acknowledged(WRITES).await;
        let acknowledged = self.writers.end().await;
        let (revision, _) = self.fleet.converge(&mut program).await;
        let calls = self.load.ended_without_failure().await;
        let stored: HashSet<String> =
            program.texts("SELECT name FROM mcp_tool").await.unwrap().into_iter().flatten().collect();
        let served: HashSet<String> = listed(&self.fleet.replicas[0]).await.unwrap().into_iter().collect();
        let lost: Vec<&String> =
            acknowledged.iter().filter(|name| !stored.contains(*name) || !served.contains(*name)).collect();
        assert!(lost.is_empty(), "acknowledged, but lost: {lost:?}");
        check_record(&self.fleet.replicas[0], &acknowledged).await;
        println!(
            "{}: {} writes kept, {calls} calls answered, revision {revision}",
            self.kind,
            acknowledged.len()
        );
    }
}

/// R118: the audit record is whole, and has everything that was acknowledged.
async fn check_record(replica: &Gateway, acknowledged: &[String]) {
    let report = replica.get("/admin/audit/verify").await.unwrap().json().unwrap();
    let strays = report["strays"].as_array().unwrap();
    // That one was switched off behind our back.
    let is_explained = strays.iter().all(|stray| stray["name"] == "switched");
    assert!(report["broken"].is_null() && is_explained, "{report:#}");
    let record = replica.get("/admin/audit?limit=1000").await.unwrap().json().unwrap();
    let entries = record["entries"].as_array().unwrap();
    let recorded: HashSet<&str> = entries.iter().filter_map(|entry| entry["name"].as_str()).collect();
    let missing: Vec<&String> =
        acknowledged.iter().filter(|name| !recorded.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "acknowledged, but not in the audit record: {missing:?}");
}

/// Tools registered one after the other, on all replicas in turn, whatever happens.
struct Writers {
    tasks: JoinSet<()>,
    record: Arc<Record>,
}

#[derive(Default)]
struct Record {
    is_over: AtomicBool,
    acknowledged: Mutex<Vec<String>>,
}

impl Record {
    fn acknowledged(&self) -> MutexGuard<'_, Vec<String>> {
        self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writers {
    fn start(fleet: &Fleet) -> Self {
        let record = Arc::new(Record::default());
        let mut tasks = JoinSet::new();
        for (number, replica) in fleet.replicas.iter().enumerate() {
            let url = format!("{}/admin/tools", replica.url());
            let template = fleet.tool(&format!("written-{number}"));
            tasks.spawn(write_until_told(url, template, Arc::clone(&record)));
        }
        Self { tasks, record }
    }

    /// Waits until that many more writes have been acknowledged.
    async fn acknowledged(&self, more: usize) {
        let goal = self.record.acknowledged().len() + more;
        let reached = async || (self.record.acknowledged().len() >= goal).then_some(());
        wait_until("writes to be acknowledged", NOTICED_WITHIN, reached).await.unwrap();
    }

    /// What was acknowledged.
    async fn end(mut self) -> Vec<String> {
        self.record.is_over.store(true, Ordering::Relaxed);
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
        std::mem::take(&mut *self.record.acknowledged())
    }
}

async fn write_until_told(url: String, mut definition: Value, record: Arc<Record>) {
    let client = HttpClient::new();
    let base = definition["name"].as_str().unwrap().to_owned();
    // Some at a time: a machine that does nothing but write would make no calls.
    let mut pace = tokio::time::interval(Duration::from_millis(25));
    pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for number in 0.. {
        pace.tick().await;
        if record.is_over.load(Ordering::Relaxed) {
            return;
        }
        let name = format!("{base}-{number}");
        definition["name"] = Value::from(name.as_str());
        let asked = Instant::now();
        // A replica that was killed answers nothing.
        let Ok(reply) = client.send_json(Method::POST, &url, Some(&definition)).await else { continue };
        assert!(asked.elapsed() < ANSWERED_WITHIN, "a write was answered after {:?}", asked.elapsed());
        assert!(!reply.text().contains("toolrail:toolrail"), "{}", reply.text());
        match reply.status {
            200 => record.acknowledged().push(name),
            503 => {}
            504 if reply.text().contains("OUTCOME_UNKNOWN") => {}
            status => unreachable!("{status} {}", reply.text()),
        }
    }
}

/// The database has just come back, and may still have no connection to spare.
async fn connected(database: &Database) -> Connection {
    wait_until("a connection to the database", SOON, async || database.connect().await.ok()).await.unwrap()
}

async fn a_database_that_is_killed(kind: DatabaseKind) {
    let mut server = Server::start(kind).await.unwrap();
    let database = server.database().await.unwrap();
    let scene = Scene::start(&database, 0).await;
    server.kill().await.unwrap();
    println!("{kind}: noticed after {:?}", scene.fleet.all_are("degraded").await);
    scene.load.answered(50).await;
    server.restart().await.unwrap();
    scene.recovers(&database).await;
}

async fn a_database_that_stands_still(kind: DatabaseKind) {
    let server = Server::start(kind).await.unwrap();
    let database = server.database().await.unwrap();
    let scene = Scene::start(&database, 0).await;
    server.pause().unwrap();
    println!("{kind}: noticed after {:?}", scene.fleet.all_are("degraded").await);
    scene.load.answered(50).await;
    server.resume().unwrap();
    scene.recovers(&database).await;
}

async fn connections_that_are_cut(kind: DatabaseKind) {
    let server = Server::start(kind).await.unwrap();
    let database = server.database().await.unwrap();
    let scene = Scene::start(&database, 0).await;
    let mut administrator = database.connect().await.unwrap();
    for _ in 0..5 {
        end_connections(kind, &mut administrator).await;
        scene.load.answered(20).await;
        scene.writers.acknowledged(2).await;
    }
    scene.recovers(&database).await;
}

/// Whoever needs a new connection gets none.
async fn a_database_without_free_connections(kind: DatabaseKind) {
    let options = ServerOptions { max_connections: 40, ..ServerOptions::new(kind) };
    let server = options.start().await.unwrap();
    let database = server.database().await.unwrap();
    let scene = Scene::start(&database, 0).await;
    let mut administrator = database.connect().await.unwrap();
    let mut hogs = Vec::new();
    wait_until("all replicas to be degraded", NOTICED_WITHIN, async || {
        end_connections(kind, &mut administrator).await;
        while let Ok(connection) = server.connect().await {
            hogs.push(connection);
        }
        for replica in &scene.fleet.replicas {
            (crate::replicas::fleet::readiness(replica).await["status"] == "degraded").then_some(())?;
        }
        Some(())
    })
    .await
    .unwrap();
    scene.load.answered(50).await;
    drop(hogs);
    scene.recovers(&database).await;
}

/// R121: the last good set serves until the database is back.
async fn a_replica_that_starts_without_its_database(kind: DatabaseKind) {
    let mut server = Server::start(kind).await.unwrap();
    let database = server.database().await.unwrap();
    let mut fleet = Fleet::start(database.url()).await;
    register(&fleet.replicas[0], &fleet.tool("kept")).await;
    let mut program = database.connect().await.unwrap();
    fleet.converge(&mut program).await;
    for replica in &mut fleet.replicas {
        assert!(replica.stop().await.unwrap().success());
    }
    server.kill().await.unwrap();
    for replica in &mut fleet.replicas {
        replica.restart().await.unwrap();
    }
    fleet.all_are("degraded").await;
    fleet.all_serve("kept").await;
    server.restart().await.unwrap();
    let mut program = connected(&database).await;
    program.execute(&switch("kept", "FALSE")).await.unwrap();
    println!("{kind}: refused everywhere after {:?}", fleet.all_refuse("kept").await);
    fleet.all_are("ready").await;
    fleet.converge(&mut program).await;
}

async fn a_replica_that_is_killed_while_it_writes(kind: DatabaseKind) {
    let database = Database::fresh(kind).await.unwrap();
    let mut scene = Scene::start(&database, 1).await;
    let victim: &mut Gateway = &mut scene.fleet.replicas[0];
    victim.kill().await.unwrap();
    scene.load.answered(50).await;
    scene.fleet.replicas[0].restart().await.unwrap();
    scene.recovers(&database).await;
}

/// One test of each kind of server.
macro_rules! with_every_server {
    ($($fact:ident)*) => {
        mod postgres { $(#[tokio::test] async fn $fact() { super::$fact(toolrail_testkit::DatabaseKind::Postgres).await; })* }
        mod mysql { $(#[tokio::test] async fn $fact() { super::$fact(toolrail_testkit::DatabaseKind::Mysql).await; })* }
    };
}

with_every_server! {
    a_database_that_is_killed
    a_database_that_stands_still
    connections_that_are_cut
    a_database_without_free_connections
    a_replica_that_starts_without_its_database
    a_replica_that_is_killed_while_it_writes
}

mod sqlite {
    #[tokio::test]
    async fn a_replica_that_is_killed_while_it_writes() {
        super::a_replica_that_is_killed_while_it_writes(toolrail_testkit::DatabaseKind::Sqlite).await;
    }
}
