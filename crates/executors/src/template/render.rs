//! One rendering of a request's templates: for sending, with the secrets revealed, or for showing, with the secrets
//! masked and a trail of where each value came from.

use std::borrow::Cow;

use serde_json::{Map, Value};
use toolrail_core::{CallError, ErrorCode, MASK, Secret, Secrets, ValueOrigin, Variables};

use super::expression::{Expression, NoValue, Term};
use crate::meter::{Allowance, Meter};
use crate::outbound::Sensitive;

/// Why a secret of very few characters is not used.
pub(super) const TOO_SHORT: &str =
    "has fewer than 6 characters, so it could not be masked in all that comes back; give it a longer value";

/// What all values together may take up in one request, however often each is placed: about so many bytes.
const MOST_PLACED: usize = 16 << 20;
/// The same where they are shown, which takes several times as much.
const MOST_SHOWN: usize = 2 << 20;

/// What a rendering draws from, and what it leaves behind.
#[derive(Debug)]
pub(crate) struct Rendering<'a> {
    arguments: &'a Map<String, Value>,
    secrets: &'a Secrets,
    purpose: Purpose,
    scratch: String,
    /// What all computed expressions together may take; made for the first of them.
    meter: Option<Meter>,
    /// What the values take up that were placed so far.
    placed: usize,
    /// The token that is sent in the caller's name.
    bearer: Option<Secret>,
}

#[derive(Debug)]
enum Purpose {
    Send { derived: Vec<String>, revealed: usize },
    Show(Trail),
}

/// What a preview tells beside the request.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    /// Where each value came from.
    pub(crate) values: Vec<ValueOrigin>,
    /// What a reader should know.
    pub(crate) notes: Vec<String>,
}

