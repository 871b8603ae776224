//! A rule and a field that it is no longer to look at, as `waf explain` and `waf learn` propose them.

use crate::waf::ir::{ItemIr, RuleSetIr, SelectorIr, TargetIr, exclude};
use crate::waf::variables;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Exclusion {
    pub(super) rule: u64,
    /// As `ARGS:q`.
    pub(super) variable: String,
}

/// From here on an id is looked for that is free; ids below 100,000 are for local rules.
const FIRST_ID: u64 = 1000;

/// An id that no rule of a set has, and none of those taken since.
pub(super) fn free_id(ir: &RuleSetIr, taken: u64) -> u64 {
    let mut free = (FIRST_ID..).filter(|id| ir.roots().all(|root| root.id != *id));
    free.nth(usize::try_from(taken).unwrap_or(0)).unwrap_or(FIRST_ID)
}

/// The rules with the exclusions applied to their targets, in every link.
pub(super) fn without(ir: &RuleSetIr, exclusions: &[Exclusion]) -> RuleSetIr {
    let mut changed = ir.clone();
    for Exclusion { rule, variable } in exclusions {
        let (name, selector) =
            variable.split_once(':').map_or((variable.as_str(), None), |(name, key)| (name, Some(key)));
        let Some(definition) = variables::find(name) else { continue };
        let roots = changed.items.iter_mut().filter_map(|item| match item {
            ItemIr::Rule(root) if root.id == *rule => Some(root),
            _ => None,
        });
        let selector = selector.map(|key| SelectorIr::Name(key.to_ascii_lowercase()));
        let excluded = TargetIr { variable: definition, selector, count: false, exclusions: Vec::new() };
        for root in roots {
            let links =
                std::iter::once(&mut root.targets).chain(root.chain.iter_mut().map(|l| &mut l.targets));
            links.for_each(|link| exclude(link, std::slice::from_ref(&excluded)));
        }
    }
    changed
}

/// The rule that applies exclusions to the requests of one path.
pub(super) fn on_path<'e>(
    path: &str,
    id: u64,
    exclusions: impl IntoIterator<Item = &'e Exclusion>,
) -> String {
    let path = path.replace('\\', "\\\\").replace('"', "\\\"");
    let mut text =
        format!("  SecRule REQUEST_FILENAME \"@streq {path}\" \\\n    \"id:{id},phase:1,pass,nolog");
    for Exclusion { rule, variable } in exclusions {
        text.push_str(&format!(",\\\n    ctl:ruleRemoveTargetById={rule};{variable}"));
    }
    text.push_str("\"\n");
    text
}
