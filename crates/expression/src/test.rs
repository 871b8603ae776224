//! What a value is compared with.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use memchr::memmem::Finder;

use super::named_set::{AddressSet, HostSet, NumberSet};
use super::value::Value;
use pattern::Pattern;

/// The right side of a comparison.
#[derive(Debug)]
pub(super) enum Test {
    /// Whether it is true.
    Flag(bool),
    Int(Order, i64),
    Text(Order, Vec<u8>),
    Ip(Order, IpAddr),
    Contains(Box<Finder<'static>>),
    Matches(Box<Pattern>),
    /// Ranges with both ends.
    InNumbers(Vec<(i64, i64)>),
    InTexts(Vec<Vec<u8>>),
    InNetworks(Vec<Addresses>),
    InAddressSet(Arc<AddressSet>),
    InHostSet(Arc<HostSet>),
    InNumberSet(Arc<NumberSet>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Addresses that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Addresses {
    Network(IpNet),
    /// With both ends, which are of one family.
    Range(IpAddr, IpAddr),
}

impl Addresses {
    fn contains(&self, address: IpAddr) -> bool {
        match *self {
            Self::Network(network) => network.contains(&address),
            Self::Range(from, to) => from.is_ipv4() == address.is_ipv4() && from <= address && address <= to,
        }
    }
}

impl Order {
    fn holds<T: Ord>(self, left: &T, right: &T) -> bool {
        match self {
            Self::Eq => left == right,
            Self::Ne => left != right,
            Self::Lt => left < right,
            Self::Le => left <= right,
            Self::Gt => left > right,
            Self::Ge => left >= right,
        }
    }
}

impl Test {
    /// Whether it holds of a value; what is missing is only unlike something.
    pub(super) fn holds(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Flag(wanted), Value::Bool(is)) => is == wanted,
            (Self::Int(order, number), Value::Int(is)) => order.holds(is, number),
            (Self::Text(order, text), Value::Text(is)) => order.holds(&is.as_ref(), &text.as_slice()),
            (Self::Ip(order, address), Value::Ip(is)) => order.holds(is, address),
            (Self::Contains(finder), Value::Text(is)) => finder.find(is).is_some(),
            (Self::Matches(pattern), Value::Text(is)) => pattern.is_match(is),
            (Self::InNumbers(ranges), Value::Int(is)) => {
                ranges.iter().any(|(from, to)| (from..=to).contains(&is))
            }
            (Self::InTexts(texts), Value::Text(is)) => texts.iter().any(|text| text == is.as_ref()),
            (Self::InNetworks(networks), Value::Ip(is)) => {
                networks.iter().any(|addresses| addresses.contains(*is))
            }
            (Self::InAddressSet(set), Value::Ip(is)) => set.contains(*is),
            (Self::InHostSet(set), Value::Text(is)) => set.contains(is),
            (Self::InNumberSet(set), Value::Int(is)) => set.contains(*is),
            (Self::Int(order, _) | Self::Text(order, _) | Self::Ip(order, _), Value::Missing) => {
                *order == Order::Ne
            }
            _ => false,
        }
    }
}
