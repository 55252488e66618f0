//! English words without their endings. Every table that is looked up by a stem was made with this stemmer (Snowball's English).

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// Words beyond this length are ids and the like, which have no endings.
const LONGEST: usize = 40;

/// The stem of a folded word. Only plain Latin letters are stemmed; anything else is its own stem.
pub(crate) fn stem(word: &str) -> Cow<'_, str> {
    if word.len() > LONGEST || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Cow::Borrowed(word);
    }
    Stemmer::create(Algorithm::English).stem(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_words_lose_their_endings_and_nothing_else_changes() {
        for (word, expected) in
            [("creating", "creat"), ("queries", "queri"), ("k8s", "k8s"), ("天气", "天气"), ("", "")]
        {
            assert_eq!(stem(word), expected);
        }
        let id = "a".repeat(41) + "ing";
        assert_eq!(stem(&id), id);
    }
}
