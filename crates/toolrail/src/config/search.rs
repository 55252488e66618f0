//! The block `search`: what finding tools is made of beyond the words of a query.

use serde::{Deserialize, Deserializer};
use toolrail_registry::SearchMethod;

use super::layer::{Layer, layered};
use super::semantic::{SemanticFile, SemanticSettings};

layered! {
    /// What may stand under `search`.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
    pub(crate) struct SearchFile {
        /// Whether it is learnt from calls which tools are meant by which words; it is when left out.
        pub(crate) learn: Option<bool>,
        /// The method where none is asked for: `bm25`, `regex` or `hybrid`; `bm25` when left out.
        #[serde(deserialize_with = "method")]
        pub(crate) default_method: Option<SearchMethod>,
        /// By what means tools are found by meaning too, with the method `hybrid`; by none when left out.
        pub(crate) semantic: Option<SemanticFile>,
    }
}

/// What is in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchSettings {
    /// Whether it is learnt from calls which tools are meant by which words.
    pub(crate) learn: bool,
    /// The method where none is asked for.
    pub(crate) default_method: SearchMethod,
    /// By what means tools are found by meaning too.
    pub(crate) semantic: Option<SemanticSettings>,
}

impl SearchFile {
    /// Fills in the defaults.
    pub(crate) fn settle(&self) -> SearchSettings {
        SearchSettings {
            learn: self.learn.unwrap_or(true),
            default_method: self.default_method.unwrap_or_default(),
            // What is wrong with it was told when the file was read.
            semantic: self.semantic.as_ref().and_then(|semantic| semantic.settle().ok()),
        }
    }
}

fn method<'de, D: Deserializer<'de>>(value: D) -> Result<Option<SearchMethod>, D::Error> {
    let word = Option::<String>::deserialize(value)?;
    word.map(|word| word.parse().map_err(serde::de::Error::custom)).transpose()
}
