//! Where Chinese words begin and end: of all ways to cut a run into words of the dictionary, the likeliest one (as jieba does it,
//! with jieba's words and frequencies), and for long words the short ones inside them. The dictionary is an automaton in the
//! binary: nothing to load, and only the pages in use take memory.

use std::sync::OnceLock;

use fst::raw::{Fst, Output};

static WORDS: &[u8] = include_bytes!("../../data/generated/words.fst");

/// What a character costs that is no word of its own: as much as the rarest word. Costs are logarithms of frequency, times 16.
const UNKNOWN_COST: u64 = 300;

/// The words of a run of folded Han characters, in order; before a word of three characters or more come the words inside it.
pub(crate) fn segment(han: &str) -> Vec<&str> {
    let bounds: Vec<usize> = han.char_indices().map(|(at, _)| at).chain([han.len()]).collect();
    let ends = best_ends(han, &bounds);
    let mut words = Vec::with_capacity(ends.len());
    let mut start = 0;
    while let Some(&end) = ends.get(start) {
        push_inner_words(han, bounds.get(start..=end).unwrap_or_default(), &mut words);
        words.push(slice(han, &bounds, start, end));
        start = end;
    }
    words
}

/// For each character, where the word ends that begins there on the cheapest way to the end of the run.
fn best_ends(han: &str, bounds: &[usize]) -> Vec<usize> {
    let count = bounds.len() - 1;
    let mut costs = vec![0; count + 1];
    let mut ends = vec![0; count];
    for start in (0..count).rev() {
        let (mut best_cost, mut best_end) = (UNKNOWN_COST + costs[start + 1], start + 1);
        let rest = han.get(bounds[start]..).unwrap_or_default();
        let mut end = start;
        for (length, cost) in words_at_the_start_of(rest) {
            while bounds[end] < bounds[start] + length {
                end += 1;
            }
            // At equal cost the longer word wins.
            if cost + costs[end] <= best_cost {
                (best_cost, best_end) = (cost + costs[end], end);
            }
        }
        costs[start] = best_cost;
        ends[start] = best_end;
    }
    ends
}

/// The dictionary's words of two and three characters strictly inside a longer one.
fn push_inner_words<'t>(han: &'t str, bounds: &[usize], words: &mut Vec<&'t str>) {
    let count = bounds.len().saturating_sub(1);
    for length in (2..=3).filter(|length| *length < count) {
        for start in 0..=count - length {
            let inner = slice(han, bounds, start, start + length);
            if is_word(inner) {
                words.push(inner);
            }
        }
    }
}

fn slice<'t>(han: &'t str, bounds: &[usize], start: usize, end: usize) -> &'t str {
    bounds.get(start).zip(bounds.get(end)).and_then(|(from, to)| han.get(*from..*to)).unwrap_or_default()
}

fn is_word(text: &str) -> bool {
    dictionary().is_some_and(|dictionary| dictionary.contains_key(text))
}

/// Length in bytes and cost of every word that `text` begins with, shortest first.
fn words_at_the_start_of(text: &str) -> impl Iterator<Item = (usize, u64)> {
    let mut state = dictionary().map(|dictionary| (dictionary, dictionary.root(), Output::zero()));
    let walk = text.bytes().enumerate().map_while(move |(at, byte)| {
        let (dictionary, node, output) = state.take()?;
        let step = node.transition(node.find_input(byte)?);
        let (node, output) = (dictionary.node(step.addr), output.cat(step.out));
        state = Some((dictionary, node, output));
        Some((at + 1, node.is_final().then(|| output.cat(node.final_output()).value())))
    });
    walk.filter_map(|(length, cost)| Some((length, cost?)))
}

fn dictionary() -> Option<&'static Fst<&'static [u8]>> {
    static DICTIONARY: OnceLock<Option<Fst<&'static [u8]>>> = OnceLock::new();
    DICTIONARY.get_or_init(|| Fst::new(WORDS).ok()).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_cut_into_their_likeliest_words() {
        for (run, expected) in [
            ("查询北京天气", "查询 北京 天气"),
            ("我要预订机票", "我 要 预订 机票"),
            ("发送电子邮件", "发送 电子 邮件 电子邮件"),
            ("研究生命起源", "研究 生命 起源"),
            ("上传文件到云盘", "上传 文件 到 云盘"),
            ("", ""),
        ] {
            assert_eq!(segment(run).join(" "), expected, "{run}");
        }
    }

    #[test]
    fn nothing_is_lost_whatever_the_run() {
        for run in ["𠮷野家", "饕餮龘靐", "天", "天天天天天天", "mixed中文"] {
            let words = segment(run);
            let rest: String =
                words.iter().filter(|word| word.chars().count() < 3 || !is_word(word)).copied().collect();
            assert!(
                run.chars()
                    .all(|letter| rest.contains(letter) || words.iter().any(|word| word.contains(letter))),
                "{run}"
            );
        }
    }

    #[test]
    fn the_dictionary_is_sound() {
        assert!(
            dictionary().is_some_and(|dictionary| dictionary.verify().is_ok() && dictionary.len() > 100_000)
        );
    }
}
