//! Scripts: TypeScript files that are tools. The gateway's side (`host`) keeps worker processes and talks to them over `wire`;
//! a worker (`worker`) erases the types of a `program` (`typescript`), carries it out with QuickJS behind walls, and asks the
//! gateway for everything that lies outside. Nothing here knows of tools: who answers a script is a [`Host`].

mod host;
mod limits;
mod program;
mod typescript;
mod wire;
mod worker;

pub use host::{
    Adopted, Failure, FetchAnswer, FetchRequest, Host, HostError, Inspection, Inspector, Pool, PoolSettings,
};
pub use limits::Limits;
pub use program::{Fault, Program};
pub use wire::Excess;
pub use worker::{WORKER_COMMAND, Wall, run as run_worker, walls};
