//! In which language a discovery tool says first what went wrong. Fixed Chinese words stand in every such message, since clients may
//! look for them; what to do about it is English.

use serde::Deserialize;

/// The language of a first line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Language {
    /// English, then fixed Chinese words.
    #[default]
    #[serde(rename = "en")]
    English,
    /// Fixed Chinese words, then English.
    #[serde(rename = "zh")]
    Chinese,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::English, Self::Chinese];

    /// Its name in the configuration.
    pub const fn word(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// The message with its line in this language first; messages are written with the Chinese one first, if there is one.
    pub(crate) fn first(self, message: String) -> String {
        match (self, message.split_once('\n')) {
            (Self::English, Some((chinese, english))) if is_chinese(chinese) => {
                format!("{english}\n{chinese}")
            }
            _ => message,
        }
    }
}

fn is_chinese(line: &str) -> bool {
    line.starts_with(|first| matches!(first, '\u{4e00}'..='\u{9fff}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_that_is_set_comes_first_and_the_other_is_there_too() {
        let message = || "工具不存在: x\nthere is no tool \"x\"".to_owned();
        assert_eq!(Language::English.first(message()), "there is no tool \"x\"\n工具不存在: x");
        assert_eq!(Language::Chinese.first(message()), message());
        assert_eq!(Language::English.first("one line\nand more".into()), "one line\nand more");
    }
}
