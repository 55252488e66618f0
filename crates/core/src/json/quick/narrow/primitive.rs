//! Numbers, `true`, `false` and `null`, each checked where it stands in the text.

/// Checks the number or literal that begins at `start`, up to and including its end.
#[inline]
pub(super) fn check(text: &[u8], start: usize) -> Option<()> {
    let rest = text.get(start..)?;
    let end = match rest {
        [b't', b'r', b'u', b'e', ..] | [b'n', b'u', b'l', b'l', ..] => 4,
        [b'f', b'a', b'l', b's', b'e', ..] => 5,
        _ => number_end(rest)?,
    };
    let after = rest.get(end).unwrap_or(&b' ');
    matches!(after, b',' | b'}' | b']' | b'\n' | b' ' | b'\r' | b'\t').then_some(())
}

#[inline]
fn number_end(text: &[u8]) -> Option<usize> {
    let start = usize::from(text.first() == Some(&b'-'));
    let mut end = skip_digits(text, start)?;
    if text.get(start) == Some(&b'0') && end > start + 1 {
        return None;
    }
    if text.get(end) == Some(&b'.') {
        end = skip_digits(text, end + 1)?;
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        end = skip_digits(text, end + 1 + sign)?;
    }
    Some(end)
}

/// Where the digits from `start` on end; there must be at least one.
#[inline]
fn skip_digits(text: &[u8], start: usize) -> Option<usize> {
    let count = text.get(start..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then_some(start + count)
}
