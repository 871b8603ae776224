//! Where addresses are, by a MaxMind DB file (format version 2) with the records of GeoIP2 City or Country.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use maxminddb::Reader;
use serde::Deserialize;

/// An open database.
pub struct GeoDatabase(Reader<Vec<u8>>);

/// What is known of an address: entries of `GEO`, by their names.
pub type Place = Vec<(&'static str, String)>;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record {
    continent: Named,
    country: Named,
    registered_country: Named,
    subdivisions: Vec<Named>,
    city: Named,
    postal: Postal,
    location: Location,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    code: Option<String>,
    iso_code: Option<String>,
    /// By language.
    names: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Postal {
    code: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Location {
    latitude: Option<f64>,
    longitude: Option<f64>,
    metro_code: Option<u16>,
}

impl GeoDatabase {
    /// Opens the bytes of a file.
    ///
    /// # Errors
    /// One sentence: why they are no such database.
    pub fn open(bytes: Vec<u8>) -> Result<Self, String> {
        Reader::from_source(bytes).map(Self).map_err(|error| error.to_string())
    }

    /// The place of an address; `None` if the database has none, or no record that can be read.
    pub fn find(&self, address: IpAddr) -> Option<Place> {
        // Addresses of IPv4 that came over an IPv6 socket.
        let record: Record = self.0.lookup(address.to_canonical()).ok()?.decode().ok()??;
        let country =
            if record.country.iso_code.is_some() { record.country } else { record.registered_country };
        let name = |named: &Named| named.names.get("en").or_else(|| named.names.values().next()).cloned();
        let entries = [
            ("COUNTRY_CODE", country.iso_code.clone()),
            ("COUNTRY_NAME", name(&country)),
            ("COUNTRY_CONTINENT", record.continent.code.clone()),
            ("REGION", record.subdivisions.first().and_then(|region| region.iso_code.clone())),
            ("CITY", name(&record.city)),
            ("POSTAL_CODE", record.postal.code),
            ("LATITUDE", record.location.latitude.map(|degrees| format!("{degrees:.6}"))),
            ("LONGITUDE", record.location.longitude.map(|degrees| format!("{degrees:.6}"))),
            ("DMA_CODE", record.location.metro_code.map(|code| code.to_string())),
        ];
        Some(entries.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
    }
}

impl fmt::Debug for GeoDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GeoDatabase({})", self.0.metadata().database_type)
    }
}
