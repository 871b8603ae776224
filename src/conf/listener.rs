//! Where clients connect.

use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;

use ipnet::IpNet;

/// An address, and what is spoken there.
#[derive(Clone, Debug)]
pub struct Listener {
    pub address: SocketAddr,
    /// Peers that must begin with a PROXY protocol header.
    pub proxy_protocol_from: Vec<IpNet>,
    /// Chain and key files; the listener speaks TLS if there are any.
    pub certificates: Vec<(PathBuf, PathBuf)>,
    /// Whether it speaks TLS with the certificates of zones and custom hostnames alone.
    pub is_tls: bool,
    pub protocol: ListenerProtocol,
    /// Whether HTTP/3 is spoken on the UDP port of the same number.
    pub speaks_http3: bool,
    /// The port in Alt-Svc, if it is not the port of `address`.
    pub http3_port: Option<NonZeroU16>,
}

impl Listener {
    pub fn speaks_tls(&self) -> bool {
        self.is_tls || !self.certificates.is_empty()
    }

    /// The port that Alt-Svc announces, if the listener speaks HTTP/3.
    pub fn told_http3_port(&self) -> Option<u16> {
        self.speaks_http3.then(|| self.http3_port.map_or(self.address.port(), NonZeroU16::get))
    }
}

/// What clients of a listener speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListenerProtocol {
    #[default]
    Http,
    /// Queries over TLS (RFC 7858).
    Dns,
}
