//! What a server offers, as it lists it: every page of its four lists, within bounds.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::value::RawValue;
use toolrail_core::{CallError, ErrorCode};
use toolrail_protocol::code;

use super::connection::Connection;
use super::failure::Failure;
use super::message::{Members, Writer};

/// The most pages, entries and bytes of one list.
const MOST_PAGES: usize = 1000;
const MOST_ENTRIES: usize = 10_000;
const MOST_BYTES: usize = 32 << 20;
/// What is worked on among the other tasks.
const MOST_ENTRIES_HERE: usize = 500;
const MOST_BYTES_HERE: usize = 128 << 10;

/// Entries as they were written.
type Entries = Vec<Box<RawValue>>;

/// The entries of the four lists.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) tools: Entries,
    pub(super) prompts: Entries,
    pub(super) resources: Entries,
    pub(super) templates: Entries,
    /// How long the server says that its tools stay the same.
    pub(super) ttl_ms: Option<u64>,
    /// What the server says about its use.
    pub(super) instructions: Option<String>,
    /// Whether the server has resources, listed or not.
    pub(super) has_resources: bool,
    /// Lists that could not be had, in words.
    pub(super) missing: Vec<String>,
}

impl Lists {
    /// How many entries there are in all.
    pub(super) fn entries(&self) -> usize {
        self.tools.len() + self.prompts.len() + self.resources.len() + self.templates.len()
    }

    /// Takes over what is listed elsewhere and not here.
    pub(super) fn add(&mut self, more: Self) {
        let lists = [
            (&mut self.tools, more.tools, "name"),
            (&mut self.prompts, more.prompts, "name"),
            (&mut self.resources, more.resources, "uri"),
            (&mut self.templates, more.templates, "uriTemplate"),
        ];
        for (here, there, key) in lists {
            let known: HashSet<String> = here.iter().filter_map(|entry| named(entry, key)).collect();
            here.extend(
                there
                    .into_iter()
                    .filter(|entry| named(entry, key).is_some_and(|name| !known.contains(&name))),
            );
        }
    }

    /// Differs, but for chance, where the lists differ.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for list in [&self.tools, &self.prompts, &self.resources, &self.templates] {
            list.len().hash(&mut hasher);
            for entry in list {
                entry.get().hash(&mut hasher);
            }
        }
        (&self.instructions, self.has_resources, &self.missing).hash(&mut hasher);
        // Zero stands for lists that were never seen.
        hasher.finish() | 1
    }
}

/// By what an entry is known, if it has that.
fn named(entry: &RawValue, key: &str) -> Option<String> {
    let entry: serde_json::Value = serde_json::from_str(entry.get()).ok()?;
    entry.get(key)?.as_str().map(str::to_owned)
}

#[derive(Clone, Copy)]
struct ListMethod {
    method: &'static str,
    /// The member that holds the entries.
    key: &'static str,
}

/// Asks for all of them.
pub(super) async fn all(connection: &Connection) -> Result<Lists, Failure> {
    let mut lists = Lists { instructions: connection.instructions.clone(), ..Lists::default() };
    // Some servers have tools without declaring them.
    (lists.tools, lists.ttl_ms) = list(connection, ListMethod { method: "tools/list", key: "tools" }).await?;
    if connection.can("/prompts") {
        let prompts = ListMethod { method: "prompts/list", key: "prompts" };
        lists.prompts = beside(connection, prompts, &mut lists.missing).await?;
    }
    lists.has_resources = connection.can("/resources");
    if lists.has_resources {
        let resources = ListMethod { method: "resources/list", key: "resources" };
        lists.resources = beside(connection, resources, &mut lists.missing).await?;
        let templates = ListMethod { method: "resources/templates/list", key: "resourceTemplates" };
        lists.templates = beside(connection, templates, &mut lists.missing).await?;
    }
    Ok(lists)
}

/// Whether the server lists that tool.
pub(super) async fn has_tool(connection: &Connection, name: &str) -> Result<bool, Failure> {
    let (tools, _) = list(connection, ListMethod { method: "tools/list", key: "tools" }).await?;
    Ok(tools.iter().any(|entry| named(entry, "name").is_some_and(|listed| listed == name)))
}

/// A list beside the tools: if the server has it not in order, its tools are none the worse for that.
async fn beside(
    connection: &Connection,
    asked: ListMethod,
    missing: &mut Vec<String>,
) -> Result<Entries, Failure> {
    match list(connection, asked).await {
        Ok((entries, _)) => Ok(entries),
        Err(Failure::Call(error)) => {
            missing.push(format!("{} cannot be had: {}", asked.method, error.message));
            Ok(Vec::new())
        }
        Err(failure) => Err(failure),
    }
}

async fn list(connection: &Connection, list: ListMethod) -> Result<(Entries, Option<u64>), Failure> {
    let (mut entries, mut ttl_ms) = (Vec::new(), None);
    let mut bytes = 0;
    let mut cursor: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let mut params = Writer::new();
        if let Some(cursor) = &cursor {
            params.text("cursor", cursor);
        }
        let page = match connection.ask(list.method, params).await {
            Err(Failure::Call(error))
                if error.rpc.as_ref().is_some_and(|rpc| rpc.code == code::METHOD_NOT_FOUND) =>
            {
                break;
            }
            page => page?,
        };
        bytes += page.text().len();
        let read = aside(Work::of_bytes(page.text().len()), move || read_page(page.text(), list)).await?;
        let page = read.map_err(|error| {
            Failure::unusable(format!("{} of the server is not usable: {error}", list.method))
        })?;
        entries.extend(page.entries);
        ttl_ms = page.ttl_ms.or(ttl_ms);
        if bytes > MOST_BYTES || entries.len() > MOST_ENTRIES {
            return Err(Failure::unusable(format!(
                "{} of the server has more than {MOST_ENTRIES} entries or {MOST_BYTES} bytes, which is the limit",
                list.method
            )));
        }
        match page.next {
            Some(next) if Some(&next) != cursor.as_ref() => cursor = Some(next),
            _ => break,
        }
    }
    Ok((entries, ttl_ms))
}

/// One page of a list.
#[derive(Default)]
struct Page {
    entries: Entries,
    next: Option<String>,
    ttl_ms: Option<u64>,
}

fn read_page(text: &str, list: ListMethod) -> Result<Page, serde_json::Error> {
    let mut page = Page::default();
    for (key, value) in Members::of(text).0 {
        match &*key {
            key if key == list.key => page.entries.extend(serde_json::from_str::<Entries>(value.get())?),
            "nextCursor" => {
                page.next = serde_json::from_str::<Option<Cow<'_, str>>>(value.get())?.map(Cow::into_owned);
            }
            "ttlMs" => page.ttl_ms = value.get().parse().ok(),
            _ => {}
        }
    }
    Ok(page)
}

/// How much there is to do at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Little,
    /// So much that other tasks would have to wait for it.
    Much,
}

impl Work {
    fn of_bytes(bytes: usize) -> Self {
        if bytes > MOST_BYTES_HERE { Self::Much } else { Self::Little }
    }

    pub(super) fn of_entries(entries: usize) -> Self {
        if entries > MOST_ENTRIES_HERE { Self::Much } else { Self::Little }
    }
}

/// Does the work, aside from the other tasks if it is much.
pub(super) async fn aside<T: Send + 'static>(
    work: Work,
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    match work {
        Work::Little => Ok(job()),
        Work::Much => tokio::task::spawn_blocking(job).await.map_err(|_| {
            let error = CallError::new(ErrorCode::Internal, "the lists of a server could not be worked on");
            Failure::Call(error)
        }),
    }
}
