//! Where a definition came from.

use serde::Serialize;

/// Which source a definition came from. Where two have the same name, the smaller one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceId {
    /// The database.
    Store,
    /// A folder of files.
    Files,
    /// Tools in this program.
    Native,
    /// The built-in demonstration.
    Demo,
    /// What another server offers.
    Upstream,
}

impl SourceId {
    /// All of them, the winner first.
    pub const ALL: [Self; 5] = [Self::Store, Self::Files, Self::Native, Self::Demo, Self::Upstream];

    /// What it calls the text of a definition.
    pub(crate) const fn field(self) -> &'static str {
        match self {
            Self::Store => "config_json",
            Self::Files | Self::Native | Self::Demo | Self::Upstream => "the definition",
        }
    }

    /// Its name for people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Files => "files",
            Self::Native => "native",
            Self::Demo => "demo",
            Self::Upstream => "upstream",
        }
    }
}
