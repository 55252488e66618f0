//! One pass over JSON text that checks it and writes it as a JSON string. A shortcut only: what it does not vouch for (a
//! fault, very deep nesting) serde_json judges.
//!
//! The text is taken in blocks of 64 bytes, each of which becomes bit masks, one bit per byte: which bytes stand inside
//! strings (the method of simdjson), where tokens begin. `wide` does the rest with AVX-512 too, `narrow` with what every
//! processor has, and with AVX2 where it helps. It is by hand because serde_json needs a pass for checking, another for the depth and a third for quoting:
//! two thirds of what a call with a large answer took.

mod narrow;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod wide;

/// How many bytes are taken at once.
const BLOCK: usize = 64;
const DEEPEST: usize = super::DEEPEST;

/// The JSON string that holds `text`, if `text` is surely JSON.
pub(super) fn check_and_quote(text: &str) -> Option<Vec<u8>> {
    #[cfg(target_arch = "x86_64")]
    if wide::is_available() {
        return wide::check_and_quote(text);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = narrow::Avx2::found() {
        return avx2.check_and_quote(text);
    }
    narrow::check_and_quote(text)
}

/// Appends `text` to `out` as a JSON string, quotes included.
pub fn write_json_string(out: &mut Vec<u8>, text: &str) {
    #[cfg(target_arch = "x86_64")]
    if text.len() >= BLOCK {
        if wide::is_available() {
            return wide::write_json_string(out, text);
        }
        if let Some(avx2) = narrow::Avx2::found() {
            return avx2.write_json_string(out, text);
        }
    }
    narrow::write_json_string(out, text);
}

/// Which bytes are escaped, from block to block.
#[derive(Default)]
struct Escapes {
    /// One if the next block's first byte is escaped.
    after: u64,
}

impl Escapes {
    /// The bytes after an odd number of backslashes. The subtraction borrows through each run of backslashes, and so
    /// tells runs that begin at an odd place from others.
    #[inline]
    fn escaped(&mut self, backslash: u64) -> u64 {
        const ODD_BITS: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        let begins = backslash & !self.after;
        let ends = ((begins << 1) | ODD_BITS).wrapping_sub(begins) ^ ODD_BITS;
        let escaped = ends ^ (backslash | self.after);
        self.after = (ends & backslash) >> 63;
        escaped
    }
}

/// The places of the bits that are set, lowest first.
#[inline]
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let index = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(index)
    })
}

/// Checks that four hexadecimal digits stand at `start`.
#[inline]
fn check_hex_digits(text: &[u8], start: usize) -> Option<()> {
    let digits: &[u8; 4] = text.get(start..)?.first_chunk()?;
    digits.iter().all(u8::is_ascii_hexdigit).then_some(())
}
