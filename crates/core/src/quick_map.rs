//! Maps whose keys nobody outside chooses, so that they need not be kept from choosing such as collide: where things are in
//! memory, and digests. They are looked into for every request.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// By addresses of things that are held.
pub type AddressMap<K, V> = HashMap<K, V, BuildHasherDefault<AddressHasher>>;
/// By digests of at least eight bytes.
pub type DigestMap<K, V> = HashMap<K, V, BuildHasherDefault<DigestHasher>>;

/// Mixes a few numbers.
#[derive(Default)]
pub struct AddressHasher(u64);

impl AddressHasher {
    fn mix(&mut self, number: u64) {
        /// Odd, and far from any pattern that addresses have.
        const FACTOR: u64 = 0xf135_7aea_2e62_a9c5;
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(FACTOR);
    }
}

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.mix(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.mix(u64::from(number));
    }

    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    fn finish(&self) -> u64 {
        // Addresses end in zeros, and so do their multiples; maps look at the last bits first.
        self.0.rotate_left(26)
    }
}

/// Takes the beginning of a digest, which is as good as any hash of it.
#[derive(Default)]
pub struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*first);
        }
    }

    /// How long it is says nothing.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_fall_into_different_places() {
        let hash = |address: usize| {
            let mut hasher = AddressHasher::default();
            hasher.write_usize(address);
            hasher.finish()
        };
        let places: std::collections::HashSet<u64> =
            (0..1_000).map(|number| hash(0x7f00_0000_0000 + number * 64) % 1_024).collect();
        assert!(places.len() > 500, "{}", places.len());
    }

    #[test]
    fn what_is_kept_is_found() {
        let mut by_digest: DigestMap<[u8; 32], u32> = DigestMap::default();
        let mut by_address: AddressMap<(usize, (usize, bool)), u32> = AddressMap::default();
        for number in 0..100_u8 {
            by_digest.insert([number; 32], number.into());
            by_address.insert((number.into(), (16, number % 2 == 0)), number.into());
        }
        assert_eq!((by_digest.len(), by_digest.get(&[7; 32])), (100, Some(&7)));
        assert_eq!((by_address.len(), by_address.get(&(7, (16, false)))), (100, Some(&7)));
    }
}
