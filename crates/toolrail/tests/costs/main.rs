//! What one call may take, whatever the definition, the arguments and the answer: little memory, little time. Everything is
//! in this process, so that the allocator can count; that is why these tests are a program of their own.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail it")]

mod allocations;
mod definitions;
mod measured;

use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::Value;
use serde_json::value::to_raw_value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use toolrail_core::{DefinitionForm, Mute, Principal, Secrets, Store};
use toolrail_executors::outbound::{Client, ClientLimits};
use toolrail_executors::{Runtime, Scripts, kinds};
use toolrail_registry::{Compiler, FixedSource, LateStore, Registry, RegistryLimits, SourceId};

use crate::definitions::{Case, case, known};
use crate::measured::{Cost, Counting, measured};

#[global_allocator]
static COUNTING: Counting = Counting;

const CASES: u32 = 60;
const MOST_MEMORY: usize = 50_000_000;
/// Without optimisation everything takes several times as long.
const MOST_TIME: Duration = Duration::from_millis(if cfg!(debug_assertions) { 4_000 } else { 250 });

/// Held by the test that counts: two in one process would count each other.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn no_call_takes_much() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let upstream = runtime.block_on(Upstream::start());
    let mut config = Config {
        failure_persistence: None,
        max_shrink_time: 60_000,
        max_shrink_iters: 200,
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = CASES;
    }
    // What is made once, such as tables of characters, is nobody's.
    let warm = Case { definition: serde_json::json!({}), arguments: Value::Null, answer: Value::Null };
    runtime.block_on(costs_of(&warm, &upstream));
    let judged = |case: Case| {
        let worst = runtime.block_on(costs_of(&case, &upstream));
        let what =
            worst.into_iter().find(|(_, cost)| cost.memory > MOST_MEMORY || cost.processors > MOST_TIME);
        match what {
            Some((what, cost)) => Err(TestCaseError::fail(format!("{what} took {cost:?}"))),
            None => Ok(()),
        }
    };
    for case in known(upstream.port) {
        judged(case).unwrap();
    }
    if let Err(error) = TestRunner::new(config).run(&case(upstream.port), judged) {
        unreachable!("{error}");
    }
}

/// What registering and calling took.
async fn costs_of(case: &Case, upstream: &Upstream) -> Vec<(&'static str, Cost)> {
    *upstream.answer.lock().unwrap() = case.answer.to_string();
    let (registry, registering) = measured(serving(case)).await;
    let snapshot = registry.snapshot();
    let mut costs = vec![("registering", registering)];
    if let Some(tool) = snapshot.find("t") {
        let arguments = to_raw_value(&case.arguments).unwrap();
        let call = tool.call(Some(&*arguments), &Principal::Anonymous, &Mute);
        let (_, calling) = measured(tokio::time::timeout(Duration::from_mins(1), call)).await;
        costs.push(("calling", calling));
    }
    costs
}

async fn serving(case: &Case) -> Registry {
    let unopened = Arc::new(LateStore::new("never opened", Box::new(|| Box::pin(pending()))));
    serving_all(vec![case.definition.clone()], unopened).await
}

async fn serving_all(definitions: Vec<Value>, store: Arc<dyn Store>) -> Registry {
    let runtime = Runtime {
        client: Arc::new(Client::new(ClientLimits::default())),
        secrets: Arc::new(Secrets::from_environment(std::iter::empty::<(String, String)>(), &[])),
        variables: Arc::default(),
        services: Arc::default(),
        scripts: Arc::new(Scripts::of_this_binary()),
        grants: None,
    };
    let compiler = Compiler::new(DefinitionForm::new(kinds(&runtime)), Box::new(|_, executor| executor));
    let source = FixedSource::new(SourceId::Demo, "fixed", definitions);
    let registry = Registry::new(compiler, store, vec![Arc::new(source)], RegistryLimits::default());
    registry.refresh().await;
    registry
}

/// Answers every request with the same JSON.
struct Upstream {
    port: u16,
    answer: Arc<Mutex<String>>,
}

impl Upstream {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let answer = Arc::new(Mutex::new(String::new()));
        let shared = Arc::clone(&answer);
        tokio::spawn(async move {
            // A connection on which nothing is asked must not keep the others waiting.
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer_once(stream, Arc::clone(&shared)));
            }
        });
        Self { port, answer }
    }
}

async fn answer_once(mut stream: TcpStream, answer: Arc<Mutex<String>>) {
    let mut received = vec![0; 1 << 16];
    let _ = stream.read(&mut received).await;
    let body = answer.lock().unwrap().clone();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(body.as_bytes()).await;
}
