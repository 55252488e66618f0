//! The name of a tool: checked once, then trusted. Names are unique by folded case (C9 of the requirements:
//! databases disagree about case, so we decide here).

use std::fmt;

use serde::Serialize;

/// 1 to 64 characters of `[A-Za-z0-9_.-]`, at least one of them a letter or digit. That of a tool that is only described is
/// whatever it is called elsewhere: see [`ToolName::described`].
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
    #[error("{0:?} is not allowed in a tool name; use A-Z a-z 0-9 _ . -{advice}", advice = advice(*.0, .1))]
    Character(char, String),
    /// Marks only: `.` and `..` would be folders in a path.
    #[error("a tool name must have a letter or digit, {0:?} has none")]
    MarksOnly(String),
    /// More characters than even a described tool may have.
    #[error("the name of a described tool has at most 128 characters, this one has {0}; shorten it")]
    DescribedTooLong(usize),
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

/// A name that would do, if something is left of the one that was written, and where its letters may stand instead.
fn advice(refused: char, suggestion: &str) -> String {
    let useful = suggestion.contains(|c: char| c.is_ascii_alphanumeric());
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

    /// What a name is, as a regular expression for schemas.
    pub const PATTERN: &str = "^(?=.*[A-Za-z0-9])[A-Za-z0-9_.-]{1,64}$";

    /// The longest name of a tool that is only described, in characters.
    pub const LONGEST_DESCRIBED: usize = 128;

    /// What the name of a tool that is only described is, as a regular expression for schemas.
    pub const DESCRIBED_PATTERN: &str = r"^(?!\s)[^\u0000-\u001f\u007f-\u009f]{1,128}$";

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
            return Err(InvalidName::Padded(text.chars().take(Self::LONGEST_DESCRIBED).collect()));
        }
        let length = text.chars().count();
        if length > Self::LONGEST_DESCRIBED {
            return Err(InvalidName::DescribedTooLong(length));
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
        for name in ["天气查询", "Ant Design__get docs", "a/b", "search#2", "PDF&URL", &"名".repeat(128)]
        {
            assert_eq!(ToolName::described(name).unwrap().as_str(), name);
        }
        for name in ["", " a", "a ", "a\nb", "\u{3000}", "..", "/", &"名".repeat(129)] {
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

    #[test]
    fn names_fold_to_one_key() {
        assert_eq!(ToolName::parse("User.Get").unwrap().folded(), "user.get");
    }
}
