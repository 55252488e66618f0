//! Text without the differences that do not matter to a search: case, width, accents, traditional and simplified characters.

use std::borrow::Cow;
use std::sync::OnceLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::decompose_canonical;

/// Pairs of a traditional and a simplified character, one pair a line.
static PAIRS: &str = include_str!("../../data/generated/simplified.txt");

/// Folds text: compatibility forms (NFKC, so full-width becomes plain), lower case, Latin letters without accents, simplified
/// characters for traditional ones.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        };
    }
    let mut folded = String::with_capacity(text.len());
    for plain in text.nfkc().flat_map(char::to_lowercase) {
        push_folded(plain, &mut folded);
    }
    Cow::Owned(folded)
}

fn push_folded(letter: char, folded: &mut String) {
    match letter {
        '\0'..='\x7f' => folded.push(letter),
        // Latin-1, Latin Extended and their additions: the letter under its accents.
        '\u{80}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => {
            let mut base = None;
            decompose_canonical(letter, |part| base = base.or(Some(part)));
            folded.push(base.filter(char::is_ascii).unwrap_or(letter));
        }
        // A lone accent, left over from letters that have no composed form.
        '\u{300}'..='\u{36f}' => {}
        _ => folded.push(simplified(letter)),
    }
}

fn simplified(letter: char) -> char {
    static MAP: OnceLock<Box<[(char, char)]>> = OnceLock::new();
    if !('\u{2e80}'..='\u{3ffff}').contains(&letter) {
        return letter;
    }
    let map = MAP.get_or_init(|| PAIRS.lines().filter_map(pair).collect());
    map.binary_search_by_key(&letter, |(traditional, _)| *traditional)
        .ok()
        .and_then(|at| map.get(at))
        .map_or(letter, |(_, simple)| *simple)
}

fn pair(line: &str) -> Option<(char, char)> {
    let mut characters = line.chars();
    Some((characters.next()?, characters.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_width_accents_and_traditional_characters_do_not_matter() {
        for (text, expected) in [
            ("get_weather", "get_weather"),
            ("GetWeather", "getweather"),
            ("ＧＰＳ　１２３", "gps 123"),
            ("Café Zürich", "cafe zurich"),
            ("查詢資料庫與網絡", "查询资料库与网络"),
            ("發送郵件", "发送邮件"),
            ("ﬁle №5", "file no5"),
            ("ｶﾞ", "ガ"),
            ("", ""),
        ] {
            assert_eq!(fold(text), expected);
        }
    }

    #[test]
    fn folded_text_stays_as_it_is() {
        for text in ["天气预报 weather", "naïve İstanbul ẞ ŉ", "한국어 ガ é̂"] {
            let once = fold(text).into_owned();
            assert_eq!(fold(&once), once);
        }
    }

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(fold("plain ascii 42"), Cow::Borrowed(_)));
    }

    #[test]
    fn pairs_are_sorted_and_lead_to_characters_that_stay() {
        let pairs: Vec<_> = PAIRS.lines().filter_map(pair).collect();
        assert!(pairs.len() > 3000 && pairs.is_sorted());
        for (traditional, simple) in pairs {
            assert_eq!(simplified(simple), simple, "{traditional}");
        }
    }
}
