//! The same random choices in every run: a generator with a seed, and choices that favour what comes first, as language does.

/// SplitMix64: short, and good enough to make texts.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit exactly")]
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From 0 to below the end, all alike.
    #[expect(clippy::cast_possible_truncation, reason = "the remainder is below the end")]
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// From the first to the last of them.
    pub(super) fn between(&mut self, first: usize, last: usize) -> usize {
        first + self.below(last - first + 1)
    }

    /// True so many times out of a hundred.
    pub(super) fn percent(&mut self, times: usize) -> bool {
        self.below(100) < times
    }

    /// From 0 to below the end, the n-th about n times as rare as the first (Zipf).
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "ends are small, and the power lies between 0 and the end"
    )]
    pub(super) fn favouring_first(&mut self, end: usize) -> usize {
        let place = ((end + 1) as f64).powf(self.fraction()) - 1.0;
        (place as usize).min(end.saturating_sub(1))
    }

    /// One of them, all alike.
    pub(super) fn any<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    /// One of them, the first most often.
    pub(super) fn often_first<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.favouring_first(choices.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_choices() {
        let choices = |seed| {
            let mut random = Random::new(seed);
            (0..20).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(choices(7), choices(7));
        assert_ne!(choices(7), choices(8));
    }

    #[test]
    fn the_first_are_chosen_most_often_and_the_last_sometimes() {
        let mut random = Random::new(1);
        let mut times = [0_usize; 50];
        (0..20_000).for_each(|_| times[random.favouring_first(50)] += 1);
        assert!(times[0] > 4 * times[9] && times[9] > times[49] && times[49] > 0, "{times:?}");
    }
}
