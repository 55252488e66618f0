//! One pass over JSON text, 64 bytes at a time with AVX-512: it checks the text and writes it as a JSON string. A
//! shortcut only: what it does not vouch for (a fault, very deep nesting, a number of 32 digits) serde_json judges.
//!
//! Every block becomes bit masks, one bit per byte: which bytes stand inside strings (the method of simdjson), where
//! tokens begin. Numbers and literals are checked where they stand, the order of the tokens in `structure`.

mod class;
mod primitive;
mod quote;
mod structure;
mod vector;

#[cfg(test)]
mod tests;

use core::arch::x86_64::{
    __m512i, _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_set1_epi8,
    _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_movepi8_mask, _mm512_permutex2var_epi8,
    _mm512_test_epi8_mask,
};

use class::{CLASSES, ESCAPABLE, OPERATOR, SPACE, UNICODE_ESCAPE};
use quote::{Quoted, pad, write_quoted};
use structure::Structure;
use vector::{BLOCK, is_available, load, splat};

const ODD_BITS: u64 = 0xaaaa_aaaa_aaaa_aaaa;

/// The JSON string that holds `text`, if `text` is surely JSON.
pub(super) fn check_and_quote(text: &str) -> Option<Vec<u8>> {
    if !is_available() {
        return None;
    }
    let mut out = Vec::new();
    #[expect(unsafe_code, reason = "a call of what is compiled for more than every processor has")]
    // SAFETY: `is_available` has found all the features that `check_blocks` is compiled for.
    unsafe { check_blocks(&mut out, text.as_bytes()) }?;
    Some(out)
}

/// Appends `text` to `out` as a JSON string; false, with nothing written, where the processor cannot.
pub(super) fn write_json_string(out: &mut Vec<u8>, text: &str) -> bool {
    if !is_available() {
        return false;
    }
    #[expect(unsafe_code, reason = "a call of what is compiled for more than every processor has")]
    // SAFETY: `is_available` has found all the features that `write_quoted` is compiled for.
    unsafe {
        write_quoted(out, text.as_bytes());
    }
    true
}

#[target_feature(enable = "avx512vbmi,avx512vbmi2,avx512vl,bmi1,bmi2,popcnt,pclmulqdq")]
fn check_blocks(out: &mut Vec<u8>, text: &[u8]) -> Option<()> {
    let mut scan = Scan {
        text,
        classes: [load(&CLASSES[0]), load(&CLASSES[1])],
        structure: Structure::new(),
        quoted: Quoted::new(out, text.len()),
        in_string: 0,
        after_escape: 0,
        in_primitive: 0,
    };
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    let (rest, padding) = pad(rest);
    for index in 0..=blocks.len() {
        scan.take(index * BLOCK, blocks.get(index).unwrap_or(&rest))?;
    }
    if scan.in_string != 0 {
        return None;
    }
    scan.quoted.finish(padding);
    scan.structure.finish()
}

struct Scan<'a> {
    text: &'a [u8],
    classes: [__m512i; 2],
    structure: Structure,
    quoted: Quoted<'a>,
    /// All ones if the next block begins inside a string.
    in_string: u64,
    /// One if the next block's first byte is escaped.
    after_escape: u64,
    /// One if the last byte so far was part of a number or literal.
    in_primitive: u64,
}

impl Scan<'_> {
    #[inline]
    #[target_feature(enable = "avx512vbmi,avx512vbmi2,avx512vl,bmi1,bmi2,popcnt,pclmulqdq")]
    fn take(&mut self, start: usize, block: &[u8; BLOCK]) -> Option<()> {
        let bytes = load(block);
        let class = _mm512_permutex2var_epi8(self.classes[0], bytes, self.classes[1]);
        // The tables are indexed by seven bits, so a byte beyond ASCII gets some other byte's class: it is let through
        // inside strings only, where classes count for nothing but escapes.
        let not_ascii = _mm512_movepi8_mask(bytes);
        let all_quotes = _mm512_cmpeq_epi8_mask(bytes, splat(b'"'));
        let backslashes = _mm512_cmpeq_epi8_mask(bytes, splat(b'\\'));
        let control = _mm512_cmplt_epu8_mask(bytes, splat(0x20));
        let escaped = self.escaped(backslashes);
        let quotes = all_quotes & !escaped;
        // From each opening quote up to, but not including, its closing one.
        let inside = prefix_xor(quotes) ^ self.in_string;
        self.in_string = 0_u64.wrapping_sub(inside >> 63);

        let escapable = _mm512_test_epi8_mask(class, splat(ESCAPABLE)) & !not_ascii;
        // What refuses control characters outside strings is that no number or literal has them.
        let faults = (control & inside) | ((backslashes | not_ascii) & !inside) | (escaped & !escapable);
        if faults != 0 {
            return None;
        }
        let unicode = escaped & _mm512_test_epi8_mask(class, splat(UNICODE_ESCAPE));
        for index in bits(unicode) {
            primitive::check_hex_digits(self.text, start + index + 1)?;
        }

        let operators = _mm512_test_epi8_mask(class, splat(OPERATOR));
        let spaces = _mm512_test_epi8_mask(class, splat(SPACE));
        let primitive = !(inside | quotes | operators | spaces);
        let primitive_starts = primitive & !(primitive << 1 | self.in_primitive);
        self.in_primitive = primitive >> 63;
        for index in bits(primitive_starts) {
            primitive::check(self.text, start + index)?;
        }
        let tokens = (operators & !inside) | (quotes & inside) | primitive_starts;
        self.structure.push(class, tokens)?;
        self.quoted.push(bytes, control, all_quotes | backslashes);
        Some(())
    }

    /// The bytes after an odd number of backslashes. The subtraction borrows through each run of backslashes, and so
    /// tells runs that begin at an odd place from others.
    #[inline]
    fn escaped(&mut self, backslash: u64) -> u64 {
        let begins = backslash & !self.after_escape;
        let ends = ((begins << 1) | ODD_BITS).wrapping_sub(begins) ^ ODD_BITS;
        let escaped = ends ^ (backslash | self.after_escape);
        self.after_escape = (ends & backslash) >> 63;
        escaped
    }
}

/// Every bit of the result says whether an odd number of bits of `mask` is set up to there: multiplying by all ones
/// without carry does that.
#[inline]
#[target_feature(enable = "pclmulqdq")]
fn prefix_xor(mask: u64) -> u64 {
    let product = _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(mask.cast_signed()), _mm_set1_epi8(-1));
    _mm_cvtsi128_si64(product).cast_unsigned()
}

/// The places of the bits that are set, lowest first.
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let index = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(index)
    })
}
