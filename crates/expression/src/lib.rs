//! Filter expressions: which requests a rule is for (spec, "Ruleset").
//!
//! ```text
//! http.host eq "shop.example" and not starts_with(http.request.uri.path, "/uploads/")
//! ip.src in {192.0.2.0/24 2001:db8::/32} or any(http.request.headers["x-probe"][*] contains "svc")
//! http.response.code in {200..299} and http.response.content_type.media_type ne "text/css"
//! ```
//!
//! An expression is typed when it is parsed, so what compiles cannot fail: it reads what it names of a
//! request and allocates only if that must be decoded. `not` binds closest, then `and`, `xor`, `or`.

mod client_place;
mod cursor;
mod field;
mod functions;
mod index;
mod literals;
mod named_set;
mod need;
mod node;
mod parse;
mod path;
mod read_body;
mod test;
mod told_value;
mod value;
mod value_expression;

use std::fmt;
use std::sync::Arc;

pub use client_place::{ClientPlace, PlaceKinds, PlaceSource};
use field::KnownIn;
pub use field::{AnomalyScore, Facts};
pub use index::{CandidateSet, ExpressionIndex};
pub use named_set::{AddressSet, HostSet, NamedSet, NamedSets, NumberSet};
use node::Node;
pub use read_body::ReadBody;
pub use told_value::ToldValue;
pub use value_expression::ValueExpression;

use model::Phase;

/// Longest text of an expression, in bytes.
pub const MAX_BYTES: usize = 4096;

/// A compiled expression.
#[derive(Clone)]
pub struct Expression {
    source: Arc<str>,
    /// `None` if it matches every request.
    node: Option<Arc<Node>>,
}

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The byte where it shows.
    pub at: usize,
    pub message: String,
}

impl Expression {
    /// The expression `true`.
    pub fn everything() -> Self {
        Self { source: "true".into(), node: None }
    }

    /// Compiles an expression for a phase: what a response says is not known before it.
    ///
    /// # Errors
    /// The first place that is not understood, and one sentence why.
    pub fn parse(text: &str, phase: Phase) -> Result<Self, Mistake> {
        Self::parse_with(text, phase, &NamedSets::default())
    }

    /// As `parse`; the expression may ask these sets by their names.
    ///
    /// # Errors
    /// As `parse`, and if there is no set of a name, or one of another kind.
    pub fn parse_with(text: &str, phase: Phase, sets: &NamedSets) -> Result<Self, Mistake> {
        if text.trim_ascii().is_empty() {
            let message = "the expression is blank; `true` matches every request".to_owned();
            return Err(Mistake { at: 0, message });
        }
        if text.len() > MAX_BYTES {
            let message = format!("the expression is longer than {MAX_BYTES} bytes");
            return Err(Mistake { at: MAX_BYTES, message });
        }
        let node = match parse::Parser::new(text, phase, sets).whole()? {
            Node::Constant(true) => None,
            node => Some(Arc::new(node)),
        };
        Ok(Self { source: text.into(), node })
    }

    /// Whether the body of a request must be read before it is asked.
    pub fn reads_body(&self) -> bool {
        self.node.as_ref().is_some_and(|node| node.has(KnownIn::WithBody))
    }

    /// Its text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it matches every request, so that nobody need ask.
    pub fn is_everything(&self) -> bool {
        self.node.is_none()
    }

    /// Whether it will match when the response is known, if the request alone decides that.
    pub fn decided(&self, facts: &Facts<'_>) -> Option<bool> {
        self.node.as_ref().map_or(Some(true), |node| node.decided(facts))
    }

    /// Whether it matches this one.
    pub fn matches(&self, facts: &Facts<'_>) -> bool {
        self.node.as_ref().is_none_or(|node| node.matches(facts))
    }
}

impl Mistake {
    /// The line of the text that it is about, and below it a caret at its place.
    pub fn excerpt(&self, text: &str) -> String {
        let at = text.floor_char_boundary(self.at);
        let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
        let begin = before.rsplit('\n').next().unwrap_or("");
        let line = format!("{begin}{}", after.split('\n').next().unwrap_or(""));
        // A tab is as wide above as below.
        let space: String = begin.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        format!("{}\n{space}^", line.trim_end_matches('\r'))
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.source).finish()
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {} of the expression: {}", self.at + 1, self.message)
    }
}

#[cfg(test)]
mod tests;
