//! Hosts of URLs: what of a network they are.
//!
//! An IPv4 host is read as `inet_aton` reads it (one to four parts, each decimal, octal or hex), IPv6 with
//! the IPv4 addresses it can hold, letters and digits in circles or full width as their plain ones, and
//! names of services that answer with the address in the name as that address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(super) const MAX_HOST_BYTES: usize = 253;

/// What a URL reaches that a client has no business with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// The machine itself.
    pub loopback: bool,
    /// The metadata service of a cloud, which hands out credentials, or another link-local address.
    pub metadata: bool,
    /// A private network.
    pub private: bool,
    /// A name that only private networks have.
    pub inner: bool,
    /// An address or a URL of one in a notation that people do not use.
    pub disguised: bool,
    /// An address instead of a name.
    pub numeric: bool,
    /// Any of the first four in a sentence, but for servers that people try on their own machines.
    pub mentioned: bool,
}

impl Reach {
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            loopback: self.loopback || other.loopback,
            metadata: self.metadata || other.metadata,
            private: self.private || other.private,
            inner: self.inner || other.inner,
            disguised: self.disguised || other.disguised,
            numeric: self.numeric || other.numeric,
            mentioned: self.mentioned || other.mentioned,
        }
    }

    /// Whether it is of a network that clients are no part of.
    pub(super) fn is_inside(self) -> bool {
        self.loopback || self.metadata || self.private || self.inner
    }

    /// The same, written as people do not write what is inside.
    pub(super) fn disguised_if(self, is_unusual: bool) -> Self {
        Self { disguised: self.disguised || is_unusual && self.is_inside(), ..self }
    }
}

/// What a host of a URL, with its port, is.
pub(super) fn host(text: &[u8]) -> Reach {
    if matches!(text, [] | [b':' | b'.', ..]) {
        return Reach::default();
    }
    let is_spelled = !text.is_ascii() || text.contains(&b'%');
    let plain = plain(text);
    let name = match plain.strip_prefix('[') {
        Some(literal) => {
            let literal = literal.split([']', '%']).next().unwrap_or_default();
            return literal.parse().map_or(Reach::default(), |address: Ipv6Addr| {
                of_v6(address).disguised_if(address.to_string() != literal)
            });
        }
        // What is encoded may end it: `127.0.0.1%23.example.com`.
        None => plain.split([':', '#', '?', '/', '\\']).next().unwrap_or_default().trim_end_matches('.'),
    };
    if name.is_empty() || name.len() > MAX_HOST_BYTES {
        return Reach::default();
    }
    if let Some((address, is_plain)) = inet_aton(name) {
        // All of the network leads to this machine, but people write the first address of it.
        let is_other = address.is_loopback() && address != Ipv4Addr::LOCALHOST;
        return Reach { disguised: !is_plain || is_spelled || is_other, numeric: true, ..of_v4(address) };
    }
    of_name(name).disguised_if(is_spelled)
}

/// The host in lower case; percent-encoded bytes and digits in other forms as themselves.
fn plain(text: &[u8]) -> String {
    let text =
        percent_encoding::percent_decode(text.get(..MAX_HOST_BYTES).unwrap_or(text)).decode_utf8_lossy();
    text.chars()
        .map(|c| match u32::from(c) {
            // Full width, circles, circles of letters, the ideographic stop.
            code @ 0xff01..=0xff5e => char::from_u32(code - 0xfee0).unwrap_or(c),
            code @ 0x2460..=0x2468 => char::from_u32(code - 0x2460 + 0x31).unwrap_or(c),
            0x24ea => '0',
            code @ 0x24d0..=0x24e9 => char::from_u32(code - 0x24d0 + 0x61).unwrap_or(c),
            code @ 0x24b6..=0x24cf => char::from_u32(code - 0x24b6 + 0x61).unwrap_or(c),
            0x3002 => '.',
            _ => c.to_ascii_lowercase(),
        })
        .collect()
}

