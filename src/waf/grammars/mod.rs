//! The languages that attacks are written in, one file or folder each. A recogniser reads a value as
//! that language would and says whether it is an injection, and how sure that is.
//!
//! ```text
//! value -> tokens of the language -> what they do there -> Option<Finding>
//! ```
//! Each is linear in the length of the value, and keeps no state.
//! The operators of the same subject in [`super::operators`] hand values to them.

mod address;
mod document;
mod graphql;
mod markup;
mod path;
mod shell;
mod sql;
mod template;

pub(super) use address::{Reach, reach};
pub(super) use document::is_document;
pub(super) use graphql::GraphqlCost;
pub(super) use markup::markup;
pub(super) use path::levels_above_root;
pub(super) use shell::{Dialect, shell};
pub(super) use sql::sql;
pub(super) use template::template;

/// How sure it is that a value is an injection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// Such things occur in attacks, and where people write about code.
    Possible,
    /// Seldom anything but an attack.
    Likely,
    /// Nothing else has this form.
    Certain,
}

impl Strength {
    /// Of an operator's argument.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "certain" => Ok(Self::Certain),
            "likely" => Ok(Self::Likely),
            "possible" => Ok(Self::Possible),
            other => Err(format!("expected `certain`, `likely` or `possible`, found `{other}`")),
        }
    }
}

/// An injection in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    pub(super) strength: Strength,
    /// Where the injection begins.
    pub(super) from: usize,
}

impl Finding {
    fn at(strength: Option<Strength>, from: usize) -> Option<Self> {
        strength.map(|strength| Self { strength, from })
    }

    /// As it counts in this value.
    fn within(self, value: &[u8]) -> Self {
        if is_document(value) { self.in_document() } else { self }
    }

    /// What is certain in a field is only possible in a document.
    fn in_document(self) -> Self {
        Self { strength: Strength::Possible, ..self }
    }
}
