//! What a search found.

/// One hit, the better the higher its score.
#[derive(Clone, Debug)]
pub struct Hit<T> {
    /// What was put into the index.
    pub value: T,
    /// From just above 0 to 1.
    pub score: f32,
    /// What of the query was found where, the weightiest first.
    pub matched: Vec<Matched>,
}

/// A word of the query, and where a hit has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Matched {
    /// The word as the query has it.
    pub word: String,
    /// The word it was found by, where that is another: a synonym, a translation, a corrected spelling.
    pub by: Option<String>,
    /// The field: `name`, `title`, `description`, `tags`, `category`, `server`, `parameters`, `learnt`, `meaning`.
    pub field: &'static str,
    /// Its share of the score.
    pub weight: f32,
}
