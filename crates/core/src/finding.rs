//! What every way to search for tools has in common, whoever asks.

/// How many tools a search returns unless the request says how many.
pub const USUAL_HITS: u8 = 5;
