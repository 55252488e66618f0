//! What all replicas seal and tag with: keys that follow from one of the store, so that any of them can open what another has
//! sealed, and nothing has to be kept for what clients and browsers carry.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::answer::Failure;

/// Sealed texts that are longer are not looked at.
const LONGEST_SEALED: usize = 16 << 10;

/// The keys.
pub(crate) struct Keys {
    sealing: LessSafeKey,
    tagging: hmac::Key,
    random: SystemRandom,
}

/// What is sealed, so that what was sealed for one thing is never taken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// What a client has registered.
    Client,
    /// A request that somebody is asked about.
    Consent,
    /// A request whose sender is signing in at the provider.
    State,
    /// What the store keeps of somebody who is signed in.
    Session,
    /// What the store keeps of an invitation to connect an account.
    ConnectTicket,
    /// What stands in the form of the page for that.
    ConnectForm,
    /// Somebody who connects an account and is at the authorisation server.
    ConnectState,
    /// Somebody who connects an account and is asked who he is.
    ConnectWho,
    /// The answer to that.
    ConnectPass,
    /// What the store keeps of what somebody has granted.
    UserGrant,
    /// What this gateway is called at an authorisation server.
    UpstreamClient,
}

impl Keys {
    /// Those that follow from that one, for people who sign in at that provider: with another provider all who are signed in have
    /// to sign in anew, since the same subject is somebody else there. Clients stay registered.
    pub(crate) fn from_shared(shared: &[u8; 32], whose: &str) -> Result<Self, Failure> {
        let shared = hmac::Key::new(hmac::HMAC_SHA256, shared);
        let derived = |purpose: &str| hmac::sign(&shared, format!("{purpose} {whose}").as_bytes());
        let sealing = UnboundKey::new(&CHACHA20_POLY1305, derived("seal").as_ref());
        let sealing = sealing.map_err(|_| Failure::internal("the keys of the broker cannot be made"))?;
        Ok(Self {
            sealing: LessSafeKey::new(sealing),
            tagging: hmac::Key::new(hmac::HMAC_SHA256, derived("tag").as_ref()),
            random: SystemRandom::new(),
        })
    }

    /// Seals a value.
    pub(crate) fn seal(&self, purpose: Purpose, value: &impl Serialize) -> Result<String, Failure> {
        let nonce: [u8; NONCE_LEN] = self.random()?;
        let mut sealed =
            serde_json::to_vec(value).map_err(|_| Failure::internal("a value cannot be written"))?;
        let aad = Aad::from([purpose as u8]);
        self.sealing
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed)
            .map_err(|_| Failure::internal("a value cannot be sealed"))?;
        Ok(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// The value, if it was sealed for that purpose by one who has the key.
    pub(crate) fn open<T: DeserializeOwned>(&self, purpose: Purpose, text: &str) -> Option<T> {
        if text.len() > LONGEST_SEALED {
            return None;
        }
        self.open_long(purpose, text)
    }

    /// The same, however long it is: for what the store has.
    pub(crate) fn open_long<T: DeserializeOwned>(&self, purpose: Purpose, text: &str) -> Option<T> {
        let mut whole = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, sealed) = whole.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let payload = self.sealing.open_in_place(nonce, Aad::from([purpose as u8]), sealed).ok()?;
        serde_json::from_slice(payload).ok()
    }

    /// A text that nobody without the key can make, for that use of those bytes.
    pub(crate) fn tag(&self, usage: &str, bytes: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(self.tag_of(usage, bytes))
    }

    /// Whether that text is the one.
    pub(crate) fn is_tag(&self, text: &str, usage: &str, bytes: &[u8]) -> bool {
        // The time it takes does not tell how far a guess is right.
        let Ok(given) = URL_SAFE_NO_PAD.decode(text) else { return false };
        hmac::verify(&self.tagging, &tagged(usage, bytes), &given).is_ok()
    }

    fn tag_of(&self, usage: &str, bytes: &[u8]) -> hmac::Tag {
        hmac::sign(&self.tagging, &tagged(usage, bytes))
    }

    /// Random bytes.
    pub(crate) fn random<const N: usize>(&self) -> Result<[u8; N], Failure> {
        let mut bytes = [0; N];
        self.random.fill(&mut bytes).map_err(|_| Failure::internal("the system has no random numbers"))?;
        Ok(bytes)
    }

    /// A random text.
    pub(crate) fn random_text(&self) -> Result<String, Failure> {
        Ok(URL_SAFE_NO_PAD.encode(self.random::<24>()?))
    }
}

fn tagged(usage: &str, bytes: &[u8]) -> Vec<u8> {
    [&usage.len().to_be_bytes(), usage.as_bytes(), bytes].concat()
}

/// The hash by which something is known that is too long, or too secret, to be kept.
pub(crate) fn hash_of(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sealed_opens_with_the_same_key_for_the_same_purpose_only() {
        let [one, same, other] = [1, 1, 2].map(|byte| Keys::from_shared(&[byte; 32], "https://id").unwrap());
        let sealed = one.seal(Purpose::State, &"hello").unwrap();
        assert_eq!(same.open(Purpose::State, &sealed), Some("hello".to_owned()));
        assert_eq!(other.open::<String>(Purpose::State, &sealed), None);
        assert_eq!(one.open::<String>(Purpose::Consent, &sealed), None);
        for (index, byte) in sealed.bytes().enumerate() {
            let mut changed = sealed.clone().into_bytes();
            changed[index] = if byte == b'A' { b'B' } else { b'A' };
            assert_eq!(one.open::<String>(Purpose::State, std::str::from_utf8(&changed).unwrap()), None);
        }
    }

    #[test]
    fn a_tag_is_for_one_use_of_one_text() {
        let keys = Keys::from_shared(&[1; 32], "https://id").unwrap();
        let tag = keys.tag("code", b"a");
        assert!(keys.is_tag(&tag, "code", b"a"));
        assert!(!keys.is_tag(&tag, "code", b"b") && !keys.is_tag(&tag, "refresh", b"a"));
        assert!(!keys.is_tag("", "code", b"a") && !keys.is_tag(&tag[1..], "code", b"a"));
    }
}
