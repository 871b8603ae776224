//! Texts that rules put in place of others, compiled.

use super::actions::Sources;
use diagnostic::{Code, Diagnostic};
use expression::{Facts, ValueExpression};
use model::Phase;
use model::rewrite::Replacement;

/// A text, written or given by an expression.
#[derive(Clone, Debug)]
pub enum Replacing {
    Text(String),
    Expression(ValueExpression),
}

impl Replacing {
    /// Compiles a text at a place of a rule; nothing if it has errors, which are then reported.
    pub fn compile(
        source: &Replacement,
        pointer: &str,
        phase: Phase,
        sources: &mut Sources<'_>,
    ) -> Option<Self> {
        match source {
            Replacement::Value(text) => Some(Self::Text(text.clone())),
            Replacement::Expression(text) => match ValueExpression::text(text, phase, sources.sets) {
                Ok(expression) if expression.reads_body() => {
                    let message =
                        "fields of the body stand in conditions and in what is counted by, not in texts";
                    let diagnostic = Diagnostic::error(Code::RulesetExpression, message);
                    sources.diagnostics.push(diagnostic.pointing(format!("{pointer}/expression")));
                    None
                }
                Ok(expression) => Some(Self::Expression(expression)),
                Err(mistake) => {
                    let diagnostic = Diagnostic::error(Code::RulesetExpression, mistake.to_string());
                    sources.diagnostics.push(diagnostic.pointing(format!("{pointer}/expression")));
                    None
                }
            },
        }
    }

    /// The text for a request; `None` if the expression names what is missing.
    pub fn give(&self, facts: &Facts<'_>) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.clone().into_bytes()),
            Self::Expression(expression) => expression.give(facts),
        }
    }

    /// The rule's own words, which no client chose.
    pub fn literals(&self) -> Vec<&[u8]> {
        match self {
            Self::Text(text) => vec![text.as_bytes()],
            Self::Expression(expression) => expression.literals(),
        }
    }
}
