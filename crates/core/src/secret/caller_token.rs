//! The token with which a caller came, kept as long as his request is under way, for upstreams that are to be asked in his name.

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;

use super::MASK;

/// The token of a caller. Stands among the extensions of his request; it neither prints nor serialises, and is overwritten when
/// the last who has it is done.
#[derive(Clone)]
pub struct CallerToken(Arc<TokenText>);

struct TokenText(String);

impl CallerToken {
    /// That token.
    pub fn new(text: &str) -> Self {
        Self(Arc::new(TokenText(text.to_owned())))
    }

    /// The token itself; only the outbound side may ask.
    pub fn reveal(&self) -> &str {
        &self.0.0
    }
}

impl fmt::Debug for CallerToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(MASK)
    }
}

impl Drop for TokenText {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.fill(0);
        // Or else nobody would seem to read the zeros.
        black_box(&bytes);
    }
}
