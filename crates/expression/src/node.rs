//! A compiled expression and what it is for a request.

use super::field::{Facts, Field, KnownIn, Read};
use super::functions::{Function, filled};
use super::test::Test;
use super::value::Value;
use pattern::Pattern;
use smallvec::SmallVec;
use std::borrow::Cow;

/// A condition. Types were checked when it was parsed.
pub(super) enum Node {
    Constant(bool),
    Not(Box<Self>),
    And(Vec<Self>),
    Or(Vec<Self>),
    Xor(Vec<Self>),
    Compare(Operand, Test),
    /// `any` and `all` of what a list holds.
    Each {
        all: bool,
        operand: Operand,
        test: Test,
    },
}

/// The left side of a comparison, or an argument.
pub(super) struct Operand {
    pub(super) source: Source,
    pub(super) steps: Vec<Step>,
}

pub(super) enum Source {
    Field(&'static Field),
    Call(&'static Function, Vec<Operand>),
    Literal(Value<'static>),
    /// The first match of a pattern in a text gives way to another text.
    Replaced {
        text: Box<Operand>,
        pattern: Box<Pattern>,
        to: Vec<u8>,
    },
}

/// What follows an operand in brackets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// `["name"]`
    Name(Vec<u8>),
    /// `[0]`
    Index(usize),
    /// `[*]`
    Each,
}

impl Node {
    pub(super) fn matches(&self, facts: &Facts<'_>) -> bool {
        match self {
            Self::Constant(is) => *is,
            Self::Not(node) => !node.matches(facts),
            Self::And(nodes) => nodes.iter().all(|node| node.matches(facts)),
            Self::Or(nodes) => nodes.iter().any(|node| node.matches(facts)),
            Self::Xor(nodes) => nodes.iter().filter(|node| node.matches(facts)).count() % 2 == 1,
            Self::Compare(operand, test) => test.holds(&operand.value(facts)),
            Self::Each { all, operand, test } => {
                // Of nothing all holds, as it does of an empty list.
                let mut is = *all;
                operand.each(facts, &mut |value| {
                    if is == *all {
                        is = test.holds(&value);
                    }
                });
                is
            }
        }
    }
}

impl Node {
    /// Whether it has a field that is known so.
    pub(super) fn has(&self, known: KnownIn) -> bool {
        match self {
            Self::Constant(_) => false,
            Self::Not(node) => node.has(known),
            Self::And(nodes) | Self::Or(nodes) | Self::Xor(nodes) => nodes.iter().any(|node| node.has(known)),
            Self::Compare(operand, _) | Self::Each { operand, .. } => operand.has(known),
        }
    }

    /// What it will be when the response is known, if the request alone decides that.
    pub(super) fn decided(&self, facts: &Facts<'_>) -> Option<bool> {
        match self {
            Self::Not(node) => node.decided(facts).map(|is| !is),
            Self::And(nodes) => joined(nodes, facts, false),
            Self::Or(nodes) => joined(nodes, facts, true),
            Self::Xor(nodes) => {
                let all: Option<Vec<bool>> = nodes.iter().map(|node| node.decided(facts)).collect();
                all.map(|all| all.into_iter().filter(|is| *is).count() % 2 == 1)
            }
            Self::Constant(_) => Some(self.matches(facts)),
            Self::Compare(operand, _) | Self::Each { operand, .. } => {
                (!operand.has(KnownIn::WithResponse)).then(|| self.matches(facts))
            }
        }
    }
}

/// What `and` and `or` are: `decisive` if one of them is, else unknown if one is.
fn joined(nodes: &[Node], facts: &Facts<'_>, decisive: bool) -> Option<bool> {
    let mut all = Some(!decisive);
    for node in nodes {
        match node.decided(facts) {
            Some(is) if is == decisive => return Some(decisive),
            Some(_) => {}
            None => all = None,
        }
    }
    all
}

impl Operand {
    /// Whether it has a field that is known so.
    pub(super) fn has(&self, known: KnownIn) -> bool {
        match &self.source {
            Source::Field(field) => field.known == known,
            Source::Call(_, arguments) => arguments.iter().any(|argument| argument.has(known)),
            Source::Literal(_) => false,
            Source::Replaced { text, .. } => text.has(known),
        }
    }

    /// Adds the texts that are written in it.
    pub(super) fn add_literals<'o>(&'o self, literals: &mut Vec<&'o [u8]>) {
        match &self.source {
            Source::Field(_) => {}
            Source::Call(_, arguments) => {
                arguments.iter().for_each(|argument| argument.add_literals(literals))
            }
            Source::Literal(value) => literals.push(value.bytes()),
            Source::Replaced { text, to, .. } => {
                text.add_literals(literals);
                literals.push(to);
            }
        }
    }

    /// Whether it stands for each value of a list.
    pub(super) fn is_each(&self) -> bool {
        self.steps.last() == Some(&Step::Each)
    }

    /// Shows each value that it stands for, as far as it is a list.
    fn each<'r>(&'r self, facts: &'r Facts<'_>, visitor: &mut dyn FnMut(Value<'r>)) {
        match (&self.source, self.steps.as_slice()) {
            (Source::Field(field), [Step::Name(name), Step::Each]) => {
                named(field, name, facts, &mut |value| visitor(Value::Text(value)));
            }
            _ => {
                if let Value::List(values) = self.value(facts) {
                    values.into_iter().for_each(visitor);
                }
            }
        }
    }

    pub(super) fn value<'r>(&'r self, facts: &'r Facts<'_>) -> Value<'r> {
        if let (Source::Field(field), [Step::Name(name), steps @ ..]) = (&self.source, self.steps.as_slice())
        {
            if let [Step::Index(index)] = steps {
                return nth(field, name, *index, facts);
            }
            let mut values = Vec::new();
            named(field, name, facts, &mut |value| values.push(Value::Text(value)));
            return Value::List(values);
        }
        let value = match &self.source {
            Source::Field(field) => field.value(facts),
            Source::Literal(value) => value.borrowed(),
            Source::Call(function, arguments) => call(function, arguments, facts),
            Source::Replaced { text, pattern, to } => match text.value(facts) {
                Value::Text(text) => Value::Text(replaced(text, pattern, to)),
                _ => Value::Missing,
            },
        };
        self.steps.iter().fold(value, |value, step| match (step, value) {
            (Step::Name(name), Value::Map(map)) => {
                let named = map.into_iter().filter(|(known, _)| known.as_ref() == name.as_slice());
                Value::List(named.map(|(_, value)| Value::Text(value)).collect())
            }
            (Step::Index(index), Value::List(mut list)) if *index < list.len() => list.swap_remove(*index),
            (Step::Each, list @ Value::List(_)) => list,
            _ => Value::Missing,
        })
    }
}

