//! Accounts: what zones, gateways and tokens belong to.

use serde::{Deserialize, Serialize};

use crate::AccountId;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    pub id: AccountId,
    pub name: String,
    /// RFC 3339.
    pub created_on: String,
}

impl Account {
    /// The account of everything in files that names none.
    pub const DEFAULT: &str = "default";
}
