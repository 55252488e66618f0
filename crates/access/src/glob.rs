//! Patterns in rules: `*` for any characters, `?` for one. Tools are matched in any case, as everywhere in the gateway; people,
//! tenants, groups and scopes as they are written, because two that differ in case are two.

use toolrail_core::NamePattern;

/// A pattern.
#[derive(Clone, Debug)]
pub(crate) struct Glob {
    text: Box<str>,
    /// The same in any case, for names that have more than ASCII.
    folded: Option<NamePattern>,
}

impl Glob {
    /// A pattern that cares for case.
    pub(crate) fn exact(text: &str) -> Self {
        Self { text: text.into(), folded: None }
    }

    /// A pattern that does not.
    pub(crate) fn any_case(text: &str) -> Self {
        Self { text: text.into(), folded: Some(NamePattern::new(text)) }
    }

    /// Whether the whole name fits.
    pub(crate) fn fits(&self, name: &str) -> bool {
        let ascii = self.text.is_ascii() && name.is_ascii();
        match (&self.folded, ascii) {
            (Some(_), true) => fits(self.text.as_bytes(), name.as_bytes(), u8::eq_ignore_ascii_case),
            (Some(folded), false) => folded.fits(name),
            (None, true) => fits(self.text.as_bytes(), name.as_bytes(), u8::eq),
            (None, false) => {
                let letters = |text: &str| text.chars().map(u32::from).collect::<Vec<_>>();
                fits(&letters(&self.text), &letters(name), u32::eq)
            }
        }
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
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn tools_are_matched_as_everywhere_in_the_gateway(pattern in "[aAbBä*?.]{0,8}", name in "[aAbBä.]{0,8}") {
            prop_assert_eq!(Glob::any_case(&pattern).fits(&name), NamePattern::new(&pattern).fits(&name));
        }

        #[test]
        fn people_are_matched_in_lower_case_as_tools_are(pattern in "[abä*?.]{0,8}", name in "[abä.]{0,8}") {
            prop_assert_eq!(Glob::exact(&pattern).fits(&name), NamePattern::new(&pattern).fits(&name));
        }
    }

    #[test]
    fn two_tenants_that_differ_in_case_are_two() {
        assert!(Glob::exact("Acme*").fits("Acme-eu"));
        assert!(!Glob::exact("Acme*").fits("acme-eu"));
        assert!(!Glob::exact("Ärzte").fits("ärzte"));
    }
}
