//! What an expression saw of a request, for people who ask why a rule acted.

use super::Expression;
use super::field::{Facts, KnownIn};
use super::node::{Node, Operand, Source, Step};
use super::value::Value;

/// Most values of one expression, and the longest text of one in bytes.
const MAX_VALUES: usize = 16;
const MAX_BYTES: usize = 200;

/// Fields whose values are secrets of clients.
const SECRET_FIELDS: [&str; 2] = ["http.cookie", "http.request.cookies"];
/// Words in the names of header fields, cookies and arguments whose values are secrets.
const SECRET_WORDS: [&str; 11] =
    ["auth", "cookie", "credential", "csrf", "jwt", "key", "pass", "pwd", "secret", "session", "token"];

/// A part of a request that an expression names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldValue {
    /// As it is written in expressions.
    pub name: String,
    /// What it was, cut if it is long; of a secret only the length.
    pub value: String,
}

impl Expression {
    /// The parts of a request that it names, each once, in order; those that are missing are left out.
    pub fn values(&self, facts: &Facts<'_>) -> Vec<ToldValue> {
        let mut told: Vec<ToldValue> = Vec::new();
        if let Some(node) = &self.node {
            each_operand(node, &mut |operand| {
                let name = operand.name();
                let is_new = told.iter().all(|known| known.name != name);
                if is_new
                    && told.len() < MAX_VALUES
                    && let Some(value) = shown(&operand.value(facts))
                {
                    let value = if operand.is_secret() { masked(&value) } else { cut(value) };
                    told.push(ToldValue { name, value });
                }
            });
        }
        told
    }
}

/// Shows the operands that name fields.
fn each_operand(node: &Node, visitor: &mut dyn FnMut(&Operand)) {
    match node {
        Node::Constant(_) => {}
        Node::Not(node) => each_operand(node, visitor),
        Node::And(nodes) | Node::Or(nodes) | Node::Xor(nodes) => {
            nodes.iter().for_each(|node| each_operand(node, visitor));
        }
        Node::Compare(operand, _) | Node::Each { operand, .. } => operand.each_field(visitor),
    }
}

impl Operand {
    fn each_field(&self, visitor: &mut dyn FnMut(&Self)) {
        match &self.source {
            Source::Field(_) => visitor(self),
            Source::Call(_, arguments) => arguments.iter().for_each(|argument| argument.each_field(visitor)),
            Source::Literal(_) => {}
            Source::Replaced { text, .. } => text.each_field(visitor),
        }
    }

    /// As it is written.
    fn name(&self) -> String {
        let mut name = match &self.source {
            Source::Field(field) => field.name.to_owned(),
            _ => String::new(),
        };
        for step in &self.steps {
            match step {
                Step::Name(part) => {
                    name.push_str(&format!("[\"{}\"]", String::from_utf8_lossy(part)));
                }
                Step::Index(index) => name.push_str(&format!("[{index}]")),
                Step::Each => name.push_str("[*]"),
            }
        }
        name
    }

    fn is_secret(&self) -> bool {
        let Source::Field(field) = &self.source else { return true };
        let is_named = self.steps.iter().any(|step| match step {
            Step::Name(name) => {
                let name = name.to_ascii_lowercase();
                SECRET_WORDS.iter().any(|word| memchr::memmem::find(&name, word.as_bytes()).is_some())
            }
            Step::Index(_) | Step::Each => false,
        });
        is_named || field.known == KnownIn::WithBody || SECRET_FIELDS.contains(&field.name)
    }
}

/// A value as people read it; nothing if it is missing or a whole map, which may have secrets.
fn shown(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Missing | Value::Map(_) => None,
        Value::Bool(is) => Some(is.to_string()),
        Value::Int(number) => Some(number.to_string()),
        Value::Ip(address) => Some(address.to_string()),
        Value::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        Value::List(values) => {
            let shown: Vec<String> = values.iter().filter_map(shown).collect();
            (!shown.is_empty()).then(|| shown.join(", "))
        }
    }
}

fn masked(value: &str) -> String {
    format!("({} bytes, masked)", value.len())
}

fn cut(mut value: String) -> String {
    if value.len() > MAX_BYTES {
        value.truncate(value.floor_char_boundary(MAX_BYTES));
        value.push('\u{2026}');
    }
    value
}

#[cfg(test)]
mod tests {
    use crate::tests::told;

    #[test]
    fn what_is_named_is_told_once_and_secrets_are_masked() {
        for (text, expected) in [
            ("http.host eq \"a\" or http.host eq \"b\"", "http.host=shop.example"),
            (
                "lower(http.user_agent) contains \"curl\" and ip.src in {192.0.2.0/24}",
                "http.user_agent=curl/8.1 ip.src=192.0.2.33",
            ),
            (
                "not any(http.request.headers[\"X-Probe\"][*] eq \"a\")",
                "http.request.headers[\"X-Probe\"][*]=one, TWO",
            ),
            ("http.cookie contains \"a\"", "http.cookie=(29 bytes, masked)"),
            ("http.request.headers[\"x-api-key\"][0] eq \"a\"", ""),
            (
                "http.request.cookies[\"theme\"][0] eq \"a\"",
                "http.request.cookies[\"theme\"][0]=(4 bytes, masked)",
            ),
            ("http.response.code eq 404 and true", "http.response.code=404"),
            ("len(http.request.uri.args) gt 9", ""),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
    }
}
