//! Base URLs of origins and providers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Uri;

use crate::HostName;

/// `http://host[:port][/path]` or the same with `https`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginUrl {
    pub tls: bool,
    pub host: Host,
    pub port: u16,
    /// Without a final slash; empty if there is none.
    pub path: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    Name(HostName),
    Address(IpAddr),
}

impl OriginUrl {
    /// Parses a URL.
    ///
    /// # Errors
    /// One sentence: what is missing or may not be there.
    pub fn parse(text: &str) -> Result<Self, String> {
        let tls = match text.split_once("://") {
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("http") => false,
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("https") => true,
            _ => return Err(format!("expected a URL such as `http://127.0.0.1:9000`, found `{text}`")),
        };
        if text.contains(['@', '?', '#']) {
            return Err(format!("`{text}` may have only a host, a port and a path"));
        }
        let url: Uri = text.parse().map_err(|error| format!("`{text}` is not a URL: {error}"))?;
        let authority = url.authority().ok_or_else(|| format!("`{text}` has no host"))?;
        let port = match authority.port() {
            Some(port) => port.as_str().bytes().all(|byte| byte.is_ascii_digit()).then_some(port.as_u16()),
            // What is behind the host, but no port.
            None if authority.as_str() != authority.host() => None,
            None => Some(if tls { 443 } else { 80 }),
        };
        let port = port
            .filter(|port| *port > 0)
            .ok_or_else(|| format!("`{text}` has no valid port; expected 1 to 65535"))?;
        let bare = authority.host().strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = match bare.unwrap_or(authority.host()).parse::<IpAddr>() {
            Ok(address) if address.is_ipv6() == bare.is_some() => Host::Address(address),
            _ => Host::Name(HostName::parse(authority.host())?),
        };
        Ok(Self { tls, host, port, path: url.path().trim_end_matches('/').to_owned() })
    }

    /// Itself, if it has no path.
    ///
    /// # Errors
    /// One sentence if it has one.
    pub fn without_path(self) -> Result<Self, String> {
        if self.path.is_empty() {
            Ok(self)
        } else {
            Err(format!("an origin has no path; remove `{}`", self.path))
        }
    }

    /// The place of a URL that may have a path and a query.
    ///
    /// # Errors
    /// One sentence, as [`place_and_target`] has it.
    pub fn of_endpoint(url: &str) -> Result<Self, String> {
        let (place, _) = place_and_target(url)?;
        Self::parse(&place)
    }

    /// Whether its host is written as an address that is not public, or as this machine.
    pub fn is_private(&self) -> bool {
        match &self.host {
            Host::Address(address) => is_private(*address),
            Host::Name(name) => name.as_str() == "localhost" || name.as_str().ends_with(".localhost"),
        }
    }

    /// What certificates are checked against; empty for plain HTTP.
    pub fn server_name(&self) -> String {
        match &self.host {
            _ if !self.tls => String::new(),
            Host::Name(name) => name.to_string(),
            Host::Address(address) => address.to_string(),
        }
    }

    /// `host[:port]` as a `Host` header has it.
    pub fn authority(&self) -> String {
        let host = match &self.host {
            Host::Name(name) => name.to_string(),
            Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
            Host::Address(address) => address.to_string(),
        };
        match (self.tls, self.port) {
            (false, 80) | (true, 443) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

/// The origin of a URL that may have a query, and what is asked of it: path and query as they stand in the URL.
///
/// # Errors
/// One sentence: what is missing or may not be there.
pub fn place_and_target(url: &str) -> Result<(String, String), String> {
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    OriginUrl::parse(place)?;
    if query.contains('#') || !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("`{place}` may be followed by a query of letters, digits and signs without `#`"));
    }
    let uri: Uri = url.parse().map_err(|error| format!("`{place}` with its query is not a URL: {error}"))?;
    // The path of a URL without one is `/`, also if a query follows.
    let target = uri.query().map_or_else(|| uri.path().to_owned(), |query| format!("{}?{query}", uri.path()));
    Ok((place.to_owned(), target))
}

/// A URL without its query, which may hold what nobody but its owner may see.
pub fn without_query(url: &str) -> &str {
    url.split_once('?').map_or(url, |(place, _)| place)
}

/// Whether an address is this machine's, of its network, or otherwise not of the public Internet.
pub fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, ..] = address.octets();
            address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified()
                || address.is_broadcast()
                || address.is_multicast()
                || a == 0
                || a >= 240
                || (a == 100 && (64..128).contains(&b))
        }
        IpAddr::V6(address) => {
            embedded(address).is_some_and(|inner| is_private(inner.into()))
                || address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.is_multicast()
        }
    }
}

/// The IPv4 address that gateways make of one of IPv6 (RFC 6052 section 2.1, RFC 3056).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.octets() {
        [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d] | [0x20, 0x02, a, b, c, d, ..] => {
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_other_addresses_are_private_if_these_are() {
        for text in ["::ffff:127.0.0.1", "64:ff9b::10.0.0.1", "2002:a00:1::1", "fe80::1", "::"] {
            assert!(is_private(text.parse().unwrap()), "{text}");
        }
        for text in ["64:ff9b::198.51.100.1", "2002:c633:6401::1", "2001:db8::1", "198.51.100.1"] {
            assert!(!is_private(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn urls_are_split_or_refused() {
        let url = OriginUrl::parse("https://API.example:8443/v1/").unwrap();
        assert_eq!(
            (url.tls, url.port, &*url.path, &*url.authority()),
            (true, 8443, "/v1", "api.example:8443")
        );
        assert_eq!(OriginUrl::parse("http://[::1]:81").unwrap().authority(), "[::1]:81");
        assert_eq!(OriginUrl::parse("https://a.example").unwrap().authority(), "a.example");
        assert_eq!(
            OriginUrl::parse("HTTP://a.example/").unwrap(),
            OriginUrl::parse("http://a.example:80").unwrap()
        );
        for text in [
            "",
            "a.example",
            "ftp://a",
            "http://",
            "http://a:0",
            "http://a:x",
            "http://u@a",
            "http://a?x",
            "http://a b",
            "http://a/b c",
            "http://a#x",
            "http://a:",
            "http://a:+80",
            "http://a:65536",
            "http://a:80:81",
            "http://::1",
            "http://[::1",
            "http://[127.0.0.1]",
            "http://[v1.x]",
            "http:/a",
            "http://a\u{1f}",
        ] {
            assert!(OriginUrl::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn path_and_query_are_asked_for_as_they_stand() {
        for (url, place, target) in [
            ("https://a.example", "https://a.example", "/"),
            ("https://a.example/hook/", "https://a.example/hook/", "/hook/"),
            ("http://a.example:81/x?sig=a%2Fb&to=@c", "http://a.example:81/x", "/x?sig=a%2Fb&to=@c"),
            ("http://a.example?b=1", "http://a.example", "/?b=1"),
        ] {
            assert_eq!(place_and_target(url), Ok((place.to_owned(), target.to_owned())), "{url}");
        }
        for url in ["ftp://a.example", "http://u@a.example/", "http://a.example/#f", "http://a.example/?b#f"]
        {
            assert!(place_and_target(url).is_err(), "{url}");
        }
        for url in ["http://a.example/?b c", "http://a.example/?b\r\nx: y", "http://a.example/?b\u{e4}"] {
            assert!(place_and_target(url).is_err(), "{url:?}");
        }
    }
}
