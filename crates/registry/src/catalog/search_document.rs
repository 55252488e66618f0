//! What the search is told about a tool, and where that stands: in its entry, its list entry, and the definition of the
//! server that offers it. Nothing of it is kept.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::thread;

use serde::Deserialize;
use toolrail_search::semantic::meaning_text;
use toolrail_search::{Document, Index, Parameter, ReadEntry, Reading, read_entry};

use super::entry::Entry;
use super::item::Item;
use super::tools::Tool;
use crate::source_id::SourceId;

/// How many tools are read at once; what was read of them is held until they are in the index.
const BATCH: usize = 4_096;
/// Fewer are not worth another thread.
const FEWEST_FOR_A_THREAD: usize = 256;

/// Puts the tools of those names into the index as they are now, and takes out those that are gone. `entry` finds the entry
/// of a folded name.
pub(crate) fn index_tools<'s>(
    index: &mut Index<Arc<Tool>>,
    names: &[Arc<str>],
    entry: impl Fn(&str) -> Option<&'s Arc<Entry>>,
) {
    let (mut servers, mut reading) = (Servers::default(), Reading::default());
    for batch in names.chunks(BATCH) {
        let entries: Vec<_> = batch.iter().map(|name| entry(name)).collect();
        let texts = read_all(&entries);
        for server in texts.iter().flatten().filter_map(Texts::upstream) {
            servers.look_at(server, &entry);
        }
        let changes = batch.iter().zip(&texts).map(|(name, texts)| {
            let put = texts.as_ref().map(|texts| (texts.document(&servers), Arc::clone(texts.tool)));
            (Arc::clone(name), put)
        });
        index.apply_with(changes, &mut reading);
    }
}

/// What is known of those tools; many are read on several processors.
fn read_all<'s>(entries: &[Option<&'s Arc<Entry>>]) -> Vec<Option<Texts<'s>>> {
    let read = |entries: &[Option<&'s Arc<Entry>>]| -> Vec<_> {
        entries.iter().map(|entry| entry.and_then(|entry| Texts::of(entry))).collect()
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let threads = (entries.len() / FEWEST_FOR_A_THREAD).clamp(1, processors);
    let mut parts = entries.chunks(entries.len().div_ceil(threads).max(1));
    let Some(mine) = parts.next() else { return Vec::new() };
    thread::scope(|scope| {
        let others: Vec<_> = parts
            .map(|part| (part, thread::Builder::new().spawn_scoped(scope, move || read(part))))
            .collect();
        let mut texts = read(mine);
        for (part, started) in others {
            // Where no thread could be had, or one ended badly, the part is read here.
            let theirs = started.ok().and_then(|thread| thread.join().ok());
            texts.extend(theirs.unwrap_or_else(|| read(part)));
        }
        texts
    })
}

/// A tool, and the text that its vector is made of; nothing of what is no live tool.
pub(crate) fn meaning_of(entry: &Entry) -> Option<(Arc<Tool>, String)> {
    let texts = Texts::of(entry)?;
    let text = meaning_text(&texts.document(&Servers::default()));
    Some((Arc::clone(texts.tool), text))
}

/// What is known of one tool.
struct Texts<'s> {
    entry: &'s Entry,
    tool: &'s Arc<Tool>,
    read: ReadEntry<'s>,
    /// What clients call it, where they cannot carry its name.
    alias: Option<String>,
}

impl<'s> Texts<'s> {
    /// Nothing of what is no live tool.
    fn of(entry: &'s Entry) -> Option<Self> {
        let Some(Item::Tool(tool)) = entry.live() else {
            return None;
        };
        Some(Self { entry, tool, read: read_entry(&tool.entry), alias: tool.name.alias() })
    }

    /// The upstream that offers it.
    fn upstream(&self) -> Option<&'s str> {
        (self.entry.source == SourceId::Upstream).then_some(self.entry.origin.as_str())
    }

    fn document<'d>(&'d self, servers: &'d Servers<'s>) -> Document<'d> {
        let Self { entry, tool, read, alias } = self;
        let parameter = |(name, description): &'d (Cow<'s, str>, Option<Cow<'s, str>>)| Parameter {
            name,
            description: description.as_deref(),
        };
        Document {
            name: tool.name.as_str(),
            title: read.title.as_deref(),
            description: tool.description.as_deref().unwrap_or_default(),
            tags: tool.tags.iter().map(|tag| &**tag).chain(alias.as_deref()).collect(),
            category: tool.category.as_deref(),
            server: entry.server(),
            server_description: self.upstream().and_then(|server| servers.description(server)),
            parameters: read.parameters.iter().map(parameter).collect(),
        }
    }
}

/// What the upstreams are for, as their definitions say.
#[derive(Default)]
struct Servers<'s>(HashMap<&'s str, Option<String>>);

impl<'s> Servers<'s> {
    fn look_at(&mut self, server: &'s str, entry: &impl Fn(&str) -> Option<&'s Arc<Entry>>) {
        #[derive(Deserialize)]
        struct Said {
            description: Option<String>,
        }
        let said = || {
            let entry = entry(&toolrail_core::ToolName::fold(server))?;
            serde_json::from_str::<Said>(&entry.document).ok()?.description
        };
        self.0.entry(server).or_insert_with(said);
    }

    fn description(&self, server: &str) -> Option<&str> {
        self.0.get(server)?.as_deref()
    }
}
