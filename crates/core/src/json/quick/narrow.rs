//! The pass on any processor, and on those that have AVX2.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod masks;
mod order;
mod primitive;
mod quote;

use self::masks::{AnyProcessor, Masks};
use self::order::Order;
use self::quote::Quoted;
use super::{BLOCK, Escapes, bits, check_hex_digits};

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2;
#[cfg(not(target_arch = "x86_64"))]
use quote::{ROOM, SOURCE};
#[cfg(target_arch = "x86_64")]
pub(super) use quote::{ROOM, SOURCE, escape_block};

/// What of the pass is quicker on some processors.
trait Processor: Copy {
    /// What the first 64 bytes of `source` are.
    fn masks(self, source: &[u8; SOURCE]) -> Masks;

    /// Which of them a JSON string escapes.
    fn special(self, source: &[u8; SOURCE]) -> u64;

    /// Writes what stands for them, with those in `special` escaped; returns how long that is.
    fn escape_block(self, source: &[u8; SOURCE], special: u64, room: &mut [u8; ROOM]) -> usize;

    /// Every bit of the result says whether an odd number of bits of `mask` is set up to there.
    fn prefix_xor(self, mask: u64) -> u64;
}

/// The JSON string that holds `text`, if `text` is surely JSON.
pub(super) fn check_and_quote(text: &str) -> Option<Vec<u8>> {
    check_with(AnyProcessor, text)
}

/// Appends `text` to `out` as a JSON string.
pub(super) fn write_json_string(out: &mut Vec<u8>, text: &str) {
    write_with(AnyProcessor, out, text);
}

#[expect(clippy::inline_always, reason = "compiled for the processor of whoever calls it")]
#[inline(always)]
fn check_with<P: Processor>(processor: P, text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    let mut out = Vec::new();
    let mut scan = Scan {
        processor,
        text,
        order: Order::new(),
        quoted: Quoted::new(&mut out, text.len()),
        escapes: Escapes::default(),
        in_string: 0,
        in_primitive: 0,
    };
    let padded = Padded::new(text);
    for start in (0..=text.len()).step_by(BLOCK) {
        scan.take(start, padded.at(start))?;
    }
    if scan.in_string != 0 {
        return None;
    }
    scan.quoted.finish(padding(text));
    scan.order.is_at_end().then_some(out)
}

#[expect(clippy::inline_always, reason = "compiled for the processor of whoever calls it")]
#[inline(always)]
fn write_with<P: Processor>(processor: P, out: &mut Vec<u8>, text: &str) {
    let text = text.as_bytes();
    let mut quoted = Quoted::new(out, text.len());
    let padded = Padded::new(text);
    for start in (0..=text.len()).step_by(BLOCK) {
        let source = padded.at(start);
        quoted.push(processor, source, processor.special(source));
    }
    quoted.finish(padding(text));
}

/// How many spaces fill up the last block.
fn padding(text: &[u8]) -> usize {
    BLOCK - text.len() % BLOCK
}

/// A text whose end is filled up with spaces.
struct Padded<'a> {
    text: &'a [u8],
    /// The blocks for which the text is too short.
    last: [u8; 3 * BLOCK],
    last_from: usize,
}

impl<'a> Padded<'a> {
    #[inline]
    fn new(text: &'a [u8]) -> Self {
        let last_from = (text.len() / BLOCK).saturating_sub(1) * BLOCK;
        let mut last = [b' '; 3 * BLOCK];
        let rest = &text[last_from..];
        last[..rest.len()].copy_from_slice(rest);
        Self { text, last, last_from }
    }

    /// The block that starts there, and what is behind it.
    #[inline]
    fn at(&self, start: usize) -> &[u8; SOURCE] {
        let whole = self.text.get(start..).and_then(<[u8]>::first_chunk);
        let padded = || self.last.get(start.saturating_sub(self.last_from)..).and_then(<[u8]>::first_chunk);
        whole.or_else(padded).unwrap_or(&[b' '; SOURCE])
    }
}

struct Scan<'a, P> {
    processor: P,
    text: &'a [u8],
    order: Order,
    quoted: Quoted<'a>,
    escapes: Escapes,
    /// All ones if the next block begins inside a string.
    in_string: u64,
    /// One if the last byte so far was part of a number or literal.
    in_primitive: u64,
}

impl<P: Processor> Scan<'_, P> {
    #[expect(clippy::inline_always, reason = "compiled for the processor of whoever calls it")]
    #[inline(always)]
    fn take(&mut self, start: usize, source: &[u8; SOURCE]) -> Option<()> {
        let masks = self.processor.masks(source);
        let escaped = self.escapes.escaped(masks.backslashes);
        let quotes = masks.quotes & !escaped;
        // From each opening quote up to, but not including, its closing one.
        let inside = self.processor.prefix_xor(quotes) ^ self.in_string;
        self.in_string = 0_u64.wrapping_sub(inside >> 63);
        let control = masks.control & (inside | !masks.spaces);
        let faults = control | ((masks.backslashes | masks.not_ascii) & !inside);
        if faults != 0 {
            return None;
        }
        for index in bits(escaped) {
            match source[index] {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                b'u' => check_hex_digits(self.text, start + index + 1)?,
                _ => return None,
            }
        }
        let primitive = !(inside | quotes | masks.operators | masks.spaces);
        let primitive_starts = primitive & !(primitive << 1 | self.in_primitive);
        self.in_primitive = primitive >> 63;
        for index in bits(primitive_starts) {
            primitive::check(self.text, start + index)?;
        }
        for index in bits((masks.operators & !inside) | (quotes & inside) | primitive_starts) {
            self.order.push(source[index])?;
        }
        self.quoted.push(self.processor, source, masks.quotes | masks.backslashes | masks.control);
        Some(())
    }
}
