//! How much a challenge asks of a visitor.

/// A kind of challenge, by what it asks. A clearance of one holds for those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChallengeLevel {
    /// A puzzle, solved without the visitor doing anything.
    JavaScript,
    /// A harder puzzle and a click, for networks that were challenged often and did not solve.
    Managed,
    /// A puzzle and a click.
    Interactive,
}

impl ChallengeLevel {
    pub const ALL: [Self; 3] = [Self::JavaScript, Self::Managed, Self::Interactive];

    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::JavaScript => 1,
            Self::Managed => 2,
            Self::Interactive => 3,
        }
    }

    pub(crate) fn of_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.byte() == byte)
    }
}
