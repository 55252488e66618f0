//! How near is near: models differ in what their cosines are like, so what counts is how much nearer than usual a tool is.

/// How much nearness counts, before the ranking weighs it.
const SHARE: f32 = 0.6;
/// How much nearer than usual a tool is that is found without a word in common.
const ALONE: f32 = 0.3;
/// So many tools with nothing to do with the query are added in thought: of a few tools all may be near.
const IMAGINED: usize = 20;

/// What the cosines of one query are to be held against.
#[derive(Clone, Copy, Debug)]
pub struct Closeness {
    usual: f32,
}

impl Closeness {
    /// The most tools that are worth looking at without a word in common.
    pub const MOST_CANDIDATES: usize = 100;

    /// Where the cosines of that many tools have that sum.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a mean of cosines")]
    pub fn new(total: f64, count: usize) -> Self {
        Self { usual: ((total / (count + IMAGINED) as f64) as f32).clamp(0.0, 0.95) }
    }

    /// What a tool's nearness says for it, from 0 to 1.
    pub fn score(self, cosine: f32) -> f32 {
        SHARE * self.beyond_usual(cosine)
    }

    /// Whether a tool is near enough to be found without a word in common.
    pub fn is_near(self, cosine: f32) -> bool {
        self.beyond_usual(cosine) >= ALONE
    }

    fn beyond_usual(self, cosine: f32) -> f32 {
        ((cosine - self.usual) / (1.0 - self.usual)).clamp(0.0, 1.0)
    }
}
