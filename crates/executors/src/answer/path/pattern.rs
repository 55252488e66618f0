//! The patterns of `match()` and `search()` (I-Regexp, RFC 9485), matched step by step.

use toolrail_core::{Stepped, Unusable};

/// What a pattern may weigh, in states.
const MOST_WEIGHT: u64 = 20_000;

/// Compiles a pattern that has to match the whole of a text, or any part of it.
pub(super) fn compile(written: &str, whole: bool) -> Result<Stepped, String> {
    let dots = with_dots(written);
    let pattern = if whole { format!("^(?:{dots})$") } else { dots };
    let compiled = Stepped::new(&pattern, MOST_WEIGHT).map(|(pattern, _)| pattern);
    compiled.map_err(|fault| match fault {
        Unusable::Large => format!("the pattern {written:?} is too large; repeat fewer things"),
        Unusable::Syntax => format!("{written:?} is not a pattern (I-Regexp); an example is 'a[0-9]+'"),
    })
}

/// A dot stands for any character but line breaks of either sort.
fn with_dots(written: &str) -> String {
    let mut out = String::with_capacity(written.len());
    let (mut escaped, mut in_class) = (false, false);
    for character in written.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '.' if !in_class => {
                out.push_str(r"[^\n\r]");
                continue;
            }
            _ => {}
        }
        out.push(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use toolrail_core::Unknown;

    use super::*;

    #[test]
    fn a_pattern_matches_the_whole_text_or_a_part() {
        for (pattern, text, whole, part) in [
            ("a.b", "axb", true, true),
            ("a.b", "a\rb", false, false),
            ("a|b", "xb", false, true),
            ("[.]", "x", false, false),
            (r"\.", ".", true, true),
            ("", "x", false, true),
        ] {
            let has =
                |whole| compile(pattern, whole).unwrap().is_match(text, |_| Ok::<_, Unknown>(())).unwrap();
            assert_eq!((has(true), has(false)), (whole, part), "{pattern}");
        }
        assert!(compile("(", true).unwrap_err().contains("not a pattern"));
        assert!(compile("(a{1000}){1000}", true).unwrap_err().contains("too large"));
    }
}
