//! Which runs of three bytes the texts of a tool have, roughly: one bit for several runs. Most tools that a pattern is not in
//! lack one of the runs that every match of it has, and need not be looked at.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

/// A bit for each run of three bytes, and the same bit for some others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline([u64; 4]);

/// As many alternatives of a pattern are kept apart.
const MOST_ALTERNATIVES: usize = 16;

impl Outline {
    /// That of all these texts; no run goes from one to the next.
    pub(crate) fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut outline = Self::default();
        for text in texts {
            outline.add(text.chars().map(folded));
        }
        outline
    }

    fn add(&mut self, text: impl Iterator<Item = char>) {
        let (mut run, mut length) = (0_u32, 0_usize);
        for character in text {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                run = (run << 8 | u32::from(byte)) & 0x00ff_ffff;
                length += 1;
                if length >= 3 {
                    let bit = run.wrapping_mul(0x9e37_79b1) >> 24;
                    self.0[(bit >> 6) as usize] |= 1 << (bit & 63);
                }
            }
        }
    }

    /// Whether it has all bits of another.
    fn has(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).all(|(own, wanted)| own & wanted == wanted)
    }

    fn with(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }

    fn bits(self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

/// A character as it is compared: patterns take small and capital letters for the same. Only these two from elsewhere count as
/// letters of ASCII; of what is not ASCII nothing that has two cases is compared at all.
fn folded(character: char) -> char {
    match character {
        '\u{212a}' => 'k',
        '\u{17f}' => 's',
        _ => character.to_ascii_lowercase(),
    }
}

/// What the texts of a tool must have for a pattern to be in them: one of these outlines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs(Vec<Outline>);

impl Needs {
    /// Those of a pattern; nothing if nothing is known.
    pub(crate) fn of(pattern: &str, deepest: u32) -> Self {
        let parsed = ParserBuilder::new().nest_limit(deepest).build().parse(pattern);
        parsed.map(|parsed| Self(needs_of(&parsed))).unwrap_or_default()
    }

    /// Whether the pattern may be in texts of that outline.
    pub(crate) fn may_be_in(&self, outline: &Outline) -> bool {
        self.0.is_empty() || self.0.iter().any(|needed| outline.has(needed))
    }
}

/// Outlines of which every match has one; none if that cannot be told.
fn needs_of(pattern: &Hir) -> Vec<Outline> {
    match pattern.kind() {
        HirKind::Literal(literal) => of_literal(&literal.0).into_iter().collect(),
        HirKind::Capture(capture) => needs_of(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => needs_of(&repetition.sub),
        HirKind::Concat(parts) => parts.iter().map(needs_of).fold(Vec::new(), both),
        HirKind::Alternation(parts) => {
            let parts: Vec<Vec<Outline>> = parts.iter().map(needs_of).collect();
            let count: usize = parts.iter().map(Vec::len).sum();
            if count > MOST_ALTERNATIVES || parts.iter().any(Vec::is_empty) {
                return Vec::new();
            }
            parts.concat()
        }
        HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) | HirKind::Repetition(_) => Vec::new(),
    }
}

/// What is needed where both are.
fn both(one: Vec<Outline>, other: Vec<Outline>) -> Vec<Outline> {
    match (one.len(), other.len()) {
        (_, 0) => one,
        (0, _) => other,
        (some, more) if some * more <= MOST_ALTERNATIVES => {
            one.iter().flat_map(|one| other.iter().map(|other| one.with(*other))).collect()
        }
        (some, more) => {
            if some <= more {
                one
            } else {
                other
            }
        }
    }
}

/// The runs of a literal, as far as they are the same in whatever case.
fn of_literal(literal: &[u8]) -> Option<Outline> {
    let mut outline = Outline::default();
    let text = std::str::from_utf8(literal).ok()?;
    let has_cases = |character: char| {
        !character.is_ascii()
            && (character.to_lowercase().ne([character]) || character.to_uppercase().ne([character]))
    };
    for part in text.split(has_cases) {
        outline.add(part.chars().map(folded));
    }
    (outline.bits() > 0).then_some(outline)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may_be_in(pattern: &str, text: &str) -> bool {
        Needs::of(pattern, 50).may_be_in(&Outline::of([text]))
    }

    #[test]
    fn whoever_matches_is_never_left_out() {
        let texts = [
            "get_weather",
            "GET the Weather of 北京市",
            "ſpeed in \u{212a}elvin",
            "Straße",
            "ÜBER alles",
            "abcabc",
            "",
        ];
        let patterns = [
            "weather",
            "WEATHER",
            "^get_",
            "(get|the).*weather",
            "speed",
            "kelvin",
            "straße",
            "STRASSE|straße",
            "über",
            "(abc){2}",
            "(abc)*",
            "x*",
            "北京",
            "get[ _](the )?weather",
            "a(bc|b)c?",
            "(?x) get _ weather # all",
            "(?-i)GET",
            "w.ather",
            "\\bget\\b|weather$",
            "(?i)weather",
            "",
        ];
        for pattern in patterns {
            let regex = regex::RegexBuilder::new(pattern).case_insensitive(true).build().unwrap();
            for text in texts {
                assert!(!regex.is_match(text) || may_be_in(pattern, text), "{pattern} in {text}");
            }
        }
    }

    #[test]
    fn most_that_do_not_match_are_left_out() {
        for pattern in ["weather", "(volcano|thunder)", "get.*mail", "天气预报", "(?:snow){3}"] {
            assert!(!may_be_in(pattern, "get_wind: the speed of the wind in a city"), "{pattern}");
        }
        assert!(may_be_in("wind|x", "the rain"), "one alternative says nothing");
    }
}
