//! What a gateway does about kinds of content that its guardrail finds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::DlpAction;
use super::gateway::CallStage;

/// What comes of calls by the kind of content that is found in them. Kinds that are not named are let be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentPolicy {
    pub prompt: BTreeMap<ContentCategory, DlpAction>,
    pub response: BTreeMap<ContentCategory, DlpAction>,
}

/// A kind of content. `S1` to `S13` are the hazards of the MLCommons taxonomy in its order. `P1` is an instruction that tries
/// to override the instructions that the model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentCategory(u8);

impl ContentCategory {
    /// How many hazards there are.
    const HAZARDS: u8 = 13;

    /// `None` if there is no such kind.
    pub fn parse(word: &str) -> Option<Self> {
        (0..=Self::HAZARDS).map(Self).find(|category| category.word() == word)
    }

    pub fn word(self) -> String {
        match self.0 {
            0 => "P1".to_owned(),
            hazard => format!("S{hazard}"),
        }
    }
}

impl TryFrom<String> for ContentCategory {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        Self::parse(&word)
            .ok_or_else(|| format!("expected `P1` or `S1` to `S{}`, found `{word:.40}`", Self::HAZARDS))
    }
}

impl From<ContentCategory> for String {
    fn from(category: ContentCategory) -> Self {
        category.word()
    }
}

impl ContentPolicy {
    /// What comes of each kind in one direction.
    pub fn of(&self, stage: CallStage) -> &BTreeMap<ContentCategory, DlpAction> {
        match stage {
            CallStage::Request => &self.prompt,
            CallStage::Response => &self.response,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.prompt.is_empty() && self.response.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_their_words() {
        let words = ["P1", "S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "S10", "S11", "S12", "S13"];
        for word in words {
            assert_eq!(ContentCategory::parse(word).map(ContentCategory::word).as_deref(), Some(word));
        }
        for word in ["", "S0", "S14", "S01", "s1", "P2", "S1 "] {
            assert_eq!(ContentCategory::parse(word), None, "{word}");
        }
    }
}
