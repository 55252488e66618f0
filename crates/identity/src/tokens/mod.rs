//! Tokens of other issuers (OpenID Connect, OAuth 2.1): which are taken, and who their holders are.
//!
//! `jwt` reads a token, `jwks` has the keys that check its signature, `issuer` what else must be true, `grant` what its holder may do;
//! `id_token` is for tokens that somebody signs in with.
//! A token that was found good is known again by its hash until it expires or its issuer withdraws the key that signed it.

mod grant;
mod id_token;
mod issuer;
mod jwks;
mod jwt;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ring::digest::{SHA256, digest};
use toolrail_core::{DigestMap, Identity, Principal, Role};

use crate::key_record::now;
use grant::{NoGrant, identity_of};
use issuer::{Issuer, REST};
use jwt::Unverified;

pub use grant::{ClaimNames, Grant};
pub use id_token::{IdTokens, claims_for_rules, granted_to};
pub use issuer::{FetchDocument, IssuerSettings, is_safe as is_safe_url};
pub use jwt::{Algorithm, is_token};

/// The most tokens that are known again.
const MOST_KNOWN: usize = 10_000;
/// How often what has expired is ended.
const LOOK: Duration = Duration::from_secs(1);

/// Why the holder of a token is not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenRejection {
    /// The token is not good; why.
    Bad(String),
    /// It is good, and gives nothing here.
    NothingGranted(String),
    /// The keys of its issuer, the one of that number, have to be looked at.
    KeysNeeded(usize),
    /// They cannot be had.
    KeysMissing,
}

/// The issuers whose tokens are taken.
pub struct Tokens {
    issuers: Vec<Arc<Issuer>>,
    documents: Arc<dyn FetchDocument>,
    known: Arc<KnownTokens>,
    withdrawal: Option<Arc<dyn Withdrawal>>,
}

/// Takes tokens back before they expire.
pub trait Withdrawal: Send + Sync {
    /// The issuer whose tokens these are.
    fn issuer(&self) -> &str;

    /// Whether it is known at all which were taken back.
    fn is_ready(&self) -> bool;

    /// How often the keys have changed that it signs with: those that are gone are believed no more.
    fn key_changes(&self) -> u64;

    /// Whether those of that session (`sid`) are good no more.
    fn is_over(&self, session: &str) -> bool;
}

struct KnownToken {
    issuer: usize,
    /// The session that it is of, if that can be over before the token is.
    session: Option<String>,
    until: u64,
    identity: Arc<Identity>,
}

impl Tokens {
    /// Those of these issuers, for a gateway that is reached under that address.
    pub fn new(
        issuers: Vec<IssuerSettings>,
        public_url: Option<&str>,
        documents: Arc<dyn FetchDocument>,
    ) -> Self {
        let issuers =
            issuers.into_iter().map(|settings| Arc::new(Issuer::new(settings, public_url))).collect();
        Self { issuers, documents, known: Arc::default(), withdrawal: None }
    }

    /// The same, where an issuer takes tokens back.
    #[must_use]
    pub fn with_withdrawal(self, withdrawal: Option<Arc<dyn Withdrawal>>) -> Self {
        Self { withdrawal, ..self }
    }

    /// Whether it was a token of this gateway's own by which somebody is known: it is for nobody else.
    pub fn are_own(&self, principal: &Principal) -> bool {
        let Principal::Known(identity) = principal else { return false };
        let own = self.withdrawal.as_ref().and_then(|own| {
            identity.id.strip_prefix(grant::ID_PREFIX).and_then(|id| id.strip_prefix(own.issuer()))
        });
        own.is_some_and(|subject| subject.starts_with('|'))
    }

    /// The issuers, as their tokens name them.
    pub fn issuers(&self) -> impl Iterator<Item = &str> {
        self.issuers.iter().map(|issuer| issuer.settings.issuer.as_str())
    }

    /// The scopes that any rule asks for.
    pub fn scopes(&self) -> Vec<&str> {
        let grants = self.issuers.iter().flat_map(|issuer| &issuer.settings.grants);
        let mut scopes: Vec<&str> = grants.flat_map(|grant| &grant.scopes).map(String::as_str).collect();
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    }

    /// The scopes by which somebody may have that role: those of the first rule with the least role that suffices.
    pub fn scopes_for(&self, role: Role) -> Vec<&str> {
        let grants = self.issuers.iter().flat_map(|issuer| &issuer.settings.grants);
        let sufficient = grants.filter(|grant| grant.role >= role && !grant.scopes.is_empty());
        let least = sufficient.min_by_key(|grant| grant.role);
        least.map(|grant| grant.scopes.iter().map(String::as_str).collect()).unwrap_or_default()
    }

    /// Who shows that token, as far as can be said without waiting for its issuer.
    pub fn recognise(&self, text: &str) -> Result<Principal, TokenRejection> {
        let hash = hash_of(text);
        if let Some(identity) = self.known.find(&hash) {
            return Ok(Principal::Known(identity));
        }
        let token = Unverified::read(text).map_err(TokenRejection::Bad)?;
        let claimed = token.text("iss").unwrap_or_default();
        let mut issuers = self.issuers.iter().enumerate();
        let Some((number, issuer)) = issuers.find(|(_, issuer)| issuer.settings.issuer == claimed) else {
            return Err(TokenRejection::Bad(
                "its issuer (iss) is not one whose tokens are taken here".to_owned(),
            ));
        };
        if !issuer.takes(token.algorithm) {
            return Err(TokenRejection::Bad(format!(
                "it is signed with {}, which is not taken from its issuer here",
                token.algorithm.word()
            )));
        }
        // What has expired, or is meant for others, is not worth a look at the keys.
        let until = issuer.check_claims(&token, now()).map_err(TokenRejection::Bad)?;
        let keys = issuer.keys();
        if !keys.may_have_signed(&token) {
            return Err(TokenRejection::KeysNeeded(number));
        }
        if !keys.signed(&token) {
            return Err(TokenRejection::Bad("its signature is not that of its issuer".to_owned()));
        }
        let session = self.session_of(&token, claimed)?;
        let settings = &issuer.settings;
        let identity = identity_of(claimed, &token.claims, (&settings.claims, &settings.grants));
        let identity = Arc::new(identity.map_err(refusal)?);
        let known = KnownToken { issuer: number, session, until, identity };
        Ok(Principal::Known(self.known.remember(hash, known)))
    }

