//! Drafts become entries: what has not changed is kept, the rest is compiled, and a file's definition that has become
//! faulty keeps its last good tool, and an upstream its connection.

use std::sync::Arc;

use serde_json::Value;
use toolrail_core::{Problem, Severity};

use super::compiler::Compiler;
use crate::catalog::{Entry, Item, Serving, says_disabled};
use crate::entry_key::EntryKey;
use crate::gauges;
use crate::intake::source::{Draft, Source};
use crate::source_id::SourceId;

/// Fewer than these are not worth a thread.
pub(crate) const FEW: usize = 64;

/// A draft to be compiled, and what its key had before.
pub(crate) struct Work {
    name: String,
    pub(crate) key: EntryKey,
    draft: Draft,
    pub(crate) before: Option<Arc<Entry>>,
}

impl Work {
    /// Finds out what the draft is kept under.
    pub(crate) fn new(draft: Draft) -> Self {
        let name =
            draft.name.clone().or_else(|| named(&draft)).unwrap_or_else(|| format!("({})", draft.origin));
        let key = EntryKey::new(draft.tenant.clone(), &name);
        Self { name, key, draft, before: None }
    }

    fn done(self, source: &dyn Source, compiler: &Arc<Compiler>) -> (EntryKey, Arc<Entry>) {
        let Self { name, key, draft, before } = self;
        if let Some(known) = before.as_ref().filter(|entry| is_same(entry, &draft)) {
            return (key, Arc::clone(known));
        }
        gauges::definition_compiled();
        let good = draft.good.clone();
        let mut entry = compile_one(name, draft, source, compiler);
        if let Some(serving) = good.filter(|_| entry.item.is_none() && entry.may_be_served()) {
            entry = serve(entry, serving, source, compiler);
        }
        if let Some(before) = before {
            keep_last_good(&mut entry, &before);
            keep_upstream(&mut entry, &before);
        }
        log(&entry);
        (key, Arc::new(entry))
    }
}

/// Compiles what changed; many definitions are spread over the cores.
pub(crate) fn compile_all(
    work: Vec<Work>,
    source: &dyn Source,
    compiler: &Arc<Compiler>,
) -> Vec<(EntryKey, Arc<Entry>)> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let all = |share: Vec<Work>| share.into_iter().map(|one| one.done(source, compiler)).collect::<Vec<_>>();
    if work.len() < FEW || cores == 1 {
        return all(work);
    }
    let share = work.len().div_ceil(cores);
    let mut work = work.into_iter();
    let shares: Vec<Vec<Work>> = (0..cores).map(|_| work.by_ref().take(share).collect()).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = shares.into_iter().map(|share| scope.spawn(|| all(share))).collect();
        let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        // A definition that was lost would look like one that is gone: better none of this reading.
        joined.flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

fn is_same(entry: &Entry, draft: &Draft) -> bool {
    entry.document == draft.text
        && entry.switched_on == draft.enabled
        && entry.origin == draft.origin
        && entry.version == draft.version
        && draft.name.as_ref().is_none_or(|name| *name == entry.name)
}

/// The name inside the document, for sources that keep none beside it.
fn named(draft: &Draft) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        name: String,
    }
    serde_json::from_str::<Named>(&draft.text).ok().map(|named| named.name)
}

pub(crate) fn compile_one(name: String, draft: Draft, from: &dyn Source, compiler: &Arc<Compiler>) -> Entry {
    let source = from.id();
    let document = match &draft.fault {
        Some(fault) => Err(fault.clone()),
        None => serde_json::from_str(&draft.text)
            .map_err(|error| format!("{} is not valid JSON: {error}; correct it", source.field())),
    };
    let (mut finished, mut problems) = match document {
        Err(fault) => (None, vec![whole_document(&name, fault)]),
        Ok(document) => {
            let (document, text) = named_document(document, &draft);
            compiler.compile(document, &text, source)
        }
    };
    let document_enabled = finished.as_ref().is_none_or(|finished| finished.enabled);
    if let (Some(kept), Some(compiled)) = (&draft.name, &finished)
        && kept != compiled.name.as_str()
    {
        let message = format!(
            "the definition says {:?} but is kept under {kept:?}; make them the same",
            compiled.name.as_str()
        );
        problems.insert(0, Problem { pointer: "/name".into(), ..whole_document(&name, message) });
        finished = None;
    }
    for problem in &mut problems {
        problem.origin = Some(draft.origin.clone());
        problem.tool = Some(name.clone());
        problem.spot = from.spot(&draft.origin, &problem.pointer);
    }
    let mut item = finished.map(|finished| finished.item);
    if let Some(Item::Tool(tool)) = &mut item
        && let Some(tool) = Arc::get_mut(tool)
    {
        tool.tenant.clone_from(&draft.tenant);
    }
    Entry {
        tenant: draft.tenant,
        name,
        source,
        origin: draft.origin,
        enabled: draft.enabled && document_enabled,
        switched_on: draft.enabled,
        document: draft.text,
        item,
        serving: None,
        problems,
        version: draft.version,
        updated_at: draft.updated_at,
        updated_by: draft.updated_by,
    }
}

