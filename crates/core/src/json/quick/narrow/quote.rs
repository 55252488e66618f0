//! Text as a JSON string: what stands between two bytes to escape is copied sixteen bytes at a time.

use core::ops::Range;

use super::super::BLOCK;
use super::Processor;

/// How many bytes are copied at once, also where fewer count.
const COPIED: usize = 16;
/// A block with what is copied along behind it.
pub(in super::super) const SOURCE: usize = BLOCK + COPIED;
/// One byte becomes six at worst.
pub(in super::super) const ROOM: usize = BLOCK * 6 + COPIED;

/// What stands for each byte below 128 that is escaped, and in the highest byte how long that is.
const ESCAPES: [u64; 128] = {
    let mut escapes = [0; 128];
    let mut byte = 0;
    while byte < 0x20 {
        let letter = match byte {
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0c => b'f',
            b'\r' => b'r',
            _ => 0,
        };
        let digit = b"0123456789abcdef"[(byte & 15) as usize];
        escapes[byte as usize] = u64::from_le_bytes(if letter == 0 {
            [b'\\', b'u', b'0', b'0', b'0' + (byte >> 4), digit, 0, 6]
        } else {
            [b'\\', letter, 0, 0, 0, 0, 0, 2]
        });
        byte += 1;
    }
    escapes[b'"' as usize] = u64::from_le_bytes([b'\\', b'"', 0, 0, 0, 0, 0, 2]);
    escapes[b'\\' as usize] = u64::from_le_bytes([b'\\', b'\\', 0, 0, 0, 0, 0, 2]);
    escapes
};

/// A JSON string being written behind what `out` holds.
pub(super) struct Quoted<'a> {
    /// Grown ahead of what is written.
    out: &'a mut Vec<u8>,
    end: usize,
}

impl<'a> Quoted<'a> {
    /// Begins the string of a text of `length` bytes.
    pub(super) fn new(out: &'a mut Vec<u8>, length: usize) -> Self {
        let start = out.len();
        out.resize(start + 1 + length + length / 4 + ROOM, b'"');
        Self { out, end: start + 1 }
    }

    /// Adds the first 64 bytes of `source`, of which those in `special` are to be escaped.
    #[expect(clippy::inline_always, reason = "compiled for the processor of whoever calls it")]
    #[inline(always)]
    pub(super) fn push<P: Processor>(&mut self, processor: P, source: &[u8; SOURCE], special: u64) {
        if self.out.len() - self.end < ROOM {
            self.out.resize(self.out.len() + self.out.len() / 2 + ROOM, b'"');
        }
        if let Some(room) = self.out.get_mut(self.end..).and_then(<[u8]>::first_chunk_mut) {
            self.end += processor.escape_block(source, special, room);
        }
    }

    /// Takes back the last `padding` bytes and closes the string.
    pub(super) fn finish(self, padding: usize) {
        self.out.truncate(self.end - padding);
        self.out.push(b'"');
    }
}

/// Writes what stands for the first 64 bytes of `source`; returns how long that is.
#[inline]
pub(in super::super) fn escape_block(
    source: &[u8; SOURCE],
    mut special: u64,
    room: &mut [u8; ROOM],
) -> usize {
    let (mut done, mut end) = (0, 0);
    while special != 0 {
        let index = special.trailing_zeros() as usize;
        end = copy(room, end, source, done..index);
        let escape = ESCAPES[usize::from(source[index] & 0x7f)];
        room[end..end + 8].copy_from_slice(&escape.to_le_bytes());
        end += (escape >> 56) as usize;
        done = index + 1;
        special &= special - 1;
    }
    copy(room, end, source, done..BLOCK)
}

/// Copies a part of a block to `end`; returns the new end.
#[inline]
fn copy(room: &mut [u8; ROOM], mut end: usize, source: &[u8; SOURCE], part: Range<usize>) -> usize {
    let new_end = end + part.len();
    let mut from = part.start;
    loop {
        room[end..end + COPIED].copy_from_slice(&source[from..from + COPIED]);
        end += COPIED;
        from += COPIED;
        if end >= new_end {
            return new_end;
        }
    }
}
