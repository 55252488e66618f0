//! The keys that sign access tokens: one at a time, each with a number. A new one is shown to everybody before it signs, and an old
//! one until the last token that it signed has expired; what says so is one record of the store, which every replica reads.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolrail_core::{Author, RecordAudit, RecordWrite, RecordWritten, Store, Way, hexadecimal};
use toolrail_identity::{Moment, SigningRotation};

use crate::SHARED_KEY;
use crate::answer::Failure;
use crate::sessions::now;
use crate::settings::LONGEST_TOKEN_SECONDS;

/// The kind and the id of the record.
const KIND: &str = "oauth_signing";
const ID: &str = "keys";
/// How many seconds a new key is shown before it signs: every replica has looked by then.
const LEAD: u64 = 10;
/// How many seconds longer than its last token a key is shown, for clocks that are apart.
const SKEW: u64 = 700;
/// After how many seconds a key is replaced, unasked.
const LIFETIME: u64 = 90 * 24 * 3_600;
/// The most keys at a time.
const MOST_KEYS: usize = 8;
/// How often the record is looked at.
const LOOK: Duration = Duration::from_secs(2);
/// How often somebody may be quicker.
const ATTEMPTS: usize = 5;

/// The signing keys of a broker.
pub(crate) struct SigningKeys {
    store: Arc<dyn Store>,
    /// For whom they are.
    whose: String,
    ring: RwLock<Option<Arc<Ring>>>,
    /// How often they have changed, as far as we have seen.
    changes: AtomicU64,
}

/// Those there are, the newest last.
pub(crate) struct Ring {
    keys: Vec<(RingKey, SigningKey)>,
    /// The number of the record that says so.
    number: i64,
}

/// When a key signs and how long it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RingKey {
    number: u64,
    /// From when on it signs, in seconds since 1970.
    from: u64,
    /// Until when what it signed is good; not said of the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
}

struct SigningKey {
    pair: Ed25519KeyPair,
    /// What it is called.
    id: String,
}

impl SigningKeys {
    pub(crate) fn new(store: Arc<dyn Store>, whose: String) -> Self {
        Self { store, whose, ring: RwLock::default(), changes: AtomicU64::new(0) }
    }

    /// Those there are, as they were last seen.
    pub(crate) async fn ring(&self) -> Result<Arc<Ring>, Failure> {
        let known = self.ring.read().unwrap_or_else(PoisonError::into_inner).clone();
        match known {
            Some(ring) => Ok(ring),
            None => Ok(self.look().await?),
        }
    }

