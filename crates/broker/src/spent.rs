//! Which sign-ins came back from the provider already: each may do so once, so that nobody has us ask the provider again and again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::sessions::now;

/// The most that are remembered; when there are more, those that come back first are forgotten first.
const MOST: usize = 20_000;

/// Sign-ins that came back.
#[derive(Default)]
pub(crate) struct SpentStates(Mutex<HashMap<String, u64>>);

impl SpentStates {
    /// Notes that one has come back, which is good until then; false if it had before.
    pub(crate) fn take(&self, seed: &str, until: u64) -> bool {
        let mut spent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if spent.len() >= MOST {
            let now = now();
            spent.retain(|_, until| *until > now);
        }
        if spent.len() >= MOST {
            let first = spent.iter().min_by_key(|(_, until)| **until).map(|(seed, _)| seed.clone());
            first.and_then(|first| spent.remove(&first));
        }
        spent.insert(seed.to_owned(), until).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comes_back_once_and_not_too_many_are_remembered() {
        let (spent, until) = (SpentStates::default(), now() + 900);
        assert!(spent.take("a", until) && !spent.take("a", until));
        for number in 0..MOST + 10 {
            assert!(spent.take(&number.to_string(), until + number as u64));
        }
        assert!(spent.0.lock().unwrap().len() <= MOST);
    }
}
