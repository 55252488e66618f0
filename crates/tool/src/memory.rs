//! What a call must still know when the client makes the request again with its answers (2026-07-28): the answers that
//! came earlier, what the tool itself wants to remember, and the same for the tools it called. The client brings only the
//! newest answers, and carries the rest as a signed state.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use toolrail_core::Caller;

use crate::ToolError;

/// The memory of one call.
#[derive(Default)]
pub(crate) struct Memory {
    state: Mutex<Option<State>>,
}

#[derive(Clone, Default)]
pub(crate) struct State {
    /// What the tool itself remembers.
    pub(crate) value: Option<Value>,
    /// Every answer up to now, by key.
    pub(crate) answers: Map<String, Value>,
    /// What the tools that it called remember.
    pub(crate) calls: Map<String, Value>,
    /// How many tools it called in this run.
    pub(crate) called: usize,
}

impl Memory {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Looks at the memory, or changes it; an error if the client tampered with it.
    pub(crate) fn with<T>(
        &self,
        caller: &dyn Caller,
        look: impl FnOnce(&mut State) -> T,
    ) -> Result<T, ToolError> {
        let mut state = self.lock();
        if state.is_none() {
            let remembered = caller.remembered().map_err(ToolError::of_call)?;
            *state = Some(State::read(remembered));
        }
        Ok(look(state.get_or_insert_default()))
    }

    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn read(remembered: Option<Value>) -> Self {
        let Some(Value::Object(mut members)) = remembered else { return Self::default() };
        let mut map = |key: &str| match members.get_mut(key).map(Value::take) {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        };
        let (answers, calls) = (map("answers"), map("calls"));
        Self { value: members.shift_remove("value"), answers, calls, called: 0 }
    }

    /// The state as it is remembered; nothing if there is nothing to remember.
    pub(crate) fn write(&self) -> Option<Value> {
        let mut members = Map::new();
        if let Some(value) = &self.value {
            members.insert("value".into(), value.clone());
        }
        for (key, map) in [("answers", &self.answers), ("calls", &self.calls)] {
            if !map.is_empty() {
                members.insert(key.into(), json!(map));
            }
        }
        (!members.is_empty()).then_some(Value::Object(members))
    }
}
