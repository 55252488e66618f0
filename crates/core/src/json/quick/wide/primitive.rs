//! Numbers, `true`, `false` and `null`, each checked where it stands in the text.

use core::arch::x86_64::{_mm256_cmplt_epu8_mask, _mm256_set1_epi8, _mm256_sub_epi8};

use super::vector::load_half;

const WINDOW: usize = 32;

/// Checks the number or literal that begins at `start`, up to and including its end.
#[inline]
#[target_feature(enable = "avx512bw,avx512vl,bmi1")]
pub(super) fn check(text: &[u8], start: usize) -> Option<()> {
    let rest = text.get(start..)?;
    let mut padded = [b' '; WINDOW];
    let window = rest.first_chunk().unwrap_or_else(|| {
        padded[..rest.len()].copy_from_slice(rest);
        &padded
    });
    check_window(window)
}

/// Refuses what fills the whole window, since its end cannot be seen.
#[inline]
#[target_feature(enable = "avx512bw,avx512vl,bmi1")]
fn check_window(window: &[u8; WINDOW]) -> Option<()> {
    let end = match window {
        [b't', b'r', b'u', b'e', ..] | [b'n', b'u', b'l', b'l', ..] => 4,
        [b'f', b'a', b'l', b's', b'e', ..] => 5,
        _ => number_end(window)?,
    };
    let after = window.get(end)?;
    matches!(after, b',' | b'}' | b']' | b'\n' | b' ' | b'\r' | b'\t').then_some(())
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vl,bmi1")]
fn number_end(window: &[u8; WINDOW]) -> Option<usize> {
    let digits = digits(window);
    let start = usize::from(window[0] == b'-');
    let mut end = skip_digits(digits, start)?;
    if window[start] == b'0' && end > start + 1 {
        return None;
    }
    if *window.get(end)? == b'.' {
        end = skip_digits(digits, end + 1)?;
    }
    if matches!(window.get(end)?, b'e' | b'E') {
        let sign = usize::from(matches!(window.get(end + 1)?, b'+' | b'-'));
        end = skip_digits(digits, end + 1 + sign)?;
    }
    Some(end)
}

/// Where the digits from `start` on end; there must be at least one.
#[inline]
fn skip_digits(digits: u64, start: usize) -> Option<usize> {
    let count = (digits >> start).trailing_ones() as usize;
    (count > 0).then_some(start + count)
}

/// One bit for every byte that is a digit.
#[inline]
#[target_feature(enable = "avx512bw,avx512vl")]
fn digits(window: &[u8; WINDOW]) -> u64 {
    let values = _mm256_sub_epi8(load_half(window), _mm256_set1_epi8(b'0'.cast_signed()));
    u64::from(_mm256_cmplt_epu8_mask(values, _mm256_set1_epi8(10)))
}
