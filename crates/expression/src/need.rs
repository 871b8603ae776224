//! What an expression needs of a request: one thing at least of a few that are quick to look for.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Subnets, Ipv6Subnets};

use super::field::Field;
use super::node::{Node, Operand, Source};
use super::test::{Addresses, Order, Test};
use super::value::{Scalar, Type, Value};

/// One thing that can be found in a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Term {
    /// A text of a field, by its name, in lower case: case does not count.
    Text(&'static str, TextAnchor, Vec<u8>),
    /// Of the client's address.
    Network(IpNet),
}

/// Where a text stands in its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TextAnchor {
    Whole,
    Start,
    End,
    Anywhere,
}

/// Most terms that stand for one expression: with more, looking at the expression is cheaper.
const MAX_TERMS: usize = 512;

/// The needs of an expression. Each is a set of terms; a request that the expression matches has at least one term of
/// each set. Without any set, the expression can match every request. An empty set means that it never matches.
pub(super) fn needs(node: &Node) -> Vec<Vec<Term>> {
    let mut found = match node {
        Node::Constant(false) => vec![Vec::new()],
        Node::And(nodes) => nodes.iter().flat_map(needs).collect(),
        // Of each alternative one need is taken, the one with the fewest terms.
        Node::Or(nodes) => {
            let of_each = nodes.iter().map(|node| needs(node).into_iter().min_by_key(Vec::len));
            let all: Option<Vec<_>> = of_each.collect();
            all.map(|all| all.concat()).into_iter().collect()
        }
        Node::Compare(operand, test) => of_comparison(operand, test).into_iter().collect(),
        Node::Constant(true) | Node::Not(_) | Node::Xor(_) | Node::Each { .. } => Vec::new(),
    };
    found.retain(|terms| terms.len() <= MAX_TERMS);
    found
}

fn of_comparison(operand: &Operand, test: &Test) -> Option<Vec<Term>> {
    if !operand.steps.is_empty() {
        return None;
    }
    match (&operand.source, test) {
        (Source::Call(function, arguments), Test::Flag(true)) => {
            let anchor = match function.name {
                "starts_with" => TextAnchor::Start,
                "ends_with" => TextAnchor::End,
                _ => return None,
            };
            let [operand, Operand { source: Source::Literal(Value::Text(text)), .. }] = arguments.as_slice()
            else {
                return None;
            };
            text_term(text_field(operand)?, anchor, text).map(|term| vec![term])
        }
        (Source::Field(field), Test::Ip(Order::Eq, address)) if field.kind == Type::One(Scalar::Ip) => {
            Some(vec![Term::Network(IpNet::from(address.to_canonical()))])
        }
        (Source::Field(field), Test::InNetworks(networks)) if field.kind == Type::One(Scalar::Ip) => {
            Some(networks.iter().flat_map(|addresses| subnets(*addresses)).map(Term::Network).collect())
        }
        _ => {
            let field = text_field(operand)?;
            match test {
                Test::Text(Order::Eq, text) => Some(vec![text_term(field, TextAnchor::Whole, text)?]),
                Test::InTexts(texts) => {
                    texts.iter().map(|text| text_term(field, TextAnchor::Whole, text)).collect()
                }
                Test::Contains(finder) => {
                    Some(vec![text_term(field, TextAnchor::Anywhere, finder.needle())?])
                }
                _ => None,
            }
        }
    }
}

/// The field that gives a text as it is or with another case.
fn text_field(operand: &Operand) -> Option<&'static Field> {
    if !operand.steps.is_empty() {
        return None;
    }
    match &operand.source {
        Source::Field(field) => (field.kind == Type::One(Scalar::Text)).then_some(*field),
        Source::Call(function, arguments) if matches!(function.name, "lower" | "upper") => {
            arguments.first().and_then(text_field)
        }
        _ => None,
    }
}

/// Nothing for a blank text, which every field has somewhere.
fn text_term(field: &'static Field, anchor: TextAnchor, text: &[u8]) -> Option<Term> {
    (!text.is_empty()).then(|| Term::Text(field.name, anchor, text.to_ascii_lowercase()))
}

/// The networks that addresses are made of.
fn subnets(addresses: Addresses) -> Vec<IpNet> {
    match addresses {
        Addresses::Network(network) => vec![network.trunc()],
        Addresses::Range(IpAddr::V4(from), IpAddr::V4(to)) => {
            Ipv4Subnets::new(from, to, 0).map(IpNet::V4).collect()
        }
        Addresses::Range(IpAddr::V6(from), IpAddr::V6(to)) => {
            Ipv6Subnets::new(from, to, 0).map(IpNet::V6).collect()
        }
        // INVARIANT: a range is of one family.
        Addresses::Range(..) => Vec::new(),
    }
}