/// An IPv4 address in any notation, and whether it is the usual one.
fn inet_aton(name: &str) -> Option<(Ipv4Addr, bool)> {
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return Some((address, true));
    }
    let parts: Vec<u64> = name.split('.').take(5).map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|part| *part > 255) {
        return None;
    }
    let room = 32 - 8 * u32::try_from(first.len()).ok()?;
    if *last >= 1 << room {
        return None;
    }
    let head = first.iter().enumerate().fold(0, |sum, (at, part)| sum | part << (24 - 8 * at));
    Some((Ipv4Addr::from(u32::try_from(head | last).ok()?), false))
}

fn number(part: &str) -> Option<u64> {
    if let Some(hex) = part.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    match part.strip_prefix('0') {
        Some("") => Some(0),
        Some(octal) => u64::from_str_radix(octal, 8).ok(),
        None => part.parse().ok(),
    }
}

fn of_v4(address: Ipv4Addr) -> Reach {
    let [a, b, ..] = address.octets();
    Reach {
        loopback: address.is_loopback() || a == 0,
        metadata: address.is_link_local()
            || address == Ipv4Addr::new(100, 100, 100, 200)
            || address == Ipv4Addr::new(192, 0, 0, 192),
        private: address.is_private() || (a == 100 && (64..128).contains(&b)),
        numeric: true,
        ..Reach::default()
    }
}

fn of_v6(address: Ipv6Addr) -> Reach {
    let segments = address.segments();
    let embedded = match segments {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] if high != 0 => Some((high, low)),
        [0, 0, 0, 0, 0xffff, 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some((high, low)),
        [0x2002, high, low, ..] => Some((high, low)),
        _ => None,
    };
    if let Some((high, low)) = embedded {
        return Reach { disguised: true, ..of_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))) };
    }
    let ip = IpAddr::V6(address);
    Reach {
        loopback: ip.is_loopback() || ip.is_unspecified(),
        metadata: segments.first() == Some(&0xfd00) && segments.get(1) == Some(&0xec2),
        private: segments.first().is_some_and(|first| first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfe80),
        numeric: true,
        ..Reach::default()
    }
}

fn of_name(name: &str) -> Reach {
    let is = |names: &[&str]| names.contains(&name);
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    if is(&["localhost", "localhost.localdomain", "localhost6", "ip6-localhost", "ip6-loopback", "loopback"])
        || ends(&[".localhost"])
    {
        return Reach { loopback: true, ..Reach::default() };
    }
    // Public names that lead here.
    if ends(&[".localtest.me", ".lvh.me", ".vcap.me", ".lacolhost.com", ".yoogle.com"])
        || is(&["localtest.me", "lvh.me", "spoofed.burpcollaborator.net"])
    {
        return Reach { loopback: true, disguised: true, ..Reach::default() };
    }
    if is(&[
        "metadata.google.internal",
        "metadata",
        "instance-data",
        "instance-data.ec2.internal",
        "metadata.azure.com",
        "metadata.azure.internal",
        "metadata.packet.net",
        "metadata.tencentyun.com",
        "rancher-metadata",
        "metadata.platformequinix.com",
    ]) {
        return Reach { metadata: true, ..Reach::default() };
    }
    // `127.0.0.1.nip.io`, `app-10-0-0-1.sslip.io`
    for service in [".nip.io", ".xip.io", ".sslip.io", ".rbndr.us", ".1u.ms", ".xip.name"] {
        let Some(label) = name.strip_suffix(service) else { continue };
        let digits: Vec<u8> = label.split(['.', '-']).filter_map(|part| part.parse().ok()).collect();
        let found = digits
            .windows(4)
            .filter_map(|four| <[u8; 4]>::try_from(four).ok())
            .map(|octets| of_v4(octets.into()));
        return found.fold(Reach::default(), Reach::or).disguised_if(true);
    }
    let is_inner = is(&["host.docker.internal", "kubernetes", "gateway.docker.internal"])
        || ends(&[
            ".svc.cluster.local",
            ".cluster.local",
            ".default.svc",
            ".corp",
            ".lan",
            ".intranet",
            ".internal",
            ".consul",
            ".localdomain",
        ]);
    Reach { inner: is_inner, ..Reach::default() }
}
