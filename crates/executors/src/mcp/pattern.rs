//! Patterns over names: `*` stands for any characters, everything else for itself.

/// One pattern.
#[derive(Clone, Debug)]
pub(super) struct NamePattern(Vec<String>);

impl NamePattern {
    pub(super) fn new(text: &str) -> Self {
        Self(text.split('*').map(str::to_owned).collect())
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        let [first, middle @ .., last] = self.0.as_slice() else {
            return self.0.first().is_some_and(|only| only == name);
        };
        let Some(mut rest) = name.strip_prefix(first.as_str()) else {
            return false;
        };
        // The earliest place for each part leaves the most room for the next.
        for part in middle {
            let Some(at) = rest.find(part.as_str()) else {
                return false;
            };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters_and_nothing_else_does() {
        let cases = [
            ("*", "", true),
            ("*", "anything", true),
            ("get_*", "get_user", true),
            ("get_*", "forget_user", false),
            ("*_user", "get_user", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("ab*ba", "aba", false),
            ("user", "user", true),
            ("user", "users", false),
            ("us.r", "user", false),
            ("", "", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(NamePattern::new(pattern).matches(name), expected, "{pattern} over {name}");
        }
    }
}
