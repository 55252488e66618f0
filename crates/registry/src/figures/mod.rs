//! Figures for people: what there is and what is used (`statistics.rs`), and what tools take of a model's context
//! (`context_cost.rs`).

mod context_cost;
mod statistics;
mod tokens;

pub use context_cost::{ClientFormat, ContextCost, FormatCost};
pub use statistics::{MostUsed, Statistics};
