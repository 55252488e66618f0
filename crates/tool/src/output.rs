//! The whole result of a tool: what a tool with full control returns, and what calling another tool gives.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use toolrail_core::{Json, Payload, ToolResult};

use crate::{Content, ToolError};

/// The whole result of a tool.
///
/// ```
/// use toolrail_tool::serde_json::json;
/// use toolrail_tool::{Content, ToolOutput};
///
/// let output = ToolOutput::structured(json!({"sum": 3}));
/// assert_eq!(output.parse::<toolrail_tool::serde_json::Value>().ok(), Some(json!({"sum": 3})));
/// let output = ToolOutput::content([Content::text("one"), Content::text("two")]);
/// assert_eq!(output.text(), "one\ntwo");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// The content blocks. If there are none, structured content is repeated as text.
    pub content: Vec<Content>,
    /// The structured content.
    pub structured: Option<Value>,
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// The `_meta` of the result.
    pub meta: Map<String, Value>,
}

impl ToolOutput {
    /// A result of those blocks.
    pub fn content(content: impl IntoIterator<Item = Content>) -> Self {
        Self { content: content.into_iter().collect(), ..Self::default() }
    }

    /// A result of structured content, repeated as text.
    pub fn structured(value: Value) -> Self {
        Self { structured: Some(value), ..Self::default() }
    }

    /// The text blocks, one below the other.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|content| match content {
            Content::Text(text) => Some(text.as_str()),
            Content::Image { .. }
            | Content::Audio { .. }
            | Content::Resource(_)
            | Content::Link { .. }
            | Content::Raw(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The structured content, or else the text as JSON, as that type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        let parsed = match &self.structured {
            Some(value) => T::deserialize(value),
            None => serde_json::from_str(&self.text()),
        };
        parsed.map_err(|error| ToolError::failed(format!("the result has another form: {error}")))
    }

    pub(crate) fn into_result(mut self) -> ToolResult {
        let is_error = self.is_error;
        let plain = self.meta.is_empty();
        let payload = match (self.structured.take(), self.content.as_slice()) {
            (None, []) if plain => Payload::Empty,
            (None, [Content::Text(text)]) if plain => Payload::Text(text.clone()),
            (Some(value), []) if plain => Payload::Json(Json::from_value(&value)),
            (None, content) if plain => match content.iter().map(Content::to_block).collect() {
                Some(blocks) => Payload::Blocks(blocks),
                None => self.whole(None),
            },
            (structured, _) => self.whole(structured),
        };
        ToolResult { is_error, payload, notes: Vec::new() }
    }

    /// The result as MCP writes it.
    fn whole(&self, structured: Option<Value>) -> Payload {
        let mut content: Vec<Value> = self.content.iter().map(Content::to_json).collect();
        if let (true, Some(value)) = (content.is_empty(), &structured) {
            content.push(Content::Text(value.to_string()).to_json());
        }
        let mut result = json!({"content": content, "isError": self.is_error});
        if let Some(value) = structured {
            result["structuredContent"] = value;
        }
        if !self.meta.is_empty() {
            result["_meta"] = Value::Object(self.meta.clone());
        }
        Payload::Whole(Json::from_value(&result))
    }

    /// What another tool answered; a tool that says it failed is an error.
    pub(crate) fn of_result(result: ToolResult) -> Result<Self, ToolError> {
        let ToolResult { is_error, payload, notes } = result;
        let mut output = match payload {
            Payload::Json(json) => {
                let content = vec![Content::text(json.text())];
                Self { content, structured: Some(json.to_value()), ..Self::default() }
            }
            Payload::Text(text) => Self::content([Content::Text(text)]),
            Payload::Blocks(blocks) => Self::content(blocks.into_iter().map(Content::of_block)),
            Payload::Empty => Self::default(),
            Payload::Whole(json) => Self::of_whole(json.to_value()),
            Payload::InputRequired(input) => return Err(ToolError::input_required(input)),
        };
        output.content.extend(notes.into_iter().map(Content::Text));
        output.is_error |= is_error;
        if output.is_error {
            return Err(ToolError::failed(output.text()));
        }
        Ok(output)
    }

    fn of_whole(mut whole: Value) -> Self {
        let mut take = |key: &str| whole.get_mut(key).map(Value::take);
        let content = match take("content") {
            Some(Value::Array(blocks)) => blocks.into_iter().map(Content::of_json).collect(),
            _ => Vec::new(),
        };
        let meta = match take("_meta") {
            Some(Value::Object(meta)) => meta,
            _ => Map::new(),
        };
        let is_error = take("isError") == Some(Value::Bool(true));
        Self { content, structured: take("structuredContent"), is_error, meta }
    }
}
