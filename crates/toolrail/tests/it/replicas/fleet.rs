//! Three replicas on one store, calls to all of them at once, and what they must agree on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use toolrail_testkit::{Connection, DatabaseKind, Gateway, HttpClient, Upstream, wait_until};

use crate::support::{gateway, listed, plain};

/// Ten times the bound of the slowest store, and then some for a machine that builds meanwhile.
pub(crate) const SOON: Duration = Duration::from_secs(20);
/// Reads of a store that does not answer are given up after five seconds, and tried again.
pub(crate) const NOTICED_WITHIN: Duration = Duration::from_secs(25);
const REPLICAS: usize = 3;

/// The replicas, and what their tools call.
pub(crate) struct Fleet {
    pub(crate) replicas: Vec<Gateway>,
    pub(crate) upstream: Upstream,
}

impl Fleet {
    /// Starts all replicas at once: each migrates the store if it is first.
    pub(crate) async fn start(store: &str) -> Self {
        let upstream = Upstream::start().await.unwrap();
        let starting = (0..REPLICAS).map(|_| gateway().store(store).args(["--poll-ms", "250"]).start());
        let replicas = futures_util::future::try_join_all(starting).await.unwrap();
        Self { replicas, upstream }
    }

    /// A definition of a tool that answers at once.
    pub(crate) fn tool(&self, name: &str) -> Value {
        plain(name, &self.upstream.url("/text"))
    }

    /// How long it takes from now on until every replica lists, and calls, a tool.
    pub(crate) async fn all_serve(&self, name: &str) -> Duration {
        self.all(&format!("all replicas to serve {name}"), SOON, async |replica| {
            call(replica, name).await == Some(200)
        })
        .await
    }

    /// How long it takes from now on until every replica refuses a tool.
    pub(crate) async fn all_refuse(&self, name: &str) -> Duration {
        self.all(&format!("all replicas to refuse {name}"), SOON, async |replica| {
            call(replica, name).await == Some(404)
        })
        .await
    }

    /// How long it takes from now on until no replica lists a tool.
    pub(crate) async fn all_unlist(&self, name: &str) -> Duration {
        self.all(&format!("all replicas to leave out {name}"), SOON, async |replica| {
            listed(replica).await.is_ok_and(|names| !names.iter().any(|listed| listed == name))
        })
        .await
    }

    /// How long it takes until `/readyz` of every replica says that word.
    pub(crate) async fn all_are(&self, word: &str) -> Duration {
        self.all(&format!("all replicas to be {word}"), NOTICED_WITHIN, async |replica| {
            readiness(replica).await["status"] == word
        })
        .await
    }

    async fn all(&self, what: &str, within: Duration, check: impl AsyncFn(&Gateway) -> bool) -> Duration {
        let started = Instant::now();
        wait_until(what, within, async || {
            for replica in &self.replicas {
                check(replica).await.then_some(())?;
            }
            Some(())
        })
        .await
        .unwrap();
        started.elapsed()
    }

    /// Waits until every replica is at the store's revision with the same bytes of `tools/list`; returns both.
    pub(crate) async fn converge(&self, store: &mut Connection) -> (i64, Vec<u8>) {
        let revision = revision_of(store).await;
        self.all("all replicas to be at the revision of the store", SOON, async |replica| {
            readiness(replica).await["revision"] == revision
        })
        .await;
        let mut lists = Vec::new();
        for replica in &self.replicas {
            lists.push(whole_list(replica).await);
        }
        assert!(lists.windows(2).all(|pair| pair[0] == pair[1]), "the replicas list different tools");
        (revision, lists.swap_remove(0))
    }

    /// Calls a tool on every replica, again and again.
    pub(crate) fn load(&self, tool: &str) -> Load {
        self.load_from(0, tool)
    }

    /// The same on all but the first replicas.
    pub(crate) fn load_from(&self, first: usize, tool: &str) -> Load {
        let shared = Arc::new(Tally::default());
        let mut callers = JoinSet::new();
        for replica in &self.replicas[first..] {
            callers.spawn(call_until_told(
                format!("{}/mcp", replica.url()),
                tool.to_owned(),
                Arc::clone(&shared),
            ));
        }
        Load { callers, shared }
    }
}

/// The revision that the store itself counts.
pub(crate) async fn revision_of(store: &mut Connection) -> i64 {
    let query = "SELECT CAST(version AS CHAR(20)) FROM mcp_config_version";
    let texts = store.texts(query).await.unwrap();
    texts[0].as_deref().unwrap().trim().parse().unwrap()
}

