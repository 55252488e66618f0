//! What the bytes of a block are, one bit each.

#[cfg(target_arch = "x86_64")]
use registers as parts;
#[cfg(not(target_arch = "x86_64"))]
use words as parts;

use super::super::BLOCK;
use super::Processor;
use super::quote::{ROOM, SOURCE, escape_block};

/// What 64 bytes are, the first of a source.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Masks {
    pub(super) quotes: u64,
    pub(super) backslashes: u64,
    /// Below the space.
    pub(super) control: u64,
    /// `{}[]:,`
    pub(super) operators: u64,
    /// White space outside strings.
    pub(super) spaces: u64,
    pub(super) not_ascii: u64,
}

/// What every processor has.
#[derive(Clone, Copy)]
pub(super) struct AnyProcessor;

impl Processor for AnyProcessor {
    #[inline]
    fn masks(self, source: &[u8; SOURCE]) -> Masks {
        masks(source)
    }

    #[inline]
    fn special(self, source: &[u8; SOURCE]) -> u64 {
        special(source)
    }

    #[inline]
    fn escape_block(self, source: &[u8; SOURCE], special: u64, room: &mut [u8; ROOM]) -> usize {
        escape_block(source, special, room)
    }

    #[inline]
    fn prefix_xor(self, mut mask: u64) -> u64 {
        for shift in [1, 2, 4, 8, 16, 32] {
            mask ^= mask << shift;
        }
        mask
    }
}

#[inline]
fn masks(source: &[u8; SOURCE]) -> Masks {
    let (pieces, _) = source[..BLOCK].as_chunks::<{ parts::SIZE }>();
    let mut masks = Masks::default();
    for (index, piece) in pieces.iter().enumerate() {
        let found = parts::masks(*piece);
        let at = index * parts::SIZE;
        masks.quotes |= found.quotes << at;
        masks.backslashes |= found.backslashes << at;
        masks.control |= found.control << at;
        masks.operators |= found.operators << at;
        masks.spaces |= found.spaces << at;
        masks.not_ascii |= found.not_ascii << at;
    }
    masks
}

/// The bytes that a JSON string escapes.
#[inline]
fn special(source: &[u8; SOURCE]) -> u64 {
    let (pieces, _) = source[..BLOCK].as_chunks::<{ parts::SIZE }>();
    let special =
        |(index, piece): (usize, &[u8; parts::SIZE])| parts::special(*piece) << (index * parts::SIZE);
    pieces.iter().enumerate().map(special).fold(0, |all, some| all | some)
}

