//! A row of the store whose newest version does not compile is served as it last did: its history has the version, the same
//! for every gateway and after a restart. Never across a removal, and never what was switched off.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolrail_core::{HistoryQuery, Problem, Severity, Version, VersionKind};

use super::Intake;
use super::compile::compile_one;
use super::source::Draft;
use super::tracked::Tracked;
use crate::catalog::{Entry, Serving};
use crate::entry_key::EntryKey;
use crate::source_id::SourceId;

/// How many versions are looked through for a good one.
const MOST_VERSIONS: u32 = 20;
/// For how many definitions of one reading a good version is looked for.
const MOST_LOOKUPS: usize = 2_000;

/// What becomes of a stored definition whose newest version has errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnBroken {
    /// Its last good version is served, and the errors are told.
    #[default]
    Serve,
    /// It is refused until it is corrected.
    Refuse,
}

impl OnBroken {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Serve, Self::Refuse];

    /// Its word in configuration.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Serve => "serve",
            Self::Refuse => "refuse",
        }
    }
}

impl Intake {
    /// The same entries, those of the store that are broken with their last good versions.
    pub(crate) async fn with_good_versions(
        &self,
        tracked: &Tracked,
        mut compiled: Vec<(EntryKey, Arc<Entry>)>,
    ) -> Vec<(EntryKey, Arc<Entry>)> {
        if tracked.source.id() != SourceId::Store || self.settings.on_broken == OnBroken::Refuse {
            return compiled;
        }
        let broken = compiled.iter_mut().filter(|(_, entry)| entry.item.is_none() && entry.may_be_served());
        let mut is_away = false;
        for (key, entry) in broken.take(MOST_LOOKUPS) {
            let versions = if is_away { None } else { self.versions_before(key, entry).await };
            is_away |= versions.is_none();
            let good = match versions {
                Some(versions) => {
                    tokio::task::block_in_place(|| self.last_good_version(entry, &versions, tracked))
                }
                None => self.good_until_now(key, tracked),
            };
            if let Some((good, serving)) = good {
                tracing::warn!(
                    name = entry.name,
                    version = serving.version,
                    "the last good version is served"
                );
                *entry = Arc::new(Entry::clone(entry).served_as(&good, serving));
            }
        }
        compiled
    }

    /// The versions before the newest, the newest first; nothing if they cannot be read now.
    async fn versions_before(&self, key: &EntryKey, entry: &Entry) -> Option<Vec<Version>> {
        let query = HistoryQuery { of: Some(key.to_tool_key()), before: entry.version, most: MOST_VERSIONS };
        let asked = tokio::time::timeout(self.settings.limits.patience, self.store.history(&query)).await;
        match asked {
            Ok(Ok(versions)) => Some(versions),
            Ok(Err(error)) => {
                tracing::warn!(name = entry.name, %error, "the history of a broken definition cannot be read");
                None
            }
            Err(_) => None,
        }
    }

    fn last_good_version(
        &self,
        entry: &Entry,
        versions: &[Version],
        tracked: &Tracked,
    ) -> Option<(Entry, Serving)> {
        let mut since = entry.updated_at.clone().unwrap_or_default();
        for version in versions.iter().take_while(|version| version.kind != VersionKind::Removed) {
            let draft = Draft { enabled: version.enabled, ..draft_of(entry, version) };
            let document = Arc::clone(&draft.text);
            let good = compile_one(entry.name.clone(), draft, &*tracked.source, &self.compiler);
            if good.item.is_some() {
                // One that was off when it was good stays off.
                let serving = Serving { version: version.revision, document, since };
                return good.enabled.then_some((good, serving));
            }
            since.clone_from(&version.at);
        }
        None
    }

    /// What is served now, while nobody can say what it was before.
    fn good_until_now(&self, key: &EntryKey, tracked: &Tracked) -> Option<(Entry, Serving)> {
        let state = self.state();
        let before = state.layers[tracked.index].entries.get(key).filter(|entry| entry.live().is_some())?;
        let serving = before.serving.clone().unwrap_or_else(|| Serving {
            version: before.version.unwrap_or_default(),
            document: Arc::clone(&before.document),
            since: String::new(),
        });
        Some((Entry::clone(before), serving))
    }
}

fn draft_of(entry: &Entry, version: &Version) -> Draft {
    Draft {
        tenant: entry.tenant.clone(),
        name: Some(version.name.clone()),
        text: version.config_json.as_str().into(),
        fault: None,
        origin: entry.origin.clone(),
        enabled: true,
        version: Some(version.revision),
        updated_at: Some(version.at.clone()),
        updated_by: version.who.clone(),
        good: None,
    }
}

impl Entry {
    /// This one, broken, with what a good version of it has become.
    pub(crate) fn served_as(mut self, good: &Self, serving: Serving) -> Self {
        let newest = self.version.map(|version| format!(" {version}")).unwrap_or_default();
        let since =
            if serving.since.is_empty() { String::new() } else { format!(" since {}", serving.since) };
        let message = format!(
            "the newest version{newest} is broken{since}, serving version {}; correct it, or roll back to that version",
            serving.version
        );
        let problem = Problem {
            severity: Severity::Error,
            tool: Some(self.name.clone()),
            origin: Some(self.origin.clone()),
            pointer: String::new(),
            message,
            spot: None,
        };
        self.problems.insert(0, problem);
        self.item.clone_from(&good.item);
        self.enabled = good.enabled;
        self.serving = Some(serving);
        self
    }
}