/// What `/readyz` says, or nothing at all.
pub(crate) async fn readiness(replica: &Gateway) -> Value {
    match replica.get("/readyz").await {
        Ok(reply) => reply.json().unwrap_or_default(),
        Err(_) => Value::Null,
    }
}

/// The status of a call, if it was answered.
pub(crate) async fn call(replica: &Gateway, tool: &str) -> Option<u16> {
    Some(crate::support::call(replica, tool, json!({})).await.ok()?.status)
}

/// Every page of `tools/list`, as the bytes that went over the wire, without the ids of the requests.
async fn whole_list(replica: &Gateway) -> Vec<u8> {
    let mut pages = Vec::new();
    let mut params = json!({});
    loop {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
        let reply = replica.post_json("/mcp", &body).await.unwrap();
        pages.extend_from_slice(&reply.body);
        let page = reply.json().unwrap();
        assert!(page["result"]["tools"].is_array(), "{page}");
        let Some(cursor) = page["result"]["nextCursor"].as_str() else { return pages };
        params = json!({ "cursor": cursor });
    }
}

/// An SQL literal. Definitions of tests hold no backslash, which MariaDB would read.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A statement by which another program adds a definition.
pub(crate) fn insert(name: &str, definition: &Value) -> String {
    let document = literal(&definition.to_string());
    format!("INSERT INTO mcp_tool (name, enabled, config_json) VALUES ({}, TRUE, {document})", literal(name))
}

/// A statement by which another program switches a definition on or off.
pub(crate) fn switch(name: &str, on: &str) -> String {
    format!("UPDATE mcp_tool SET enabled = {on} WHERE name = {}", literal(name))
}

/// Ends every connection to a database but the one that asks.
pub(crate) async fn end_connections(kind: DatabaseKind, store: &mut Connection) {
    match kind {
        DatabaseKind::Postgres => {
            let others =
                "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
            store.execute(&format!("SELECT pg_terminate_backend(pid) {others}")).await.unwrap();
        }
        DatabaseKind::Mysql | DatabaseKind::Sqlite => {
            let others =
                "FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()";
            let ids = store.texts(&format!("SELECT CAST(id AS CHAR(20)) {others}")).await.unwrap();
            for id in ids.into_iter().flatten() {
                // It may have ended by itself meanwhile.
                drop(store.execute(&format!("KILL CONNECTION {id}")).await);
            }
        }
    }
}

/// Calls under way on all replicas until they are told to end.
pub(crate) struct Load {
    callers: JoinSet<()>,
    shared: Arc<Tally>,
}

#[derive(Default)]
struct Tally {
    is_over: AtomicBool,
    calls: AtomicUsize,
    failures: std::sync::Mutex<Vec<String>>,
}

impl Load {
    /// How many calls have been answered.
    pub(crate) fn calls(&self) -> usize {
        self.shared.calls.load(Ordering::Relaxed)
    }

    /// Waits until that many more calls have been answered.
    pub(crate) async fn answered(&self, more: usize) {
        let goal = self.calls() + more;
        wait_until("calls to be answered", SOON, async || (self.calls() >= goal).then_some(()))
            .await
            .unwrap();
    }

    /// Ends the calls and sees that none has failed.
    pub(crate) async fn ended_without_failure(mut self) -> usize {
        self.shared.is_over.store(true, Ordering::Relaxed);
        while let Some(ended) = self.callers.join_next().await {
            ended.unwrap();
        }
        let failures = self.shared.failures.lock().unwrap();
        assert!(
            failures.is_empty(),
            "{} of {} calls failed: {:?}",
            failures.len(),
            self.calls(),
            failures.first()
        );
        assert!(self.calls() > REPLICAS, "hardly any calls were made");
        self.calls()
    }
}

async fn call_until_told(url: String, tool: String, tally: Arc<Tally>) {
    let client = HttpClient::new();
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}}});
    while !tally.is_over.load(Ordering::Relaxed) {
        let reply = client.send_json(Method::POST, &url, Some(&body)).await;
        let failure = match reply.map(|reply| (reply.status, reply.json().unwrap_or_default())) {
            Ok((200, answer)) if answer["result"].is_object() && answer["result"]["isError"] != true => None,
            Ok((status, answer)) => Some(format!("{status} {answer}")),
            Err(error) => Some(format!("{error:#}")),
        };
        if let Some(failure) = failure {
            tally.failures.lock().unwrap().push(failure);
        }
        tally.calls.fetch_add(1, Ordering::Relaxed);
    }
}
