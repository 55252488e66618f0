//! What may be done once only: a client that answers one question again and again must not fill the store with letters.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many are remembered: the newest.
const MOST: usize = 10_000;

/// Remembers what was done.
#[derive(Default)]
pub(super) struct Once(Mutex<KnownIds>);

#[derive(Default)]
struct KnownIds {
    known: HashSet<Box<str>>,
    order: VecDeque<Box<str>>,
}

impl Once {
    /// Whether this is the first time.
    pub(super) fn first(&self, what: &str) -> bool {
        let mut done = self.lock();
        if !done.known.insert(what.into()) {
            return false;
        }
        done.order.push_back(what.into());
        if done.order.len() > MOST
            && let Some(oldest) = done.order.pop_front()
        {
            done.known.remove(&oldest);
        }
        true
    }

    /// It was not done after all; mostly the newest.
    pub(super) fn forget(&self, what: &str) {
        let mut done = self.lock();
        if done.known.remove(what)
            && let Some(place) = done.order.iter().rposition(|known| **known == *what)
        {
            done.order.remove(place);
        }
    }

    fn lock(&self) -> MutexGuard<'_, KnownIds> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_time_is_the_first_unless_it_came_to_nothing() {
        let once = Once::default();
        assert!(once.first("one") && !once.first("one") && once.first("other"));
        once.forget("one");
        assert!(once.first("one"));
        for number in 0..MOST {
            assert!(once.first(&number.to_string()));
        }
        assert!(once.first("one"), "so long ago that it is forgotten");
        let done = once.lock();
        assert_eq!((done.known.len(), done.order.len()), (MOST, MOST));
    }
}
