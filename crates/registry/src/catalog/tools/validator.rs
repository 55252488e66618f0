//! Schemas of tools: checked when the tool is compiled, kept as text, and compiled again when the tool is first called. A
//! compiled schema takes some kilobytes, and of ten thousand tools only a few are in use. Some patterns take megabytes: schemas
//! that have such are kept together within bounds, and compiled again when they are needed again.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, Weak};

use bytes::Bytes;
use memchr::memmem::Finder;
use serde_json::Value;
use toolrail_core::{CallError, ErrorCode, SchemaCompiler, Validator};

use super::checking::elsewhere;

/// A longer schema is compiled where nobody waits for the thread.
const LARGE: usize = 4 * 1024;
/// A schema whose patterns weigh more than this is heavy.
const HEAVY: u64 = 10_000;
/// What the heavy ones that are kept may weigh together; a state takes some fifty bytes.
const MOST_KEPT: u64 = 1_000_000;

/// The heavy schemas that were used last.
static KEPT: Mutex<VecDeque<Arc<Ready>>> = Mutex::new(VecDeque::new());

/// A schema that is known to compile.
pub(crate) struct LazyValidator {
    schema: Bytes,
    compiled: OnceLock<Option<Compiled>>,
}

enum Compiled {
    Light(Box<Ready>),
    Heavy(Mutex<Weak<Ready>>),
}

/// A compiled schema, for one use.
pub(crate) enum InUse<'a> {
    Light(&'a Ready),
    Heavy(Arc<Ready>),
}

impl Deref for InUse<'_> {
    type Target = Ready;

    fn deref(&self) -> &Ready {
        match self {
            Self::Light(ready) => ready,
            Self::Heavy(ready) => ready,
        }
    }
}

/// A schema in use.
pub(crate) struct Ready {
    pub(crate) validator: Arc<Validator>,
    /// What a call that leaves them out gets.
    pub(crate) defaults: Vec<(Box<str>, Value)>,
}

impl LazyValidator {
    /// For a `schema` that was checked. If `text` holds the same JSON, it is shared.
    pub(crate) fn of(schema: &Value, text: &Bytes) -> Self {
        let json = serde_json::to_vec(schema).unwrap_or_default();
        let schema = match place_of(&json, text) {
            Some(start) => text.slice(start..start + json.len()),
            None => json.into(),
        };
        Self { schema, compiled: OnceLock::new() }
    }

    /// The compiled schema.
    pub(crate) async fn get(&self) -> Result<InUse<'_>, CallError> {
        let compiled = match self.compiled.get() {
            Some(compiled) => compiled,
            None if self.is_small() => self.compiled.get_or_init(|| compile(&self.schema).map(kept)),
            None => {
                let compiled = self.compile_elsewhere().await?.map(kept);
                self.compiled.get_or_init(|| compiled)
            }
        };
        match compiled {
            Some(Compiled::Light(ready)) => Ok(InUse::Light(ready)),
            Some(Compiled::Heavy(known)) => {
                let still_there = known.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
                let ready = match still_there {
                    Some(ready) => ready,
                    None => Arc::new(self.compile_elsewhere().await?.ok_or_else(changed)?),
                };
                *known.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&ready);
                keep(&ready);
                Ok(InUse::Heavy(ready))
            }
            None => Err(changed()),
        }
    }

    /// Whether compiling it takes next to nothing: a short pattern may be a large automaton.
    fn is_small(&self) -> bool {
        self.schema.len() <= LARGE && memchr::memmem::find(&self.schema, b"\"pattern").is_none()
    }

    async fn compile_elsewhere(&self) -> Result<Option<Ready>, CallError> {
        let schema = self.schema.clone();
        Box::pin(elsewhere(move || compile(&schema))).await
    }
}

/// Where a schema stands in a list entry.
fn place_of(schema: &[u8], entry: &[u8]) -> Option<usize> {
    static KEYS: LazyLock<[Finder<'static>; 2]> =
        LazyLock::new(|| ["\"inputSchema\":", "\"outputSchema\":"].map(Finder::new));
    let behind = |key: &Finder<'_>| {
        let start = key.find(entry)? + key.needle().len();
        entry.get(start..)?.starts_with(schema).then_some(start)
    };
    KEYS.iter().find_map(behind)
}

fn changed() -> CallError {
    CallError::new(ErrorCode::Internal, "a schema that was checked does not compile any more")
}

fn compile(schema: &[u8]) -> Option<Ready> {
    let schema: Value = serde_json::from_slice(schema).ok()?;
    let validator = Arc::new(SchemaCompiler::default().compile_again(&schema).ok()?);
    Some(Ready { validator, defaults: defaults_of(&schema) })
}

fn kept(ready: Ready) -> Compiled {
    if ready.validator.weight() <= HEAVY {
        return Compiled::Light(Box::new(ready));
    }
    let ready = Arc::new(ready);
    keep(&ready);
    Compiled::Heavy(Mutex::new(Arc::downgrade(&ready)))
}

/// Keeps a heavy one as the last that was used; those go that were used longest ago.
fn keep(ready: &Arc<Ready>) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.retain(|other| !Arc::ptr_eq(other, ready));
    kept.push_back(Arc::clone(ready));
    let mut weight: u64 = kept.iter().map(|ready| ready.validator.weight()).sum();
    let mut gone = Vec::new();
    while weight > MOST_KEPT && kept.len() > 1 {
        gone.extend(kept.pop_front().inspect(|ready| weight -= ready.validator.weight()));
    }
    drop(kept);
    // Large ones take a while to go.
    drop(gone);
}

/// The defaults of the top-level arguments; a call that leaves one out gets it.
pub(crate) fn defaults_of(schema: &Value) -> Vec<(Box<str>, Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .filter_map(|(name, property)| Some((name.as_str().into(), property.get("default")?.clone())))
        .collect()
}
