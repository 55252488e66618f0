//! Which tool a call means: the one it names, or, through `call_tool`, the one that its arguments name. Every face asks here
//! first, so that nothing behind it ever sees `call_tool`: policies, logs, use counts and tasks see the real tool.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use toolrail_core::{CallError, ErrorCode, closest, shortened};

use super::Finder;
use super::search::{Among, Only, SearchMethod, SearchRequest};
use crate::catalog::{CALL_TOOL, DISCOVERY, Item, Snapshot, Tool};

/// A call whose tool is known.
pub struct Resolved<'a> {
    /// The tool that carries it out.
    pub tool: Arc<Tool>,
    /// Its arguments, as they were written.
    pub arguments: Option<Cow<'a, RawValue>>,
    /// How it was named.
    pub named: Named,
}

/// How a tool was named in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// By the call itself.
    Directly,
    /// By the arguments of `call_tool`.
    InArguments,
}

/// Why it is not known which tool a call means.
#[derive(Debug)]
pub enum Unresolved {
    /// There is no tool of the name.
    Unknown,
    /// What `call_tool` was given is wrong: this is its outcome.
    Failed(CallError),
}

impl Finder {
    /// The tool that a call of that name with those arguments means.
    pub async fn resolve<'a>(
        &self,
        snapshot: &Snapshot,
        name: &str,
        arguments: Option<&'a RawValue>,
    ) -> Result<Resolved<'a>, Unresolved> {
        let tool = snapshot.find(name).ok_or(Unresolved::Unknown)?;
        if !is_call_tool(tool) {
            let (tool, arguments) = (Arc::clone(tool), arguments.map(Cow::Borrowed));
            return Ok(Resolved { tool, arguments, named: Named::Directly });
        }
        let inner = InnerCall::read(arguments).map_err(Unresolved::Failed)?;
        match snapshot.find(&inner.name) {
            Some(tool) if is_call_tool(tool) => {
                Err(wrong("call_tool cannot call itself; put the name of the tool to call into \"name\""))
            }
            Some(tool) => {
                Ok(Resolved { tool: Arc::clone(tool), arguments: inner.arguments, named: Named::InArguments })
            }
            None => {
                let name = shortened(&inner.name);
                tracing::debug!(%name, revision = snapshot.revision, "call_tool of a tool that is not there");
                // In a box: calls that go well should not have to carry the room for this.
                let failure = Box::pin(self.no_such_tool(snapshot, &inner.name)).await;
                Err(Unresolved::Failed(failure))
            }
        }
    }

    /// What to say about a tool that is not there, with those that may have been meant.
    pub async fn no_such_tool(&self, snapshot: &Snapshot, name: &str) -> CallError {
        if let Some(why) = snapshot.why_unusable(name) {
            return CallError::new(ErrorCode::NotFound, why);
        }
        let near = self.near(snapshot, name).await;
        let hint = if near.is_empty() { String::new() } else { format!("; near to it: {}", near.join(", ")) };
        let message =
            format!("there is no tool {:?}{hint}; search_tools finds tools by what they do", shortened(name));
        CallError::new(ErrorCode::NotFound, message)
    }

    /// The names that may have been meant, the likeliest first.
    pub async fn near(&self, snapshot: &Snapshot, name: &str) -> Vec<String> {
        /// Comparing with more names than this would make a wrong name expensive.
        const MOST: usize = 2_000;
        const MOST_TOLD: usize = 3;
        let names = snapshot.tools().iter().take(MOST).chain(snapshot.built_ins());
        let spelt = (name.len() <= 64).then(|| closest(name, names.map(|tool| tool.name.as_str()))).flatten();
        let mut near: Vec<String> = spelt.map(str::to_owned).into_iter().collect();
        let request = SearchRequest {
            query: name,
            method: SearchMethod::Bm25,
            limit: MOST_TOLD,
            among: Among::All,
            only: Only::default(),
            tenant: snapshot.tenant().map(|tenant| &**tenant),
            conversation: None,
        };
        let hits = self.look_for(snapshot, &request).await.map(|found| found.hits).unwrap_or_default();
        for hit in hits {
            let name = hit.value.name.as_str();
            if !near.iter().any(|known| known == name) {
                near.push(name.to_owned());
            }
        }
        near.truncate(MOST_TOLD);
        near
    }
}

impl Snapshot {
    /// Why the definition that is there under that name cannot be used as a tool, if there is one that cannot.
    pub fn why_unusable(&self, name: &str) -> Option<String> {
        let entry = self.entry(name)?;
        let name = &entry.name;
        Some(match &entry.item {
            Some(Item::Tool(_)) if entry.live().is_some() => return None,
            Some(Item::Tool(_)) => {
                format!("the tool {name:?} is switched off; whoever runs the gateway can switch it on")
            }
            Some(other) => format!("{name:?} is {}, not a tool; search_tools finds tools", other.word()),
            None => {
                format!("the definition of the tool {name:?} has errors; whoever wrote it has to correct it")
            }
        })
    }
}

fn is_call_tool(tool: &Tool) -> bool {
    &*tool.kind == DISCOVERY && tool.name.as_str() == CALL_TOOL
}

/// What `call_tool` is given.
struct InnerCall<'a> {
    name: String,
    arguments: Option<Cow<'a, RawValue>>,
}

impl<'a> InnerCall<'a> {
    fn read(raw: Option<&'a RawValue>) -> Result<Self, CallError> {
        let mut members: BTreeMap<String, &'a RawValue> = match raw {
            None => BTreeMap::new(),
            Some(raw) => serde_json::from_str(raw.get())
                .map_err(|_| invalid("call_tool takes an object: {\"name\": …, \"arguments\": {…}}"))?,
        };
        // The other discovery tools say `tool_name`, so models do here.
        let name = members.remove("name").or_else(|| members.remove("tool_name"));
        let name: Option<String> = name.and_then(|name| serde_json::from_str(name.get()).ok());
        let Some(name) = name.filter(|name| !name.trim().is_empty()) else {
            return Err(invalid("\"name\" is missing: the name of the tool to call, a string"));
        };
        let arguments = members.remove("arguments");
        if let Some(stray) = members.keys().next() {
            let stray = shortened(stray);
            return Err(invalid(format!(
                "call_tool has no argument {stray:?}; put what {:?} takes into \"arguments\", an object",
                shortened(&name)
            )));
        }
        let arguments = arguments.map(object_of).transpose()?.flatten();
        Ok(Self { name: name.trim().to_owned(), arguments })
    }
}

/// The arguments of the inner call: an object, or, as some models write it, a text that is one.
fn object_of(raw: &RawValue) -> Result<Option<Cow<'_, RawValue>>, CallError> {
    let text = raw.get();
    if text == "null" {
        return Ok(None);
    }
    if text.starts_with('{') {
        return Ok(Some(Cow::Borrowed(raw)));
    }
    let no_object = || invalid("\"arguments\" must be an object: the arguments of the tool by name");
    let inner: String = serde_json::from_str(text).map_err(|_| no_object())?;
    if inner.trim().is_empty() {
        return Ok(None);
    }
    let inner = RawValue::from_string(inner.trim().to_owned()).map_err(|_| no_object())?;
    if inner.get().starts_with('{') { Ok(Some(Cow::Owned(inner))) } else { Err(no_object()) }
}

fn invalid(message: impl Into<String>) -> CallError {
    CallError::new(ErrorCode::InvalidArguments, message)
}

fn wrong(message: &str) -> Unresolved {
    Unresolved::Failed(invalid(message))
}
