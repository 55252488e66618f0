//! Words that mean nearly the same: synonyms, abbreviations and what they stand for, in English (by stem) and in Chinese.

use super::table::Table;

static RELATED: Table = Table::new(include_str!("../../data/generated/related.tsv"));

/// Words near an English stem or a folded Chinese word, closest first, with weights in 0..=1; English ones are stems.
pub(crate) fn related(stem: &str) -> impl Iterator<Item = (&'static str, f32)> {
    RELATED.words_of(stem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::{fold, stem};

    #[test]
    fn synonyms_and_abbreviations_are_near_in_both_directions() {
        for (one, other) in [
            ("delete", "remove"),
            ("repo", "repository"),
            ("k8s", "kubernetes"),
            ("查询", "检索"),
            ("删除", "移除"),
        ] {
            for (from, to) in [(one, other), (other, one)] {
                assert!(related(&stem(from)).any(|(word, _)| word == stem(to)), "{from} {to}");
            }
        }
    }

    #[test]
    fn opposites_are_not_near() {
        for (one, other) in [
            ("increase", "decrease"),
            ("buy", "sell"),
            ("upload", "download"),
            ("encrypt", "decrypt"),
            ("start", "stop"),
        ] {
            for (from, to) in [(one, other), (other, one)] {
                assert!(!related(&stem(from)).any(|(word, _)| word == stem(to)), "{from} {to}");
            }
        }
    }

    #[test]
    fn related_words_are_sorted_folded_and_never_the_word_itself() {
        let keys: Vec<_> = RELATED.keys().collect();
        assert!(keys.is_sorted());
        for key in keys {
            assert_eq!(fold(key), key);
            for (word, weight) in related(key) {
                assert!(word != key && weight > 0.0 && weight <= 1.0, "{key} {word} {weight}");
            }
        }
    }
}
