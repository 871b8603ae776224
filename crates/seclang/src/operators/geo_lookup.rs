//! The database of `SecGeoLookupDb` knows where the address is; what it knows is in `GEO`.

use std::net::IpAddr;
use std::sync::Arc;

use super::{Argument, Compiled, Definition, Example, Test, no_match};
use crate::data::Data;
use crate::geo::{GeoDatabase, Place};

pub(super) const DEFINITION: Definition = Definition {
    name: "geoLookup",
    summary: "The database of `SecGeoLookupDb` knows where the address is; what it knows is in `GEO`.",
    reads_file: false,
    compile,
    examples: &[Example { argument: "", input: b"192.0.2.1", matches: false }],
};

struct GeoLookup(Arc<GeoDatabase>);

fn compile(argument: &mut Argument<'_>) -> Compiled {
    Ok(match argument.geo {
        Some(database) => Box::new(GeoLookup(Arc::clone(database))),
        None => no_match::test(),
    })
}

impl Test for GeoLookup {
    fn is_match(&self, input: &[u8], _: &Data) -> bool {
        self.place(input).is_some()
    }

    fn place(&self, input: &[u8]) -> Option<Place> {
        let address: IpAddr = std::str::from_utf8(input).ok()?.trim().parse().ok()?;
        self.0.find(address)
    }
}
