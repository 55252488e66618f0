//! What an answer is by its content type: JSON, text, a picture, a sound or another binary; whole or cut.

use bytes::Bytes;
use http::{HeaderMap, Method, header};
use serde_json::{Map, Value, json};
use toolrail_core::{Block, Json, Outcome, Payload, ToolResult};

use super::unusable;
use crate::outbound::{Cut, Incoming};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The answer as the tool's result.
pub(super) fn result(incoming: Incoming) -> Outcome {
    if incoming.status.is_redirection() {
        return Ok(json_result(&redirection(&incoming)));
    }
    if incoming.body.is_empty() && incoming.cut.is_none() {
        return Ok(match incoming.method {
            // Without the head there would be nothing to see.
            Method::HEAD | Method::OPTIONS => json_result(&head(&incoming)),
            _ => ToolResult::good(Payload::Empty),
        });
    }
    let media = MediaType::of(&incoming.headers);
    if let Some(cut) = incoming.cut {
        return cut_result(&incoming, media, cut);
    }
    Ok(match media {
        None => guessed(incoming),
        Some(media) if media.is_json() => declared_json(incoming.body, &media),
        Some(media) if media.is_binary() => ToolResult::good(binary(incoming, media.essence)),
        Some(media) => text(&incoming.body, &media),
    })
}

/// How much of a cut body is there: `N of M bytes`.
pub(super) fn extent(cut: Cut, kept: usize) -> String {
    match cut.total {
        Some(total) => format!("{kept} of {total} bytes"),
        None => format!("{kept} bytes (its whole length is unknown)"),
    }
}

/// What `content-type` says.
pub(super) struct MediaType {
    /// `type/subtype` in small letters.
    pub(super) essence: String,
    charset: Option<String>,
}

impl MediaType {
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let declared = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        let mut parts = declared.split(';');
        let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        if essence.is_empty() {
            return None;
        }
        let charset = parts
            .filter_map(|parameter| parameter.split_once('='))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
            .map(|(_, value)| value.trim().trim_matches('"').to_ascii_lowercase());
        Some(Self { essence, charset })
    }

    fn is_json(&self) -> bool {
        matches!(self.essence.as_str(), "application/json" | "text/json") || self.essence.ends_with("+json")
    }

    /// Neither JSON nor text. An SVG picture is text: models read its source, and few can be shown it.
    pub(super) fn is_binary(&self) -> bool {
        let text = self.is_json()
            || self.essence.starts_with("text/")
            || self.essence.ends_with("+xml")
            || self.essence.ends_with("+yaml")
            || matches!(
                self.essence.strip_prefix("application/").unwrap_or_default(),
                "xml"
                    | "javascript"
                    | "ecmascript"
                    | "x-javascript"
                    | "yaml"
                    | "x-yaml"
                    | "toml"
                    | "sql"
                    | "graphql"
                    | "x-ndjson"
                    | "ndjson"
                    | "jsonl"
                    | "json-seq"
                    | "x-sh"
                    | "x-www-form-urlencoded"
                    | "xml-dtd"
            );
        !text
    }

    /// The text, and a note if it could not be read exactly.
    pub(super) fn decode(&self, body: &[u8]) -> (String, Option<String>) {
        let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
        if let Ok(text) = std::str::from_utf8(body) {
            return (text.to_owned(), None);
        }
        match self.charset.as_deref() {
            Some("iso-8859-1" | "iso8859-1" | "latin1" | "us-ascii") => {
                (body.iter().map(|byte| char::from(*byte)).collect(), None)
            }
            charset => {
                let declared = charset.unwrap_or("utf-8");
                let note = format!(
                    "the answer could not be read exactly: it is declared as {declared} and is not valid UTF-8, so some characters are replaced"
                );
                (String::from_utf8_lossy(body).into_owned(), Some(note))
            }
        }
    }
}

fn json_result(value: &Value) -> ToolResult {
    ToolResult::good(Payload::Json(Json::from_value(value)))
}

/// A redirect that is not followed is an answer: where it leads.
fn redirection(incoming: &Incoming) -> Value {
    let location = incoming.headers.get(header::LOCATION);
    let location = location.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    json!({"status": incoming.status.as_u16(), "location": location})
}

