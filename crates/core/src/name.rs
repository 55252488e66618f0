//! The name of a tool: checked once, then trusted. Names are unique by folded case: databases disagree
//! about case, so we decide here.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// 1 to 64 characters of `[A-Za-z0-9_.-]`, at least one of them a letter or digit. That of a definition may be longer and in
/// any script: see [`ToolName::defined`]. That of a tool that is only described is whatever it is called elsewhere: see
/// [`ToolName::described`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct ToolName(Box<str>);

/// Why a text is not a tool name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    /// No characters at all.
    #[error("a tool name must not be empty; use 1 to 64 characters of A-Z a-z 0-9 _ . -")]
    Empty,
    /// More characters than every client accepts.
    #[error("a tool name has at most 64 characters, this one has {0}; shorten it")]
    TooLong(usize),
    /// A character some client would refuse.
    #[error("{0:?} is not allowed in a tool name; use {allowed}{advice}", allowed = allowed(*.0), advice = advice(*.0, .1))]
    Character(char, String),
    /// Marks only: `.` and `..` would be folders in a path.
    #[error("a tool name must have a letter or digit, {0:?} has none")]
    MarksOnly(String),
    /// More characters than even a described tool may have.
    #[error("a name has at most 200 characters, this one has {0}; shorten it")]
    MuchTooLong(usize),
    /// A character that would spoil lists and logs.
    #[error("the control character {0:?} is not allowed in a name; remove it")]
    Control(char),
    /// A character that nobody sees, so that two names would look the same.
    #[error("the invisible character {0:?} is not allowed in a name; remove it")]
    Invisible(char),
    /// Nobody would see it.
    #[error("the name {0:?} begins or ends with white space; remove that")]
    Padded(String),
}

/// What may stand in a name: a letter is refused only where clients must be able to carry it.
fn allowed(refused: char) -> &'static str {
    if refused.is_alphanumeric() { "A-Z a-z 0-9 _ . -" } else { "letters, digits, _ . -" }
}

/// A name that would do, if something is left of the one that was written, and where its letters may stand instead.
fn advice(refused: char, suggestion: &str) -> String {
    let useful = suggestion.contains(char::is_alphanumeric);
    let example = if useful { format!(", for example {suggestion:?}") } else { String::new() };
    let elsewhere = if refused.is_alphabetic() {
        "; other letters may stand in \"title\" and \"description\""
    } else {
        ""
    };
    format!("{example}{elsewhere}")
}

impl ToolName {
    /// The longest name that every client accepts.
    pub const MAX_LENGTH: usize = 64;

    /// The longest name of a definition, in characters.
    pub const LONGEST: usize = 200;

    /// What the name of a definition is, as a regular expression for schemas.
    pub const DEFINED_PATTERN: &str = r"^(?=.*[\p{L}\p{N}])[\p{L}\p{M}\p{N}_.-]{1,200}$";

    /// What the name of a tool that is only described is, as a regular expression for schemas.
    pub const DESCRIBED_PATTERN: &str = r"^(?!\s)[^\u0000-\u001f\u007f-\u009f]{1,200}$";

