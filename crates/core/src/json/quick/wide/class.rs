//! What a byte may be in JSON, as one number: the lowest four bits say which token it begins, the others are flags.

use super::BLOCK;

pub(super) const SPACE: u8 = 1 << 3;
/// One of `{[}]:,`.
pub(super) const OPERATOR: u8 = 1 << 4;
/// May follow a backslash.
pub(super) const ESCAPABLE: u8 = 1 << 5;
/// Four digits must follow it after a backslash.
pub(super) const UNICODE_ESCAPE: u8 = 1 << 6;

pub(super) const OBJECT: u8 = OPERATOR;
pub(super) const ARRAY: u8 = OPERATOR | 1;
/// A closing bracket is its opening one plus this.
pub(super) const CLOSING: u8 = 2;
pub(super) const COLON: u8 = OPERATOR | 4;
pub(super) const COMMA: u8 = OPERATOR | 5;
pub(super) const STRING: u8 = ESCAPABLE | 6;
/// A number, `true`, `false` or `null`; also whatever cannot stand outside strings at all.
pub(super) const PRIMITIVE: u8 = 7;
/// Of no byte: it stands behind the last token.
pub(super) const END: u8 = 8;

/// The classes of the ASCII characters.
pub(super) const CLASSES: [[u8; BLOCK]; 2] = [classes_from(0), classes_from(64)];

const fn classes_from(first: u8) -> [u8; BLOCK] {
    let mut classes = [0; BLOCK];
    let mut byte = first;
    while byte < first + 64 {
        classes[(byte - first) as usize] = class_of(byte);
        byte += 1;
    }
    classes
}

const fn class_of(byte: u8) -> u8 {
    match byte {
        b' ' | b'\t' | b'\n' | b'\r' => SPACE,
        b'{' => OBJECT,
        b'[' => ARRAY,
        b'}' => OBJECT + CLOSING,
        b']' => ARRAY + CLOSING,
        b':' => COLON,
        b',' => COMMA,
        b'"' => STRING,
        b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => PRIMITIVE | ESCAPABLE,
        b'u' => PRIMITIVE | ESCAPABLE | UNICODE_ESCAPE,
        _ => PRIMITIVE,
    }
}
