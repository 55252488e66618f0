//! The pass with AVX2, which nearly every processor has that lacks AVX-512: 32 bytes are one register, and eight bytes are
//! escaped at once.

use core::arch::x86_64::{
    __m128i, __m256i, _mm_blendv_epi8, _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64,
    _mm_loadl_epi64, _mm_loadu_si128, _mm_set1_epi8, _mm_shuffle_epi8, _mm_storeu_si128, _mm256_and_si256,
    _mm256_blendv_epi8, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8,
    _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_shuffle_epi8, _mm256_storeu_si256,
};

use super::super::BLOCK;
use super::masks::Masks;
use super::quote::{ROOM, SOURCE, escape_block};
use super::{Processor, check_with, write_with};

const HALF: usize = BLOCK / 2;
/// How many bytes are escaped at once; they become twice as many at worst.
const GROUP: usize = 8;

/// White space by its lower four bits; no other byte is what stands at its place.
const SPACES: [u8; 16] =
    [b' ', 100, 100, 100, 17, 100, 100, 100, 100, b'\t', b'\n', 100, 100, b'\r', 100, 100];
/// Operators by their lower four bits, brackets as the braces from which they differ in one bit.
const OPERATORS: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b':', b'{', b',', b'}', 0, 0];
/// The letters that stand for the control characters 8 to 13.
const LETTERS: [u8; 16] = *b"\0\0\0\0\0\0\0\0btn\0fr\0\0";

/// Says that a backslash stands there, rather than a byte of the group.
const BACKSLASH: u8 = 0x80;
/// Where the bytes of a group go, by which of them are escaped.
static SPREAD: [[u8; 2 * GROUP]; 256] = {
    let mut spread = [[0; 2 * GROUP]; 256];
    let mut special = 0;
    while special < 256 {
        let (mut from, mut to) = (0, 0);
        while from < GROUP {
            if special >> from & 1 == 1 {
                spread[special][to] = BACKSLASH;
                to += 1;
            }
            #[expect(clippy::cast_possible_truncation, reason = "one of eight places")]
            let place = from as u8;
            spread[special][to] = place;
            to += 1;
            from += 1;
        }
        special += 1;
    }
    spread
};

/// A processor with AVX2 and what came with it. There is one only if this processor is.
#[derive(Clone, Copy)]
pub(in super::super) struct Avx2(());

impl Avx2 {
    /// This processor, if it has all the features that functions of this module are compiled for.
    pub(in super::super) fn found() -> Option<Self> {
        let is_found = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("pclmulqdq");
        is_found.then_some(Self(()))
    }

    /// The JSON string that holds `text`, if `text` is surely JSON.
    pub(in super::super) fn check_and_quote(self, text: &str) -> Option<Vec<u8>> {
        #[expect(unsafe_code, reason = "a call of what is compiled for more than every processor has")]
        // SAFETY: this processor has the features.
        unsafe {
            checked_and_quoted(self, text)
        }
    }

    /// Appends `text` to `out` as a JSON string.
    pub(in super::super) fn write_json_string(self, out: &mut Vec<u8>, text: &str) {
        #[expect(unsafe_code, reason = "a call of what is compiled for more than every processor has")]
        // SAFETY: this processor has the features.
        unsafe {
            write_quoted(self, out, text);
        }
    }
}

impl Processor for Avx2 {
    #[inline]
    fn masks(self, source: &[u8; SOURCE]) -> Masks {
        #[expect(unsafe_code, reason = "a call of what is compiled for more than every processor has")]
        // SAFETY: this processor has the features.
        unsafe {
            masks_of(source)
        }
    }

    #[inline]
    fn special(self, source: &[u8; SOURCE]) -> u64 {
        #[expect(unsafe_code, reason = "a call of what is compiled for more than every processor has")]
        // SAFETY: this processor has the features.
        unsafe {
            special_of(source)
        }
    }

    #[inline]
    fn escape_block(self, source: &[u8; SOURCE], special: u64, room: &mut [u8; ROOM]) -> usize {
        #[expect(unsafe_code, reason = "a call of what is compiled for more than every processor has")]
        // SAFETY: this processor has the features.
        unsafe {
            escape(source, special, room)
        }
    }

