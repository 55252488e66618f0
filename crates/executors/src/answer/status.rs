//! An error status as a failed call, with a bounded excerpt of what the upstream said.

use http::header;
use toolrail_core::{CallError, ErrorCode};

use super::content::MediaType;
use super::encoding;
use crate::outbound::Incoming;

const EXCERPT_CHARACTERS: usize = 2_000;

/// The failure that the status stands for, if it does.
pub(super) fn failure(incoming: &Incoming) -> Option<CallError> {
    let status = incoming.status;
    if status.is_success() || status.is_redirection() {
        return None;
    }
    let mut message = format!("the upstream answered {}", status.as_u16());
    if let Some(reason) = status.canonical_reason() {
        message = format!("{message} {reason}");
    }
    message = format!("{message} to {} {}", incoming.method, incoming.place());
    if let Some(wait) = retry_after(incoming) {
        message = format!("{message} (retry-after: {wait})");
    }
    if let Some(said) = said(incoming) {
        message = format!("{message}: {said}");
    }
    Some(CallError::new(ErrorCode::UpstreamStatus, message))
}

fn retry_after(incoming: &Incoming) -> Option<&str> {
    let value = incoming.headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    (value.len() <= 64).then_some(value)
}

fn said(incoming: &Incoming) -> Option<String> {
    if incoming.body.is_empty() {
        return None;
    }
    let media = MediaType::of(&incoming.headers);
    if encoding(incoming).is_some() || media.as_ref().is_some_and(MediaType::is_binary) {
        let essence = media.map_or_else(|| "unknown type".to_owned(), |media| media.essence);
        return Some(format!("({} bytes of {essence})", incoming.body.len()));
    }
    // A character has at most four bytes; white space that is dropped may hide more.
    let beginning = &incoming.body[..incoming.body.len().min(EXCERPT_CHARACTERS * 8)];
    let text = match media {
        Some(media) => media.decode(beginning).0,
        None => String::from_utf8_lossy(beginning).into_owned(),
    };
    let excerpt = excerpt(&text);
    (!excerpt.is_empty()).then_some(excerpt)
}

/// The text on one line, without control characters, cut to size.
fn excerpt(text: &str) -> String {
    let mut out = String::new();
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut room = EXCERPT_CHARACTERS;
    for word in words {
        if !out.is_empty() {
            out.push(' ');
            room = room.saturating_sub(1);
        }
        let length = word.chars().count();
        if length > room {
            out.extend(word.chars().take(room));
            out.push('…');
            return out;
        }
        out.push_str(word);
        room -= length;
    }
    out
}
