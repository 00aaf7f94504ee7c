//! Random numbers that a seed determines.

/// A sequence of random numbers (`SplitMix64`): the same for the same seed, on each machine.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The sequence of that seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.number().checked_rem(bound).unwrap_or(0)
    }

    /// A number of that range, both ends included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True in `share` of 1000 cases.
    pub fn chance(&mut self, share: u64) -> bool {
        self.below(1000) < share
    }

    /// One of them; `None` if there is none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let count = u64::try_from(from.len()).unwrap_or(u64::MAX);
        from.get(usize::try_from(self.below(count)).unwrap_or(0))
    }

    /// A sequence of its own for a part of the world, so that one more number drawn there changes nothing elsewhere.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self::new(self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_determines_the_sequence() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            [random.number(), random.between(3, 5), random.fork().number(), random.below(10)]
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert_eq!(Random::new(1).below(0), 0);
    }
}
