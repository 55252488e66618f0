//! Stems as words that people can read, for explanations. The words are those of our own lists.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::stem;

static SYNONYMS: &str = include_str!("../../data/synonyms.txt");
static GLOSSARY: &str = include_str!("../../data/generated/glossary.tsv");

/// The shortest word of our lists with that stem, or the stem itself.
pub(crate) fn spelled_out(stem: &str) -> &str {
    static WORDS: OnceLock<HashMap<String, &'static str>> = OnceLock::new();
    WORDS.get_or_init(words).get(stem).copied().unwrap_or(stem)
}

fn words() -> HashMap<String, &'static str> {
    let lines = SYNONYMS.lines().filter(|line| !line.starts_with('#')).chain(GLOSSARY.lines());
    let all = lines.flat_map(|line| line.split(|letter: char| !letter.is_ascii_lowercase()));
    let mut words: HashMap<String, &'static str> = HashMap::new();
    for word in all.filter(|word| word.len() > 2) {
        let known = words.entry(stem(word).into_owned()).or_insert(word);
        if (word.len(), word) < (known.len(), *known) {
            *known = word;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_become_words_again_where_our_lists_have_one() {
        for word in ["create", "summarize", "query", "message"] {
            assert_eq!(stem(spelled_out(&stem(word))), stem(word));
            assert!(spelled_out(&stem(word)).len() >= stem(word).len());
        }
        assert_eq!(spelled_out("merg"), "merge");
        assert_eq!(spelled_out("天气"), "天气");
        assert_eq!(spelled_out("xyzzi"), "xyzzi");
    }
}
