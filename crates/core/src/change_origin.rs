//! Where a change comes from: the ways there are, and how its author is named. Both are kept with every version and in the
//! audit record.

/// The most characters of an author's name that are kept.
const LONGEST_AUTHOR: usize = 64;

/// By what way a change comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The REST interface.
    AdminApi,
    /// The command line.
    Cli,
    /// Definitions taken over from somewhere else.
    Import,
    /// The store made what files or a request say.
    Sync,
    /// Going back to earlier versions.
    Rollback,
    /// A tool that agents call.
    Mcp,
}

impl Way {
    /// Those that a request over REST may say it comes by.
    pub const OF_REQUESTS: [Self; 5] = [Self::AdminApi, Self::Cli, Self::Import, Self::Sync, Self::Rollback];

    /// The word that is recorded.
    pub const fn word(self) -> &'static str {
        match self {
            Self::AdminApi => "admin-api",
            Self::Cli => "cli",
            Self::Import => "import",
            Self::Sync => "sync",
            Self::Rollback => "rollback",
            Self::Mcp => "mcp",
        }
    }
}

/// The name of an author as it is recorded: what a client says of itself, plain and short, and `anonymous` if it says nothing.
pub fn author_name(said: &str) -> String {
    let plain = |character: &char| !character.is_control() && *character != char::REPLACEMENT_CHARACTER;
    let name: String = said.trim().chars().filter(plain).take(LONGEST_AUTHOR).collect();
    match name.trim() {
        "" => "anonymous".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_author_is_plain_and_short_and_anonymous_if_nobody_says() {
        assert_eq!(author_name(" anna\u{7} "), "anna");
        assert_eq!(author_name(""), "anonymous");
        assert_eq!(author_name("\u{fffd}\n"), "anonymous");
        assert_eq!(author_name(&"a".repeat(100)).len(), LONGEST_AUTHOR);
    }
}