/// Status and headers. Cookies stay here: they belong to the gateway's conversation, not to the caller.
fn head(incoming: &Incoming) -> Value {
    let mut headers = Map::new();
    for name in incoming.headers.keys().filter(|name| **name != header::SET_COOKIE) {
        let values: Vec<_> = incoming
            .headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect();
        headers.insert(name.as_str().to_owned(), Value::from(values.join(", ")));
    }
    json!({"status": incoming.status.as_u16(), "headers": headers})
}

fn declared_json(body: Bytes, media: &MediaType) -> ToolResult {
    let body = match body.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => body.slice_ref(rest),
        None => body,
    };
    let fault = match Json::parse(body.clone()) {
        Ok(json) => return ToolResult::good(Payload::Json(json)),
        Err(fault) => fault,
    };
    let (decoded, note) = media.decode(&body);
    // Some frameworks write JSON in Latin-1.
    if std::str::from_utf8(&body).is_err()
        && let Ok(json) = Json::parse(Bytes::from(decoded.clone()))
    {
        return ToolResult { notes: note.into_iter().collect(), ..ToolResult::good(Payload::Json(json)) };
    }
    let mut notes = vec![format!("the upstream declared JSON but the body is {fault}; it is given as text")];
    notes.extend(note);
    ToolResult { notes, ..ToolResult::good(Payload::Text(decoded)) }
}

fn text(body: &[u8], media: &MediaType) -> ToolResult {
    let (text, note) = media.decode(body);
    ToolResult { notes: note.into_iter().collect(), ..ToolResult::good(Payload::Text(text)) }
}

/// An answer without a content type: JSON if it is, text if it can be, otherwise bytes.
fn guessed(incoming: Incoming) -> ToolResult {
    let begins = incoming.body.trim_ascii_start().first();
    if matches!(begins, Some(b'{' | b'['))
        && let Ok(json) = Json::parse(incoming.body.clone())
    {
        return ToolResult::good(Payload::Json(json));
    }
    ToolResult::good(match std::str::from_utf8(&incoming.body) {
        Ok(text) if !text.contains('\0') => Payload::Text(text.to_owned()),
        _ => binary(incoming, "application/octet-stream".to_owned()),
    })
}

fn binary(incoming: Incoming, mime: String) -> Payload {
    let uri = incoming.place();
    let data = incoming.body;
    let block = match mime.split('/').next() {
        Some("image") => Block::Image { data, mime },
        Some("audio") => Block::Audio { data, mime },
        _ => Block::Resource { uri, mime, data },
    };
    Payload::Blocks(vec![block])
}

/// What is left of a cut answer. JSON is no longer JSON and is given as text; half of a picture helps nobody.
fn cut_result(incoming: &Incoming, media: Option<MediaType>, cut: Cut) -> Outcome {
    let whole_characters = whole_characters(&incoming.body);
    let extent = extent(cut, whole_characters.len());
    let media =
        media.unwrap_or_else(|| MediaType { essence: unknown(whole_characters).to_owned(), charset: None });
    if media.is_binary() {
        return Err(unusable(format!(
            "{} answered with {} of {}, more than the {} bytes that maxResponseBytes allows; raise it to receive the file",
            incoming.place(),
            cut.total
                .map_or_else(|| "an unknown number of bytes".to_owned(), |total| format!("{total} bytes")),
            media.essence,
            cut.cap,
        )));
    }
    let mut result = text(whole_characters, &media);
    result.notes.insert(
        0,
        format!("the answer was cut at {extent}; raise maxResponseBytes or ask the upstream for less"),
    );
    Ok(result)
}

fn unknown(body: &[u8]) -> &'static str {
    if std::str::from_utf8(body).is_ok_and(|text| !text.contains('\0')) {
        "text/plain"
    } else {
        "application/octet-stream"
    }
}

/// The bytes without the beginning of a character at their end.
fn whole_characters(body: &[u8]) -> &[u8] {
    match std::str::from_utf8(body) {
        Err(torn) if torn.error_len().is_none() => &body[..torn.valid_up_to()],
        _ => body,
    }
}
