//! Bytes in and out of vector registers, and whether this processor has what it takes.

use core::arch::x86_64::{
    __m256i, __m512i, _mm_loadu_si128, _mm256_loadu_si256, _mm512_broadcast_i32x4, _mm512_loadu_si512,
    _mm512_set1_epi8, _mm512_storeu_si512,
};

use super::BLOCK;

/// Whether this processor has all the features that functions in this module's neighbours are compiled for.
pub(in super::super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("pclmulqdq")
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(bytes: &[u8; BLOCK]) -> __m512i {
    #[expect(unsafe_code, reason = "loading through a pointer needs it")]
    // SAFETY: the reference is good for 64 bytes, and the load asks for no alignment.
    unsafe {
        _mm512_loadu_si512(bytes.as_ptr().cast())
    }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load_half(bytes: &[u8; BLOCK / 2]) -> __m256i {
    #[expect(unsafe_code, reason = "loading through a pointer needs it")]
    // SAFETY: the reference is good for 32 bytes, and the load asks for no alignment.
    unsafe {
        _mm256_loadu_si256(bytes.as_ptr().cast())
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store(room: &mut [u8; BLOCK], bytes: __m512i) {
    #[expect(unsafe_code, reason = "storing through a pointer needs it")]
    // SAFETY: the reference is good for 64 bytes, and the store asks for no alignment.
    unsafe {
        _mm512_storeu_si512(room.as_mut_ptr().cast(), bytes);
    }
}

/// A table for lookups by four bits.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn table(entries: &[u8; 16]) -> __m512i {
    #[expect(unsafe_code, reason = "loading through a pointer needs it")]
    // SAFETY: the reference is good for 16 bytes, and the load asks for no alignment.
    let entries = unsafe { _mm_loadu_si128(entries.as_ptr().cast()) };
    _mm512_broadcast_i32x4(entries)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn splat(byte: u8) -> __m512i {
    _mm512_set1_epi8(byte.cast_signed())
}
