//! Questions to the client's user and model, and their answers.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use toolrail_core::{Question, Questions, Unanswered};

use crate::schema::schema_of;
use crate::{Context, ToolError};

/// Several questions to be asked at once.
#[must_use = "nothing is asked before `ask`"]
pub struct QuestionSet<'c, 'a> {
    context: &'c Context<'a>,
    questions: Questions,
}

impl<'c, 'a> QuestionSet<'c, 'a> {
    pub(crate) fn new(context: &'c Context<'a>) -> Self {
        Self { context, questions: Questions::default() }
    }

    /// Asks the user to fill in a form; see [`Context::elicit`].
    pub fn elicit(self, key: &str, message: &str, schema: Value) -> Self {
        self.question(key, "elicitation/create", json!({"message": message, "requestedSchema": schema}))
    }

    /// Asks the client's model; see [`Context::sample`].
    pub fn sample(self, key: &str, params: Value) -> Self {
        self.question(key, "sampling/createMessage", params)
    }

    /// Asks for the client's roots; see [`Context::roots`].
    pub fn roots(self, key: &str) -> Self {
        self.question(key, "roots/list", json!({}))
    }

    /// What [`Context::remembered`] gives back when the tool runs again with the answers.
    pub fn remember(mut self, value: impl Into<Value>) -> Self {
        self.questions.remember = Some(value.into());
        self
    }

    /// Asks, and waits for the answers or ends this run.
    pub async fn ask(self) -> Result<Answers, ToolError> {
        ask(self.context, self.questions).await.map(Answers)
    }

    fn question(mut self, key: &str, method: &str, params: Value) -> Self {
        self.questions.by_key.push((key.to_owned(), Question { method: method.to_owned(), params }));
        self
    }
}

/// Asks what has not been answered yet, in this run or in an earlier one.
pub(crate) async fn ask(
    context: &Context<'_>,
    mut questions: Questions,
) -> Result<Map<String, Value>, ToolError> {
    let caller = context.call.caller;
    let remember = questions.remember.take();
    let (mut answers, state) = context.memory.with(caller, |state| {
        if remember.is_some() {
            state.value = remember;
        }
        let mut known = Map::new();
        questions.by_key.retain(|(key, _)| match state.answers.get(key) {
            Some(answer) => {
                known.insert(key.clone(), answer.clone());
                false
            }
            None => true,
        });
        (known, state.write())
    })?;
    if questions.by_key.is_empty() {
        return Ok(answers);
    }
    questions.remember = state;
    let new = caller.ask(&questions).await.map_err(|unanswered| match unanswered {
        Unanswered::Later(input) => ToolError::input_required(input),
        Unanswered::Never(error) => ToolError::of_call(error),
        Unanswered::Refused(refusal) => ToolError::of_call(refusal.into_error()),
    })?;
    context.memory.with(caller, |state| state.answers.extend(new.clone()))?;
    answers.extend(new);
    Ok(answers)
}

/// The answers to several questions.
#[derive(Clone, Debug)]
pub struct Answers(Map<String, Value>);

impl Answers {
    /// What the user filled in.
    pub fn elicited(&self, key: &str) -> Result<Elicited, ToolError> {
        self.read(key)
    }

    /// What the model said.
    pub fn sampled(&self, key: &str) -> Result<Sampled, ToolError> {
        self.raw(key).cloned().map(Sampled)
    }

    /// The roots.
    pub fn roots(&self, key: &str) -> Result<Vec<Root>, ToolError> {
        #[derive(Deserialize)]
        struct Roots {
            roots: Vec<Root>,
        }
        self.read::<Roots>(key).map(|answer| answer.roots)
    }

    fn raw(&self, key: &str) -> Result<&Value, ToolError> {
        self.0.get(key).ok_or_else(|| ToolError::invalid_params(format!("the answer to {key:?} is missing")))
    }

    fn read<T: DeserializeOwned>(&self, key: &str) -> Result<T, ToolError> {
        T::deserialize(self.raw(key)?)
            .map_err(|error| ToolError::invalid_params(format!("the answer to {key:?} is wrong: {error}")))
    }
}

/// What a user did with a form.
///
/// ```
/// use toolrail_tool::serde_json::{from_value, json};
/// use toolrail_tool::{Action, Elicited};
///
/// let form: Elicited = from_value(json!({"action": "decline"}))?;
/// assert_eq!(form.action, Action::Decline);
/// assert!(form.accepted::<Vec<String>>().is_ok_and(|content| content.is_none()));
/// # Ok::<(), toolrail_tool::serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Elicited {
    /// What the user did.
    pub action: Action,
    /// What was filled in, if it was accepted.
    #[serde(default, deserialize_with = "or_empty")]
    pub content: Map<String, Value>,
}

/// Some clients write `null` where nothing was filled in.
fn or_empty<'de, D: Deserializer<'de>>(content: D) -> Result<Map<String, Value>, D::Error> {
    Option::deserialize(content).map(Option::unwrap_or_default)
}

/// What a user may do with a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Filled it in.
    Accept,
    /// Said no.
    Decline,
    /// Went away without a decision.
    Cancel,
}

impl Action {
    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        }
    }
}

impl Elicited {
    /// What was filled in, as that type; nothing if the user said no or went away.
    pub fn accepted<T: DeserializeOwned>(&self) -> Result<Option<T>, ToolError> {
        if self.action != Action::Accept {
            return Ok(None);
        }
        T::deserialize(&self.content)
            .map(Some)
            .map_err(|error| ToolError::invalid_params(format!("the form was filled in wrongly: {error}")))
    }
}

/// The form for a type of plain fields.
pub(crate) fn form_of<T: JsonSchema>() -> Value {
    schema_of::<T>()
}

/// What a model said (`CreateMessageResult`).
///
/// ```
/// use toolrail_tool::Sampled;
/// use toolrail_tool::serde_json::json;
///
/// let said = Sampled(json!({"role": "assistant", "content": {"type": "text", "text": "Yes."}}));
/// assert_eq!(said.text(), "Yes.");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled(pub Value);

impl Sampled {
    /// Its text.
    pub fn text(&self) -> String {
        let content = &self.0["content"];
        let blocks = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
        let texts = blocks.iter().filter_map(|block| block["text"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// A folder or another place that the client lets servers work in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Root {
    /// Where it is.
    pub uri: String,
    /// What it is called.
    #[serde(default)]
    pub name: Option<String>,
}
