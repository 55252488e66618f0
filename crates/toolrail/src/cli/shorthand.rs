//! `toolrail list` for `toolrail tools list`: what people type first means what they mean.

use std::ffi::{OsStr, OsString};

use clap::Command;

/// The command whose own commands may stand alone.
const LEFT_OUT: &str = "tools";

/// The words of a command line, with `tools` put in where only a command of that stands.
pub(super) fn written_out(command: &Command, words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let Some(place) = command_word(command, &words) else {
        return words;
    };
    let has = |command: &Command, word: &OsStr| {
        word.to_str().is_some_and(|word| command.find_subcommand(word).is_some())
    };
    let inner = command.find_subcommand(LEFT_OUT);
    if !has(command, &words[place]) && inner.is_some_and(|inner| has(inner, &words[place])) {
        words.insert(place, LEFT_OUT.into());
    }
    words
}

/// Where the command stands: the first word that is no option and no value of one.
fn command_word(command: &Command, words: &[OsString]) -> Option<usize> {
    let takes_value = |word: &str| {
        let option = command.get_arguments().find(|option| option.get_long() == word.strip_prefix("--"));
        option.is_some_and(|option| option.get_action().takes_values())
    };
    let mut place = 1;
    while let Some(word) = words.get(place) {
        match word.to_str() {
            Some(option) if option.starts_with('-') => place += if takes_value(option) { 2 } else { 1 },
            _ => return Some(place),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    #[test]
    fn a_command_of_tools_may_stand_alone() {
        let command = super::super::command();
        let words = |line: &str| -> Vec<OsString> { line.split(' ').map(Into::into).collect() };
        for (typed, meant) in [
            ("toolrail list --json", "toolrail tools list --json"),
            ("toolrail --log-level debug call a.b", "toolrail --log-level debug tools call a.b"),
            ("toolrail --log-level=off problems", "toolrail --log-level=off tools problems"),
            ("toolrail tools list", "toolrail tools list"),
            ("toolrail search list", "toolrail search list"),
            ("toolrail lst", "toolrail lst"),
            ("toolrail --help", "toolrail --help"),
        ] {
            assert_eq!(super::written_out(&command, words(typed)), words(meant), "{typed}");
        }
    }
}
