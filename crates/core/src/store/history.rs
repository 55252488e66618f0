//! What definitions were before: every version of each is kept, whoever wrote it.

use async_trait::async_trait;

use super::{Revision, StoreError, ToolKey};

/// What happened to a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionKind {
    /// It was new, or had been removed before.
    Created,
    /// It was changed or switched.
    Updated,
    /// It was removed.
    Removed,
}

impl VersionKind {
    /// The word for it, in databases and answers.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Removed => "removed",
        }
    }

    /// The kind of that word.
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Created, Self::Updated, Self::Removed].into_iter().find(|kind| kind.word() == word)
    }
}

/// One version of one definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The revision that it led to, which is its number; no two versions have the same. A rename, or a move to another
    /// tenant, is two: a removal and a creation.
    pub revision: Revision,
    /// Whose definition; everybody's if absent.
    pub tenant: Option<String>,
    /// The name, as written.
    pub name: String,
    /// What happened.
    pub kind: VersionKind,
    /// Whether it could be called from then on; where it was removed, as it was last.
    pub enabled: bool,
    /// The definition as JSON text from then on; where it was removed, as it was last.
    pub config_json: String,
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// Who, if known.
    pub who: Option<String>,
    /// From which address, if known.
    pub address: Option<String>,
    /// By what way, if known; another program's writes have none.
    pub via: Option<String>,
}

/// Which versions to read: the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Of one definition only.
    pub of: Option<ToolKey>,
    /// Only those before that revision.
    pub before: Option<Revision>,
    /// The most to read.
    pub most: u32,
}

/// How much history is kept. The newest version of each definition always is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// The most versions of one definition, of which one stays in any case; all if absent.
    pub versions: Option<u32>,
    /// For how many days; for ever if absent.
    pub days: Option<u32>,
}

/// What a store keeps of the past of its definitions.
#[async_trait]
pub trait HistoryStore: Send + Sync {
    /// Versions of definitions, the newest first; of one definition, whatever the case of its name.
    async fn history(&self, query: &HistoryQuery) -> Result<Vec<Version>, StoreError>;

    /// The newest version that each definition had at that revision, leaving out those that were removed; in the order of
    /// their keys. `Forgotten` if versions that count for it are no longer kept.
    async fn state_at(&self, revision: Revision) -> Result<Vec<Version>, StoreError>;

    /// Forgets what need not be kept, and returns how many versions that were.
    async fn forget(&self, retention: &Retention) -> Result<u64, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::VersionKind::{self, Created, Removed, Updated};

    #[test]
    fn every_kind_has_a_word_of_its_own() {
        for kind in [Created, Updated, Removed] {
            assert_eq!(VersionKind::of_word(kind.word()), Some(kind));
        }
        assert_eq!(VersionKind::of_word("Created"), None);
    }
}
