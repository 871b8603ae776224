//! Every statement of the specification, with the test that holds it.

use std::collections::BTreeSet;

use crate::support::runs;

#[test]
fn every_statement_has_a_test_or_waits_for_its_issue() {
    let rows = include_str!("../data/spec/rows.tsv");
    let mut ids = BTreeSet::new();
    let (mut tested, mut waiting) = (0, 0);
    for row in rows.lines().skip(1) {
        let [id, statement, place] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        assert!(ids.insert(id), "{id} stands twice");
        assert!(!statement.is_empty());
        if let Some(issue) = place.strip_prefix("issue ") {
            let number = issue.split(':').next().unwrap().parse::<u32>().unwrap();
            assert!((26..=31).contains(&number), "{id} waits for an issue that is none: {place}");
            waiting += 1;
        } else if place.starts_with("make test-sdk: ") {
            // What needs the package index is not among the tests that always run.
            tested += 1;
        } else if !place.starts_with("none: ") {
            assert!(runs(place), "the test of {id}, {place}, does not run");
            tested += 1;
        }
    }
    assert_eq!((ids.len(), tested + waiting), (278, 276), "two statements have nothing to test");
    assert_eq!((tested, waiting), (276, 0));
}
