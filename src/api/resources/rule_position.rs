//! Where a rule is put among those of its ruleset.

use model::ruleset::Rule;

use super::rule_input::MAX_RULES;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;

/// Where a rule is put.
#[derive(Clone, Debug)]
pub(super) enum RulePosition {
    Last,
    /// Before the rule of this id, or all if it is empty.
    Before(String),
    /// Behind the rule of this id, or all if it is empty.
    After(String),
    /// From 1.
    Index(usize),
}

impl RulePosition {
    pub(super) fn read(fields: &Fields<'_>) -> Self {
        let Some(position) = fields.object("position") else { return Self::Last };
        let given = [
            position.text("before").map(|id| Self::Before(id.to_owned())),
            position.text("after").map(|id| Self::After(id.to_owned())),
            position.within("index", 1..=MAX_RULES as i64).map(|index| Self::Index(index as usize)),
        ];
        let mut given = given.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(only), None) => only,
            _ => {
                let message = "expected exactly one of `before`, `after` and `index`";
                fields.refuse(error::BAD_POSITION, "position", message);
                Self::Last
            }
        }
    }

    pub(super) fn insert(&self, rules: &mut Vec<Rule>, rule: Rule) -> Result<(), ApiErrors> {
        let of = |id: &str| {
            let found = rules.iter().position(|rule| rule.id == *id);
            let message = || format!("the ruleset has no rule `{id}`");
            found.ok_or_else(|| ApiError::at(error::BAD_POSITION, "/position", message()))
        };
        let place = match self {
            Self::Last => rules.len(),
            Self::Before(id) if id.is_empty() => 0,
            Self::Before(id) => of(id)?,
            Self::After(id) if id.is_empty() => rules.len(),
            Self::After(id) => of(id)? + 1,
            Self::Index(index) if index - 1 <= rules.len() => index - 1,
            Self::Index(index) => {
                let message = format!("the index {index} is behind the last of {} rules", rules.len());
                return Err(ApiError::at(error::BAD_POSITION, "/position/index", message).into());
            }
        };
        rules.insert(place, rule);
        Ok(())
    }
}
