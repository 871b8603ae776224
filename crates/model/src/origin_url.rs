//! Base URLs of origins and providers.

use std::net::IpAddr;

use crate::HostName;

/// `http://host[:port][/path]` or the same with `https`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginUrl {
    pub tls: bool,
    pub host: Host,
    pub port: u16,
    /// Without a final slash; empty where there is none.
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
        let (tls, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(format!("expected a URL such as `http://127.0.0.1:9000`, found `{text}`")),
        };
        if rest.contains(['@', '?', '#', ' ']) {
            return Err(format!("`{text}` may have only a host, a port and a path"));
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = split_port(authority).ok_or_else(|| format!("`{text}` has no valid port"))?;
        let port = port.unwrap_or(if tls { 443 } else { 80 });
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let host = match bare.parse::<IpAddr>() {
            Ok(address) => Host::Address(address),
            Err(_) => Host::Name(HostName::parse(host)?),
        };
        Ok(Self { tls, host, port, path: path.trim_end_matches('/').to_owned() })
    }

    /// Itself, where it has no path.
    ///
    /// # Errors
    /// One sentence where it has one.
    pub fn without_path(self) -> Result<Self, String> {
        if self.path.is_empty() {
            Ok(self)
        } else {
            Err(format!("an origin has no path; remove `{}`", self.path))
        }
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
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.is_multicast()
        }
    }
}

fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => {
            Some((host, Some(port.parse().ok().filter(|port| *port > 0)?)))
        }
        _ => Some((authority, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_split_or_refused() {
        let url = OriginUrl::parse("https://API.example:8443/v1/").unwrap();
        assert_eq!(
            (url.tls, url.port, &*url.path, &*url.authority()),
            (true, 8443, "/v1", "api.example:8443")
        );
        assert_eq!(OriginUrl::parse("http://[::1]:81").unwrap().authority(), "[::1]:81");
        assert_eq!(OriginUrl::parse("https://a.example").unwrap().authority(), "a.example");
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
        ] {
            assert!(OriginUrl::parse(text).is_err(), "{text}");
        }
    }
}
