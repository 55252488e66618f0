//! Values in messages: as JSON, and never more than a little of them.

use std::io::{self, Write};

use serde_json::Value;

/// The most bytes of a value that a message repeats.
const LONGEST: usize = 120;

/// The beginning of a value, as JSON.
pub(super) fn brief(value: &Value) -> String {
    let mut start = Start { bytes: Vec::new() };
    let whole = serde_json::to_writer(&mut start, value).is_ok();
    let mut text = match String::from_utf8(start.bytes) {
        Ok(text) => text,
        // Cut inside a character.
        Err(cut) => {
            let end = cut.utf8_error().valid_up_to();
            String::from_utf8_lossy(cut.as_bytes().get(..end).unwrap_or_default()).into_owned()
        }
    };
    if !whole {
        text.push('…');
    }
    text
}

/// `a, b or c`.
pub(super) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Takes what fits and refuses the rest, so that a large value is not written out to be cut.
struct Start {
    bytes: Vec<u8>,
}

impl Write for Start {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = LONGEST - self.bytes.len();
        if room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(room);
        self.bytes.extend_from_slice(bytes.get(..taken).unwrap_or_default());
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_value_is_cut_between_characters() {
        assert_eq!(brief(&json!({"a": [1, "ü"]})), r#"{"a":[1,"ü"]}"#);
        let cut = brief(&json!("ü".repeat(1000)));
        assert!(cut.ends_with("ü…") && cut.len() <= LONGEST + 3, "{cut}");
    }
}
