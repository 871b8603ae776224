//! The PROXY protocol, versions 1 and 2 (haproxy.org, proxy-protocol.txt sections 2.1 and 2.2).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Longest header: a version 2 header with the longest address block and 1 KiB of extensions.
pub const MAX_HEADER_BYTES: usize = 16 + 216 + 1024;

const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// Longest version 1 line, with its line end.
const MAX_LINE_BYTES: usize = 107;

/// A header that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Who the peer speaks for; `None` where it speaks for itself.
    pub source: Option<IpAddr>,
    /// Its length in bytes; what follows belongs to the connection.
    pub length: usize,
}

/// What the first bytes of a connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    Header(Header),
    /// It may become a header with more bytes.
    Incomplete,
    /// It is none, or a malformed one.
    Refused,
}

/// Reads the header at the start of `bytes`.
pub fn parse(bytes: &[u8]) -> Parsed {
    let shared = bytes.len().min(SIGNATURE.len());
    if bytes.get(..shared) == SIGNATURE.get(..shared) && !bytes.is_empty() {
        return if shared < SIGNATURE.len() { Parsed::Incomplete } else { version_2(bytes) };
    }
    version_1(bytes)
}

fn version_1(bytes: &[u8]) -> Parsed {
    const START: &[u8] = b"PROXY ";
    let shared = bytes.len().min(START.len());
    if bytes.get(..shared) != START.get(..shared) {
        return Parsed::Refused;
    }
    let Some(end) =
        memchr::memmem::find(bytes.get(..bytes.len().min(MAX_LINE_BYTES)).unwrap_or(&[]), b"\r\n")
    else {
        return if bytes.len() < MAX_LINE_BYTES { Parsed::Incomplete } else { Parsed::Refused };
    };
    let Some(line) = bytes.get(..end).and_then(|line| std::str::from_utf8(line).ok()) else {
        return Parsed::Refused;
    };
    let mut words = line.split(' ').skip(1);
    let length = end + 2;
    let source = match (words.next(), words.next(), words.next(), words.next(), words.next(), words.next()) {
        (Some("UNKNOWN"), ..) => None,
        (Some(family @ ("TCP4" | "TCP6")), Some(source), Some(destination), Some(from), Some(to), None) => {
            let (Ok(source), Ok(destination)) = (source.parse::<IpAddr>(), destination.parse::<IpAddr>())
            else {
                return Parsed::Refused;
            };
            let ports = from.parse::<u16>().is_ok() && to.parse::<u16>().is_ok();
            if !ports || source.is_ipv4() != (family == "TCP4") || destination.is_ipv4() != source.is_ipv4() {
                return Parsed::Refused;
            }
            Some(source)
        }
        _ => return Parsed::Refused,
    };
    Parsed::Header(Header { source, length })
}

fn version_2(bytes: &[u8]) -> Parsed {
    let Some([command, family, high, low]) = bytes.get(12..16).and_then(|b| <[u8; 4]>::try_from(b).ok())
    else {
        return Parsed::Incomplete;
    };
    let length = 16 + usize::from(u16::from_be_bytes([high, low]));
    if length > MAX_HEADER_BYTES || command >> 4 != 2 || command & 0x0f > 1 {
        return Parsed::Refused;
    }
    let Some(block) = bytes.get(16..length) else { return Parsed::Incomplete };
    // LOCAL: the peer's own health check.
    if command & 0x0f == 0 {
        return Parsed::Header(Header { source: None, length });
    }
    let source = match family >> 4 {
        1 => block
            .get(..12)
            .and_then(|b| b.first_chunk::<4>())
            .map(|octets| IpAddr::V4(Ipv4Addr::from(*octets))),
        2 => block
            .get(..36)
            .and_then(|b| b.first_chunk::<16>())
            .map(|octets| IpAddr::V6(Ipv6Addr::from(*octets))),
        // Unspecified and Unix addresses say nothing about a client.
        0 | 3 => return Parsed::Header(Header { source: None, length }),
        _ => None,
    };
    match source {
        Some(source) => Parsed::Header(Header { source: Some(source), length }),
        None => Parsed::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v2(command: u8, family: u8, block: &[u8]) -> Vec<u8> {
        let length = u16::try_from(block.len()).unwrap().to_be_bytes();
        [SIGNATURE.as_slice(), &[command, family], &length, block].concat()
    }

    #[test]
    fn every_prefix_is_incomplete_and_the_whole_is_read() {
        let four = [192, 0, 2, 1, 198, 51, 100, 1, 0x30, 0x39, 0, 80];
        let mut six = [0; 36];
        six[15] = 1;
        let cases: &[(Vec<u8>, Option<&str>)] = &[
            (b"PROXY TCP4 192.0.2.1 198.51.100.1 12345 80\r\n".to_vec(), Some("192.0.2.1")),
            (b"PROXY TCP6 2001:db8::1 2001:db8::2 1 2\r\n".to_vec(), Some("2001:db8::1")),
            (b"PROXY UNKNOWN\r\n".to_vec(), None),
            (v2(0x21, 0x11, &four), Some("192.0.2.1")),
            (v2(0x21, 0x21, &six), Some("::1")),
            (v2(0x20, 0x00, &[]), None),
        ];
        for (bytes, source) in cases {
            for end in 0..bytes.len() {
                assert_eq!(parse(&bytes[..end]), Parsed::Incomplete, "{bytes:?} to {end}");
            }
            let expected = Header { source: source.map(|s| s.parse().unwrap()), length: bytes.len() };
            assert_eq!(parse(&[bytes.as_slice(), b"GET /"].concat()), Parsed::Header(expected));
        }
    }

    #[test]
    fn what_is_malformed_is_refused() {
        let long = [b"PROXY ".as_slice(), &[b'x'; 110]].concat();
        for bytes in [
            &b"GET / HTTP/1.1\r\n"[..],
            b"PROXY TCP4 192.0.2.1 198.51.100.1 12345\r\n",
            b"PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n",
            b"PROXY TCP4 192.0.2.1 198.51.100.1 99999 80\r\n",
            &long,
            &v2(0x31, 0x11, &[0; 12]),
            &v2(0x21, 0x11, &[0; 4]),
            &v2(0x21, 0x11, &[0; 2000]),
        ] {
            assert_eq!(parse(bytes), Parsed::Refused, "{bytes:?}");
        }
    }
}
