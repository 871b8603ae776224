//! Numbers for tests: the same ones in each run.

/// Numbers that look random, from a seed on.
pub(crate) struct TestNumbers(pub(crate) u64);

impl TestNumbers {
    /// The next number, below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        // A linear congruential generator. Only its upper bits look random.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}
