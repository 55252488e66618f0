//! Words that say nothing about what somebody looks for.

use super::table::Table;

static STOP_WORDS: Table = Table::new(include_str!("../../data/stop-words.txt"));

/// Whether a folded, unstemmed word carries no meaning for a search: articles, pronouns, "please help me", 请帮我.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.knows(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn courtesies_are_stop_words_and_what_tools_do_is_not() {
        for word in ["the", "please", "i", "我", "的", "帮我", "请", "一下"] {
            assert!(is_stop_word(word), "{word}");
        }
        for word in ["get", "delete", "weather", "查询", "天气", ""] {
            assert!(!is_stop_word(word), "{word}");
        }
    }

    #[test]
    fn stop_words_are_sorted_and_folded() {
        let words: Vec<_> = STOP_WORDS.keys().collect();
        assert!(words.is_sorted());
        for word in words {
            assert_eq!(crate::lexicon::fold(word), word);
        }
    }
}