/// The value of an expression.
#[derive(Debug)]
pub(crate) enum Evaluated<'a> {
    /// There is none.
    Absent,
    /// An argument or a part of one.
    Given(&'a Value),
    /// All arguments.
    Arguments(&'a Map<String, Value>),
    /// The result of a computation.
    Computed(Value),
    /// A secret, revealed.
    Secret(&'a str),
    /// A secret, or something made with one, that is only shown.
    Masked,
}

impl<'a> Rendering<'a> {
    /// A rendering that will be sent.
    pub(crate) fn to_send(arguments: &'a Map<String, Value>, secrets: &'a Secrets) -> Self {
        Self {
            arguments,
            secrets,
            purpose: Purpose::Send { derived: Vec::new(), revealed: 0 },
            scratch: String::new(),
            meter: None,
            placed: 0,
            bearer: None,
        }
    }

    /// The same with a token that is sent in the caller's name.
    pub(crate) fn bearing(self, bearer: Option<Secret>) -> Self {
        Self { bearer, ..self }
    }

    /// The token that is sent in the caller's name.
    pub(crate) fn bearer(&self) -> Option<Secret> {
        self.bearer.clone()
    }

    /// A rendering that will be shown.
    pub(crate) fn to_show(arguments: &'a Map<String, Value>, secrets: &'a Secrets) -> Self {
        Self {
            arguments,
            secrets,
            purpose: Purpose::Show(Trail::default()),
            scratch: String::new(),
            meter: None,
            placed: 0,
            bearer: None,
        }
    }

    /// Whether this will only be shown.
    pub(crate) fn is_shown(&self) -> bool {
        matches!(self.purpose, Purpose::Show(_))
    }

    /// Notes a text that was made from secrets and must be masked like one.
    pub(crate) fn derive(&mut self, text: &str) {
        if let Purpose::Send { derived, .. } = &mut self.purpose {
            derived.push(text.to_owned());
        }
    }

    /// Notes something for the reader of a preview.
    pub(crate) fn note(&mut self, words: impl FnOnce() -> String) {
        if let Purpose::Show(trail) = &mut self.purpose {
            let words = words();
            if !trail.notes.contains(&words) {
                trail.notes.push(words);
            }
        }
    }

    /// The texts made from secrets, beyond the secrets themselves.
    pub(crate) fn derived(&self) -> &[String] {
        match &self.purpose {
            Purpose::Send { derived, .. } => derived,
            Purpose::Show(_) => &[],
        }
    }

    /// How many secrets were placed so far.
    pub(crate) fn revealed(&self) -> usize {
        match self.purpose {
            Purpose::Send { revealed, .. } => revealed,
            Purpose::Show(_) => 0,
        }
    }

    /// What a preview tells beside the request.
    pub(crate) fn into_trail(self) -> Trail {
        match self.purpose {
            Purpose::Send { .. } => Trail::default(),
            Purpose::Show(trail) => trail,
        }
    }

    /// Evaluates an expression of the template at `pointer`.
    pub(crate) fn evaluate(
        &mut self,
        expression: &Expression,
        pointer: &str,
    ) -> Result<Evaluated<'a>, CallError> {
        let evaluated = if self.is_shown() && !expression.secrets().is_empty() {
            self.note_missing_secrets(expression);
            Evaluated::Masked
        } else {
            self.value_of(expression, pointer)?
        };
        self.place(evaluated.size(), pointer)?;
        if let Purpose::Show(trail) = &mut self.purpose {
            trail.values.push(ValueOrigin {
                pointer: pointer.to_owned(),
                from: expression.source().to_owned(),
                value: evaluated.to_value(),
            });
        }
        Ok(evaluated)
    }

    /// Counts what a value takes up where it is placed: a few arguments in many places make a large request.
    pub(super) fn place(&mut self, bytes: usize, pointer: &str) -> Result<(), CallError> {
        self.placed = self.placed.saturating_add(bytes);
        let most = if self.is_shown() { MOST_SHOWN } else { MOST_PLACED };
        if self.placed <= most {
            return Ok(());
        }
        let words = format!(
            "with these arguments the request grows beyond {} MiB at {pointer}; give shorter ones, or place them less often",
            most >> 20
        );
        Err(CallError::new(ErrorCode::TooLarge, words).about_definition())
    }

    fn value_of(&mut self, expression: &Expression, pointer: &str) -> Result<Evaluated<'a>, CallError> {
        match expression.term() {
            Term::Arguments => Ok(Evaluated::Arguments(self.arguments)),
            Term::Argument(name, steps) => {
                Ok(Term::look_up(name, steps, self.arguments).map_or(Evaluated::Absent, Evaluated::Given))
            }
            Term::Secret(key) => self.secret(key, pointer).map(Evaluated::Secret),
            Term::Variable(_, Some(value)) => Ok(Evaluated::Computed(Value::from(value.as_str()))),
            Term::Variable(name, None) => Err(CallError::at_field(
                ErrorCode::VarMissing,
                pointer,
                format_args!("the variable {name:?} has no value here; {}", Variables::how_to_set(name)),
            )),
            Term::Computed(computed) => {
                for key in expression.secrets() {
                    self.secret(key, pointer)?;
                }
                let secrets = self.secrets;
                let reveal =
                    |key: &str| secrets.find(key).map_or(String::new(), |secret| secret.reveal().to_owned());
                let arguments = self.arguments;
                let meter = self.meter.get_or_insert_with(|| Meter::new(allowance(arguments)));
                match expression.compute(computed, arguments, reveal, meter) {
                    Ok(value) => {
                        if !expression.secrets().is_empty() {
                            self.derive_texts(&value, expression.source());
                        }
                        Ok(Evaluated::Computed(value))
                    }
                    Err(NoValue::Absent) => Ok(Evaluated::Absent),
                    Err(NoValue::Failed(why)) => Err(CallError::new(
                        ErrorCode::InvalidArguments,
                        format!(
                            "the template {{{{{}}}}} at {pointer} cannot be evaluated with these arguments: {why}",
                            expression.source()
                        ),
                    )
                    .about_definition()),
                }
            }
        }
    }

    /// Notes every text in a value that was computed from secrets, but not what the author wrote out in `source`.
    fn derive_texts(&mut self, value: &Value, source: &str) {
        match value {
            Value::String(text) if !source.contains(text.as_str()) => self.derive(text),
            Value::Array(items) => items.iter().for_each(|item| self.derive_texts(item, source)),
            Value::Object(members) => {
                for (key, member) in members {
                    if !source.contains(key.as_str()) {
                        self.derive(key);
                    }
                    self.derive_texts(member, source);
                }
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The secret that the template at `pointer` names.
    fn secret(&mut self, key: &str, pointer: &str) -> Result<&'a str, CallError> {
        let missing = |why: String| CallError::at_field(ErrorCode::SecretMissing, pointer, why);
        let Some(secret) = self.secrets.find(key).map(Secret::reveal) else {
            let how = self.secrets.how_to_set(key);
            return Err(missing(format!("the secret {key:?} has no value here; {how}")));
        };
        if Sensitive::is_too_short(secret) {
            return Err(missing(format!("the secret {key:?} {TOO_SHORT}")));
        }
        if let Purpose::Send { revealed, .. } = &mut self.purpose {
            *revealed += 1;
        }
        Ok(secret)
    }

    fn note_missing_secrets(&mut self, expression: &Expression) {
        for key in expression.secrets() {
            let secrets = self.secrets;
            if secrets.find(key).is_none() {
                self.note(|| {
                    format!(
                        "the call would fail: the secret {key:?} has no value here; {}",
                        secrets.how_to_set(key)
                    )
                });
            }
        }
    }

    /// Lends a buffer that keeps its memory between values.
    pub(super) fn take_scratch(&mut self) -> String {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch
    }

    pub(super) fn return_scratch(&mut self, scratch: String) {
        self.scratch = scratch;
    }
}

impl Evaluated<'_> {
    /// Whether it is JSON null.
    pub(crate) fn is_null(&self) -> bool {
        self.json().is_some_and(Value::is_null)
    }

    /// Its items, if it is an array.
    pub(crate) fn items(&self) -> Option<&[Value]> {
        self.json().and_then(Value::as_array).map(Vec::as_slice)
    }

    /// The JSON value, unless it is absent, secret or the arguments together.
    pub(crate) fn json(&self) -> Option<&Value> {
        match self {
            Self::Given(value) => Some(value),
            Self::Computed(value) => Some(value),
            Self::Absent | Self::Arguments(_) | Self::Secret(_) | Self::Masked => None,
        }
    }

    /// About how many bytes it takes up where it is placed.
    fn size(&self) -> usize {
        match self {
            Self::Absent | Self::Masked => 0,
            Self::Given(value) => size_of_json(value),
            Self::Computed(value) => size_of_json(value),
            Self::Arguments(arguments) => arguments.iter().map(size_of_member).sum(),
            Self::Secret(secret) => secret.len(),
        }
    }

    /// As text: strings as they are, everything else as compact JSON.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Absent => Cow::Borrowed(""),
            Self::Given(value) => text_of(value),
            Self::Computed(value) => text_of(value),
            Self::Arguments(arguments) => Cow::Owned(serde_json::to_string(arguments).unwrap_or_default()),
            Self::Secret(secret) => Cow::Borrowed(secret),
            Self::Masked => Cow::Borrowed(MASK),
        }
    }

    /// Appends it as JSON.
    pub(super) fn write_json(&self, out: &mut Vec<u8>) {
        // Writing a value or a text to a Vec cannot fail.
        let _ = match self {
            Self::Absent => Ok(()),
            Self::Given(value) => serde_json::to_writer(out, value),
            Self::Computed(value) => serde_json::to_writer(out, value),
            Self::Arguments(arguments) => serde_json::to_writer(out, arguments),
            Self::Secret(secret) => serde_json::to_writer(out, secret),
            Self::Masked => serde_json::to_writer(out, MASK),
        };
    }

    fn to_value(&self) -> Option<Value> {
        match self {
            Self::Absent => None,
            Self::Given(value) => Some((*value).clone()),
            Self::Computed(value) => Some(value.clone()),
            Self::Arguments(arguments) => Some(Value::Object((*arguments).clone())),
            Self::Secret(_) | Self::Masked => Some(MASK.into()),
        }
    }
}

/// A little, and more where the arguments themselves are large.
fn allowance(arguments: &Map<String, Value>) -> Allowance {
    let size: usize = arguments.values().map(size_of_json).sum();
    let Allowance { work, bytes } = Allowance::SMALL;
    Allowance {
        work: work.saturating_add(4 * size as u64),
        bytes: bytes.saturating_add(16 * size).min(64 << 20),
    }
}

fn size_of_json(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size_of_json).sum::<usize>() + 16 * items.len(),
        Value::Object(members) => members.iter().map(size_of_member).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

fn size_of_member((key, member): (&String, &Value)) -> usize {
    key.len() + 32 + size_of_json(member)
}

/// A JSON value as text: strings as they are, everything else as compact JSON.
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}
