//! What the last `@geoLookup` that matched learnt of its address, by the names of the reference manual.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "GEO",
    summary: "What the last `@geoLookup` that matched learnt of its address: `COUNTRY_CODE`, `CITY` and others.",
    collection: true,
    changes: Changes::WithRules,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.geo.iter().for_each(|pair| visit(pair.key, pair.value));
}
