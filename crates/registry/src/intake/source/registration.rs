//! A definition to register, as an administrator sent it: bare, or wrapped with what belongs beside it.

use serde_json::{Map, Value};
use toolrail_core::{Expected, Principal, Problem, Severity, repeated_key};

/// A definition to register, as it was given.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The definition.
    pub document: Value,
    /// Whether it may be called; the document's own word if absent.
    pub enabled: Option<bool>,
    /// JSON pointer from what the user sent to the definition, for problems.
    pub base: String,
    /// The name beside the document, which must agree with it.
    pub name: Option<String>,
    /// Whose definition; everybody's if absent.
    pub tenant: Option<String>,
    /// What must be there for it to be written.
    pub expected: Expected,
}

type Fault<'a> = dyn Fn(&str, String) -> Vec<Problem> + 'a;

impl Registration {
    /// Reads what an administrator sent: a bare definition, or `{name, enabled, configJson}`, with `tenant` and `version` if
    /// it belongs to a tenant, or must replace that version only.
    pub fn from_request(body: Value, base: &str) -> Result<Self, Vec<Problem>> {
        let fault = |pointer: &str, message: String| vec![error_at(&format!("{base}{pointer}"), message)];
        let Value::Object(mut members) = body else {
            return Err(fault("", "a definition is a JSON object; send it bare or as {\"name\": …, \"enabled\": …, \"configJson\": {…}}".into()));
        };
        let Some(key) = ["configJson", "config_json"].into_iter().find(|key| members.contains_key(*key))
        else {
            return Ok(Self::bare(Value::Object(members), base));
        };
        let document = match members.shift_remove(key).unwrap_or_default() {
            Value::String(text) => {
                if let Some(Problem { pointer, message, .. }) = repeated_key(text.as_bytes()) {
                    return Err(fault(&format!("/{key}{pointer}"), message));
                }
                serde_json::from_str(&text).map_err(|error| {
                    fault(&format!("/{key}"), format!("is a text that is not JSON: {error}"))
                })?
            }
            document => document,
        };
        let mut registration = Self::bare(document, &format!("{base}/{key}"));
        registration.take_wrapper(&mut members, &fault)?;
        Ok(registration)
    }

    /// Reads what stands in a file: the same, but for what only a store can have.
    pub(crate) fn from_file(value: Value) -> Result<Self, Vec<Problem>> {
        let registration = Self::from_request(value, "")?;
        if registration.expected != Expected::Anything {
            let message = "has a meaning in requests only; remove it";
            return Err(vec![error_at("/version", message.into())]);
        }
        Ok(registration)
    }

    /// A definition with nothing beside it.
    pub fn bare(document: Value, base: &str) -> Self {
        Self {
            document,
            enabled: None,
            base: base.to_owned(),
            name: None,
            tenant: None,
            expected: Expected::Anything,
        }
    }

    fn take_wrapper(
        &mut self,
        members: &mut Map<String, Value>,
        fault: &Fault<'_>,
    ) -> Result<(), Vec<Problem>> {
        self.name = match members.shift_remove("name") {
            None => None,
            Some(Value::String(name)) => Some(name),
            Some(_) => return Err(fault("/name", "must be a string".into())),
        };
        self.enabled = match members.shift_remove("enabled") {
            None => None,
            Some(Value::Bool(enabled)) => Some(enabled),
            Some(_) => return Err(fault("/enabled", "must be true or false".into())),
        };
        self.tenant = match members.shift_remove("tenant") {
            None | Some(Value::Null) => None,
            Some(Value::String(tenant)) => match Principal::of_tenant(&tenant) {
                Ok(_) => Some(tenant),
                Err(wrong) => return Err(fault("/tenant", wrong.to_string())),
            },
            Some(_) => return Err(fault("/tenant", "must be a string".into())),
        };
        self.expected = match members.shift_remove("version") {
            None => Expected::Anything,
            Some(version) => match version.as_i64().filter(|version| *version > 0) {
                Some(version) => Expected::Version(version),
                None => return Err(fault("/version", "must be the number of the version to replace".into())),
            },
        };
        match members.keys().next() {
            Some(unknown) => Err(fault(
                &format!("/{unknown}"),
                format!(
                    "unknown field {unknown:?} beside configJson; known here: name, enabled, tenant, version, configJson"
                ),
            )),
            None => Ok(()),
        }
    }

    /// Puts the name beside the document into it, where it has none; a problem if the two disagree.
    pub(crate) fn settle_name(&mut self) -> Option<Problem> {
        let (Some(name), Some(members)) = (&self.name, self.document.as_object_mut()) else {
            return None;
        };
        match members.get("name").and_then(Value::as_str) {
            None => {
                members.shift_insert(0, "name".into(), name.as_str().into());
                None
            }
            Some(inner) if inner == name => None,
            Some(inner) => Some(error_at(
                "/name",
                format!("the definition says {inner:?} but the request says {name:?}; make them the same"),
            )),
        }
    }

    /// Takes the word about being switched on out of the document: the store has a column for it, and a second word could
    /// only contradict that. What is no such word stays, to be told as a fault.
    pub(crate) fn settle_switch(&mut self) -> bool {
        let Some(members) = self.document.as_object_mut() else {
            return self.enabled.unwrap_or(true);
        };
        let inside = members.get("enabled").and_then(Value::as_bool);
        if inside.is_some() || members.get("enabled") == Some(&Value::Null) {
            members.shift_remove("enabled");
        }
        self.enabled.or(inside).unwrap_or(true)
    }
}

/// An error at a place of a definition.
pub(crate) fn error_at(pointer: &str, message: String) -> Problem {
    Problem {
        severity: Severity::Error,
        tool: None,
        origin: None,
        pointer: pointer.to_owned(),
        message,
        spot: None,
    }
}