/// Shows the values that a map has under a name.
fn named<'r>(field: &Field, name: &[u8], facts: &'r Facts<'_>, visitor: &mut dyn FnMut(Cow<'r, [u8]>)) {
    // INVARIANT: types were checked, so only maps are asked for a name.
    let Read::Pairs { folds_names, visit } = &field.read else { return };
    visit(facts, &mut |known, value| {
        let is_it = if *folds_names { known.eq_ignore_ascii_case(name) } else { known.as_ref() == name };
        if is_it {
            visitor(value);
        }
    });
}

/// One of the values that a map has under a name, counted from 0.
fn nth<'r>(field: &Field, name: &[u8], index: usize, facts: &'r Facts<'_>) -> Value<'r> {
    let (mut found, mut at) = (Value::Missing, 0);
    named(field, name, facts, &mut |value| {
        if at == index {
            found = Value::Text(value);
        }
        at += 1;
    });
    found
}

/// A text whose first match of a pattern gives way to another, where `${1}` is its first group.
fn replaced<'r>(text: Cow<'r, [u8]>, pattern: &Pattern, to: &[u8]) -> Cow<'r, [u8]> {
    let Some(groups) = pattern.groups(&text) else { return text };
    let part = |span: Option<(usize, usize)>| span.and_then(|(from, to)| text.get(from..to)).unwrap_or(&[]);
    let mut spans = groups.iter().copied();
    let Some(Some((from, end))) = spans.next() else { return text };
    let found: Vec<&[u8]> = spans.map(part).collect();
    let (before, after) = (text.get(..from).unwrap_or(&[]), text.get(end..).unwrap_or(&[]));
    [before, &filled(to, &found), after].concat().into()
}

/// A function over its arguments; over each value of the one that stands for many.
fn call<'r>(function: &Function, arguments: &'r [Operand], facts: &'r Facts<'_>) -> Value<'r> {
    let mut values: SmallVec<[Value<'r>; 4]> =
        arguments.iter().map(|argument| argument.value(facts)).collect();
    let once = |values: &[Value<'r>]| {
        if values.contains(&Value::Missing) { Value::Missing } else { (function.call)(values) }
    };
    let Some(many) = arguments.iter().position(Operand::is_each) else { return once(&values) };
    let Some(slot) = values.get_mut(many) else { return Value::Missing };
    let Value::List(list) = std::mem::replace(slot, Value::Missing) else { return Value::Missing };
    let of_each = list.into_iter().map(|value| {
        if let Some(slot) = values.get_mut(many) {
            *slot = value;
        }
        once(&values)
    });
    Value::List(of_each.collect())
}
