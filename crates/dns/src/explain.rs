//! Why a name has the answer that it has, step by step.

use crate::answer::{Catalog, MAX_CHAIN, longest_match};
use crate::name::Name;
use crate::record_type::RecordType;
use crate::zone::Found;

/// A step on the way to an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedStep {
    pub name: Name,
    pub found: ExplainedFind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExplainedFind {
    /// No zone here has the name.
    NoZone,
    /// The name is in this zone, whose start is served with this serial.
    Zone(Name),
    /// The name has records of the type, by a wildcard or its own.
    Records { by_wildcard: bool },
    /// It is an alias.
    Alias { target: Name, by_wildcard: bool },
    /// It exists and has other types, or names below it.
    NoData { by_wildcard: bool },
    /// It is at or below a delegation.
    Delegated(Name),
    /// It does not exist.
    Nothing,
}

/// The steps to the answer of a question.
pub fn explain(catalog: &Catalog, name: &Name, record_type: RecordType) -> Vec<ExplainedStep> {
    let step = |name: &Name, found| ExplainedStep { name: name.clone(), found };
    let Some(zone) = longest_match(catalog, name.wire()) else {
        return vec![step(name, ExplainedFind::NoZone)];
    };
    let mut steps = vec![step(name, ExplainedFind::Zone(zone.apex().clone()))];
    let mut name = name.clone();
    for _ in 0..MAX_CHAIN {
        let Some(key) = zone.key(name.wire()) else {
            steps.push(step(&name, ExplainedFind::NoZone));
            break;
        };
        let (node, by_wildcard) = match zone.find(key) {
            Found::Cut(cut, node) if cut.len() == key.len() && record_type == RecordType::Ds => (node, false),
            Found::Cut(cut, _) => {
                let cut = Name::from_wire(&[cut, zone.apex().wire()].concat());
                steps.push(step(&name, cut.map_or(ExplainedFind::Nothing, ExplainedFind::Delegated)));
                break;
            }
            Found::Node(node) => (node, false),
            Found::Wildcard(node) => (node, true),
            Found::Nothing => {
                steps.push(step(&name, ExplainedFind::Nothing));
                break;
            }
        };
        let own = zone.own_set(record_type.number()).filter(|_| key.is_empty());
        if own.or_else(|| node.set(record_type.number())).is_some() {
            steps.push(step(&name, ExplainedFind::Records { by_wildcard }));
            break;
        }
        let alias =
            node.set(RecordType::Cname.number()).and_then(|set| set.rdata().next().and_then(Name::from_wire));
        let Some(target) = alias else {
            steps.push(step(&name, ExplainedFind::NoData { by_wildcard }));
            break;
        };
        steps.push(step(&name, ExplainedFind::Alias { target: target.clone(), by_wildcard }));
        name = target;
    }
    steps
}
