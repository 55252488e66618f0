//! One definition as the registry knows it: live, switched off, or broken, and where it came from. The tools that an
//! upstream offers have entries too, so that whoever lists definitions sees them.

use std::sync::Arc;

use toolrail_core::{Problem, Revision, Severity};

use super::item::Item;
use super::tools::Tool;
use crate::entry_key::EntryKey;
use crate::source_id::SourceId;

/// One definition.
#[derive(Clone)]
pub struct Entry {
    /// Whose it is; everybody's if absent.
    pub tenant: Option<Arc<str>>,
    /// Its name as written.
    pub name: String,
    /// Where it came from.
    pub source: SourceId,
    /// The place in that source, for people.
    pub origin: String,
    /// Whether it may be called, if it compiled.
    pub enabled: bool,
    /// Whether its source has it switched on; the document may say otherwise.
    pub(crate) switched_on: bool,
    /// The definition as JSON text.
    pub document: Arc<str>,
    /// What it has become; absent if the definition has errors, unless a version before had none: then this is what the
    /// last good version of the file, or of the row, has become.
    pub item: Option<Item>,
    /// The version of a row that `item` was made of, if that is not the newest.
    pub serving: Option<Serving>,
    /// What is wrong with it, warnings included.
    pub problems: Vec<Problem>,
    /// The revision at which it last changed, in the store.
    pub version: Option<Revision>,
    /// When it last changed, in the store.
    pub updated_at: Option<String>,
    /// Who changed it last, in the store.
    pub updated_by: Option<String>,
}

/// The version that is served instead of the newest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    /// Its number.
    pub version: Revision,
    /// The definition as JSON text.
    pub document: Arc<str>,
    /// Since when the newest version is broken, RFC 3339 in UTC.
    pub since: String,
}

impl Entry {
    /// The tool it has become, if it is one, whether or not it may be called.
    pub fn tool(&self) -> Option<&Arc<Tool>> {
        match &self.item {
            Some(Item::Tool(tool)) => Some(tool),
            Some(Item::Prompt(_) | Item::Resource(_) | Item::Template(_) | Item::Upstream { .. }) | None => {
                None
            }
        }
    }

    /// The server that has the tool: the upstream that offers it, or the one its description names.
    pub fn server(&self) -> Option<&str> {
        match self.source {
            SourceId::Upstream => Some(&self.origin),
            SourceId::Store | SourceId::Files | SourceId::Native | SourceId::Demo => {
                self.tool()?.described.as_ref()?.mcp_server.as_deref()
            }
        }
    }

    /// What it has become, if it may be used.
    pub fn live(&self) -> Option<&Item> {
        self.item.as_ref().filter(|_| self.enabled)
    }

    /// Whether a good version may be served in its place: its switch is on, and the text, as far as it can be read, does
    /// not say otherwise.
    pub(crate) fn may_be_served(&self) -> bool {
        self.switched_on && !says_disabled(&self.document)
    }

    /// `live`, `disabled` or `broken`. What is live may have errors: then its last good version is.
    pub fn state(&self) -> &'static str {
        match (&self.item, self.enabled) {
            (None, _) => "broken",
            (Some(_), true) => "live",
            (Some(_), false) => "disabled",
        }
    }

    /// Whether anything keeps it, as it is written now, from going live.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// Hands the count of its calls on to the entry that replaces it.
    pub(crate) fn hand_on_uses(&self, after: &Self) {
        if let (Some(before), Some(after)) = (self.tool(), after.tool())
            && !Arc::ptr_eq(before, after)
        {
            before.uses.hand_on(&after.uses);
        }
    }

    /// A definition that was removed from the store takes along what is known of its use: another of its name begins anew.
    pub(crate) fn let_go_of_uses(&self, key: &EntryKey) {
        if let Some(tool) = self.tool().filter(|_| self.source == SourceId::Store) {
            tool.uses.let_go(key);
        }
    }
}

/// Whether the document itself switches the definition off.
pub(crate) fn says_disabled(document: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Switch {
        #[serde(default)]
        enabled: serde_json::Value,
    }
    serde_json::from_str::<Switch>(document)
        .is_ok_and(|switch| switch.enabled == serde_json::Value::Bool(false))
}
