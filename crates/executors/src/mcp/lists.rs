//! What a server offers, as it lists it: every page of its four lists, within bounds.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::connection::Connection;
use super::failure::Failure;
use super::message::{Members, Writer};

/// The most pages, entries and bytes of one list.
const MOST_PAGES: usize = 1000;
const MOST_ENTRIES: usize = 10_000;
const MOST_BYTES: usize = 32 << 20;

/// The entries of the four lists, as they came.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Lists {
    pub(super) tools: Vec<Value>,
    pub(super) prompts: Vec<Value>,
    pub(super) resources: Vec<Value>,
    pub(super) templates: Vec<Value>,
    /// How long the server says that its tools stay the same.
    pub(super) ttl_ms: Option<u64>,
}

impl Lists {
    /// Differs, but for chance, where the lists differ.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for list in [&self.tools, &self.prompts, &self.resources, &self.templates] {
            list.len().hash(&mut hasher);
            for entry in list {
                entry.to_string().hash(&mut hasher);
            }
        }
        // Zero stands for lists that were never seen.
        hasher.finish() | 1
    }
}

#[derive(Clone, Copy)]
struct List {
    method: &'static str,
    /// The member that holds the entries.
    key: &'static str,
}

/// Asks for all of them.
pub(super) async fn all(connection: &Connection) -> Result<Lists, Failure> {
    let mut lists = Lists::default();
    // Some servers have tools without declaring them.
    (lists.tools, lists.ttl_ms) = list(connection, List { method: "tools/list", key: "tools" }).await?;
    if connection.can("/prompts") {
        lists.prompts = list(connection, List { method: "prompts/list", key: "prompts" }).await?.0;
    }
    if connection.can("/resources") {
        let resources = List { method: "resources/list", key: "resources" };
        lists.resources = list(connection, resources).await?.0;
        let templates = List { method: "resources/templates/list", key: "resourceTemplates" };
        lists.templates = list(connection, templates).await?.0;
    }
    Ok(lists)
}

async fn list(connection: &Connection, list: List) -> Result<(Vec<Value>, Option<u64>), Failure> {
    let (mut entries, mut ttl_ms) = (Vec::new(), None);
    let mut bytes = 0;
    let mut cursor: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let mut params = Writer::new();
        if let Some(cursor) = &cursor {
            params.text("cursor", cursor);
        }
        let page = match connection.ask(list.method, params).await {
            Err(Failure::Call(error)) if error.rpc.as_ref().is_some_and(|rpc| rpc.code == -32601) => break,
            page => page?,
        };
        bytes += page.text().len();
        let next = read_page(page.text(), list, &mut entries, &mut ttl_ms).map_err(|error| {
            Failure::unusable(format!("{} of the server is not usable: {error}", list.method))
        })?;
        if bytes > MOST_BYTES || entries.len() > MOST_ENTRIES {
            return Err(Failure::unusable(format!(
                "{} of the server has more than {MOST_ENTRIES} entries or {MOST_BYTES} bytes, which is the limit",
                list.method
            )));
        }
        match next {
            Some(next) if Some(&next) != cursor.as_ref() => cursor = Some(next),
            _ => break,
        }
    }
    Ok((entries, ttl_ms))
}

fn read_page(
    text: &str,
    list: List,
    entries: &mut Vec<Value>,
    ttl_ms: &mut Option<u64>,
) -> Result<Option<String>, serde_json::Error> {
    let mut next = None;
    for (key, value) in Members::of(text).0 {
        match &*key {
            key if key == list.key => entries.extend(serde_json::from_str::<Vec<Value>>(value.get())?),
            "nextCursor" => {
                next = serde_json::from_str::<Option<Cow<'_, str>>>(value.get())?.map(Cow::into_owned);
            }
            "ttlMs" => *ttl_ms = value.get().parse().ok(),
            _ => {}
        }
    }
    Ok(next)
}
