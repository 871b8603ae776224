//! Named lists as expressions ask them: sets of addresses or hosts.

use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use ipnet::IpNet;

use super::client_place::PlaceKinds;
use model::HostName;
use model::list::ListKind;

/// What the expressions of an account can name: sets, and what is known of addresses.
#[derive(Clone, Debug, Default)]
pub struct NamedSets {
    sets: BTreeMap<String, NamedSet>,
    /// Whether a name that is none of them is taken for one.
    is_open: bool,
    knows: PlaceKinds,
}

/// A set with a name.
#[derive(Clone, Debug)]
pub enum NamedSet {
    Addresses(Arc<AddressSet>),
    Hosts(Arc<HostSet>),
    Numbers(Arc<NumberSet>),
}

/// Numbers of autonomous systems, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumberSet(Vec<u32>);

/// Addresses and networks, as ranges that neither overlap nor touch, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressSet {
    v4: Vec<(u32, u32)>,
    v6: Vec<(u128, u128)>,
}

/// Host names in normal form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSet {
    names: HashSet<Box<[u8]>>,
    /// Of which every name below is meant.
    parents: HashSet<Box<[u8]>>,
}

impl NamedSets {
    /// No sets, where every name is taken for one of some: which there are is found out later.
    pub fn open() -> Self {
        Self { sets: BTreeMap::new(), is_open: true, knows: PlaceKinds { countries: true, asns: true } }
    }

    /// With what databases say of addresses.
    #[must_use]
    pub fn with_places(self, knows: PlaceKinds) -> Self {
        Self { knows, ..self }
    }

    pub(super) fn knows(&self) -> PlaceKinds {
        self.knows
    }

    pub fn insert(&mut self, name: String, set: NamedSet) {
        self.sets.insert(name, set);
    }

    /// Whether there is a set of this name.
    pub fn has(&self, name: &str) -> bool {
        self.sets.contains_key(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.sets.keys().map(String::as_str)
    }

    pub(super) fn addresses(&self, name: &str) -> Option<Result<Arc<AddressSet>, ListKind>> {
        self.find(name, |set| if let NamedSet::Addresses(set) = set { Some(set) } else { None })
    }

    pub(super) fn hosts(&self, name: &str) -> Option<Result<Arc<HostSet>, ListKind>> {
        self.find(name, |set| if let NamedSet::Hosts(set) = set { Some(set) } else { None })
    }

    pub(super) fn numbers(&self, name: &str) -> Option<Result<Arc<NumberSet>, ListKind>> {
        self.find(name, |set| if let NamedSet::Numbers(set) = set { Some(set) } else { None })
    }

    /// The set of a name, or its kind if it is of another; `None` if there is none.
    fn find<T: Default>(
        &self,
        name: &str,
        of_kind: fn(&NamedSet) -> Option<&Arc<T>>,
    ) -> Option<Result<Arc<T>, ListKind>> {
        match self.sets.get(name) {
            Some(set) => Some(of_kind(set).map(Arc::clone).ok_or_else(|| set.kind())),
            None => self.is_open.then(|| Ok(Arc::default())),
        }
    }
}

impl NumberSet {
    fn of<'t>(values: impl IntoIterator<Item = &'t str>) -> Self {
        let mut numbers: Vec<u32> = values.into_iter().filter_map(|text| text.parse().ok()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Self(numbers)
    }

    pub fn contains(&self, number: i64) -> bool {
        u32::try_from(number).is_ok_and(|number| self.0.binary_search(&number).is_ok())
    }
}

impl NamedSet {
    /// A set of values in normal form; what is none is left out.
    pub fn of<'t>(kind: ListKind, values: impl IntoIterator<Item = &'t str>) -> Self {
        match kind {
            ListKind::Ip => {
                let networks = values.into_iter().filter_map(|text| network(text).ok());
                Self::Addresses(Arc::new(AddressSet::of(networks)))
            }
            ListKind::Hostname => Self::Hosts(Arc::new(HostSet::of(values))),
            ListKind::Asn => Self::Numbers(Arc::new(NumberSet::of(values))),
        }
    }

    pub fn kind(&self) -> ListKind {
        match self {
            Self::Addresses(_) => ListKind::Ip,
            Self::Hosts(_) => ListKind::Hostname,
            Self::Numbers(_) => ListKind::Asn,
        }
    }

