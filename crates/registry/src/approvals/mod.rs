//! Calls that a person must approve of. `needed.rs` is what a tool has of it: it asks the user of a client that can be asked
//! (`form.rs`), or else has the call wait at the **desk** (`desk.rs`), whose papers are records of the store (`record.rs`), so that
//! any replica shows and decides them. `waiting.rs` wakes those who wait; `shown.rs` is what people see of a call; `approved.rs`
//! is the client as whoever carries the call out sees it afterwards.

mod approved;
mod board;
mod decide;
mod desk;
mod digest;
mod form;
mod needed;
mod record;
mod shown;
mod waiting;

pub use decide::Decision;
pub use desk::ApprovalDesk;
pub(crate) use digest::is_exact;
pub(crate) use needed::{Go, NeededApproval};
pub use record::{ApprovalRecord, ApprovalState, ApprovalView};
pub(crate) use shown::{masked, shown};
