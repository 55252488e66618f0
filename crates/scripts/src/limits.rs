//! What one call of a script may take.

use serde::{Deserialize, Serialize};

/// What one call of a script may take inside its worker. Its wall time is its caller's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processor time in milliseconds.
    pub cpu_ms: u64,
    /// Bytes that its values may take together.
    pub memory: usize,
    /// Bytes of its stack.
    pub stack: usize,
    /// Bytes of its result as JSON.
    pub output: usize,
    /// How many requests it may make of the gateway: `fetch`, nested calls, secrets.
    pub asks: u32,
    /// How many messages it may write to the log and to the client.
    pub messages: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cpu_ms: 5_000,
            memory: 64 << 20,
            stack: 512 << 10,
            output: 8 << 20,
            asks: 100,
            messages: 1_000,
        }
    }
}
