//! How much work something that users can make long may take: steps, and the time they take. Who does the work says how
//! many steps a piece of it counts for; the clock is only read now and then.

use std::time::{Duration, Instant};

/// Steps from one look at the clock to the next.
const SLICE: u64 = 4_096;

/// What a piece of work may still take.
#[derive(Debug)]
pub struct Budget {
    /// Steps that may be taken before the clock is read again.
    slice: u64,
    /// Steps beyond those.
    rest: u64,
    within: Duration,
    /// Known from the first look at the clock on, so that small work never looks.
    deadline: Option<Instant>,
}

/// What ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// The steps.
    Steps,
    /// The time.
    Time,
}

impl Budget {
    /// So many steps, within that time from about now on.
    pub fn new(steps: u64, within: Duration) -> Self {
        let slice = steps.min(SLICE);
        Self { slice, rest: steps - slice, within, deadline: None }
    }

    /// Takes so many steps, unless that is more than is left.
    #[inline]
    pub fn spend(&mut self, steps: u64) -> Result<(), Exhausted> {
        match self.slice.checked_sub(steps) {
            Some(left) => {
                self.slice = left;
                Ok(())
            }
            None => self.spend_rest(steps),
        }
    }

    /// The steps that are left.
    #[inline]
    pub fn left(&self) -> u64 {
        self.slice + self.rest
    }

    /// Whether more than a little was spent.
    pub fn is_long(&self) -> bool {
        self.deadline.is_some()
    }

    #[cold]
    fn spend_rest(&mut self, steps: u64) -> Result<(), Exhausted> {
        let missing = steps - self.slice;
        self.slice = 0;
        let Some(rest) = self.rest.checked_sub(missing) else {
            self.rest = 0;
            return Err(Exhausted::Steps);
        };
        self.slice = rest.min(SLICE);
        self.rest = rest - self.slice;
        let now = Instant::now();
        let deadline = *self.deadline.get_or_insert_with(|| now + self.within);
        if now > deadline { Err(Exhausted::Time) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_steps_can_be_taken_and_not_one_more() {
        for steps in [0, 1, SLICE, SLICE + 1, 10 * SLICE] {
            let mut budget = Budget::new(steps, Duration::from_mins(1));
            for _ in 0..steps {
                assert_eq!(budget.spend(1), Ok(()));
            }
            assert_eq!(budget.spend(1), Err(Exhausted::Steps));
            assert_eq!(budget.spend(1), Err(Exhausted::Steps), "it stays spent");
        }
        assert_eq!(Budget::new(10 * SLICE, Duration::from_mins(1)).spend(10 * SLICE), Ok(()));
        assert_eq!(Budget::new(10 * SLICE, Duration::from_mins(1)).spend(u64::MAX), Err(Exhausted::Steps));
    }

    #[test]
    fn time_ends_work_that_has_steps_left() {
        let mut budget = Budget::new(u64::MAX, Duration::ZERO);
        let ended = (0..u64::MAX).find_map(|_| budget.spend(1).err());
        assert_eq!(ended, Some(Exhausted::Time));
    }
}
