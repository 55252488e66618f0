//! Texts as vectors whose nearness is nearness of meaning: what the optional semantic tier of search stands on. Whoever
//! makes such vectors, a table in memory or a server elsewhere, stands behind one trait.

use std::time::Duration;

use async_trait::async_trait;

/// Makes vectors of texts. All of one embedder have the same number of dimensions.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Tells its vectors from those of any other.
    fn model(&self) -> &str;

    /// For which pairs of texts its vectors say something.
    fn reach(&self) -> Reach;

    /// How many texts are best given at once.
    fn batch(&self) -> usize;

    /// The vectors of descriptions, each in the place of its text; nothing for a text that has none. Nobody waits for
    /// this, so it may take its time.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Option<Embedding>>, EmbedError>;

    /// The vector of a query, for which somebody waits; nothing for one that has none.
    async fn embed_query(&self, text: &str) -> Result<Option<Embedding>, EmbedError>;

    /// Why it does not work as it should at the moment; nothing while it does.
    fn failing(&self) -> Option<String> {
        None
    }
}

/// For which pairs of texts vectors say something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Whatever languages the two are in.
    AnyScript,
    /// Only where both are written mostly in Latin letters: an English table knows no Chinese.
    Latin,
}

impl Reach {
    /// Whether its vectors say something about that text.
    pub fn covers(self, text: &str) -> bool {
        match self {
            Self::AnyScript => true,
            Self::Latin => {
                let letters = || text.chars().filter(|letter| letter.is_alphabetic());
                // Latin letters end with U+024F; one foreign letter in ten is a name or a unit.
                let foreign = letters().filter(|letter| *letter > '\u{24f}').count();
                foreign * 10 <= letters().count()
            }
        }
    }
}

/// Why there are no vectors at the moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EmbedError {
    /// In words for whoever searches; free of secrets.
    pub message: String,
    /// When it may be worth trying again.
    pub retry_after: Duration,
}

/// A vector of length 1 whose numbers were rounded to one byte each; that moves a cosine by less than 0.01.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    scale: f32,
    numbers: Box<[i8]>,
}

impl Embedding {
    /// The most dimensions.
    pub const MOST_DIMENSIONS: usize = 8192;

    /// The vector in that direction; nothing if that is none.
    pub fn towards(direction: &[f32]) -> Option<Self> {
        let length = direction.iter().map(|number| number * number).sum::<f32>().sqrt();
        let largest = direction.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
        if !length.is_finite() || largest <= 0.0 || direction.len() > Self::MOST_DIMENSIONS {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "the quotient is between -127 and 127")]
        let numbers = direction.iter().map(|number| (number / largest * 127.0).round() as i8).collect();
        Some(Self { scale: largest / 127.0 / length, numbers })
    }

    /// The vector with those numbers, each times `scale`.
    pub fn from_parts(scale: f32, numbers: Box<[i8]>) -> Option<Self> {
        let is_good = scale.is_finite() && scale > 0.0 && numbers.len() <= Self::MOST_DIMENSIONS;
        is_good.then_some(Self { scale, numbers })
    }

    /// What each number must be taken times.
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// The rounded numbers.
    pub fn numbers(&self) -> &[i8] {
        &self.numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_keeps_its_direction_and_has_length_one() {
        let vector = Embedding::towards(&[3.0, -4.0, 0.0]).unwrap();
        let numbers: Vec<f32> = vector.numbers().iter().map(|n| f32::from(*n) * vector.scale()).collect();
        assert!((numbers[0] - 0.6).abs() < 0.01 && (numbers[1] + 0.8).abs() < 0.01, "{numbers:?}");
        assert!((numbers.iter().map(|n| n * n).sum::<f32>() - 1.0).abs() < 0.01);
    }

    #[test]
    fn an_english_table_covers_no_chinese() {
        assert!(Reach::Latin.covers("résumé of the café, 50 µm"));
        assert!(Reach::Latin.covers("42"));
        assert!(!Reach::Latin.covers("查询 GitHub 的问题"));
        assert!(Reach::AnyScript.covers("查询天气"));
    }

    #[test]
    fn what_has_no_direction_is_no_vector() {
        for direction in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY], &[f32::MAX, f32::MAX]] {
            assert_eq!(Embedding::towards(direction), None);
        }
    }
}
