//! Patterns of names, as people write them to choose some of many.

/// A pattern of names: `*` stands for any characters, `?` for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    text: Box<str>,
    any_case: bool,
}

impl NamePattern {
    /// The pattern that was written like that, of names in any case.
    pub fn new(text: &str) -> Self {
        Self { text: text.into(), any_case: true }
    }

    /// The same of texts in exactly that case, as those of other systems are.
    pub fn exact(text: &str) -> Self {
        Self { text: text.into(), any_case: false }
    }

    /// Whether the whole name fits.
    pub fn fits(&self, name: &str) -> bool {
        let is_ascii = self.text.is_ascii() && name.is_ascii();
        let (pattern, bytes) = (self.text.as_bytes(), name.as_bytes());
        match (is_ascii, self.any_case) {
            (true, true) => fits(pattern, bytes, u8::eq_ignore_ascii_case),
            (true, false) => fits(pattern, bytes, u8::eq),
            (false, _) => fits(&self.letters(&self.text), &self.letters(name), char::eq),
        }
    }

    fn letters(&self, text: &str) -> Vec<char> {
        let letters = text.chars();
        if self.any_case { letters.flat_map(char::to_lowercase).collect() } else { letters.collect() }
    }
}

/// Goes back to the last `*` only, so it takes at most the length of the name times that of the pattern.
fn fits<T: Copy + PartialEq + From<u8>>(pattern: &[T], name: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    let (star, one) = (T::from(b'*'), T::from(b'?'));
    let (mut at, mut read) = (0, 0);
    let mut last_star: Option<(usize, usize)> = None;
    while let Some(letter) = name.get(read) {
        match (pattern.get(at), last_star) {
            (Some(wanted), _) if *wanted == star => {
                last_star = Some((at, read));
                at += 1;
            }
            (Some(wanted), _) if *wanted == one || same(wanted, letter) => (at, read) = (at + 1, read + 1),
            (_, Some((star_at, from))) => {
                last_star = Some((star_at, from + 1));
                (at, read) = (star_at + 1, from + 1);
            }
            (_, None) => return false,
        }
    }
    pattern.iter().skip(at).all(|rest| *rest == star)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_may_be_of_one_case() {
        let exact = NamePattern::exact("Ops-*");
        assert!(exact.fits("Ops-eu") && !exact.fits("ops-eu") && !exact.fits("OPS-eu"));
        assert!(
            NamePattern::exact("Ärzte*").fits("Ärzte.x") && !NamePattern::exact("Ärzte*").fits("ärzte.x")
        );
        assert!(NamePattern::new("ärzte*").fits("ÄRZTE.x"));
    }

    #[test]
    fn a_pattern_fits_whole_names_in_any_case() {
        for (pattern, name, fits) in [
            ("github.*", "GitHub.star", true),
            ("github.*", "github", false),
            ("*.get", "user.get", true),
            ("*.get", "user.get.all", false),
            ("*get*", "budget", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("天气?询", "天气查询", true),
            ("*", "", true),
            ("", "a", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("**", "anything", true),
            ("STRASSE*", "strasse.find", true),
        ] {
            assert_eq!(NamePattern::new(pattern).fits(name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_longer_than_its_length_times_that_of_the_name() {
        let pattern = NamePattern::new(&format!("{}b", "*a".repeat(60)));
        assert!(!pattern.fits(&"a".repeat(128)));
    }
}
