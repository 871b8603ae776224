//! Who looks on as rules run: engines know no time, so whoever asks them brings it.

/// Is called for each rule that is evaluated.
pub trait Watch {
    /// A rule is about to be asked; `false` ends the run, unfinished.
    fn begins(&mut self, rule: u64) -> bool;

    /// The rule has been asked. What is learnt of values for the first time falls to the rule that
    /// asks first.
    fn ends(&mut self, rule: u64, matched: bool);
}

/// Nobody does.
impl Watch for () {
    fn begins(&mut self, _: u64) -> bool {
        true
    }

    fn ends(&mut self, _: u64, _: bool) {}
}
