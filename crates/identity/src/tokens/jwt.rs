//! A signed token as it is written (RFC 7515, 7519): three parts, of which the first says how the last was made.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A longer text is no token; it is not looked at.
pub(super) const LONGEST_TOKEN: usize = 16 << 10;

/// How a token may be signed. Neither `none` nor a secret that both sides have is among them: only the issuer can sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
pub enum Algorithm {
    /// RSA with PKCS #1 padding and SHA-256.
    RS256,
    /// The same with SHA-384.
    RS384,
    /// The same with SHA-512.
    RS512,
    /// RSA-PSS with SHA-256.
    PS256,
    /// The same with SHA-384.
    PS384,
    /// The same with SHA-512.
    PS512,
    /// ECDSA on P-256 with SHA-256.
    ES256,
    /// ECDSA on P-384 with SHA-384.
    ES384,
    /// Ed25519.
    EdDSA,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::RS256,
        Self::RS384,
        Self::RS512,
        Self::PS256,
        Self::PS384,
        Self::PS512,
        Self::ES256,
        Self::ES384,
        Self::EdDSA,
    ];
    /// Those that are taken where the configuration lists none: what identity providers use.
    pub const USUAL: [Self; 4] = [Self::RS256, Self::PS256, Self::ES256, Self::EdDSA];

    /// Its name in a token.
    pub const fn word(self) -> &'static str {
        match self {
            Self::RS256 => "RS256",
            Self::RS384 => "RS384",
            Self::RS512 => "RS512",
            Self::PS256 => "PS256",
            Self::PS384 => "PS384",
            Self::PS512 => "PS512",
            Self::ES256 => "ES256",
            Self::ES384 => "ES384",
            Self::EdDSA => "EdDSA",
        }
    }

    /// The one of that name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.word() == word)
    }
}

/// What the first part says.
#[derive(Debug, Deserialize)]
struct JoseHeader {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
}

/// A token that was read and not yet believed.
#[derive(Debug)]
pub(super) struct Unverified<'t> {
    pub(super) algorithm: Algorithm,
    pub(super) key_id: Option<String>,
    pub(super) claims: Map<String, Value>,
    /// What was signed.
    pub(super) signed: &'t [u8],
    pub(super) signature: Vec<u8>,
}

impl<'t> Unverified<'t> {
    /// Reads a token, or says why it is none.
    pub(super) fn read(text: &'t str) -> Result<Self, String> {
        let wrong = || "what was shown is no signed token".to_owned();
        if text.len() > LONGEST_TOKEN {
            return Err(format!("the token is longer than {LONGEST_TOKEN} characters"));
        }
        let (signed, signature) = text.rsplit_once('.').ok_or_else(wrong)?;
        let (header, claims) = signed.split_once('.').ok_or_else(wrong)?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| wrong());
        let header: Map<String, Value> = serde_json::from_slice(&decode(header)?).map_err(|_| wrong())?;
        // Extensions that must be understood. We understand none.
        let has_extensions = header.contains_key("crit");
        let header: JoseHeader = serde_json::from_value(Value::Object(header)).map_err(|_| wrong())?;
        let claims: Map<String, Value> = serde_json::from_slice(&decode(claims)?).map_err(|_| wrong())?;
        if has_extensions {
            return Err("the token asks for extensions (crit) that are not known here".to_owned());
        }
        let typ = header.typ.as_deref().unwrap_or("JWT");
        let typ = typ.strip_prefix("application/").unwrap_or(typ);
        if !["jwt", "at+jwt"].iter().any(|known| known.eq_ignore_ascii_case(typ)) {
            return Err("the token is of another type than JWT or at+jwt".to_owned());
        }
        let algorithm = Algorithm::parse(&header.alg).ok_or(
            "the token is signed in a way that is not taken here; ask its issuer for RS256 or ES256",
        )?;
        let signature = decode(signature)?;
        Ok(Self { algorithm, key_id: header.kid, claims, signed: signed.as_bytes(), signature })
    }

    /// A claim that is a text.
    pub(super) fn text(&self, claim: &str) -> Option<&str> {
        self.claims.get(claim)?.as_str()
    }
}

/// Whether a text looks like a token: three parts with dots between them.
pub fn is_token(text: &str) -> bool {
    text.bytes().filter(|byte| *byte == b'.').count() == 2
}

/// What is at a path such as `realm_access.roles`. A claim may have dots in its own name, as those that are URLs do.
pub(super) fn value_at<'c>(claims: &'c Map<String, Value>, path: &str) -> Option<&'c Value> {
    claims.get(path).or_else(|| {
        let mut steps = path.split('.');
        let first = claims.get(steps.next()?)?;
        steps.try_fold(first, |value, step| value.get(step))
    })
}

/// What a claim says at a path such as `realm_access.roles`, as words: a text, the words of `scope`, or the texts of a list.
pub(super) fn words_at<'c>(claims: &'c Map<String, Value>, path: &str) -> Vec<&'c str> {
    match value_at(claims, path) {
        Some(Value::String(text)) if path == "scope" || path == "scp" => {
            text.split_ascii_whitespace().collect()
        }
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn token(header: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.{}", part(header), part(&json!({"sub": "u"})), URL_SAFE_NO_PAD.encode("signature"))
    }

    #[test]
    fn a_token_that_asks_for_a_way_around_its_signature_is_none() {
        let read = |header: Value| Unverified::read(&token(&header)).map(|_| ());
        assert_eq!(read(json!({"alg": "RS256", "kid": "k"})), Ok(()));
        assert_eq!(read(json!({"alg": "ES256", "typ": "application/at+jwt"})), Ok(()));
        for alg in ["none", "None", "HS256", "rs256", "", "RS256 "] {
            assert!(read(json!({"alg": alg})).unwrap_err().contains("not taken here"), "{alg}");
        }
        assert!(read(json!({"alg": "RS256", "crit": ["b64"], "b64": false})).unwrap_err().contains("crit"));
        assert!(read(json!({"alg": "RS256", "typ": "logout+jwt"})).unwrap_err().contains("another type"));
        for text in ["", ".", "..", "a.b", "a.b.c", "a.b.c.d", &".".repeat(LONGEST_TOKEN + 1)] {
            assert!(Unverified::read(text).is_err(), "{text:.20}");
        }
    }

    #[test]
    fn claims_are_found_by_their_path() {
        let claims = json!({
            "scope": "a b", "groups": ["x", 1, "y"], "realm_access": {"roles": ["r"]},
            "https://example.com/role": "admin", "n": 1
        });
        let claims = claims.as_object().unwrap();
        assert_eq!(words_at(claims, "scope"), ["a", "b"]);
        assert_eq!(words_at(claims, "groups"), ["x", "y"]);
        assert_eq!(words_at(claims, "realm_access.roles"), ["r"]);
        assert_eq!(words_at(claims, "https://example.com/role"), ["admin"]);
        assert!(words_at(claims, "n").is_empty() && words_at(claims, "realm_access.no").is_empty());
    }
}
