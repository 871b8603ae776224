//! Expressions that give a value: what requests are counted by, or what a part of one is rewritten to.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use super::field::{Facts, KnownIn};
use super::node::Operand;
use super::value::{Scalar, Type, Value};
use super::{MAX_BYTES, Mistake, NamedSets, parse};
use model::Phase;

/// A compiled expression that gives a value.
#[derive(Clone)]
pub struct ValueExpression {
    source: Arc<str>,
    operand: Arc<Operand>,
    kind: Type,
}

impl ValueExpression {
    /// Compiles an expression for a phase, which may name these sets and what is known with them.
    ///
    /// # Errors
    /// The first place that is not understood, and one sentence why.
    pub fn parse(text: &str, phase: Phase, sets: &NamedSets) -> Result<Self, Mistake> {
        if text.len() > MAX_BYTES {
            let message = format!("the expression is longer than {MAX_BYTES} bytes");
            return Err(Mistake { at: MAX_BYTES, message });
        }
        let (operand, kind) = parse::Parser::new(text, phase, sets).whole_value()?;
        Ok(Self { source: text.into(), operand: Arc::new(operand), kind })
    }

    /// Compiles an expression that gives a text.
    ///
    /// # Errors
    /// As `parse`, and if it gives something else.
    pub fn text(text: &str, phase: Phase, sets: &NamedSets) -> Result<Self, Mistake> {
        let value = Self::parse(text, phase, sets)?;
        if value.kind == Type::One(Scalar::Text) {
            return Ok(value);
        }
        Err(Mistake { at: 0, message: format!("this gives {}; expected a text", value.kind) })
    }

    /// Whether the body of a request must be read before it is asked.
    pub fn reads_body(&self) -> bool {
        self.operand.has(KnownIn::WithBody)
    }

    /// The texts in it that the rule's writer chose. Names of fields, functions and parts are none.
    pub fn literals(&self) -> Vec<&[u8]> {
        let mut literals = Vec::new();
        self.operand.add_literals(&mut literals);
        literals
    }

    /// The text that it gives; nothing if what it names is missing.
    pub fn give(&self, facts: &Facts<'_>) -> Option<Vec<u8>> {
        match self.operand.value(facts) {
            Value::Text(text) => Some(text.into_owned()),
            _ => None,
        }
    }

    /// Adds what it gives to a key. No two values add the same, nor do two in a row read as others. Of an IPv6 address
    /// only the first 64 bits are added, because one client usually has all addresses that share them.
    pub fn add_to_key(&self, facts: &Facts<'_>, key: &mut Vec<u8>) {
        add(&self.operand.value(facts), key);
    }
}

fn add(value: &Value<'_>, key: &mut Vec<u8>) {
    let mut put = |tag: u8, bytes: &[u8]| {
        key.push(tag);
        key.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        key.extend_from_slice(bytes);
    };
    match value {
        Value::Missing => put(0, &[]),
        Value::Bool(is) => put(1, &[u8::from(*is)]),
        Value::Int(number) => put(2, &number.to_le_bytes()),
        Value::Ip(IpAddr::V4(address)) => put(3, &address.octets()),
        Value::Ip(IpAddr::V6(address)) => put(4, address.octets().get(..8).unwrap_or(&[])),
        Value::Text(text) => put(5, text),
        Value::List(list) => {
            put(6, &(list.len() as u64).to_le_bytes());
            list.iter().for_each(|value| add(value, key));
        }
        Value::Map(map) => {
            put(7, &(map.len() as u64).to_le_bytes());
            for (name, value) in map {
                add(&Value::text(name), key);
                add(&Value::text(value), key);
            }
        }
    }
}

impl fmt::Debug for ValueExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ValueExpression").field(&self.source).finish()
    }
}

impl PartialEq for ValueExpression {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}
