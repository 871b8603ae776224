//! The PROXY protocol, versions 1 and 2 (haproxy.org, proxy-protocol.txt sections 2.1 and 2.2).

use std::net::IpAddr;

use ppp::{PartialResult, v1, v2};

/// Longest header: a version 2 header with the longest address block and 1 KiB of extensions.
pub const MAX_HEADER_BYTES: usize = 16 + 216 + 1024;

const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// Longest version 1 line, with its line end.
const MAX_LINE_BYTES: usize = 107;

/// A header that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The client that the peer speaks for; `None` if it speaks for itself.
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
    if !bytes.is_empty() && bytes.get(..shared) == SIGNATURE.get(..shared) {
        return version_2(bytes);
    }
    version_1(bytes)
}

fn version_1(bytes: &[u8]) -> Parsed {
    const START: &[u8] = b"PROXY ";
    let shared = bytes.len().min(START.len());
    if bytes.get(..shared) != START.get(..shared) {
        return Parsed::Refused;
    }
    let line = bytes.get(..bytes.len().min(MAX_LINE_BYTES)).unwrap_or(&[]);
    let Some(end) = memchr::memmem::find(line, b"\r\n") else {
        return if bytes.len() < MAX_LINE_BYTES { Parsed::Incomplete } else { Parsed::Refused };
    };
    let length = end + 2;
    let source = match v1::Header::try_from(line.get(..length).unwrap_or(&[])).map(|header| header.addresses)
    {
        Ok(v1::Addresses::Tcp4(addresses)) => Some(addresses.source_address.into()),
        Ok(v1::Addresses::Tcp6(addresses)) => Some(addresses.source_address.into()),
        Ok(v1::Addresses::Unknown) => None,
        // The line is complete, so more bytes cannot mend it.
        Err(_) => return Parsed::Refused,
    };
    Parsed::Header(Header { source, length })
}

fn version_2(bytes: &[u8]) -> Parsed {
    let Some(announced) = bytes.get(14..).and_then(<[u8]>::first_chunk::<2>) else {
        return Parsed::Incomplete;
    };
    let length = 16 + usize::from(u16::from_be_bytes(*announced));
    if length > MAX_HEADER_BYTES {
        return Parsed::Refused;
    }
    let header = match v2::Header::try_from(bytes.get(..length).unwrap_or(bytes)) {
        Ok(header) => header,
        Err(error) if error.is_incomplete() && bytes.len() < length => return Parsed::Incomplete,
        Err(_) => return Parsed::Refused,
    };
    let source = match (header.command, header.addresses) {
        // The peer's own health check.
        (v2::Command::Local, _) => None,
        (v2::Command::Proxy, v2::Addresses::IPv4(addresses)) => Some(addresses.source_address.into()),
        (v2::Command::Proxy, v2::Addresses::IPv6(addresses)) => Some(addresses.source_address.into()),
        // These say nothing about a client.
        (v2::Command::Proxy, v2::Addresses::Unspecified | v2::Addresses::Unix(_)) => None,
    };
    Parsed::Header(Header { source, length })
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
            b"PROXY TCP4 192.0.2.1 198.51.100.1 1 2 3\r\n",
            b"PROXY TCP4 192.0.2.1  198.51.100.1 1 2\r\n",
            b"PROXY TCP4 192.0.2.01 198.51.100.1 1 2\r\n",
            b"PROXY TCP4 192.0.2.1 198.51.100.1 1 2\n\r\n",
            b"PROXY TCP4\r\n",
            b"PROXY UDP4 192.0.2.1 198.51.100.1 1 2\r\n",
            b"PROXY UNKNOWN 192.0.2.\xff 1\r\n",
            b"proxy UNKNOWN\r\n",
            &long,
            &v2(0x31, 0x11, &[0; 12]),
            &v2(0x21, 0x11, &[0; 4]),
            &v2(0x21, 0x11, &[0; 2000]),
        ] {
            assert_eq!(parse(bytes), Parsed::Refused, "{bytes:?}");
        }
    }
}
