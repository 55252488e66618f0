//! What tests stand on: the real binary as a child process, real servers on loopback for it to call, real databases, and clients.
//! For development only; no product crate depends on it except in its dev-dependencies.

mod balancer;
mod child;
mod database;
mod gateway;
mod http_client;
mod raw;
mod stdio;
mod tls;
mod upstream;
mod wait;
mod websocket;

pub use balancer::Balancer;
pub use database::{Connection, Database, DatabaseKind, Durability, Server, ServerOptions};
pub use gateway::{Gateway, GatewayBuilder};
pub use http_client::{HttpClient, Reply};
pub use raw::{RawAnswer, RawConnection};
pub use stdio::Stdio;
pub use tls::{Authority, Issued, TlsAnswer, TlsClient, TlsSite};
pub use upstream::{Canned, Received, Upstream};
pub use wait::wait_until;
pub use websocket::WebSocket;
