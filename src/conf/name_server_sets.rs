//! The sets of name servers that zones may have.

use std::collections::BTreeMap;

use ::dns::Name;
use model::dns_settings::{NameServerSet, ZoneDnsSettings};

/// Names by the number of their set, the primary first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameServerSets(BTreeMap<u8, Vec<Name>>);

impl NameServerSets {
    /// The set of zones that ask for no other.
    pub const FIRST: u8 = 1;
    /// The last number that a set may have.
    pub const LAST: u8 = 5;

    /// Adds a set; false if there is one of its number.
    pub(super) fn put(&mut self, set: u8, names: Vec<Name>) -> bool {
        self.0.insert(set, names).is_none()
    }

    pub fn has(&self, set: u8) -> bool {
        self.0.contains_key(&set)
    }

    /// The sets by their numbers.
    pub fn sets(&self) -> impl Iterator<Item = (u8, &[Name])> {
        self.0.iter().map(|(set, names)| (*set, names.as_slice()))
    }

    /// The numbers of all, with that of the first.
    pub fn numbers(&self) -> Vec<u8> {
        std::iter::once(Self::FIRST).chain(self.0.keys().copied().filter(|set| *set != Self::FIRST)).collect()
    }

    /// The names that a zone has: its own, or those of its set; of the first set if its set is gone.
    pub fn of_zone(&self, settings: &ZoneDnsSettings) -> Vec<Name> {
        if settings.nameservers.r#type == NameServerSet::OF_ZONE && !settings.vanity_name_servers.is_empty() {
            let own = settings.vanity_name_servers.iter();
            return own.filter_map(|name| Name::parse(name, None).ok()).collect();
        }
        let set = self.0.get(&settings.nameservers.ns_set).or_else(|| self.0.get(&Self::FIRST));
        set.cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_has_the_names_of_its_set_or_its_own() {
        let name = |text: &str| Name::parse(text, None).unwrap();
        let mut sets = NameServerSets::default();
        assert!(sets.put(1, vec![name("ns1.example.net")]) && sets.put(3, vec![name("ns3.example.net")]));
        assert!(!sets.put(3, Vec::new()));
        let of = |sets: &NameServerSets, kind: &str, set: u8, own: &[&str]| {
            let settings = ZoneDnsSettings {
                nameservers: NameServerSet { r#type: kind.to_owned(), ns_set: set },
                vanity_name_servers: own.iter().map(|name| (*name).to_owned()).collect(),
                ..ZoneDnsSettings::default()
            };
            sets.of_zone(&settings).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let sets_again =
            NameServerSets(BTreeMap::from([(1, vec![name("ns1.example.net")]), (3, Vec::new())]));
        assert_eq!(sets_again.numbers(), [1, 3]);
        assert_eq!(of(&sets, "custom.account", 1, &[]), ["ns1.example.net"]);
        let mut sets = NameServerSets::default();
        sets.put(1, vec![name("ns1.example.net")]);
        sets.put(3, vec![name("ns3.example.net")]);
        assert_eq!(of(&sets, "svc.standard", 3, &[]), ["ns3.example.net"]);
        assert_eq!(of(&sets, "custom.account", 2, &[]), ["ns1.example.net"], "a set that is gone");
        assert_eq!(of(&sets, "custom.zone", 3, &["ns.a.example"]), ["ns.a.example"]);
        assert_eq!(of(&sets, "custom.account", 3, &["ns.a.example"]), ["ns3.example.net"], "not in use");
        assert_eq!(of(&NameServerSets::default(), "custom.account", 1, &[]), [""; 0]);
    }
}
