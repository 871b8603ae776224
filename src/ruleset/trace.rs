//! Why a request was judged as it was.

use model::Action;
use seclang::Match;

/// What the request phase decided.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    pub outcome: Outcome,
    /// The anomaly score, all levels together.
    pub score: i64,
    /// Rules that matched, in order; empty where nothing did.
    pub matches: Vec<Match>,
    /// Where a refusal leads the client.
    pub location: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing reached a threshold.
    #[default]
    Pass,
    /// A threshold was reached, and the action is `log`.
    Logged { rule: u64 },
    /// A rule refused the request.
    Blocked { rule: u64, status: u16 },
}

impl Outcome {
    /// The action taken, as events name it.
    pub fn action(self) -> Option<Action> {
        match self {
            Self::Pass => None,
            Self::Logged { .. } => Some(Action::Log),
            Self::Blocked { .. } => Some(Action::Block),
        }
    }
}
