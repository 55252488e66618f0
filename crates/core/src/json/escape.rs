//! Text as a JSON string, eight bytes at a time: JSON inside JSON has a quote every few bytes, and there a general
//! serialiser takes twice as long. Not for anything but strings.

use super::wide;

/// Below this, blocks of 64 bytes are not worth their while.
const WIDE_FROM: usize = 64;
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = ONES * 0x80;
const LOW_BITS: u64 = ONES * 0x7f;
const BLOCK: usize = 128;
/// One byte becomes six at worst; a whole word is written even where only its beginning counts.
pub(super) const ROOM: usize = BLOCK * 6 + 8;

/// Appends `text` to `out` as a JSON string, quotes included.
pub fn write_json_string(out: &mut Vec<u8>, text: &str) {
    if text.len() < WIDE_FROM || !wide::write_json_string(out, text) {
        write_portably(out, text);
    }
}

fn write_portably(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + text.len() / 4 + 2);
    out.push(b'"');
    let mut room = [0; ROOM];
    for block in text.as_bytes().chunks(BLOCK) {
        let end = escape_block(block, &mut room);
        out.extend_from_slice(&room[..end]);
    }
    out.push(b'"');
}

/// Writes what stands for `block`, at most [`BLOCK`] bytes, into a JSON string; returns the end.
#[inline]
pub(super) fn escape_block(block: &[u8], room: &mut [u8; ROOM]) -> usize {
    let (words, rest) = block.as_chunks::<8>();
    let mut end = 0;
    for word in words {
        end = put_word(room, end, u64::from_le_bytes(*word));
    }
    for byte in rest {
        end = match byte {
            0..0x20 | b'"' | b'\\' => put_escaped(room, end, *byte),
            _ => put(room, end, u64::from(*byte), 1),
        };
    }
    end
}

/// Writes the first `count` bytes of `word` at `end`; returns the new end. The end goes from hand to hand so that it
/// stays in a register.
#[inline]
fn put(room: &mut [u8; ROOM], end: usize, word: u64, count: u32) -> usize {
    room[end..end + 8].copy_from_slice(&word.to_le_bytes());
    end + count as usize
}

#[inline]
fn put_word(room: &mut [u8; ROOM], mut end: usize, word: u64) -> usize {
    let mut special = special_bytes(word);
    if special == 0 {
        return put(room, end, word, 8);
    }
    let mut done = 0;
    while special != 0 {
        let index = special.trailing_zeros() / 8;
        end = put(room, end, word >> (8 * done), index - done);
        end = put_escaped(room, end, word.to_le_bytes()[index as usize]);
        done = index + 1;
        special &= special - 1;
    }
    if done < 8 { put(room, end, word >> (8 * done), 8 - done) } else { end }
}

#[inline]
fn put_escaped(room: &mut [u8; ROOM], end: usize, byte: u8) -> usize {
    if byte >= 0x20 {
        return put(room, end, u64::from_le_bytes([b'\\', byte, 0, 0, 0, 0, 0, 0]), 2);
    }
    let letter = match byte {
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        _ => {
            let digit = b"0123456789abcdef"[usize::from(byte & 15)];
            let escape = [b'\\', b'u', b'0', b'0', b'0' + (byte >> 4), digit, 0, 0];
            return put(room, end, u64::from_le_bytes(escape), 6);
        }
    };
    put(room, end, u64::from_le_bytes([b'\\', letter, 0, 0, 0, 0, 0, 0]), 2)
}

/// The high bit of every byte that must be escaped. Adding to seven bits never carries into the next byte.
#[inline]
fn special_bytes(word: u64) -> u64 {
    let differs = |other: u8| {
        let difference = word ^ (ONES * u64::from(other));
        (difference & LOW_BITS).wrapping_add(LOW_BITS) | difference
    };
    let not_control = (word & LOW_BITS).wrapping_add(ONES * 0x60) | word;
    !(differs(b'"') & differs(b'\\') & not_control) & HIGH_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) {
        let expected = format!("before{}", serde_json::Value::from(text));
        for write in [write_json_string, write_portably] {
            let mut out = b"before".to_vec();
            write(&mut out, text);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn every_character_is_escaped_as_by_the_serialiser_wherever_it_stands() {
        let characters = (0..0x180_u32).chain([0x4f60, 0xffff, 0x1f600]).filter_map(char::from_u32);
        for character in characters {
            for before in 0..9 {
                for after in 0..9 {
                    check(&format!("{}{character}{}", "x".repeat(before), "y".repeat(after)));
                }
            }
        }
    }

    #[test]
    fn the_longest_escapes_fill_whole_blocks() {
        for length in [0, 1, 7, 8, 9, 127, 128, 129, 1000] {
            check(&"\u{1}".repeat(length));
            check(&"\"".repeat(length));
            check(&"你".repeat(length));
        }
    }

    #[test]
    fn json_in_json_reads_back() {
        let text = serde_json::json!({"a": [1, "b\"\\\n", null], "你": "\u{7f}\u{0}"}).to_string();
        let mut out = Vec::new();
        write_json_string(&mut out, &text);
        assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
    }
}
