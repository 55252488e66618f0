//! The gateway's side: it looks at programs (`inspector`), keeps workers (`pool`, `worker`, `process`) and carries calls out in
//! them (`run`), answering what scripts ask through a [`Host`].

mod inspector;
mod pool;
mod process;
mod run;
mod worker;

use async_trait::async_trait;
use serde_json::Value;

use crate::program::Fault;
use crate::wire::Excess;

pub use inspector::{Inspection, Inspector};
pub use pool::{Adopted, Pool, PoolSettings};

/// Who answers the scripts of one call.
#[async_trait]
pub trait Host: Send + Sync {
    /// Makes a request.
    async fn fetch(&self, request: FetchRequest) -> Result<FetchAnswer, HostError>;

    /// Calls a tool with arguments in JSON; the answer is a `CallToolResult`.
    async fn call_tool(&self, name: &str, arguments: &str, caller: Option<&str>) -> Result<Value, HostError>;

    /// The value of a secret that the script may have.
    async fn secret(&self, name: &str) -> Result<String, HostError>;

    /// Writes to the log.
    fn console(&self, level: &str, text: &str);

    /// Tells the client how far the call has got.
    fn progress(&self, progress: f64, total: Option<f64>, message: Option<String>);

    /// Sends a log message, in JSON, to the client.
    fn log(&self, level: &str, data: &str);
}

/// What a script wants to fetch.
#[derive(Clone, Debug)]
pub struct FetchRequest {
    /// Absolute.
    pub url: String,
    /// As the script wrote it.
    pub method: String,
    /// By name, in lower case.
    pub headers: Vec<(String, String)>,
    /// `follow`, `error` or `manual`.
    pub redirect: String,
    /// None for a request without one.
    pub body: Option<Vec<u8>>,
}

/// What came back.
#[derive(Clone, Debug, Default)]
pub struct FetchAnswer {
    /// The status.
    pub status: u16,
    /// By name, in lower case.
    pub headers: Vec<(String, String)>,
    /// Where the answer came from, after redirects.
    pub url: String,
    /// Whether it came from elsewhere than was asked.
    pub redirected: bool,
    /// The whole body.
    pub body: Vec<u8>,
}

/// Why the gateway does not do what a script asks; the script sees it as an error that it can catch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostError {
    /// What the script reads.
    pub message: String,
    /// Whether it is one that `fetch` throws (`TypeError`).
    pub is_type_error: bool,
}

impl HostError {
    /// An ordinary error.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_type_error: false }
    }

    /// An error as `fetch` throws them.
    pub fn type_error(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_type_error: true }
    }
}

/// Why a call of a script has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The script threw.
    Thrown {
        /// What.
        message: String,
        /// Where, in places of its source; may be empty.
        stack: String,
    },
    /// It took more than it may.
    Exceeded(Excess),
    /// It cannot be loaded.
    Refused(Vec<Fault>),
    /// It waits for something that never comes.
    Stuck,
    /// Its worker ended.
    Died,
    /// Its worker could not be started.
    NotStarted(String),
    /// All workers are busy, and so many calls wait already.
    Busy(usize),
}
