//! Chinese words in English and English words in Chinese. Our own glossary speaks first; CC-CEDICT is asked for what it lacks.

use super::table::Table;

static OWN: Table = Table::new(include_str!("../../data/generated/glossary.tsv"));
static OWN_REVERSE: Table = Table::new(include_str!("../../data/generated/glossary-reverse.tsv"));
static CEDICT: Table = Table::new(include_str!("../../data/generated/cedict.tsv"));
static CEDICT_REVERSE: Table = Table::new(include_str!("../../data/generated/cedict-reverse.tsv"));

/// What a folded, simplified Chinese word means in English: folded words (not stems), the likeliest first, with weights in 0..=1.
pub(crate) fn english_of(word: &str) -> impl Iterator<Item = (&'static str, f32)> {
    first_that_knows(&OWN, &CEDICT, word)
}

/// How an English stem is said in simplified Chinese: words, the likeliest first, with weights in 0..=1.
pub(crate) fn chinese_of(stem: &str) -> impl Iterator<Item = (&'static str, f32)> {
    first_that_knows(&OWN_REVERSE, &CEDICT_REVERSE, stem)
}

fn first_that_knows(own: &Table, other: &Table, word: &str) -> super::table::Words {
    if own.knows(word) { own.words_of(word) } else { other.words_of(word) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::{fold, stem};

    #[test]
    fn words_of_tools_are_known_in_both_languages() {
        for (chinese, english) in [
            ("天气", "weather"),
            ("查询", "query"),
            ("邮件", "email"),
            ("汇率", "exchange"),
            ("航班", "flight"),
        ] {
            assert!(english_of(chinese).any(|(word, _)| word == english), "{chinese}");
            assert!(chinese_of(&stem(english)).any(|(word, _)| word == chinese), "{english}");
        }
    }

    #[test]
    fn the_dictionary_knows_what_the_glossary_lacks() {
        assert!(english_of("大象").any(|(word, _)| word == "elephant"));
        assert!(chinese_of(&stem("elephant")).any(|(word, _)| word == "大象"));
        assert!(english_of("没有这个词").next().is_none());
    }

    #[test]
    fn keys_are_sorted_and_folded_and_weights_are_in_range() {
        for table in [&OWN, &OWN_REVERSE, &CEDICT, &CEDICT_REVERSE] {
            let keys: Vec<_> = table.keys().collect();
            assert!(keys.is_sorted());
            for key in keys {
                assert_eq!(fold(key), key);
                for (word, weight) in table.words_of(key) {
                    assert!(weight > 0.0 && weight <= 1.0, "{key} {word} {weight}");
                }
            }
        }
    }
}
