//! Texts and files that stand in a definition and go to clients as they are, with arguments filled in.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use toolrail_core::{CallError, Problems, Secrets};

use super::as_fault_of_request;
use crate::request::decode_base64;
use crate::template::{Compiler, Place, Placement, Rendering, Template};

/// The longest text that a definition may hold, in bytes.
const LONGEST_TEXT: usize = 1 << 20;
/// The most bytes of all texts of one answer, with the arguments filled in.
const MOST_RENDERED: usize = 8 << 20;

/// Notes a text that is too long for a definition.
pub(crate) fn check_length(text: &str, pointer: &str, problems: &mut Problems) -> Option<()> {
    if text.len() <= LONGEST_TEXT {
        return Some(());
    }
    problems.error(
        pointer,
        format!(
            "has {} bytes; at most {LONGEST_TEXT} may stand in a definition, so fetch it by \"http\"",
            text.len()
        ),
    );
    None
}

/// Compiles a text that clients read; notes what is wrong with it, secrets included.
pub(crate) fn client_text(text: &str, pointer: &str, compiler: &mut Compiler<'_>) -> Option<Template> {
    check_length(text, pointer, compiler.problems)?;
    let template = compiler.template(text, pointer, Place::Text)?;
    if template.names_secret() {
        compiler.problems.error(pointer, "a secret must not stand in what clients read; remove it");
        return None;
    }
    Some(template)
}

/// What a text is filled with, and how long all texts of one answer may still become.
pub(crate) struct Wanted<'w> {
    arguments: &'w Map<String, Value>,
    room: usize,
}

impl<'w> Wanted<'w> {
    /// For one answer.
    pub(crate) fn new(arguments: &'w Map<String, Value>) -> Self {
        Self { arguments, room: MOST_RENDERED }
    }
}

/// The text with its arguments filled in; nothing if one of them is absent.
pub(crate) fn render(template: &Template, wanted: &mut Wanted<'_>) -> Result<Option<String>, CallError> {
    if let Some(text) = template.literal() {
        return Ok(Some(text.to_owned()));
    }
    let secrets = Secrets::default();
    let mut rendering = Rendering::to_send(wanted.arguments, &secrets);
    let mut text = String::new();
    let placement =
        template.write_within(wanted.room, &mut rendering, &mut text).map_err(as_fault_of_request)?;
    wanted.room -= text.len();
    Ok((placement == Placement::Placed).then_some(text))
}

/// A file in base64, in the one form that MCP knows, and its size; notes what is wrong with it.
pub(crate) fn encoded(text: &str, pointer: &str, problems: &mut Problems) -> Option<(String, usize)> {
    check_length(text, pointer, problems)?;
    let Some(bytes) = decode_base64(text) else {
        problems.error(pointer, "is not base64; encode the bytes as base64");
        return None;
    };
    Some((STANDARD.encode(&bytes), bytes.len()))
}

/// Checks a media type.
pub(crate) fn media_type(written: &str, pointer: &str, problems: &mut Problems) -> Option<()> {
    let is_token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    let essence = written.split(';').next().unwrap_or_default().trim();
    let good = essence.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
        && written.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if good {
        return Some(());
    }
    problems.error(pointer, format!("{written:?} is not a media type; write one such as text/markdown"));
    None
}

/// Whether a text has the form of a URI with a scheme; if not, what is wrong.
pub(crate) fn is_absolute(uri: &str) -> Result<(), String> {
    let Some((scheme, rest)) = uri.split_once(':') else {
        return Err("has no scheme; write a whole URI such as docs://handbook".into());
    };
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.bytes().all(letters) {
        return Err("does not begin with a scheme; write a whole URI such as docs://handbook".into());
    }
    if rest.trim_start_matches('/').is_empty() {
        return Err("names nothing after its scheme; write a whole URI such as docs://handbook".into());
    }
    match rest.chars().find(|c| !c.is_ascii_graphic() || "\"<>\\^`{|}".contains(*c)) {
        Some(bad) => Err(format!("has the character {bad:?}, which a URI cannot have; percent-encode it")),
        None => Ok(()),
    }
}
