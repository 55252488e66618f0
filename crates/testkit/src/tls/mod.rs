//! Certificates made for a test, and a client that speaks TLS with them.

mod authority;
mod client;
mod site;

pub use authority::{Authority, Issued};
pub use client::{TlsAnswer, TlsClient};
pub use site::TlsSite;