    /// How often they have changed, as far as we have seen.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Keeps up with the store, and has a key replaced that is old, until the future is dropped.
    pub(crate) async fn follow(&self) {
        let mut failing = false;
        loop {
            match self.tend().await {
                Ok(()) => failing = false,
                Err(error) if !failing => {
                    failing = true;
                    tracing::warn!(%error, "signing keys cannot be read; those that are known stay good");
                }
                Err(_) => {}
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn tend(&self) -> Result<(), Failure> {
        let ring = self.look().await?;
        let is_old = ring.newest().is_some_and(|newest| newest.from.saturating_add(LIFETIME) <= now());
        if ring.number == 0 {
            // From when on the first one counts.
            let first = [RingKey { number: 0, from: now(), until: None }];
            self.write(&first, 0, None).await?;
        } else if is_old {
            let author =
                Author { who: "toolrail".to_owned(), address: None, via: Way::AdminApi.word().to_owned() };
            self.replace(&ring, LONGEST_TOKEN_SECONDS + SKEW, &author).await?;
        }
        Ok(())
    }

    /// Has another key sign. What the one before has signed stays good for so many seconds, or as long as any token may be.
    pub(crate) async fn rotate(
        &self,
        overlap: Option<u64>,
        author: &Author,
    ) -> Result<SigningRotation, Failure> {
        let overlap = overlap.unwrap_or(LONGEST_TOKEN_SECONDS + SKEW).min(LONGEST_TOKEN_SECONDS + SKEW);
        for _ in 0..ATTEMPTS {
            let ring = self.look().await?;
            if let Some(rotation) = self.replace(&ring, overlap, author).await? {
                self.look().await?;
                return Ok(rotation);
            }
        }
        Err(Failure::unavailable("somebody else changes the keys at the same time; try again"))
    }

    /// Nothing if somebody else was quicker.
    async fn replace(
        &self,
        ring: &Ring,
        overlap: u64,
        author: &Author,
    ) -> Result<Option<SigningRotation>, Failure> {
        let now = now();
        // What is to be refused at once must not sign any longer.
        let from = if overlap == 0 { now } else { now + LEAD };
        let mut keys: Vec<RingKey> = ring.keys.iter().map(|(key, _)| *key).collect();
        for key in &mut keys {
            let until = from.saturating_add(overlap);
            key.until = Some(key.until.map_or(until, |before| before.min(until)));
        }
        keys.retain(|key| key.until.is_some_and(|until| until > now));
        if keys.len() >= MOST_KEYS {
            return Err(Failure::unavailable(
                "the key was replaced too often in a row; wait until the older ones are over, or replace it with overlap 0s",
            ));
        }
        let old_until = keys.iter().filter_map(|key| key.until).max();
        let number = ring.newest().map_or(0, |newest| newest.number) + 1;
        keys.push(RingKey { number, from, until: None });
        let key = self.key(number).await?;
        let audited = RecordAudit {
            author: author.clone(),
            action: "broker.rotate".to_owned(),
            tenant: None,
            name: "signing key".to_owned(),
            changes: json!({"key": key.id, "overlapSeconds": overlap}).to_string(),
        };
        let written = self.write(&keys, ring.number, Some(audited)).await?;
        let rotation =
            SigningRotation { key: key.id, signs_from: Moment(from), old_until: old_until.map(Moment) };
        Ok(matches!(written, RecordWritten::Done(_)).then_some(rotation))
    }

    async fn write(
        &self,
        keys: &[RingKey],
        expected: i64,
        audited: Option<RecordAudit>,
    ) -> Result<RecordWritten, Failure> {
        let body = serde_json::to_string(keys).map_err(|_| Failure::internal("a value cannot be written"))?;
        let write = RecordWrite {
            kind: KIND.to_owned(),
            id: ID.to_owned(),
            body: Some(body),
            expected: Some(expected),
            audited,
        };
        Ok(self.store.write_record(&write).await?)
    }

    /// Reads the record; the first key is there without one.
    async fn look(&self) -> Result<Arc<Ring>, Failure> {
        let record = self.store.record(KIND, ID).await?;
        let number = record.as_ref().map_or(0, |record| record.number);
        let known = self.ring.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known.filter(|known| known.number == number) {
            return Ok(known);
        }
        let told = record.and_then(|record| serde_json::from_str(&record.body?).ok());
        let told: Vec<RingKey> = told.unwrap_or_else(|| vec![RingKey { number: 0, from: 0, until: None }]);
        let mut keys = Vec::new();
        for key in told.into_iter().take(2 * MOST_KEYS) {
            keys.push((key, self.key(key.number).await?));
        }
        let ring = Arc::new(Ring { keys, number });
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&ring));
        self.changes.fetch_add(1, Ordering::AcqRel);
        Ok(ring)
    }

    /// The key of that number. Each but the first has randomness of its own: whoever knows one knows no other.
    async fn key(&self, number: u64) -> Result<SigningKey, Failure> {
        let mut name = SHARED_KEY.to_owned();
        if number > 0 {
            // Writing to a String cannot fail.
            let _ = write!(name, " signing {number}");
        }
        let shared = self.store.shared_key(&name).await?;
        SigningKey::from_shared(&shared, &self.whose)
    }
}

impl SigningKey {
    fn from_shared(shared: &[u8; 32], whose: &str) -> Result<Self, Failure> {
        let shared = hmac::Key::new(hmac::HMAC_SHA256, shared);
        let seed = hmac::sign(&shared, format!("sign {whose}").as_bytes());
        let pair = Ed25519KeyPair::from_seed_unchecked(seed.as_ref())
            .map_err(|_| Failure::internal("the keys of the broker cannot be made"))?;
        let public = ring::digest::digest(&ring::digest::SHA256, pair.public_key().as_ref());
        Ok(Self { id: hexadecimal(&public.as_ref()[..8]), pair })
    }

    fn has_signed(&self, signed: &str, signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, self.pair.public_key().as_ref());
        key.verify(signed.as_bytes(), signature).is_ok()
    }
}

impl Ring {
    fn newest(&self) -> Option<RingKey> {
        self.keys.last().map(|(key, _)| *key)
    }

    /// Those whose tokens are good.
    fn shown(&self) -> impl Iterator<Item = &SigningKey> {
        let now = now();
        let is_shown = move |key: &RingKey| key.until.is_none_or(|until| until > now);
        self.keys.iter().filter(move |(key, _)| is_shown(key)).map(|(_, key)| key)
    }

