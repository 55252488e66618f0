//! Language data: a stand-in until the real one is merged.

use std::borrow::Cow;

pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    Cow::Owned(text.to_lowercase())
}

pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

pub(crate) fn segment(han: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let places: Vec<usize> = han.char_indices().map(|(at, _)| at).chain([han.len()]).collect();
    for window in places.windows(3) {
        if let [from, _, to] = window {
            words.extend(han.get(*from..*to));
        }
    }
    words
}

pub(crate) fn english_of(_word: &str) -> impl Iterator<Item = (&'static str, f32)> {
    std::iter::empty()
}

pub(crate) fn chinese_of(_stem: &str) -> impl Iterator<Item = (&'static str, f32)> {
    std::iter::empty()
}

pub(crate) fn related(_stem: &str) -> impl Iterator<Item = (&'static str, f32)> {
    std::iter::empty()
}

const STOP: &[&str] = &[
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by", "can",
    "could", "did", "do", "does", "for", "from", "had", "has", "have", "having", "he", "her", "here", "him", "his", "how", "i",
    "if", "in", "into", "is", "it", "its", "just", "me", "my", "not", "of", "on", "or", "our", "out", "please", "she", "should", "so", "some",
    "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "us",
    "was", "we", "were", "what", "when", "where", "which", "while", "who", "will", "with", "would", "you", "your",
];
