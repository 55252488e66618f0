//! The public keys of an issuer (RFC 7517). The arithmetic is ring's, which is in the tree already: a library for tokens would bring
//! a second set of it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;

use super::jwt::{Algorithm, Unverified};

/// The most keys of one issuer that are looked at.
const MOST_KEYS: usize = 100;

/// The keys of an issuer.
#[derive(Debug, Default)]
pub(super) struct KeySet(Vec<PublicKey>);

/// One of them.
#[derive(Debug, PartialEq, Eq)]
struct PublicKey {
    id: Option<String>,
    algorithm: Option<Algorithm>,
    material: Material,
}

#[derive(Debug, PartialEq, Eq)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Deserialize)]
struct JwksDocument {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Reads a document; keys of other kinds are left out.
    pub(super) fn read(document: &[u8]) -> Result<Self, String> {
        let document: JwksDocument = serde_json::from_slice(document)
            .map_err(|error| format!("it answered something that is no list of keys: {error}"))?;
        let keys: Vec<PublicKey> = document
            .keys
            .into_iter()
            .take(MOST_KEYS)
            .filter_map(|key| public_key(serde_json::from_value(key).ok()?))
            .collect();
        // None that can check a signature: all that there were are withdrawn.
        Ok(Self(keys))
    }

    /// Whether there is a key that may have signed that token.
    pub(super) fn may_have_signed(&self, token: &Unverified) -> bool {
        self.candidates(token).next().is_some()
    }

    /// Whether the issuer signed that token.
    pub(super) fn signed(&self, token: &Unverified) -> bool {
        self.candidates(token).any(|key| key.verifies(token))
    }

    /// Whether the same keys are here.
    pub(super) fn has_all_of(&self, before: &Self) -> bool {
        before.0.iter().all(|key| self.0.contains(key))
    }

    fn candidates(&self, token: &Unverified) -> impl Iterator<Item = &PublicKey> {
        let (algorithm, wanted) = (token.algorithm, token.key_id.as_deref());
        self.0.iter().filter(move |key| {
            let is_named = wanted.is_none() || key.id.as_deref() == wanted;
            is_named && key.algorithm.is_none_or(|own| own == algorithm) && key.material.takes(algorithm)
        })
    }
}

impl Material {
    /// A key is for its own kind of signature alone, whatever the token says.
    fn takes(&self, algorithm: Algorithm) -> bool {
        use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
        match self {
            Self::Rsa { .. } => matches!(algorithm, RS256 | RS384 | RS512 | PS256 | PS384 | PS512),
            Self::P256(_) => algorithm == ES256,
            Self::P384(_) => algorithm == ES384,
            Self::Ed25519(_) => algorithm == EdDSA,
        }
    }
}

impl PublicKey {
    fn verifies(&self, token: &Unverified) -> bool {
        let by = |way: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(way, key).verify(token.signed, &token.signature).is_ok()
        };
        match &self.material {
            Material::Rsa { n, e } => rsa_way(token.algorithm).is_some_and(|way| {
                RsaPublicKeyComponents { n, e }.verify(way, token.signed, &token.signature).is_ok()
            }),
            Material::P256(point) => by(&ECDSA_P256_SHA256_FIXED, point),
            Material::P384(point) => by(&ECDSA_P384_SHA384_FIXED, point),
            Material::Ed25519(point) => by(&ED25519, point),
        }
    }
}

