//! The tokens that were given for those of callers, until they expire.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex as BlockingMutex, PoisonError};
use std::time::Instant;

use ring::digest::{SHA256, digest};
use tokio::sync::Mutex;
use toolrail_core::{CallerToken, Secret};

/// The most that are kept.
const MOST: usize = 10_000;

/// A token that was given for that of a caller.
#[derive(Debug)]
pub(super) struct Exchanged {
    pub(super) token: Secret,
    pub(super) until: Instant,
}

impl Exchanged {
    /// Whether it is still of use.
    pub(super) fn is_good(&self) -> bool {
        self.until > Instant::now()
    }
}

/// Room for one token; held by whoever asks for it.
type TokenSlot = Arc<Mutex<Option<Exchanged>>>;

/// The tokens that were given, by the number of who asked for them and the hash of the caller's token.
#[derive(Default)]
pub(super) struct ExchangedTokens(BlockingMutex<HashMap<(u64, [u8; 32]), TokenSlot>>);

impl ExchangedTokens {
    /// Those of this process.
    pub(super) fn of_process() -> &'static Self {
        static ALL: LazyLock<ExchangedTokens> = LazyLock::new(ExchangedTokens::default);
        &ALL
    }

    /// The room for the token that stands for that of a caller.
    pub(super) fn slot(&self, number: u64, token: &CallerToken) -> TokenSlot {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, token.reveal().as_bytes()).as_ref());
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= MOST && !slots.contains_key(&(number, hash)) {
            make_room(&mut slots);
        }
        Arc::clone(slots.entry((number, hash)).or_default())
    }
}

/// Forgets what is of no use any more, and if that is nothing, some of what nobody uses right now.
fn make_room(slots: &mut HashMap<(u64, [u8; 32]), TokenSlot>) {
    let is_good = |slot: &TokenSlot| {
        slot.try_lock().map_or(true, |exchanged| exchanged.as_ref().is_some_and(Exchanged::is_good))
    };
    slots.retain(|_, slot| Arc::strong_count(slot) > 1 || is_good(slot));
    if slots.len() >= MOST {
        let idle: Vec<_> =
            slots.iter().filter(|(_, slot)| Arc::strong_count(slot) == 1).map(|(key, _)| *key).collect();
        for key in idle.into_iter().take(MOST / 10) {
            slots.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn tokens_are_kept_apart_and_bounded() {
        let tokens = ExchangedTokens::default();
        let one = CallerToken::new("one");
        let slot = tokens.slot(1, &one);
        assert!(Arc::ptr_eq(&slot, &tokens.slot(1, &one)));
        assert!(!Arc::ptr_eq(&slot, &tokens.slot(2, &one)), "another definition");
        assert!(!Arc::ptr_eq(&slot, &tokens.slot(1, &CallerToken::new("two"))), "another caller");
        for number in 0..3 * MOST as u64 {
            let slot = tokens.slot(7, &CallerToken::new(&number.to_string()));
            let until = Instant::now() + Duration::from_hours(1);
            *slot.try_lock().unwrap() = Some(Exchanged { token: Secret::new("t"), until });
        }
        assert!(tokens.0.lock().unwrap().len() <= MOST);
        assert!(Arc::ptr_eq(&slot, &tokens.slot(1, &one)), "what is in use stays");
    }
}
