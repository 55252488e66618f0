//! A pool, and a host that remembers what it was told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolrail_scripts::{
    Adopted, Failure, FetchAnswer, FetchRequest, Host, HostError, Limits, Pool, PoolSettings, Program,
};

pub(crate) const WORKER: &str = env!("CARGO_BIN_EXE_toolrail-script-worker");

#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) said: Mutex<Vec<String>>,
    pub(crate) asked: Mutex<Vec<String>>,
}

#[async_trait]
impl Host for Heard {
    async fn fetch(&self, request: FetchRequest) -> Result<FetchAnswer, HostError> {
        let body = request.body.as_deref().map(String::from_utf8_lossy).unwrap_or_default().into_owned();
        self.asked.lock().unwrap().push(format!("{} {} {body}", request.method, request.url));
        if request.url.contains("refused") {
            return Err(HostError::type_error("refused"));
        }
        if request.url.contains("never") {
            std::future::pending::<()>().await;
        }
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let body = json!({"sent": request.headers, "body": body}).to_string().into_bytes();
        Ok(FetchAnswer { status: 200, headers, url: request.url, redirected: false, body })
    }

    async fn call_tool(&self, name: &str, arguments: &str, caller: Option<&str>) -> Result<Value, HostError> {
        self.asked.lock().unwrap().push(format!("{name} {arguments} {caller:?}"));
        Ok(json!({"content": [{"type": "text", "text": format!("{name} ran")}]}))
    }

    async fn secret(&self, name: &str) -> Result<String, HostError> {
        if name == "KEY" { Ok("hush".to_owned()) } else { Err(HostError::new(format!("no secret {name}"))) }
    }

    fn console(&self, level: &str, text: &str) {
        self.said.lock().unwrap().push(format!("{level}: {text}"));
    }

    fn progress(&self, progress: f64, total: Option<f64>, message: Option<String>) {
        self.said.lock().unwrap().push(format!("progress {progress} {total:?} {message:?}"));
    }

    fn log(&self, level: &str, data: &str) {
        self.said.lock().unwrap().push(format!("log {level} {data}"));
    }
}

pub(crate) fn pool() -> Arc<Pool> {
    Pool::new(PoolSettings::new(WORKER))
}

pub(crate) fn adopt(pool: &Arc<Pool>, source: &str) -> Adopted {
    pool.adopt(Program::single("tool.ts", source), |_| {})
}

/// Runs the body of a default function once.
pub(crate) async fn run(body: &str) -> Result<Value, Failure> {
    run_with(body, &Heard::default(), Limits::default()).await
}

pub(crate) async fn run_with(body: &str, heard: &Heard, limits: Limits) -> Result<Value, Failure> {
    let source = format!("export default async function (request: any, context: any) {{\n{body}\n}}");
    call(&adopt(&pool(), &source), heard, limits).await
}

pub(crate) async fn call(adopted: &Adopted, heard: &Heard, limits: Limits) -> Result<Value, Failure> {
    let request = json!({"params": {"name": "tool", "arguments": {"who": "Ann"}}}).to_string();
    let running = adopted.run(&request, limits, false, heard);
    let result = tokio::time::timeout(Duration::from_mins(1), running).await.expect("it ends by itself");
    Ok(result?.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap()))
}
