//! What a prompt's function returns: messages.

use serde_json::{Value, json};

use crate::{Content, ToolError};

/// One message of a prompt.
///
/// ```
/// use toolrail_tool::{Message, Role};
///
/// let asked = Message::user("What is the capital of France?");
/// let answered = Message::assistant("Paris.");
/// assert!(asked.role == Role::User && answered.role == Role::Assistant);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: Content,
}

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl Message {
    /// The user says that.
    pub fn user(content: impl Into<Content>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// The model says that.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }

    fn to_json(&self) -> Value {
        let role = match self.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        json!({"role": role, "content": self.content.to_json()})
    }
}

/// The whole result of a prompt.
///
/// ```
/// use toolrail_tool::{Message, Prompt, PromptOutput};
///
/// let prompt = Prompt::new("review", |_| Box::pin(async {
///     PromptOutput {
///         description: Some("Reviews code.".into()),
///         messages: vec![Message::user("Review this code.")],
///     }
/// }));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptOutput {
    /// What the prompt is about.
    pub description: Option<String>,
    /// Its messages.
    pub messages: Vec<Message>,
}

impl PromptOutput {
    pub(crate) fn to_json(&self) -> Value {
        let messages: Vec<Value> = self.messages.iter().map(Message::to_json).collect();
        match &self.description {
            Some(description) => json!({"description": description, "messages": messages}),
            None => json!({ "messages": messages }),
        }
    }
}

/// What a prompt's function may return: a text of the user, messages, a whole [`PromptOutput`], or a `Result` of one.
///
/// ```
/// use toolrail_tool::{Message, Prompt, ToolError};
///
/// let text = Prompt::new("short", |_| Box::pin(async { "Be brief." }));
/// let messages = Prompt::new("long", |_| Box::pin(async {
///     Ok::<_, ToolError>(vec![Message::user("Take your time."), Message::assistant("I will.")])
/// }));
/// ```
pub trait IntoPromptResult {
    /// The result, or how the request ends without one.
    fn into_prompt_result(self) -> Result<PromptOutput, ToolError>;
}

impl IntoPromptResult for PromptOutput {
    fn into_prompt_result(self) -> Result<PromptOutput, ToolError> {
        Ok(self)
    }
}

impl IntoPromptResult for Vec<Message> {
    fn into_prompt_result(self) -> Result<PromptOutput, ToolError> {
        Ok(PromptOutput { description: None, messages: self })
    }
}

impl IntoPromptResult for Message {
    fn into_prompt_result(self) -> Result<PromptOutput, ToolError> {
        vec![self].into_prompt_result()
    }
}

impl IntoPromptResult for String {
    fn into_prompt_result(self) -> Result<PromptOutput, ToolError> {
        Message::user(self).into_prompt_result()
    }
}

impl IntoPromptResult for &str {
    fn into_prompt_result(self) -> Result<PromptOutput, ToolError> {
        Message::user(self).into_prompt_result()
    }
}

impl<T: IntoPromptResult, E: Into<ToolError>> IntoPromptResult for Result<T, E> {
    fn into_prompt_result(self) -> Result<PromptOutput, ToolError> {
        self.map_err(Into::into)?.into_prompt_result()
    }
}