    /// Checks `text` and keeps it as a name.
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        if text.is_empty() {
            return Err(InvalidName::Empty);
        }
        if let Some(bad) = text.chars().find(|c| !is_allowed(*c)) {
            let suggestion =
                text.chars().map(|c| if is_allowed(c) { c } else { '_' }).take(Self::MAX_LENGTH).collect();
            return Err(InvalidName::Character(bad, suggestion));
        }
        if text.len() > Self::MAX_LENGTH {
            return Err(InvalidName::TooLong(text.len()));
        }
        if !text.contains(|c: char| c.is_ascii_alphanumeric()) {
            return Err(InvalidName::MarksOnly(text.to_owned()));
        }
        Ok(Self(text.into()))
    }

    /// Checks `text` and keeps it as the name of a definition: letters of any script, digits, `_ . -`. What clients cannot
    /// carry has an [alias](Self::alias).
    pub fn defined(text: &str) -> Result<Self, InvalidName> {
        if text.is_empty() {
            return Err(InvalidName::Empty);
        }
        if let Some(bad) = text.chars().find(|c| !is_letter_of_any_script(*c)) {
            let fitting = |c: char| if is_letter_of_any_script(c) { c } else { '_' };
            return Err(InvalidName::Character(bad, text.chars().map(fitting).take(Self::LONGEST).collect()));
        }
        let length = text.chars().count();
        if length > Self::LONGEST {
            return Err(InvalidName::MuchTooLong(length));
        }
        if !text.contains(char::is_alphanumeric) {
            return Err(InvalidName::MarksOnly(text.to_owned()));
        }
        Ok(Self(text.into()))
    }

    /// What clients are told instead of a name that they cannot carry: always the same for the same name.
    pub fn alias(&self) -> Option<String> {
        let carried = self.0.len() <= Self::MAX_LENGTH && self.0.chars().all(is_allowed);
        (!carried).then(|| self.shortened_to(Self::MAX_LENGTH))
    }

    /// The name as clients are told it.
    pub fn listed(&self) -> Cow<'_, str> {
        self.alias().map_or(Cow::Borrowed(&self.0), Cow::Owned)
    }

    /// At most so many characters that every client carries: what is left of the name, and a sum of all of it.
    pub fn shortened_to(&self, most: usize) -> String {
        let sum = format!("_{:010x}", sum_of(&self.folded()) >> 24);
        let mut left = String::new();
        for character in self.0.chars() {
            let fits = if is_allowed(character) { character } else { '_' };
            if !(fits == '_' && left.ends_with('_')) {
                left.push(fits);
            }
        }
        let left = left.trim_matches(['_', '.', '-']);
        let left = if left.is_empty() { "tool" } else { left };
        let end = left.len().min(most.saturating_sub(sum.len()));
        format!("{}{sum}", left.get(..end).unwrap_or_default().trim_end_matches(['_', '.', '-']))
    }

    /// Checks `text` and keeps it as the name of a tool that is only described. Nobody calls it by that name here, so it is
    /// called as it is where it lives: in any script, with spaces.
    pub fn described(text: &str) -> Result<Self, InvalidName> {
        if text.is_empty() {
            return Err(InvalidName::Empty);
        }
        if let Some(control) = text.chars().find(|character| character.is_control()) {
            return Err(InvalidName::Control(control));
        }
        if let Some(invisible) = text.chars().find(|character| is_invisible(*character)) {
            return Err(InvalidName::Invisible(invisible));
        }
        if text.trim() != text {
            return Err(InvalidName::Padded(text.chars().take(Self::LONGEST).collect()));
        }
        let length = text.chars().count();
        if length > Self::LONGEST {
            return Err(InvalidName::MuchTooLong(length));
        }
        if !text.contains(char::is_alphanumeric) {
            return Err(InvalidName::MarksOnly(text.to_owned()));
        }
        Ok(Self(text.into()))
    }

    /// A name for a definition that has none that is valid, while its other faults are looked for.
    pub(crate) fn stand_in() -> Self {
        Self("unnamed".into())
    }

    /// The name as the user wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form in which names are compared for uniqueness.
    pub fn folded(&self) -> String {
        Self::fold(&self.0)
    }

    /// Folds any text the way names are folded.
    pub fn fold(text: &str) -> String {
        text.to_ascii_lowercase()
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Whether it takes no room, or only turns the direction of what follows. The mark that asks for a picture (U+FE0F) may
/// stand, as it does behind many of them.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0e}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// A letter or digit of any script, with the marks that belong to letters, or one of the signs that names may have.
fn is_letter_of_any_script(character: char) -> bool {
    is_allowed(character)
        || (!character.is_ascii()
            && !is_invisible(character)
            && (character.is_alphanumeric() || is_mark(character)))
}

/// Marks that belong to the letter before them: accents, vowel signs and the like.
fn is_mark(character: char) -> bool {
    matches!(
        character,
        '\u{300}'..='\u{36f}'
            | '\u{483}'..='\u{487}'
            | '\u{591}'..='\u{5c7}'
            | '\u{610}'..='\u{61a}'
            | '\u{64b}'..='\u{65f}'
            | '\u{900}'..='\u{903}'
            | '\u{93a}'..='\u{94f}'
            | '\u{951}'..='\u{957}'
            | '\u{981}'..='\u{983}'
            | '\u{9bc}'..='\u{9cd}'
            | '\u{a01}'..='\u{a03}'
            | '\u{a3c}'..='\u{a4d}'
            | '\u{abc}'..='\u{acd}'
            | '\u{b3c}'..='\u{b4d}'
            | '\u{bbe}'..='\u{bcd}'
            | '\u{c3e}'..='\u{c4d}'
            | '\u{cbc}'..='\u{ccd}'
            | '\u{d3b}'..='\u{d4d}'
            | '\u{e31}'..='\u{e3a}'
            | '\u{e47}'..='\u{e4e}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{3099}'..='\u{309a}'
    )
}

/// FNV-1a with a last mixing: the same everywhere and for ever, which the standard hashers do not promise.
fn sum_of(text: &str) -> u64 {
    let sum = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mixed = (sum ^ (sum >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 33)
}

fn is_allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_documents_are_accepted() {
        for name in ["echo", "weather.search", "schedule_tool", "a", &"x".repeat(64)] {
            assert_eq!(ToolName::parse(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn a_refused_name_comes_with_one_that_would_do() {
        let refused = ToolName::parse("get user/名").unwrap_err();
        assert_eq!(refused, InvalidName::Character(' ', "get_user__".into()));
        assert_eq!(ToolName::parse("").unwrap_err(), InvalidName::Empty);
        assert_eq!(ToolName::parse(&"x".repeat(65)).unwrap_err(), InvalidName::TooLong(65));
    }

    #[test]
    fn other_letters_are_sent_where_they_may_stand() {
        let told = |name: &str| ToolName::parse(name).unwrap_err().to_string();
        assert_eq!(
            told("天气.查询"),
            "'天' is not allowed in a tool name; use A-Z a-z 0-9 _ . -; other letters may stand in \"title\" and \"description\""
        );
        assert!(told("weather/now").ends_with(". -, for example \"weather_now\""));
        assert!(told("get天气").contains("for example \"get__\"; other letters"));
    }

    #[test]
    fn a_name_of_marks_only_is_refused() {
        for name in [".", "..", "_", "-.-"] {
            assert_eq!(ToolName::parse(name).unwrap_err(), InvalidName::MarksOnly(name.into()));
        }
        assert!(ToolName::parse("_1").is_ok());
    }

    #[test]
    fn a_described_tool_is_called_as_it_is_elsewhere() {
        for name in ["天气查询", "Ant Design__get docs", "a/b", "search#2", "PDF&URL", &"名".repeat(200)]
        {
            assert_eq!(ToolName::described(name).unwrap().as_str(), name);
        }
        for name in ["", " a", "a ", "a\nb", "\u{3000}", "..", "/", &"名".repeat(201)] {
            assert!(ToolName::described(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn what_nobody_sees_is_refused_in_the_name_of_a_described_tool() {
        for invisible in
            ['\u{200b}', '\u{200d}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{ad}', '\u{e0041}', '\u{3164}']
        {
            let refused = ToolName::described(&format!("get{invisible}weather")).unwrap_err();
            assert_eq!(refused, InvalidName::Invisible(invisible));
        }
        assert!(ToolName::described("☀\u{fe0f} weather").is_ok());
    }

    /// C32.
    #[test]
    fn a_definition_is_named_in_any_script() {
        for name in
            ["天气.查询", "überweisung", "मौसम", "สภาพอากาศ", "طقس_1", &"名".repeat(200), &"x".repeat(200)]
        {
            assert_eq!(ToolName::defined(name).unwrap().as_str(), name);
        }
        for name in ["", "a b", "a/b", "..", "a\u{200b}b", "a\nb", "§", &"名".repeat(201)] {
            assert!(ToolName::defined(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_name_that_clients_cannot_carry_has_an_alias_that_they_can() {
        let alias = |name: &str| ToolName::defined(name).unwrap().alias();
        assert_eq!(alias("weather.now"), None);
        assert_eq!(alias(&"x".repeat(64)), None);
        let names = ["天气.查询", "天气.查问", "get天气", &"x".repeat(65), &format!("{}y", "x".repeat(65))];
        let aliases: Vec<String> = names.iter().filter_map(|name| alias(name)).collect();
        let different: std::collections::BTreeSet<&String> = aliases.iter().collect();
        assert_eq!(different.len(), names.len(), "{aliases:?}");
        for alias in &aliases {
            assert!(ToolName::parse(alias).is_ok(), "{alias}");
        }
        assert!(aliases[2].starts_with("get_"), "{aliases:?}");
        assert_eq!(alias("天气"), alias("天气"));
        assert_eq!(ToolName::defined("天气").unwrap().listed(), "tool_ef6f97b810");
        assert!(ToolName::defined(&"x".repeat(99)).unwrap().shortened_to(47).len() <= 47);
    }

    #[test]
    fn names_fold_to_one_key() {
        assert_eq!(ToolName::parse("User.Get").unwrap().folded(), "user.get");
    }
}
