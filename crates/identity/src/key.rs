//! The text that a client holds, and the keyed hash by which we know it again. Whoever reads the store learns no key, and whoever
//! guesses learns nothing from how long we look: what is looked up is the hash, which nobody without the store's key can make.

use std::fmt;

use ring::hmac;
use toolrail_core::hexadecimal;

/// What every key begins with, so that people and scanners know one when they see it.
const PREFIX: &str = "tr_";
/// What the keys begin with that one process takes as long as it runs.
const LOCAL_PREFIX: &str = "tl_";
/// Bytes of randomness in a key.
const STRENGTH: usize = 32;
/// A longer text is no key of ours; it is not looked at.
pub const LONGEST_KEY: usize = PREFIX.len() + 2 * STRENGTH;

/// A key as its holder has it: shown once, kept nowhere.
pub struct KeyText(String);

impl KeyText {
    /// A key that nobody has.
    pub(crate) fn mint() -> Result<Self, getrandom::Error> {
        Self::behind(PREFIX)
    }

    /// One that only this process takes.
    pub(crate) fn mint_local() -> Result<Self, getrandom::Error> {
        Self::behind(LOCAL_PREFIX)
    }

    fn behind(prefix: &str) -> Result<Self, getrandom::Error> {
        let mut random = [0; STRENGTH];
        getrandom::fill(&mut random)?;
        Ok(Self(format!("{prefix}{}", hexadecimal(&random))))
    }

    /// The text itself, to be shown to its holder.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KeyText(…)")
    }
}

/// The keyed hash of a key.
pub(crate) type Digest = [u8; 32];

/// Makes the hashes of one store.
#[derive(Clone)]
pub(crate) struct Digester(hmac::Key);

impl Digester {
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// The hash of a text that may be a key; nothing if it cannot be one.
    pub(crate) fn digest(&self, text: &str) -> Option<Digest> {
        if text.len() != LONGEST_KEY || !text.starts_with(PREFIX) {
            return None;
        }
        hmac::sign(&self.0, text.as_bytes()).as_ref().try_into().ok()
    }
}

/// Whether that may be the key of whoever administers this machine.
pub(crate) fn is_local(text: &str) -> bool {
    text.starts_with(LOCAL_PREFIX)
}

/// Whether two texts are the same, without telling by the time it takes how far they are.
pub(crate) fn are_equal(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && differences == 0
}

/// The hash that is written like that.
pub(crate) fn digest_of(text: &str) -> Option<Digest> {
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16)?.try_into().ok()).collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_by_the_hash_of_its_store_only() {
        let key = KeyText::mint().unwrap();
        let (one, other) = (Digester::new(&[1; 32]), Digester::new(&[2; 32]));
        let digest = one.digest(key.reveal()).unwrap();
        assert_eq!(one.digest(key.reveal()), Some(digest));
        assert_ne!(other.digest(key.reveal()), Some(digest));
        assert_ne!(one.digest(KeyText::mint().unwrap().reveal()), Some(digest));
        assert_eq!(digest_of(&hexadecimal(&digest)), Some(digest));
    }

    #[test]
    fn what_cannot_be_a_key_has_no_hash() {
        let digester = Digester::new(&[1; 32]);
        for text in ["", "tr_", "tr_abc", &"x".repeat(LONGEST_KEY), &format!("tr_{}", "a".repeat(65))] {
            assert_eq!(digester.digest(text), None, "{text}");
        }
    }

    #[test]
    fn a_key_does_not_show_itself() {
        let key = KeyText::mint().unwrap();
        assert!(key.reveal().starts_with("tr_") && !format!("{key:?}").contains("tr_"));
    }
}
