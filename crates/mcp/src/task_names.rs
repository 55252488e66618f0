//! The tasks of 2025-11-25 that the client of one session has at upstream servers: what the servers call them, and what the
//! client does. Only the newest are remembered; older ones can still be asked for by their ids.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most tasks that one session lists.
const MOST: usize = 100;

/// The tasks of one session, the newest last.
#[derive(Default)]
pub(crate) struct TaskNames(Mutex<VecDeque<Named>>);

struct Named {
    inside: String,
    outside: String,
}

impl TaskNames {
    /// Notes what the client calls a task.
    pub(crate) fn note(&self, inside: String, outside: &str) {
        let mut named = self.lock();
        if named.iter().any(|known| known.inside == inside) {
            return;
        }
        if named.len() >= MOST {
            // A server that makes many displaces its own before those of others.
            let server = server_of(&inside);
            let own = named.iter().position(|known| server_of(&known.inside) == server);
            named.remove(own.unwrap_or(0));
        }
        named.push_back(Named { inside, outside: outside.to_owned() });
    }

    /// What the client calls a task, if it has it.
    pub(crate) fn outside(&self, inside: &str) -> Option<String> {
        let named = self.lock();
        named.iter().find(|known| known.inside == inside).map(|known| known.outside.clone())
    }

    /// Every task, as the client calls them.
    pub(crate) fn all(&self) -> Vec<String> {
        self.lock().iter().map(|known| known.outside.clone()).collect()
    }

    /// Forgets a task that is no longer there.
    pub(crate) fn forget(&self, outside: &str) {
        self.lock().retain(|known| known.outside != outside);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Named>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn server_of(inside: &str) -> &str {
    inside.split_once('~').map_or(inside, |(server, _)| server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_remembers_its_newest_tasks_once() {
        let names = TaskNames::default();
        for number in 0..2 * MOST {
            names.note(format!("up~{number}"), &format!("sealed-{number}"));
            names.note(format!("up~{number}"), "again");
        }
        assert_eq!((names.all().len(), names.all()[0].as_str()), (MOST, "sealed-100"));
        assert_eq!((names.outside("up~99"), names.outside("up~199")), (None, Some("sealed-199".to_owned())));
        names.forget("sealed-199");
        assert_eq!(names.outside("up~199"), None);
    }
}
