//! The pass with AVX-512: 64 bytes are one register. Numbers and literals are checked where they stand, the order of the
//! tokens in `structure`; a number of 32 digits is left to serde_json.

mod class;
mod primitive;
mod quote;
mod structure;
mod vector;

use core::arch::x86_64::{
    __m512i, _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_set1_epi8,
    _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_movepi8_mask, _mm512_permutex2var_epi8,
    _mm512_test_epi8_mask,
};

use class::{CLASSES, ESCAPABLE, OPERATOR, SPACE, UNICODE_ESCAPE};
use quote::{WideQuoted, write_quoted};
use structure::Structure;
use vector::{load, splat};

use super::{BLOCK, Escapes, bits, check_hex_digits};

pub(super) use vector::is_available;

/// The JSON string that holds `text`, if `text` is surely JSON; nothing where the processor cannot tell.
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

/// Appends `text` to `out` as a JSON string.
pub(super) fn write_json_string(out: &mut Vec<u8>, text: &str) {
    assert!(is_available(), "this processor has no AVX-512");
    #[expect(unsafe_code, reason = "a call of what is compiled for more than every processor has")]
    // SAFETY: `is_available` has found all the features that `write_quoted` is compiled for.
    unsafe {
        write_quoted(out, text.as_bytes());
    }
}

#[target_feature(enable = "avx512vbmi,avx512vbmi2,avx512vl,bmi1,bmi2,popcnt,pclmulqdq")]
fn check_blocks(out: &mut Vec<u8>, text: &[u8]) -> Option<()> {
    let mut scan = WideScan {
        text,
        classes: [load(&CLASSES[0]), load(&CLASSES[1])],
        structure: Structure::new(),
        quoted: WideQuoted::new(out, text.len()),
        in_string: 0,
        escapes: Escapes::default(),
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

struct WideScan<'a> {
    text: &'a [u8],
    classes: [__m512i; 2],
    structure: Structure,
    quoted: WideQuoted<'a>,
    /// All ones if the next block begins inside a string.
    in_string: u64,
    escapes: Escapes,
    /// One if the last byte so far was part of a number or literal.
    in_primitive: u64,
}

impl WideScan<'_> {
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
        let escaped = self.escapes.escaped(backslashes);
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
            check_hex_digits(self.text, start + index + 1)?;
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
}

/// Every bit of the result says whether an odd number of bits of `mask` is set up to there: multiplying by all ones
/// without carry does that.
#[inline]
#[target_feature(enable = "pclmulqdq")]
fn prefix_xor(mask: u64) -> u64 {
    let product = _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(mask.cast_signed()), _mm_set1_epi8(-1));
    _mm_cvtsi128_si64(product).cast_unsigned()
}

/// Fills a block up with spaces; also says with how many.
#[inline]
fn pad(rest: &[u8]) -> ([u8; BLOCK], usize) {
    let mut block = [b' '; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    (block, BLOCK - rest.len())
}
