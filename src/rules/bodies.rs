//! Rules for bodies that cannot be read, for sets that leave those to the configuration of their engine, as the OWASP Core
//! Rule Set does.

use std::collections::BTreeSet;

use super::in_memory;
use diagnostic::Diagnostics;
use seclang::RuleSetIr;
use seclang::ir::{CollectionActionIr, ItemIr, RuleIr};

/// For sets that count an anomaly score.
const SCORED: (&str, &str) =
    ("<built-in>/bodies/scored.conf", include_str!("../../rules/bodies/scored.conf"));
/// For sets that refuse by themselves.
const REFUSED: (&str, &str) =
    ("<built-in>/bodies/refused.conf", include_str!("../../rules/bodies/refused.conf"));

/// Whether a rule looks at bodies that cannot be read.
fn looks_at_body_errors(root: &RuleIr) -> bool {
    let links = std::iter::once(root).chain(&root.chain);
    links.flat_map(|link| &link.targets).any(|target| target.variable.name == "REQBODY_ERROR")
}

/// Whether a rule adds to the anomaly score of level 1.
fn scores(root: &RuleIr) -> bool {
    let actions = std::iter::once(root).chain(&root.chain).flat_map(|link| &link.actions.collections);
    actions.into_iter().any(|action| match action {
        CollectionActionIr::Set(set) => {
            set.name.literal().is_some_and(|name| name.to_ascii_lowercase().ends_with("anomaly_score_pl1"))
        }
        _ => false,
    })
}

/// Puts these rules before those of a set, if none of the set looks at such bodies.
pub(super) fn add_missing(ir: &mut RuleSetIr, diagnostics: &mut Diagnostics) {
    if ir.roots().any(looks_at_body_errors) {
        return;
    }
    let file = if ir.roots().any(scores) { SCORED } else { REFUSED };
    let (added, found) = in_memory(&[file]);
    diagnostics.append(found);
    let known: BTreeSet<u64> = ir.roots().map(|root| root.id).collect();
    let is_new = |item: &ItemIr| !matches!(item, ItemIr::Rule(rule) if known.contains(&rule.id));
    ir.items.splice(0..0, added.items.into_iter().filter(is_new));
}

/// The ids of these rules that were added to a set.
pub fn added(ir: &RuleSetIr) -> Vec<u64> {
    let files = [SCORED.0, REFUSED.0];
    ir.roots().filter(|root| files.contains(&&*root.place.source.name)).map(|root| root.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::seclang;
    use seclang::ir::Disruptive;

    #[test]
    fn rules_for_bodies_are_added_where_a_set_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.conf").display().to_string();
        for (text, expected, refuses) in [
            ("SecRule ARGS \"@rx x\" \"id:1,deny\"", &[200_002, 200_003][..], true),
            (
                "SecRule ARGS \"@rx x\" \"id:1,pass,setvar:tx.inbound_anomaly_score_pl1=+5\"",
                &[200_002, 200_003],
                false,
            ),
            ("SecRule REQBODY_ERROR \"@eq 1\" \"id:1,pass\"", &[], false),
            ("SecAction \"id:200002,pass\"", &[200_003], true),
        ] {
            std::fs::write(&path, text).unwrap();
            let (ir, diagnostics) = seclang(Some(std::slice::from_ref(&path)));
            assert!(diagnostics.is_empty(), "{diagnostics}");
            assert_eq!(added(&ir), expected, "{text}");
            let added = ir.roots().filter(|root| expected.contains(&root.id));
            assert!(
                added.into_iter().all(|root| (root.actions.disruptive == Some(Disruptive::Deny)) == refuses)
            );
        }
    }
}
