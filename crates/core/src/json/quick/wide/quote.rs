//! Text as a JSON string, 32 bytes at a time: they are spread out in a register full of backslashes.

use core::arch::x86_64::{
    __m512i, _mm512_castsi256_si512, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask,
    _mm512_extracti64x4_epi64, _mm512_mask_expand_epi8, _mm512_mask_shuffle_epi8, _mm512_shuffle_epi8,
    _mm512_test_epi8_mask, _pdep_u64, _pext_u64,
};

use super::super::narrow::{ROOM as ESCAPED_ROOM, SOURCE, escape_block};
use super::vector::{load, splat, store, table};
use super::{BLOCK, pad};

/// A block becomes twice as long at worst; two whole registers are written even where only their beginnings count.
const ROOM: usize = 2 * BLOCK;
const EVEN_BITS: u64 = 0x5555_5555_5555_5555;
const ODD_BITS: u64 = !EVEN_BITS;
/// The letters that stand for the control characters 8 to 13.
const LETTERS: [u8; 16] = *b"\0\0\0\0\0\0\0\0btn\0fr\0\0";

/// Appends `text` to `out` as a JSON string.
#[target_feature(enable = "avx512bw,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn write_quoted(out: &mut Vec<u8>, text: &[u8]) {
    let mut quoted = WideQuoted::new(out, text.len());
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    let (rest, padding) = pad(rest);
    // One loop for whole blocks and the rest, so that its body is compiled in place.
    for index in 0..=blocks.len() {
        quoted.push_any(blocks.get(index).unwrap_or(&rest));
    }
    quoted.finish(padding);
}

/// A JSON string being written behind what `out` holds.
pub(super) struct WideQuoted<'a> {
    /// Grown ahead of what is written.
    out: &'a mut Vec<u8>,
    end: usize,
    letters: __m512i,
}

impl<'a> WideQuoted<'a> {
    /// Begins the string of a text of `length` bytes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(out: &'a mut Vec<u8>, length: usize) -> Self {
        let start = out.len();
        out.resize(start + 1 + length + length / 4 + ROOM, b'"');
        Self { out, end: start + 1, letters: table(&LETTERS) }
    }

    /// Adds 64 bytes. `control` are those with a letter of their own, `others` quotes and backslashes.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi2,bmi1,bmi2,popcnt")]
    pub(super) fn push(&mut self, bytes: __m512i, control: u64, others: u64) {
        self.make_room(ROOM);
        let bytes = _mm512_mask_shuffle_epi8(bytes, control, self.letters, bytes);
        let special = control | others;
        self.spread(bytes, special & 0xffff_ffff);
        self.spread(_mm512_castsi256_si512(_mm512_extracti64x4_epi64::<1>(bytes)), special >> 32);
    }

    /// Adds 64 bytes, whatever they are.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi2,bmi1,bmi2,popcnt")]
    fn push_any(&mut self, block: &[u8; BLOCK]) {
        let bytes = load(block);
        let control = _mm512_cmplt_epu8_mask(bytes, splat(0x20));
        let has_letter = _mm512_test_epi8_mask(_mm512_shuffle_epi8(self.letters, bytes), splat(0xff))
            & _mm512_cmplt_epu8_mask(bytes, splat(0x10));
        let quotes = _mm512_cmpeq_epi8_mask(bytes, splat(b'"'));
        let others = quotes | _mm512_cmpeq_epi8_mask(bytes, splat(b'\\'));
        if control & !has_letter != 0 {
            return self.push_escaped(block, control | others);
        }
        self.push(bytes, control, others);
    }

    /// Adds the first 32 of `bytes`, with a backslash before each in `special`.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi2,bmi1,bmi2,popcnt")]
    fn spread(&mut self, bytes: __m512i, special: u64) {
        // Two places for each byte, one for a backslash and one for itself; then the places not used are taken out.
        let used = _pdep_u64(special, EVEN_BITS) | ODD_BITS;
        let own = _pext_u64(ODD_BITS, used);
        let spread = _mm512_mask_expand_epi8(splat(b'\\'), own, bytes);
        if let Some(room) = self.out.get_mut(self.end..).and_then(<[u8]>::first_chunk_mut) {
            store(room, spread);
        }
        self.end += 32 + special.count_ones() as usize;
    }

    /// Adds 64 bytes some of which have no letter of their own.
    fn push_escaped(&mut self, block: &[u8; BLOCK], special: u64) {
        self.make_room(ESCAPED_ROOM);
        if let Some(room) = self.out.get_mut(self.end..).and_then(<[u8]>::first_chunk_mut) {
            let mut source = [0; SOURCE];
            source[..BLOCK].copy_from_slice(block);
            self.end += escape_block(&source, special, room);
        }
    }

    #[inline]
    fn make_room(&mut self, wanted: usize) {
        if self.out.len() - self.end < wanted {
            self.out.resize(self.out.len() + self.out.len() / 2 + wanted, b'"');
        }
    }

    /// Takes back the last `padding` bytes and closes the string.
    #[inline]
    pub(super) fn finish(self, padding: usize) {
        self.out.truncate(self.end - padding);
        self.out.push(b'"');
    }
}
