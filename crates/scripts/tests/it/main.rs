//! Scripts in real worker processes.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test may fail it")]

mod calls;
mod hostile;
mod inspecting;
mod support;
