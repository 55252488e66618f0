//! The block `search`: what finding tools is made of beyond the words of a query.

use serde::Deserialize;

pub(super) const KEYS: &[&str] = &["learn"];

/// What may stand under `search`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct SearchFile {
    /// Whether it is learnt from calls which tools are meant by which words; it is when left out.
    pub(crate) learn: Option<bool>,
}

/// What is in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchSettings {
    /// Whether it is learnt from calls which tools are meant by which words.
    pub(crate) learn: bool,
}

impl SearchFile {
    /// What is given here goes before what `other` says.
    pub(crate) fn or(self, other: Self) -> Self {
        Self { learn: self.learn.or(other.learn) }
    }

    /// Fills in the defaults.
    pub(crate) fn settle(&self) -> SearchSettings {
        SearchSettings { learn: self.learn.unwrap_or(true) }
    }
}
