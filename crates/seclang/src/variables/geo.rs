//! What the last `@geoLookup` that matched learnt of its address, by the names of the reference manual.

use super::{Changes, Definition, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "GEO",
    summary: "What the last `@geoLookup` that matched learnt of its address: `COUNTRY_CODE`, `CITY` and others.",
    collection: true,
    changes: Changes::WithRules,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.facts.geo.iter().for_each(|pair| visit(pair.key, pair.value));
}
