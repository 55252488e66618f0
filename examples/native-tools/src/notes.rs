//! Methods as tools: they share one value.

use std::sync::{Mutex, MutexGuard, PoisonError};

use toolrail_tool::{ToolError, tools};

/// Notes, for as long as the process lives.
#[derive(Default)]
struct Notes {
    texts: Mutex<Vec<String>>,
}

#[tools(state = Notes::default())]
impl Notes {
    /// Takes a note.
    #[tool(name = "notes.add", destructive = false)]
    fn add(&self, text: String) -> String {
        let mut texts = self.texts();
        texts.push(text);
        format!("note {}", texts.len())
    }

    /// Reads a note.
    #[tool(name = "notes.read", read_only)]
    fn read(&self, number: usize) -> Result<String, ToolError> {
        let texts = self.texts();
        let note = number.checked_sub(1).and_then(|place| texts.get(place)).cloned();
        note.ok_or_else(|| ToolError::failed(format!("there is no note {number}; there are {}", texts.len())))
    }

    fn texts(&self) -> MutexGuard<'_, Vec<String>> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