/// Sixteen bytes at a time, in registers that every x86-64 has.
#[cfg(target_arch = "x86_64")]
mod registers {
    use core::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    };

    use super::Masks;

    pub(super) const SIZE: usize = 16;

    #[inline]
    pub(super) fn masks(piece: [u8; SIZE]) -> Masks {
        #[expect(unsafe_code, reason = "a call of what asks for SSE2")]
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            masks_of(piece)
        }
    }

    #[inline]
    pub(super) fn special(piece: [u8; SIZE]) -> u64 {
        #[expect(unsafe_code, reason = "a call of what asks for SSE2")]
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            special_of(piece)
        }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn masks_of(piece: [u8; SIZE]) -> Masks {
        let bytes = load(piece);
        let is = |byte| equal(bytes, byte);
        // Brackets and braces differ in one bit.
        let folded = _mm_or_si128(bytes, splat(0x20));
        let brackets = _mm_or_si128(equal(folded, b'{'), equal(folded, b'}'));
        let operators = _mm_or_si128(brackets, _mm_or_si128(is(b':'), is(b',')));
        let spaces = _mm_or_si128(_mm_or_si128(is(b' '), is(b'\n')), _mm_or_si128(is(b'\r'), is(b'\t')));
        Masks {
            quotes: mask(is(b'"')),
            backslashes: mask(is(b'\\')),
            control: mask(control(bytes)),
            operators: mask(operators),
            spaces: mask(spaces),
            not_ascii: mask(bytes),
        }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn special_of(piece: [u8; SIZE]) -> u64 {
        let bytes = load(piece);
        let named = _mm_or_si128(equal(bytes, b'"'), equal(bytes, b'\\'));
        mask(_mm_or_si128(named, control(bytes)))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn load(piece: [u8; SIZE]) -> __m128i {
        let whole = u128::from_le_bytes(piece);
        #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
        let (low, high) = (whole as u64, (whole >> 64) as u64);
        _mm_set_epi64x(high.cast_signed(), low.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn splat(byte: u8) -> __m128i {
        _mm_set1_epi8(byte.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn equal(bytes: __m128i, byte: u8) -> __m128i {
        _mm_cmpeq_epi8(bytes, splat(byte))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn control(bytes: __m128i) -> __m128i {
        _mm_cmpeq_epi8(_mm_min_epu8(bytes, splat(0x1f)), bytes)
    }

    /// The highest bit of each byte.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn mask(bytes: __m128i) -> u64 {
        u64::from(_mm_movemask_epi8(bytes).cast_unsigned())
    }
}

/// Eight bytes at a time, in a number.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod words {
    use super::Masks;

    pub(super) const SIZE: usize = 8;

    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH_BITS: u64 = ONES * 0x80;
    const LOW_BITS: u64 = ONES * 0x7f;

    #[inline]
    pub(super) fn masks(piece: [u8; SIZE]) -> Masks {
        let word = u64::from_le_bytes(piece);
        let folded = word | (ONES * 0x20);
        let brackets = equal(folded, b'{') | equal(folded, b'}');
        Masks {
            quotes: mask(equal(word, b'"')),
            backslashes: mask(equal(word, b'\\')),
            control: mask(control(word)),
            operators: mask(brackets | equal(word, b':') | equal(word, b',')),
            spaces: mask(equal(word, b' ') | equal(word, b'\n') | equal(word, b'\r') | equal(word, b'\t')),
            not_ascii: mask(word),
        }
    }

    #[inline]
    pub(super) fn special(piece: [u8; SIZE]) -> u64 {
        let word = u64::from_le_bytes(piece);
        mask(equal(word, b'"') | equal(word, b'\\') | control(word))
    }

    /// The high bit of every byte that is this one. Adding to seven bits never carries into the next byte.
    #[inline]
    fn equal(word: u64, byte: u8) -> u64 {
        let difference = word ^ (ONES * u64::from(byte));
        !((difference & LOW_BITS).wrapping_add(LOW_BITS) | difference)
    }

    #[inline]
    fn control(word: u64) -> u64 {
        !((word & LOW_BITS).wrapping_add(ONES * 0x60) | word)
    }

    /// The high bits side by side: the product moves each to its place in the highest byte.
    #[inline]
    fn mask(word: u64) -> u64 {
        ((word & HIGH_BITS) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_what_it_is_at_every_place() {
        for byte in 0..=u8::MAX {
            for place in 0..BLOCK {
                let mut block = [b'x'; SOURCE];
                block[place] = byte;
                let bit = |is: bool| u64::from(is) << place;
                let expected = Masks {
                    quotes: bit(byte == b'"'),
                    backslashes: bit(byte == b'\\'),
                    control: bit(byte < 0x20),
                    operators: bit(b"{}[]:,".contains(&byte)),
                    spaces: bit(b" \t\n\r".contains(&byte)),
                    not_ascii: bit(byte >= 0x80),
                };
                assert_eq!(masks(&block), expected, "{byte} at {place}");
                assert_eq!(special(&block), expected.quotes | expected.backslashes | expected.control);
            }
        }
    }

    #[test]
    fn words_and_registers_find_the_same() {
        for byte in 0..=u8::MAX {
            for place in 0..words::SIZE {
                let mut piece = [0xff; words::SIZE];
                piece[place] = byte;
                let mut block = [0xff; SOURCE];
                block[..words::SIZE].copy_from_slice(&piece);
                let (found, all) = (words::masks(piece), masks(&block));
                let low = |mask: u64| mask & 0xff;
                assert_eq!(
                    [
                        found.quotes,
                        found.backslashes,
                        found.control,
                        found.operators,
                        found.spaces,
                        found.not_ascii
                    ],
                    [all.quotes, all.backslashes, all.control, all.operators, all.spaces, all.not_ascii]
                        .map(low)
                );
                assert_eq!(words::special(piece), low(special(&block)));
            }
        }
    }
}