    /// The session that a token is of, if its issuer can end it; refuses one whose session is over.
    fn session_of(&self, token: &Unverified, issuer: &str) -> Result<Option<String>, TokenRejection> {
        let Some(withdrawal) = self.withdrawal.as_ref().filter(|withdrawal| withdrawal.issuer() == issuer)
        else {
            return Ok(None);
        };
        if !withdrawal.is_ready() {
            return Err(TokenRejection::KeysMissing);
        }
        let session = token.text("sid").unwrap_or_default();
        if withdrawal.is_over(session) {
            return Err(TokenRejection::Bad("it was taken back; sign in again".to_owned()));
        }
        Ok(Some(session.to_owned()))
    }

    /// The same, where the keys of an issuer may have to be looked at first.
    pub async fn recognise_with(&self, issuer: usize, text: &str) -> Result<Principal, TokenRejection> {
        let Some(asked) = self.issuers.get(issuer) else {
            return self.recognise(text);
        };
        self.begin_look(issuer, REST);
        asked.looked().await;
        match self.recognise(text) {
            Err(TokenRejection::KeysNeeded(_)) if asked.has_failed() => Err(TokenRejection::KeysMissing),
            Err(TokenRejection::KeysNeeded(_)) => {
                Err(TokenRejection::Bad("its issuer has no key that may have signed it".to_owned()))
            }
            answer => answer,
        }
    }

    /// Whether a look begins now: not if there is one already, or was one within that rest.
    fn begin_look(&self, number: usize, rest: Duration) -> bool {
        let Some(issuer) = self.issuers.get(number) else { return false };
        let known = Arc::clone(&self.known);
        // Which key signed what is not kept: whoever is known by a token of this issuer shows it again.
        issuer.begin_look((&self.documents, rest), move || known.forget(|token| token.issuer == number))
    }

    /// Keeps up with the issuers, and ends what has expired, until the future is dropped.
    pub async fn follow(&self) {
        let mut looked_at = None;
        loop {
            if let Some(withdrawal) = &self.withdrawal {
                let changes = withdrawal.key_changes();
                let own = self.issuers().position(|issuer| issuer == withdrawal.issuer());
                // Those are at hand, so that nobody has to be spared. If somebody looks already, the next time.
                if looked_at != Some(changes) && own.is_some_and(|own| self.begin_look(own, Duration::ZERO)) {
                    looked_at = Some(changes);
                }
            }
            for (number, issuer) in self.issuers.iter().enumerate() {
                if issuer.is_stale() {
                    self.begin_look(number, REST);
                }
            }
            tokio::time::sleep(LOOK).await;
            let now = now();
            let is_withdrawn = |token: &KnownToken| {
                let withdrawal = self.withdrawal.as_ref().zip(token.session.as_deref());
                withdrawal.is_some_and(|(withdrawal, session)| withdrawal.is_over(session))
            };
            self.known.forget(|token| token.until <= now || is_withdrawn(token));
        }
    }

    /// Ends what all of those have open who came in with a token; for issuers that are taken no more.
    pub fn end_all(&self) {
        self.known.forget(|_| true);
    }
}

/// The tokens that were found good, by their hashes.
#[derive(Default)]
struct KnownTokens(RwLock<DigestMap<[u8; 32], KnownToken>>);

impl KnownTokens {
    fn find(&self, hash: &[u8; 32]) -> Option<Arc<Identity>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found = known.get(hash)?;
        (found.until > now()).then(|| Arc::clone(&found.identity))
    }

    /// Gives whoever was known by it first: all that he has open ends with one token.
    fn remember(&self, hash: [u8; 32], token: KnownToken) -> Arc<Identity> {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN
            && let Some(oldest) = known.iter().min_by_key(|(_, token)| token.until).map(|(hash, _)| *hash)
            && let Some(gone) = known.remove(&oldest)
        {
            // Nobody would end later what it has open.
            gone.identity.ending.come();
        }
        Arc::clone(&known.entry(hash).or_insert(token).identity)
    }

    /// Ends what those have open whose token is good no more.
    fn forget(&self, is_over: impl Fn(&KnownToken) -> bool) {
        let is_any = self.0.read().unwrap_or_else(PoisonError::into_inner).values().any(&is_over);
        if !is_any {
            return;
        }
        self.0.write().unwrap_or_else(PoisonError::into_inner).retain(|_, token| {
            let is_over = is_over(token);
            if is_over {
                token.identity.ending.come();
            }
            !is_over
        });
    }
}

fn hash_of(text: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    hash
}

fn refusal(why: NoGrant) -> TokenRejection {
    match why {
        NoGrant::NoSubject => TokenRejection::Bad("it does not say whose it is (sub)".to_owned()),
        NoGrant::Claim(told) => TokenRejection::NothingGranted(told),
        NoGrant::NoRule => TokenRejection::NothingGranted(
            "the token is good, but gives no rights here; ask for more scopes, or whoever runs the gateway for a rule".to_owned(),
        ),
    }
}