fn rsa_way(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    match algorithm {
        Algorithm::RS256 => Some(&RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Some(&RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Some(&RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Some(&RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Some(&RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Some(&RSA_PSS_2048_8192_SHA512),
        Algorithm::ES256 | Algorithm::ES384 | Algorithm::EdDSA => None,
    }
}

fn public_key(key: Jwk) -> Option<PublicKey> {
    if key.usage.as_deref().is_some_and(|usage| usage != "sig") {
        return None;
    }
    let bytes = |part: &Option<String>| URL_SAFE_NO_PAD.decode(part.as_deref()?.trim_end_matches('=')).ok();
    let point = |length: usize| {
        let (x, y) = (bytes(&key.x)?, bytes(&key.y)?);
        (x.len() == length && y.len() == length).then(|| [vec![4], x, y].concat())
    };
    let material = match (key.kty.as_str(), key.crv.as_deref()) {
        ("RSA", _) => Material::Rsa { n: without_zeros(bytes(&key.n)?), e: without_zeros(bytes(&key.e)?) },
        ("EC", Some("P-256")) => Material::P256(point(32)?),
        ("EC", Some("P-384")) => Material::P384(point(48)?),
        ("OKP", Some("Ed25519")) => Material::Ed25519(bytes(&key.x)?),
        _ => return None,
    };
    let algorithm = match key.alg.as_deref() {
        // A way that we do not know: the key is for that alone.
        Some(word) => Some(Algorithm::parse(word)?),
        None => None,
    };
    Some(PublicKey { id: key.kid, algorithm, material })
}

/// ring takes numbers without leading zeros, which some issuers write.
fn without_zeros(mut number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.drain(..zeros);
    number
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // Made with openssl.
    const N: &str = "tOED1eZVBUR-zGggasKwVxwh9SvQMzThyw2ICAv4BBO_qAk-pkZrDPYsOu2WwBQ3SZbmgWJEFhOGiqEEnx79kxiVVXRxc2vg1EnXZmR2fJ8pbjvS-6uk3lWeE4mMjuJDdSlgw15Q62zW1UrhZEKgEh0mVbmQ0BmeP4XDYEiScfs-QesLPn-NT1BCYT9XrcDwlMKsS5CNKqiy7um9lmGQeuapSuLg8gAI7q4fXTEz9t3bIuO0MSwLRorin_y4Q005iK8PgvH_o5SheaSCyJn1JB5P8SxGM21akDhiaS-1wwBQWcFEKH0Ld8jBj74SCcIavuxjkRYk9wmAKiUWGANFJw";
    const RS: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6InIifQ.eyJzdWIiOiJ1In0.STYw4WChPWUJHu7jIl38To1qosMsOIqzXPHNPGdItUb6F3MTw8YMZ_WOICHag_Oy_sGVhE8NASnKP4zH0EBml8imir_el5aOGlmbLpOn-vct6IlHLBJjiu-Y6Cl0zwsksFuiRHwFoGgDEnr7HC8lEXM6VGkkSzaqqublB9tMGQLuqDf9-7BM-a0DIuerX1p7obyBcPnbw0jpXLNX3rabUT_ncQKX2YHyEqyxCHz5jh-0eXUApmGBDxT707S0Y3TLLzdUj_K5vxuLfR6v75kVFeZvnxDwbkNgb1x3OjpPDOMn9tAWN1g7AKpwkHbsnHHf5xKhSAXy0eUs_2thu_8gfw";
    const PS: &str = "eyJhbGciOiJQUzI1NiIsImtpZCI6InIifQ.eyJzdWIiOiJ1In0.nSFPlz3AQFPpEuVR7e0iVvzHorPP4k8-6HnO7qHpww13vVs6HGOzYHYDSBSLKq80hXi2LBl6fm0io0XgZQT3mZnMZ2ZkIbSaNIdU321tixBkTMJ_LSfV6HfQ0_NLB3FepeuoXcROsFN5cfpHgdIzaaIkJrSrIU68uGpgsRPsuLwRO5z2p4YGfY16q6ZCDp23qc9A3Qf5KjV-WeSX2L5GzCmSt9Px8gIWjCbYVXo0JVQTkSdIh8bGG7a0DTgq1_IZbs2M2aWsDMR3JLqWBFGC9VunLN9yq1Aa-6iCvODtBapOwmUisue5CQxf8Vsm3t8LapevAD4wsEa6JF4_1iujvg";

    fn keys(more: &serde_json::Value) -> KeySet {
        let mut key = json!({"kty": "RSA", "kid": "r", "n": N, "e": "AQAB"});
        for (name, value) in more.as_object().unwrap() {
            key[name] = value.clone();
        }
        KeySet::read(
            json!({"keys": [{"kty": "oct", "k": "AAAA"}, {"broken": 1}, key]}).to_string().as_bytes(),
        )
        .unwrap()
    }

    #[test]
    fn rsa_signs_in_either_way() {
        let all = keys(&json!({}));
        for token in [RS, PS] {
            let read = Unverified::read(token).unwrap();
            assert!(all.may_have_signed(&read) && all.signed(&read));
            let (head, signature) = token.rsplit_once('.').unwrap();
            let other = format!("{head}.{}", signature.chars().rev().collect::<String>());
            assert!(!Unverified::read(&other).is_ok_and(|other| all.signed(&other)));
        }
        // A signature of one way is none of the other, and a key may be for one of them.
        let crossed = RS.replacen(RS.split('.').next().unwrap(), PS.split('.').next().unwrap(), 1);
        assert!(!all.signed(&Unverified::read(&crossed).unwrap()));
        let only_ps = keys(&json!({"alg": "PS256"}));
        assert!(!only_ps.may_have_signed(&Unverified::read(RS).unwrap()));
        assert!(only_ps.signed(&Unverified::read(PS).unwrap()));
    }

    #[test]
    fn keys_for_other_things_are_none() {
        for more in
            [json!({"use": "enc"}), json!({"alg": "RSA-OAEP"}), json!({"kty": "EC"}), json!({"n": "!"})]
        {
            let mut key = json!({"kty": "RSA", "kid": "r", "n": N, "e": "AQAB"});
            key.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let read = KeySet::read(json!({"keys": [key]}).to_string().as_bytes()).unwrap();
            assert!(read.0.is_empty(), "{more}");
        }
        assert!(KeySet::read(b"[]").is_err() && KeySet::read(b"{\"keys\": 1}").is_err());
    }
}
