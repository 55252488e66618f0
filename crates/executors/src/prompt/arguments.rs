//! The arguments of a prompt: as the list shows them, and whether a request gives the right ones.

use serde_json::{Map, Value, json};
use toolrail_core::{Call, CallError, Problems, did_you_mean};

use super::settings::ArgumentSettings;
use crate::offered::Choices;

/// The most arguments of a prompt.
const MOST: usize = 64;
const POINTER: &str = "/prompt/arguments";

/// Declared arguments.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// Their names.
    pub(super) names: Vec<String>,
    required: Vec<String>,
    /// Values to offer.
    pub(super) choices: Choices,
}

impl Arguments {
    /// Checks what is declared, noting every fault.
    pub(super) fn compile(declared: &[ArgumentSettings], problems: &mut Problems) -> Self {
        let mut arguments = Self::default();
        if declared.len() > MOST {
            problems.error(
                POINTER,
                format!("has {} arguments; at most {MOST} are supported, so remove some", declared.len()),
            );
        }
        for (index, argument) in declared.iter().enumerate() {
            let pointer = format!("{POINTER}/{index}");
            let name = &argument.name;
            if name.is_empty() || name.chars().any(char::is_control) {
                problems.error(format!("{pointer}/name"), "is no name; give one such as language");
            }
            if arguments.names.contains(name) {
                problems
                    .error(format!("{pointer}/name"), format!("{name:?} is there twice; keep one of them"));
            }
            let values = argument.complete.as_deref().unwrap_or_default();
            arguments.choices.add(name, values, &format!("{pointer}/complete"), problems);
            arguments.names.push(name.clone());
            if argument.required == Some(true) {
                arguments.required.push(name.clone());
            }
        }
        arguments
    }

    /// Refuses a request that lacks a required argument, or gives one that is not declared or no text.
    pub(super) fn check(&self, call: &Call<'_>) -> Result<(), CallError> {
        let given = call.arguments;
        let mut faults = Vec::new();
        for name in self.required.iter().filter(|name| !given.contains_key(*name)) {
            faults.push(format!("the argument {name:?} is required; give it"));
        }
        for (name, value) in given {
            if !self.names.contains(name) {
                faults.push(self.unknown(name));
            } else if !value.is_string() {
                faults.push(format!("the argument {name:?} must be a text"));
            }
        }
        if faults.is_empty() {
            return Ok(());
        }
        // One request can hold any number of wrong names.
        faults.truncate(8);
        Err(CallError::invalid_params(format!("the prompt {:?}: {}", call.tool, faults.join("; "))))
    }

    fn unknown(&self, name: &str) -> String {
        const LONGEST: usize = 64;
        let shown: String = name.chars().take(LONGEST).collect();
        let hint = match did_you_mean(&shown, self.names.iter().map(String::as_str)) {
            Some(question) => question,
            None if self.names.is_empty() => "it takes none".to_owned(),
            None => format!("it takes {}", self.names.join(", ")),
        };
        format!("there is no argument {shown:?}; {hint}")
    }
}

/// The arguments as `prompts/list` shows them.
pub(super) fn listed(declared: &[ArgumentSettings]) -> Value {
    let shown = declared.iter().map(|argument| {
        let mut shown = Map::new();
        shown.insert("name".into(), argument.name.as_str().into());
        for (field, text) in [("title", &argument.title), ("description", &argument.description)] {
            if let Some(text) = text {
                shown.insert(field.into(), text.as_str().into());
            }
        }
        if let Some(required) = argument.required {
            shown.insert("required".into(), required.into());
        }
        Value::Object(shown)
    });
    json!(shown.collect::<Vec<_>>())
}