/// A row that is broken, with the good version that was kept for it.
fn serve(entry: Entry, serving: Serving, source: &dyn Source, compiler: &Arc<Compiler>) -> Entry {
    let draft = Draft {
        tenant: entry.tenant.clone(),
        name: Some(entry.name.clone()),
        text: Arc::clone(&serving.document),
        fault: None,
        origin: entry.origin.clone(),
        enabled: true,
        version: Some(serving.version),
        updated_at: None,
        updated_by: None,
        good: None,
    };
    let good = compile_one(entry.name.clone(), draft, source, compiler);
    if good.live().is_some() { entry.served_as(&good, serving) } else { entry }
}

/// A file is often saved half-written: while its new version has errors, the tool stays as it was. Of a row of the
/// store, the history has the last good version, the same for all gateways.
fn keep_last_good(entry: &mut Entry, before: &Entry) {
    let from_one_file = entry.source == SourceId::Files && file_of(&entry.origin) == file_of(&before.origin);
    if entry.item.is_some() || !from_one_file {
        return;
    }
    let Some(item) = &before.item else {
        return;
    };
    entry.item = Some(item.clone());
    entry.enabled &= before.enabled && !says_disabled(&entry.document);
    // At the first of the errors.
    let spot = entry.problems.first().and_then(|problem| problem.spot.clone());
    entry.problems.insert(
        0,
        Problem {
            origin: Some(entry.origin.clone()),
            spot,
            ..whole_document(
                &entry.name,
                "the definition has errors, so the last good version stays in place".into(),
            )
        },
    );
}

/// A definition that was only moved or written again keeps its upstream, and so the connection to it. One that was
/// switched off has lost it.
fn keep_upstream(entry: &mut Entry, before: &Entry) {
    if let (Some(Item::Upstream { document, .. }), Some(kept @ Item::Upstream { document: old, .. })) =
        (entry.live(), before.live())
        && document == old
    {
        entry.item = Some(kept.clone());
    }
}

/// The file in an origin such as `users.yaml#/0`.
fn file_of(origin: &str) -> &str {
    origin.rsplit_once("#/").map_or(origin, |(file, _)| file)
}

/// The document with its name. A row's may leave it out: the column has it.
pub(crate) fn with_name(mut document: Value, name: &str) -> Value {
    if let Some(members) = document.as_object_mut()
        && !members.contains_key("name")
    {
        members.shift_insert(0, "name".into(), name.into());
    }
    document
}

/// The document of a draft with its name, and that as text.
fn named_document(document: Value, draft: &Draft) -> (Value, Arc<str>) {
    match &draft.name {
        Some(name) if document.is_object() && document.get("name").is_none() => {
            let document = with_name(document, name);
            let text = document.to_string().into();
            (document, text)
        }
        _ => (document, Arc::clone(&draft.text)),
    }
}

fn whole_document(name: &str, message: String) -> Problem {
    Problem {
        severity: Severity::Error,
        tool: Some(name.to_owned()),
        origin: None,
        pointer: String::new(),
        message,
        spot: None,
    }
}

fn log(entry: &Entry) {
    for problem in entry.problems.iter().filter(|problem| problem.severity == Severity::Error) {
        tracing::warn!(
            name = entry.name,
            origin = entry.origin,
            at = problem.spot.as_ref().map(tracing::field::display),
            pointer = problem.pointer,
            problem = problem.message,
            live = entry.live().is_some(),
            "definition has an error"
        );
    }
}
