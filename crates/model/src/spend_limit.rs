//! Budgets of a gateway: limits of money that have ids and can be switched off.

use serde::{Deserialize, Serialize};

use super::Limit;

/// The budgets of a gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpendLimits {
    /// Whether any of them is in force.
    pub is_enabled: bool,
    pub rules: Vec<SpendLimit>,
}

/// One budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpendLimit {
    /// Unique among those of its gateway.
    pub id: String,
    pub is_enabled: bool,
    /// It measures cost.
    pub limit: Limit,
}

impl SpendLimits {
    /// The limits that calls have to meet.
    pub fn in_force(&self) -> impl Iterator<Item = &Limit> {
        self.rules.iter().filter(|rule| self.is_enabled && rule.is_enabled).map(|rule| &rule.limit)
    }
}
