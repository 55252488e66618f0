//! Results for callers that do not speak MCP: the answer itself, and a failure instead of an error result.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Block, CallError, ErrorCode, Json, Payload, Root, ToolResult};

const ASKS: &str = "the tool asks its user something, which only MCP can carry; call it over MCP";

/// What a whole result of MCP comes down to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlainAnswer<'a> {
    /// JSON text: its structured content.
    Json(&'a str),
    /// The text of its only block.
    Text(Cow<'a, str>),
    /// JSON text: the list of its blocks.
    Content(&'a str),
    /// It has no content.
    Nothing,
}

impl<'a> PlainAnswer<'a> {
    /// What `result`, a `CallToolResult`, comes down to. Anything else is passed on as it is.
    pub fn of(result: &'a Json) -> Self {
        match Whole::read(result) {
            Some(Whole { structured_content: Some(json), .. }) => Self::Json(json.get()),
            Some(Whole { content: Some(content), .. }) => answer_in(content),
            Some(Whole { structured_content: None, content: None, .. }) | None => Self::Json(result.text()),
        }
    }
}

fn answer_in(content: &RawValue) -> PlainAnswer<'_> {
    let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    match blocks.as_slice() {
        [] if content.get().starts_with('[') => PlainAnswer::Nothing,
        [only] => text_of(only).map_or(PlainAnswer::Content(content.get()), PlainAnswer::Text),
        _ => PlainAnswer::Content(content.get()),
    }
}

fn text_of(block: &RawValue) -> Option<Cow<'_, str>> {
    let block: TextBlock<'_> = Some(block.get())
        .filter(|text| text.starts_with('{'))
        .and_then(|text| serde_json::from_str(text).ok())?;
    (block.kind == "text").then_some(block.text)
}

/// A text block.
#[derive(Deserialize)]
struct TextBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// The members of a `CallToolResult` that matter here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Whole<'a> {
    #[serde(borrow, default)]
    structured_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default, rename = "_meta")]
    meta: Value,
}

impl<'a> Whole<'a> {
    fn read(result: &'a Json) -> Option<Self> {
        // A list would be taken for its members in order.
        (result.root() == Root::Object).then(|| serde_json::from_str(result.text()).ok()).flatten()
    }

    /// Why the call failed, if another gateway says so.
    fn code(&self) -> Option<ErrorCode> {
        self.meta.get(ErrorCode::META_KEY)?.as_str().and_then(ErrorCode::parse)
    }

    /// Its texts, if it has any.
    fn texts(&self) -> Option<String> {
        let blocks: Vec<&RawValue> = serde_json::from_str(self.content?.get()).ok()?;
        let texts: Vec<_> = blocks.into_iter().filter_map(text_of).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }
}

impl ToolResult {
    /// The result, unless the tool says that it failed, or asks something: then that is the failure.
    pub fn into_good(self) -> Result<Self, CallError> {
        if !self.is_error && !matches!(self.payload, Payload::InputRequired(_)) {
            return Ok(self);
        }
        let (code, text) = told(&self.payload);
        let mut parts = vec![text];
        parts.retain(|text| !text.is_empty());
        parts.extend(self.notes);
        Err(CallError::new(code, parts.join("; ")))
    }
}

/// What a tool that says it failed has to say.
fn told(payload: &Payload) -> (ErrorCode, String) {
    let text = match payload {
        Payload::Json(json) => json.text().to_owned(),
        Payload::Text(text) => text.clone(),
        Payload::Blocks(blocks) => texts_in(blocks),
        Payload::Whole(json) => return told_by(json),
        Payload::InputRequired(_) => return (ErrorCode::InvalidRequest, ASKS.to_owned()),
        Payload::Empty => String::new(),
    };
    (ErrorCode::ToolFailed, text)
}

fn told_by(json: &Json) -> (ErrorCode, String) {
    let Some(whole) = Whole::read(json) else {
        return (ErrorCode::ToolFailed, json.text().to_owned());
    };
    let text = whole.texts().unwrap_or_else(|| {
        let said = whole.structured_content.or(whole.content);
        said.map_or_else(|| json.text(), RawValue::get).to_owned()
    });
    (whole.code().unwrap_or(ErrorCode::ToolFailed), text)
}

fn texts_in(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) | Block::TextResource { text, .. } => Some(text.as_str()),
        Block::Image { .. } | Block::Audio { .. } | Block::Resource { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn whole(result: &Value) -> Json {
        Json::from_value(result)
    }

    #[test]
    fn a_whole_result_comes_down_to_its_answer() {
        let text = json!({"type": "text", "text": "{\"a\": \"ü\"}"});
        let link = json!({"type": "resource_link", "uri": "a://b", "name": "b", "text": "x"});
        let cases = [
            (json!({"content": [text], "structuredContent": [1], "resultType": "complete"}), "Json([1])"),
            (json!({"content": [text], "_meta": {"a": 1}}), "Text({\"a\": \"ü\"})"),
            (json!({"content": [link]}), &format!("Content([{link}])")),
            (json!({"content": [text, text]}), &format!("Content([{text},{text}])")),
            (json!({"content": []}), "Nothing"),
            (json!({"content": "?"}), "Content(\"?\")"),
            (json!({"content": [["text", "x"]]}), "Content([[\"text\",\"x\"]])"),
            (json!({"other": 1}), "Json({\"other\":1})"),
            (json!([1]), "Json([1])"),
        ];
        for (result, wanted) in cases {
            let json = whole(&result);
            let found = match PlainAnswer::of(&json) {
                PlainAnswer::Json(json) => format!("Json({json})"),
                PlainAnswer::Text(text) => format!("Text({text})"),
                PlainAnswer::Content(json) => format!("Content({json})"),
                PlainAnswer::Nothing => "Nothing".to_owned(),
            };
            assert_eq!(found, wanted, "{result}");
        }
    }

    #[test]
    fn a_failed_whole_result_is_told_with_its_text_and_our_code() {
        let text = json!({"type": "text", "text": "no such user"});
        let coded = |code: &str| json!({"content": [text], "_meta": {ErrorCode::META_KEY: code}});
        let cases = [
            (coded("UPSTREAM_STATUS"), ErrorCode::UpstreamStatus, "no such user; cut"),
            (coded("THEIR_OWN"), ErrorCode::ToolFailed, "no such user; cut"),
            (json!({"content": [text, text]}), ErrorCode::ToolFailed, "no such user\nno such user; cut"),
            (
                json!({"content": [], "structuredContent": {"why": 1}}),
                ErrorCode::ToolFailed,
                "{\"why\":1}; cut",
            ),
        ];
        for (result, code, message) in cases {
            let payload = Payload::Whole(whole(&result));
            let failed = ToolResult { is_error: true, payload, notes: vec!["cut".to_owned()] };
            assert_eq!(failed.into_good(), Err(CallError::new(code, message)), "{result}");
        }
    }

    #[test]
    fn a_tool_that_asks_needs_another_client() {
        let asks = ToolResult::good(Payload::InputRequired(crate::InputRequired {
            requests: serde_json::Map::new(),
            state: None,
        }));
        assert_eq!(asks.into_good(), Err(CallError::new(ErrorCode::InvalidRequest, ASKS)));
    }

    #[test]
    fn every_code_is_found_by_its_word() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::parse(code.word()), Some(code));
        }
        assert_eq!(ErrorCode::parse("not_found"), None);
    }
}
