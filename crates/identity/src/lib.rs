//! Who makes a request: the keys of clients, kept in the store as keyed hashes and known to every gateway on it; and the tokens of
//! other issuers (`tokens`).
//!
//! `key.rs` is what a client holds, `key_record.rs` what the store keeps of it. A `Keyring` makes, rotates and revokes keys, for
//! the command line and the REST interface; a `Directory` has those there are, and tells who a request comes from. A
//! `RecordFollower` brings it, and others who hold records in memory, what is new in the store.

mod directory;
mod key;
mod key_record;
mod keyring;
mod record_follower;
mod signed_in;
mod tokens;

pub use directory::{Directory, Rejection};
pub use key::{KeyText, LONGEST_KEY};
pub use key_record::{KeyView, WrongName};
pub use keyring::{KeyError, Keyring, NewKey};
pub use record_follower::RecordFollower;
pub use signed_in::{Moment, SessionView, SignedIn, SigningRotation};
pub use tokens::{
    Algorithm, ClaimNames, FetchDocument, Grant, IdTokens, IssuerSettings, TokenRejection, Tokens,
    Withdrawal, claims_for_rules, granted_to, is_safe_url, is_token,
};