    /// A value as a list keeps it: a network without bits behind its prefix, a host in lower case.
    ///
    /// # Errors
    /// One sentence, if it is no value of this kind.
    pub fn normal_form(kind: ListKind, text: &str) -> Result<String, String> {
        match kind {
            ListKind::Ip => {
                let network = network(text)?;
                let is_one = network.prefix_len() == network.max_prefix_len();
                Ok(if is_one { network.addr().to_string() } else { network.to_string() })
            }
            ListKind::Asn => {
                let number = text.trim_start_matches("AS").parse::<u32>();
                number.map(|number| number.to_string()).map_err(|_| {
                    format!("expected the number of an autonomous system such as `64496`, found `{text:.60}`")
                })
            }
            ListKind::Hostname => match text.strip_prefix("*.") {
                Some(parent) => HostName::parse(parent).map(|parent| format!("*.{parent}")),
                None => HostName::parse(text).map(|host| host.to_string()),
            },
        }
    }
}

fn network(text: &str) -> Result<IpNet, String> {
    let network = match text.parse::<IpAddr>() {
        Ok(address) => Ok(IpNet::from(address.to_canonical())),
        Err(_) => text.parse::<IpNet>().map(|network| network.trunc()),
    };
    let network = network.map_err(|_| {
        format!("expected an address or a network such as `192.0.2.0/24`, found `{text:.60}`")
    })?;
    match network {
        // An address of IPv4 in IPv6 would never be met: addresses are compared as what they are.
        IpNet::V6(mapped) if mapped.addr().to_ipv4_mapped().is_some() => {
            Err(format!("`{text:.60}` is a network of IPv4 written as IPv6; write it as IPv4"))
        }
        other => Ok(other),
    }
}

/// Ranges in order, those that overlap or touch as one.
fn joined<T: Ord + Copy>(mut ranges: Vec<(T, T)>, after: impl Fn(T) -> Option<T>) -> Vec<(T, T)> {
    ranges.sort_unstable();
    let mut joined: Vec<(T, T)> = Vec::with_capacity(ranges.len());
    for (from, to) in ranges {
        match joined.last_mut() {
            Some((_, last)) if after(*last).is_none_or(|next| from <= next) => *last = (*last).max(to),
            _ => joined.push((from, to)),
        }
    }
    joined.shrink_to_fit();
    joined
}

fn holds<T: Ord>(ranges: &[(T, T)], value: &T) -> bool {
    let behind = ranges.partition_point(|(from, _)| from <= value);
    let before = behind.checked_sub(1).and_then(|at| ranges.get(at));
    before.is_some_and(|(_, to)| value <= to)
}

impl AddressSet {
    fn of(networks: impl IntoIterator<Item = IpNet>) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for network in networks {
            match network {
                IpNet::V4(network) => v4.push((network.network().into(), network.broadcast().into())),
                IpNet::V6(network) => v6.push((network.network().into(), network.broadcast().into())),
            }
        }
        Self {
            v4: joined(v4, |last: u32| last.checked_add(1)),
            v6: joined(v6, |last: u128| last.checked_add(1)),
        }
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        match address.to_canonical() {
            IpAddr::V4(address) => holds(&self.v4, &Ipv4Addr::into(address)),
            IpAddr::V6(address) => holds(&self.v6, &address.into()),
        }
    }
}

