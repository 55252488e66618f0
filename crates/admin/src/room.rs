//! Room for large request bodies: how much memory they may take together, whoever sends them.

use tokio::sync::{Semaphore, SemaphorePermit};

/// The most bytes of large bodies at once. A single one of the largest fits twice.
static ROOM: Semaphore = Semaphore::const_new(512 * 1024 * 1024);
/// Up to this many bytes a body needs no room: most are smaller, and large ones must not keep them out.
const FREE: usize = 256 * 1024;

/// The room of one body, given back when this goes.
pub(crate) struct Room {
    all: &'static Semaphore,
    taken: Option<SemaphorePermit<'static>>,
}

/// Others take up too much.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

impl Room {
    /// None yet.
    pub(crate) fn none() -> Self {
        Self { all: &ROOM, taken: None }
    }

    /// Sees that there is room for a body of that size, in place of the size it had before.
    pub(crate) fn grow(&mut self, size: usize) -> Result<(), NoRoom> {
        let taken = self.taken.as_ref().map_or(0, SemaphorePermit::num_permits);
        if size <= FREE.max(taken) {
            return Ok(());
        }
        let more = u32::try_from(size - taken).map_err(|_| NoRoom)?;
        let more = self.all.try_acquire_many(more).map_err(|_| NoRoom)?;
        match &mut self.taken {
            Some(taken) => taken.merge(more),
            None => self.taken = Some(more),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_bodies_share_their_room_and_small_ones_need_none() {
        static SMALL: Semaphore = Semaphore::const_new(1024 * 1024);
        let none = || Room { all: &SMALL, taken: None };
        let (mut first, mut second, mut third) = (none(), none(), none());
        assert_eq!(first.grow(300_000), Ok(()));
        assert_eq!(first.grow(600_000), Ok(()));
        assert_eq!(second.grow(400_000), Ok(()));
        assert_eq!(second.grow(500_000), Err(NoRoom));
        assert_eq!(third.grow(FREE), Ok(()));
        drop(first);
        assert_eq!(second.grow(1024 * 1024), Ok(()));
        drop(second);
        assert_eq!(SMALL.available_permits(), 1024 * 1024);
    }
}
