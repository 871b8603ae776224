//! SecLang as written, with places.

use std::ops::Range;
use std::sync::Arc;

use diagnostic::{Place, Source};

/// One argument of a directive, quotes and escapes undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    pub source: Arc<Source>,
    /// Where it stands, quotes included.
    pub span: Range<usize>,
    /// For each byte of `text`, its offset in the source, relative to the span's start.
    pub(super) origin: Vec<u32>,
}

impl Word {
    pub fn place(&self) -> Place {
        Place::new(&self.source, self.span.clone())
    }

    /// The place of a part of `text`.
    pub fn part(&self, range: Range<usize>) -> Place {
        let at = |offset: usize| self.origin.get(offset).map(|o| self.span.start + *o as usize);
        let start = at(range.start).unwrap_or(self.span.end.saturating_sub(1));
        let end =
            if range.end > range.start { at(range.end - 1).map_or(self.span.end, |e| e + 1) } else { start };
        Place::new(&self.source, start..end.max(start))
    }

    /// Directive names are compared without case.
    pub fn is(&self, name: &str) -> bool {
        self.text.eq_ignore_ascii_case(name)
    }
}

/// One directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemAst {
    /// `SecRule VARIABLES OPERATOR [ACTIONS]`
    Rule { variables: Vec<VariableAst>, operator: OperatorAst, actions: Vec<ActionAst>, place: Place },
    /// `SecAction ACTIONS`
    Action { actions: Vec<ActionAst>, place: Place },
    /// `SecDefaultAction ACTIONS`
    DefaultAction { actions: Vec<ActionAst>, place: Place },
    /// `SecMarker NAME`
    Marker { name: String },
    /// `SecRuleUpdateTargetById ID VARIABLES [REPLACED]` and its two siblings by tag and message.
    UpdateTarget { by: UpdateBy, key: Word, variables: Vec<VariableAst>, replaced: Vec<VariableAst> },
    /// Anything else, as its words.
    Directive { name: Word, arguments: Vec<Word> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateBy {
    Id,
    Tag,
    Msg,
}

/// `[!|&]NAME[:selector]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableAst {
    pub name: String,
    pub selector: Option<SelectorAst>,
    pub count: bool,
    pub exclude: bool,
    pub place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorAst {
    Name(String),
    /// `/pattern/`, without its slashes.
    Pattern(String),
}

/// `[!]@name argument`; a text without `@` is a pattern for `@rx`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorAst {
    pub negated: bool,
    pub name: String,
    pub argument: String,
    pub place: Place,
    pub argument_place: Place,
}

/// `name[:value]`, quotes round the value undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionAst {
    pub name: String,
    pub value: Option<String>,
    pub place: Place,
    pub value_place: Place,
}
