//! Policies: what wraps an executor. One file each; `stack` holds their order.

mod stack;
mod timeout;

pub use stack::wrap;