    #[inline]
    fn prefix_xor(self, mask: u64) -> u64 {
        #[expect(unsafe_code, reason = "a call of what is compiled for more than every processor has")]
        // SAFETY: this processor has the features.
        unsafe {
            prefix_xor(mask)
        }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,pclmulqdq")]
fn checked_and_quoted(processor: Avx2, text: &str) -> Option<Vec<u8>> {
    check_with(processor, text)
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,pclmulqdq")]
fn write_quoted(processor: Avx2, out: &mut Vec<u8>, text: &str) {
    write_with(processor, out, text);
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,pclmulqdq")]
fn masks_of(source: &[u8; SOURCE]) -> Masks {
    let [low, high] = halves(source);
    let (spaces, operators) = (table(&SPACES), table(&OPERATORS));
    let is_space = |bytes| _mm256_cmpeq_epi8(bytes, _mm256_shuffle_epi8(spaces, bytes));
    // A control character may look like an operator; no white space does, and any other is refused.
    let is_operator =
        |bytes| _mm256_cmpeq_epi8(_mm256_or_si256(bytes, splat(0x20)), _mm256_shuffle_epi8(operators, bytes));
    Masks {
        quotes: mask(equal(low, b'"'), equal(high, b'"')),
        backslashes: mask(equal(low, b'\\'), equal(high, b'\\')),
        control: mask(control(low), control(high)),
        operators: mask(is_operator(low), is_operator(high)),
        spaces: mask(is_space(low), is_space(high)),
        not_ascii: mask(low, high),
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,pclmulqdq")]
fn special_of(source: &[u8; SOURCE]) -> u64 {
    let [low, high] = halves(source).map(|bytes| {
        _mm256_or_si256(_mm256_or_si256(equal(bytes, b'"'), equal(bytes, b'\\')), control(bytes))
    });
    mask(low, high)
}

/// Multiplying by all ones without carry does that.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,pclmulqdq")]
fn prefix_xor(mask: u64) -> u64 {
    let product = _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(mask.cast_signed()), _mm_set1_epi8(-1));
    _mm_cvtsi128_si64(product).cast_unsigned()
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,pclmulqdq")]
fn escape(source: &[u8; SOURCE], special: u64, room: &mut [u8; ROOM]) -> usize {
    let halves = halves(source);
    let [low, high] = halves.map(|bytes| control(bytes));
    if mask(low, high) == 0 {
        return spread(source[..BLOCK].as_chunks().0, special, room);
    }
    let letters = table(&LETTERS);
    let lettered =
        halves.map(|bytes| _mm256_blendv_epi8(bytes, _mm256_shuffle_epi8(letters, bytes), control(bytes)));
    // A control character without a letter has become a zero, or the letter of another.
    let [low, high] = [(halves[0], lettered[0]), (halves[1], lettered[1])].map(|(bytes, letters)| {
        let high_bits = equal(_mm256_and_si256(bytes, splat(0xf0)), 0x10);
        _mm256_or_si256(high_bits, equal(letters, 0))
    });
    if mask(low, high) != 0 {
        return escape_block(source, special, room);
    }
    let mut block = [0; BLOCK];
    let (parts, _) = block.as_chunks_mut::<HALF>();
    for (part, bytes) in parts.iter_mut().zip(lettered) {
        store_half(part, bytes);
    }
    spread(block.as_chunks().0, special, room)
}

/// Writes groups of bytes with a backslash before each in `special`; returns how long that is.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,pclmulqdq")]
fn spread(groups: &[[u8; GROUP]], mut special: u64, room: &mut [u8; ROOM]) -> usize {
    let mut end = 0;
    for group in groups {
        let here = (special & 0xff) as usize;
        let places = load_places(&SPREAD[here]);
        let spread = _mm_blendv_epi8(
            _mm_shuffle_epi8(load_group(group), places),
            _mm_set1_epi8(b'\\'.cast_signed()),
            places,
        );
        if let Some(room) = room.get_mut(end..).and_then(<[u8]>::first_chunk_mut) {
            store_group(room, spread);
        }
        end += GROUP + here.count_ones() as usize;
        special >>= GROUP;
    }
    end
}

#[inline]
#[target_feature(enable = "avx2")]
fn halves(source: &[u8; SOURCE]) -> [__m256i; 2] {
    let half = |start: usize| {
        let bytes = source.get(start..).and_then(<[u8]>::first_chunk::<HALF>).unwrap_or(&[0; HALF]);
        #[expect(unsafe_code, reason = "loading through a pointer needs it")]
        // SAFETY: the reference is good for 32 bytes, and the load asks for no alignment.
        unsafe {
            _mm256_loadu_si256(bytes.as_ptr().cast())
        }
    };
    [half(0), half(HALF)]
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_half(room: &mut [u8; HALF], bytes: __m256i) {
    #[expect(unsafe_code, reason = "storing through a pointer needs it")]
    // SAFETY: the reference is good for 32 bytes, and the store asks for no alignment.
    unsafe {
        _mm256_storeu_si256(room.as_mut_ptr().cast(), bytes);
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_group(bytes: &[u8; GROUP]) -> __m128i {
    #[expect(unsafe_code, reason = "loading through a pointer needs it")]
    // SAFETY: the reference is good for 8 bytes, and the load takes no more and asks for no alignment.
    unsafe {
        _mm_loadl_epi64(bytes.as_ptr().cast())
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_places(places: &[u8; 2 * GROUP]) -> __m128i {
    #[expect(unsafe_code, reason = "loading through a pointer needs it")]
    // SAFETY: the reference is good for 16 bytes, and the load asks for no alignment.
    unsafe {
        _mm_loadu_si128(places.as_ptr().cast())
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_group(room: &mut [u8; 2 * GROUP], bytes: __m128i) {
    #[expect(unsafe_code, reason = "storing through a pointer needs it")]
    // SAFETY: the reference is good for 16 bytes, and the store asks for no alignment.
    unsafe {
        _mm_storeu_si128(room.as_mut_ptr().cast(), bytes);
    }
}

/// A table for lookups by four bits.
#[inline]
#[target_feature(enable = "avx2")]
fn table(entries: &[u8; 16]) -> __m256i {
    _mm256_broadcastsi128_si256(load_places(entries))
}

#[inline]
#[target_feature(enable = "avx2")]
fn splat(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
fn equal(bytes: __m256i, byte: u8) -> __m256i {
    _mm256_cmpeq_epi8(bytes, splat(byte))
}

#[inline]
#[target_feature(enable = "avx2")]
fn control(bytes: __m256i) -> __m256i {
    _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, splat(0x1f)), bytes)
}

/// The highest bit of each byte.
#[inline]
#[target_feature(enable = "avx2")]
fn mask(low: __m256i, high: __m256i) -> u64 {
    let half = |bytes| u64::from(_mm256_movemask_epi8(bytes).cast_unsigned());
    half(low) | half(high) << HALF
}

#[cfg(test)]
mod tests {
    use super::super::masks::AnyProcessor;
    use super::*;

    #[test]
    fn every_byte_is_what_any_processor_finds_at_every_place() {
        let Some(avx2) = Avx2::found() else { return };
        for byte in (0..=u8::MAX).filter(|byte| *byte >= 0x20 || b"\t\n\r".contains(byte)) {
            for place in 0..BLOCK {
                let mut block = [b'x'; SOURCE];
                block[place] = byte;
                assert_eq!(avx2.masks(&block), AnyProcessor.masks(&block), "{byte} at {place}");
            }
        }
    }

    #[test]
    fn every_byte_is_escaped_as_by_any_processor_at_every_place() {
        let Some(avx2) = Avx2::found() else { return };
        for byte in 0..=u8::MAX {
            for place in 0..BLOCK {
                let mut block = [b'"'; SOURCE];
                block[place] = byte;
                let special = AnyProcessor.special(&block);
                assert_eq!(avx2.special(&block), special, "{byte} at {place}");
                let (mut found, mut expected) = ([0; ROOM], [0; ROOM]);
                let ends = (
                    avx2.escape_block(&block, special, &mut found),
                    AnyProcessor.escape_block(&block, special, &mut expected),
                );
                assert_eq!(ends.0, ends.1, "{byte} at {place}");
                assert_eq!(found[..ends.0], expected[..ends.1], "{byte} at {place}");
            }
        }
    }

    #[test]
    fn bits_are_summed_as_by_any_processor() {
        let Some(avx2) = Avx2::found() else { return };
        for mask in [0, 1, 0b101, u64::MAX, 1 << 63, 0x8421_1248_0f0f_1337] {
            assert_eq!(avx2.prefix_xor(mask), AnyProcessor.prefix_xor(mask));
        }
    }
}
