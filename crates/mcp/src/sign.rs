//! What clients carry for us and must not be able to change or make up: session ids, states and the like are sealed with
//! one key that all replicas share, so that any of them can open what another has sealed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// Seals and opens.
pub(crate) struct Signer {
    /// A key of the right length is always taken; without one nothing is sealed and nothing opens.
    key: Option<LessSafeKey>,
    /// For what must be sealed the same every time.
    naming: hmac::Key,
    random: SystemRandom,
}

impl Signer {
    /// With that key.
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), b"the same every time");
        let naming = hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref());
        let key = UnboundKey::new(&CHACHA20_POLY1305, key).ok().map(LessSafeKey::new);
        Self { key, naming, random: SystemRandom::new() }
    }

    /// Seals a payload for a purpose; nothing only if the system has no random numbers.
    pub(crate) fn seal(&self, purpose: &str, payload: &[u8]) -> Option<String> {
        self.seal_with(self.random()?, purpose, payload)
    }

    /// The same, but with the same result for the same payload: for names that clients compare. The nonce follows from what is
    /// sealed, so that it is the same only where all of it is.
    pub(crate) fn seal_as_name(&self, purpose: &str, payload: &[u8]) -> Option<String> {
        let mut context = hmac::Context::with_key(&self.naming);
        for part in [&purpose.len().to_be_bytes(), purpose.as_bytes(), payload] {
            context.update(part);
        }
        let nonce = context.sign().as_ref().first_chunk::<NONCE_LEN>().copied()?;
        self.seal_with(nonce, purpose, payload)
    }

    fn seal_with(&self, nonce: [u8; NONCE_LEN], purpose: &str, payload: &[u8]) -> Option<String> {
        let mut sealed = payload.to_vec();
        let aad = Aad::from(purpose.as_bytes());
        let nonce_for_key = Nonce::assume_unique_for_key(nonce);
        self.key.as_ref()?.seal_in_place_append_tag(nonce_for_key, aad, &mut sealed).ok()?;
        let mut whole = nonce.to_vec();
        whole.append(&mut sealed);
        Some(URL_SAFE_NO_PAD.encode(whole))
    }

    /// The payload, if it was sealed with this key for that purpose.
    pub(crate) fn open(&self, purpose: &str, text: &str) -> Option<Vec<u8>> {
        let mut whole = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, sealed) = whole.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let aad = Aad::from(purpose.as_bytes());
        let payload = self.key.as_ref()?.open_in_place(nonce, aad, sealed).ok()?;
        Some(payload.to_vec())
    }

    /// Random bytes.
    pub(crate) fn random<const N: usize>(&self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.random.fill(&mut bytes).ok()?;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sealed_opens_with_the_same_key_for_the_same_purpose_only() {
        let (one, same, other) = ([1; 32], [1; 32], [2; 32]);
        let [one, same, other] = [one, same, other].map(|key| Signer::new(&key));
        let sealed = one.seal("session", b"hello").unwrap();
        assert_eq!(same.open("session", &sealed).as_deref(), Some(&b"hello"[..]));
        assert_eq!(other.open("session", &sealed), None);
        assert_eq!(one.open("state", &sealed), None);
    }

    #[test]
    fn a_name_is_sealed_the_same_every_time() {
        let signer = Signer::new(&[1; 32]);
        let name = |purpose: &str, payload: &[u8]| signer.seal_as_name(purpose, payload).unwrap();
        assert_eq!(name("task", b"1"), name("task", b"1"));
        assert!(name("task", b"1") != name("task", b"2") && name("task", b"1") != name("other", b"1"));
        assert_eq!(signer.open("task", &name("task", b"1")).as_deref(), Some(&b"1"[..]));
    }

    #[test]
    fn anything_changed_or_made_up_does_not_open() {
        let signer = Signer::new(&[1; 32]);
        let sealed = signer.seal("session", b"hello").unwrap();
        for (index, byte) in sealed.bytes().enumerate() {
            let mut changed = sealed.clone().into_bytes();
            changed[index] = if byte == b'A' { b'B' } else { b'A' };
            assert_eq!(signer.open("session", &String::from_utf8(changed).unwrap()), None, "{index}");
        }
        for made_up in ["", "A", "????", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", &sealed[1..]] {
            assert_eq!(signer.open("session", made_up), None, "{made_up}");
        }
    }
}