impl HostSet {
    fn of<'t>(values: impl IntoIterator<Item = &'t str>) -> Self {
        let mut set = Self::default();
        for value in values {
            match value.strip_prefix("*.") {
                Some(parent) => set.parents.insert(parent.as_bytes().into()),
                None => set.names.insert(value.as_bytes().into()),
            };
        }
        set
    }

    /// Whether it has a host, whatever its case, with or without the dot at its end.
    pub fn contains(&self, host: &[u8]) -> bool {
        let host = host.strip_suffix(b".").unwrap_or(host);
        // A name is shorter; what is longer need not be written down to be known as none.
        let mut buffer = [0; 253];
        let Some(name) = buffer.get_mut(..host.len()) else { return false };
        name.copy_from_slice(host);
        name.make_ascii_lowercase();
        if self.names.contains(&*name) {
            return true;
        }
        let mut rest: &[u8] = name;
        while let Some(dot) = memchr::memchr(b'.', rest).filter(|_| !self.parents.is_empty()) {
            rest = rest.get(dot + 1..).unwrap_or(&[]);
            if self.parents.contains(rest) {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(values: &[&str]) -> Arc<AddressSet> {
        match NamedSet::of(ListKind::Ip, values.iter().copied()) {
            NamedSet::Addresses(set) => set,
            NamedSet::Hosts(_) | NamedSet::Numbers(_) => unreachable!(),
        }
    }

    #[test]
    fn an_address_is_in_a_set_if_one_of_its_networks_has_it() {
        let values = [
            "192.0.2.0/25",
            "192.0.2.128/25",
            "192.0.2.7",
            "198.51.100.4",
            "255.255.255.255",
            "0.0.0.0",
            "2001:db8::/32",
            "2001:db8:1::/48",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ];
        let set = addresses(&values);
        assert_eq!((set.v4.len(), set.v6.len()), (4, 2), "what touches is one range");
        for (address, expected) in [
            ("192.0.2.0", true),
            ("192.0.2.255", true),
            ("192.0.1.255", false),
            ("192.0.3.0", false),
            ("::ffff:192.0.2.9", true),
            ("198.51.100.4", true),
            ("198.51.100.5", false),
            ("255.255.255.255", true),
            ("0.0.0.0", true),
            ("0.0.0.1", false),
            ("2001:db8:ffff::1", true),
            ("2001:db9::", false),
            ("::1", false),
            ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true),
        ] {
            assert_eq!(set.contains(address.parse().unwrap()), expected, "{address}");
        }
        assert!(!addresses(&[]).contains("192.0.2.1".parse().unwrap()));
        assert!(addresses(&["0.0.0.0/0"]).contains("192.0.2.1".parse().unwrap()));
    }

    /// Whatever the networks, a set says what they say one by one.
    #[test]
    fn a_set_is_what_its_networks_are_together() {
        let mut state = 7u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8
        };
        let mut asked = 0;
        for _ in 0..200 {
            let networks: Vec<String> = (0..next() % 20)
                .map(|_| format!("10.0.{}.{}/{}", next() % 4, next() % 256, 20 + next() % 13))
                .collect();
            let set = addresses(&networks.iter().map(String::as_str).collect::<Vec<_>>());
            let parsed: Vec<IpNet> = networks.iter().map(|text| text.parse().unwrap()).collect();
            for _ in 0..200 {
                let address = IpAddr::from([10, 0, (next() % 5) as u8, (next() % 256) as u8]);
                let expected = parsed.iter().any(|network| network.contains(&address));
                assert_eq!(set.contains(address), expected, "{address} {networks:?}");
                asked += 1;
            }
        }
        assert_eq!(asked, 40_000);
    }

    #[test]
    fn a_host_is_in_a_set_by_its_name_or_one_above_it() {
        let NamedSet::Hosts(set) = NamedSet::of(ListKind::Hostname, ["shop.example", "*.b.example"]) else {
            unreachable!()
        };
        for (host, expected) in [
            ("shop.example", true),
            ("SHOP.example.", true),
            ("www.shop.example", false),
            ("b.example", false),
            ("a.b.example", true),
            ("x.a.B.example", true),
            ("ab.example", false),
            ("", false),
            (".", false),
            (".b.example", true),
            ("shop.example..", false),
        ] {
            assert_eq!(set.contains(host.as_bytes()), expected, "{host}");
        }
        assert!(!set.contains(&[b'a'; 100_000]));
    }

    #[test]
    fn values_have_one_form_and_what_is_none_is_refused() {
        for (kind, text, expected) in [
            (ListKind::Ip, "192.0.2.7/24", "192.0.2.0/24"),
            (ListKind::Ip, "192.0.2.7/32", "192.0.2.7"),
            (ListKind::Ip, "::ffff:192.0.2.7", "192.0.2.7"),
            (ListKind::Ip, "2001:DB8:0:0::/32", "2001:db8::/32"),
            (ListKind::Hostname, "Shop.Example.", "shop.example"),
            (ListKind::Hostname, "*.Shop.example", "*.shop.example"),
        ] {
            assert_eq!(NamedSet::normal_form(kind, text).as_deref(), Ok(expected));
        }
        for (kind, text) in [
            (ListKind::Ip, ""),
            (ListKind::Ip, "192.0.2"),
            (ListKind::Ip, "192.0.2.0/33"),
            (ListKind::Ip, "a.example"),
            (ListKind::Ip, "::ffff:192.0.2.0/120"),
            (ListKind::Ip, "192.0.2.1 "),
            (ListKind::Hostname, "*"),
            (ListKind::Hostname, "a.*.example"),
            (ListKind::Hostname, "a b"),
        ] {
            assert!(NamedSet::normal_form(kind, text).is_err(), "{text}");
        }
    }
}
