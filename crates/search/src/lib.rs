//! Finding tools by what somebody wants to do, in English and Chinese. Pure: texts in, ranked hits out; no input or output,
//! no knowledge of registries, tenants or protocols.

mod document;
mod hit;
mod index;
mod learnt;
mod method;
mod query;
pub mod semantic;

pub use document::{Document, Parameter};
pub use hit::{Hit, Matched};
pub use index::Index;
pub use learnt::Learnt;
pub use method::{Method, UnknownMethod};
pub use query::{Query, search};
