//! Which documents answer a query best, in two stages: `candidates` picks a few hundred by their words, `scorer` looks at each
//! of them closely. `search` puts it together.

pub(crate) mod candidates;
pub(crate) mod explain;
pub(crate) mod finds;
pub(crate) mod highlight;
pub(crate) mod hit;
pub(crate) mod learnt;
pub(crate) mod scorer;
pub(crate) mod search;