    /// A signed token with those claims.
    pub(crate) fn sign(&self, claims: &Value) -> Result<String, Failure> {
        let now = now();
        let mut newest_first = self.keys.iter().rev();
        let signing = newest_first.find(|(key, _)| key.from <= now).or(self.keys.first());
        let (_, key) = signing.ok_or_else(|| Failure::internal("there is no key to sign with"))?;
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let head = json!({"alg": "EdDSA", "typ": "at+jwt", "kid": key.id});
        let signed = format!("{}.{}", part(&head), part(claims));
        let signature = key.pair.sign(signed.as_bytes());
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref())))
    }

    /// What a token says that was signed with one of these keys.
    pub(crate) fn verified(&self, token: &str) -> Option<Value> {
        let (signed, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        self.shown().find(|key| key.has_signed(signed, &signature))?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(signed.split('.').nth(1)?).ok()?).ok()
    }

    /// What checks those signatures (RFC 7517, 8037).
    pub(crate) fn public(&self) -> Value {
        let entry = |key: &SigningKey| {
            let x = URL_SAFE_NO_PAD.encode(key.pair.public_key().as_ref());
            json!({"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": key.id, "x": x})
        };
        json!({"keys": self.shown().map(entry).collect::<Vec<Value>>()})
    }
}

#[cfg(test)]
mod tests {
    use toolrail_store::StoreUrl;

    use super::*;

    async fn two_replicas() -> [SigningKeys; 2] {
        let store = toolrail_store::open(&StoreUrl::Memory).await.unwrap();
        [(); 2].map(|()| SigningKeys::new(Arc::clone(&store), "https://id".to_owned()))
    }

    fn author() -> Author {
        Author { who: "ann".to_owned(), address: None, via: "cli".to_owned() }
    }

    fn kid(token: &str) -> Value {
        let head = URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
        serde_json::from_slice::<Value>(&head).unwrap()["kid"].clone()
    }

    #[tokio::test]
    async fn a_new_key_is_shown_before_it_signs_and_the_old_one_stays_good() {
        let [one, other] = two_replicas().await;
        one.tend().await.unwrap();
        let before = other.ring().await.unwrap().sign(&json!({"sid": "a"})).unwrap();
        let seen = other.changes();
        let rotation = one.rotate(None, &author()).await.unwrap();
        assert!(rotation.signs_from >= Moment(now() + LEAD - 1));
        assert!(rotation.old_until > Some(Moment(now() + 86_400)));
        other.tend().await.unwrap();
        assert!(other.changes() > seen);
        let ring = other.ring().await.unwrap();
        assert_eq!(ring.public()["keys"].as_array().unwrap().len(), 2);
        assert_eq!(ring.verified(&before).unwrap()["sid"], "a");
        let still = ring.sign(&json!({})).unwrap();
        assert_eq!(kid(&still), kid(&before), "not everybody has seen the new one");
        // When everybody has.
        let mut keys: Vec<RingKey> = ring.keys.iter().map(|(key, _)| *key).collect();
        keys[1].from = now() - 1;
        one.write(&keys, ring.number, None).await.unwrap();
        let after = other.look().await.unwrap().sign(&json!({})).unwrap();
        assert_eq!(kid(&after), json!(rotation.key));
        assert!(one.look().await.unwrap().verified(&after).is_some());
    }

    #[tokio::test]
    async fn without_an_overlap_the_old_key_is_gone_at_once() {
        let [one, other] = two_replicas().await;
        let before = one.ring().await.unwrap().sign(&json!({})).unwrap();
        let rotation = one.rotate(Some(0), &author()).await.unwrap();
        let ring = other.look().await.unwrap();
        assert!(ring.verified(&before).is_none());
        assert_eq!(kid(&ring.sign(&json!({})).unwrap()), json!(rotation.key));
        assert_eq!(ring.public()["keys"].as_array().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn an_old_key_is_replaced_unasked_by_one_replica() {
        let [one, other] = two_replicas().await;
        one.tend().await.unwrap();
        let ring = one.look().await.unwrap();
        let old = [RingKey { number: 0, from: now() - LIFETIME - 1, until: None }];
        one.write(&old, ring.number, None).await.unwrap();
        for replica in [&one, &other] {
            replica.tend().await.unwrap();
        }
        let ring = one.look().await.unwrap();
        assert_eq!(ring.keys.len(), 2, "once, not by each");
    }

    #[tokio::test]
    async fn keys_that_are_replaced_again_and_again_are_bounded() {
        let [one, _] = two_replicas().await;
        for _ in 1..MOST_KEYS {
            one.rotate(None, &author()).await.unwrap();
        }
        assert!(one.rotate(None, &author()).await.unwrap_err().about.contains("too often"));
        one.rotate(Some(0), &author()).await.unwrap();
        assert_eq!(one.ring().await.unwrap().keys.len(), 1);
    }
}
