//! What upstreams offer: they are followed (`followed.rs`), whoever offers something is an [`Offerer`], and what is offered
//! becomes entries (`offered_tool.rs`). What the gateway has by itself is made in the same way (`built_in.rs`).

mod bell;
mod built_in;
mod followed;
mod offered_tool;
mod offerer;

pub(crate) use bell::{OffersBell, listener};
pub(crate) use built_in::built_ins;
pub(crate) use followed::{Followed, Upstreams, in_short};
pub(crate) use offerer::Offerer;
