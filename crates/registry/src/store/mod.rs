//! What the registry has with its store beside definitions: that it may be opened late, whether it takes writes, and what
//! replicas share through it.

mod health;
mod late;
mod replicas;

pub use health::WriteFailure;
pub(crate) use health::WriteHealth;
pub use late::{LateStore, OpenStore, OpeningStore};
pub use replicas::Replicas;
