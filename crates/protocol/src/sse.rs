//! Server-sent events: what a line of a stream says.

use std::time::Duration;

/// A line that is not empty; an empty one ends an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'l> {
    /// A line of what the event carries.
    Data(&'l [u8]),
    /// By which a stream is resumed.
    Id(&'l str),
    /// The pause before resuming that the server asks for, as far as it can be read.
    Retry(Option<Duration>),
    /// A comment, the type of the event, or something newer.
    Other,
}

impl<'l> Line<'l> {
    /// Reads a line without its end.
    pub fn read(line: &'l [u8]) -> Self {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || std::str::from_utf8(value).ok();
        match &line[..colon] {
            b"data" => Self::Data(value),
            b"id" if !value.contains(&0) => text().map_or(Self::Other, Self::Id),
            b"retry" => Self::Retry(text().and_then(|text| text.parse().ok()).map(Duration::from_millis)),
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_and_without_a_blank() {
        for (line, expected) in [
            ("data: {}", Line::Data(b"{}")),
            ("data:{}", Line::Data(b"{}")),
            ("data:  x", Line::Data(b" x")),
            ("data", Line::Data(b"")),
            ("id: 7:1", Line::Id("7:1")),
            ("id: a\0b", Line::Other),
            ("retry: 250", Line::Retry(Some(Duration::from_millis(250)))),
            ("retry: soon", Line::Retry(None)),
            (": hello", Line::Other),
            ("event: message", Line::Other),
            ("datas: 1", Line::Other),
        ] {
            assert_eq!(Line::read(line.as_bytes()), expected, "{line}");
        }
    }
}
