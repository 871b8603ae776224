//! Where addresses are, by MaxMind DB files (format version 2) that an operator names: countries, autonomous systems.

use std::fmt;
use std::net::IpAddr;

use maxminddb::Reader;
use serde::Deserialize;

use expression::{ClientPlace, PlaceKinds, PlaceSource};

/// Open databases. Of what several know, the first one counts.
#[derive(Default)]
pub struct GeoDatabases {
    countries: Vec<Reader<Vec<u8>>>,
    asns: Vec<Reader<Vec<u8>>>,
}

/// A record of GeoIP2 Country or City.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CountryRecord<'d> {
    #[serde(borrow)]
    country: Coded<'d>,
    #[serde(borrow)]
    registered_country: Coded<'d>,
    #[serde(borrow)]
    continent: Coded<'d>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Coded<'d> {
    code: Option<&'d str>,
    iso_code: Option<&'d str>,
}

/// A record of GeoLite2 ASN or GeoIP2 ISP.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AsnRecord {
    autonomous_system_number: Option<u32>,
}

impl GeoDatabases {
    /// Adds the bytes of a file.
    ///
    /// # Errors
    /// One sentence: they are no such database, or one of something else.
    pub fn add(&mut self, bytes: Vec<u8>) -> Result<(), String> {
        let reader =
            Reader::from_source(bytes).map_err(|error| format!("it is no MaxMind DB file: {error}"))?;
        let kind = reader.metadata().database_type.clone();
        let is_of = |words: &[&str]| words.iter().any(|word| kind.contains(word));
        if is_of(&["ASN", "ISP"]) {
            self.asns.push(reader);
        } else if is_of(&["Country", "City", "Enterprise"]) {
            self.countries.push(reader);
        } else {
            return Err(format!(
                "it is a database of the type `{kind}`; expected one of countries (`Country`, `City`) or of \
                 autonomous systems (`ASN`)"
            ));
        }
        Ok(())
    }

    /// What they know.
    pub fn kinds(&self) -> PlaceKinds {
        PlaceKinds { countries: !self.countries.is_empty(), asns: !self.asns.is_empty() }
    }
}

impl PlaceSource for GeoDatabases {
    fn find(&self, address: IpAddr) -> ClientPlace {
        let mut place = ClientPlace::default();
        for database in &self.countries {
            let Ok(found) = database.lookup(address) else { continue };
            let Ok(Some(CountryRecord { country, registered_country, continent })) = found.decode() else {
                continue;
            };
            let country = country.iso_code.or(registered_country.iso_code);
            place.country = place.country.or_else(|| country.map(str::to_owned));
            place.continent = place.continent.or_else(|| continent.code.map(str::to_owned));
        }
        for database in &self.asns {
            let found =
                database.lookup(address).ok().and_then(|found| found.decode::<AsnRecord>().ok().flatten());
            place.asn = place.asn.or(found.and_then(|record| record.autonomous_system_number));
        }
        place
    }
}

impl fmt::Debug for GeoDatabases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GeoDatabases").field(&self.kinds()).finish()
    }
}
