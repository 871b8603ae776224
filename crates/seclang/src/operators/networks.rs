//! The address list behind `@ipMatch`.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{Compiled, Test};
use crate::data::Data;

struct Networks(Vec<IpNet>);

/// Networks or single addresses.
pub(super) fn compile<'a>(words: impl Iterator<Item = &'a str>) -> Compiled {
    let mut networks = Vec::new();
    for word in words.map(str::trim).filter(|word| !word.is_empty()) {
        let network = word.parse::<IpNet>().ok().or_else(|| word.parse::<IpAddr>().ok().map(IpNet::from));
        networks.push(network.ok_or_else(|| {
            format!("expected an address or network such as `192.0.2.0/24`, found `{word}`")
        })?);
    }
    if networks.is_empty() {
        return Err("expected at least one address or network".to_owned());
    }
    Ok(Box::new(Networks(networks)))
}

impl Test for Networks {
    fn is_match(&self, input: &[u8], _: &Data) -> bool {
        let address = std::str::from_utf8(input).ok().and_then(|text| text.trim().parse::<IpAddr>().ok());
        address.is_some_and(|address| self.0.iter().any(|network| network.contains(&address)))
    }
}
