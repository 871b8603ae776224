//! The header that begins a connection to an origin and names the client (PROXY protocol, haproxy.org, proxy-protocol.txt
//! sections 2.1 and 2.2).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pingora::connectors::L4Connect;
use pingora::protocols::l4::socket::SocketAddr as PeerAddress;
use pingora::protocols::l4::stream::Stream;
use pingora::upstreams::peer::HttpPeer;
use pingora::{Error, ErrorType, OrErr, Result};
use ppp::v2::{Builder, Command, Protocol, Version};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use model::OriginProxyProtocol;

/// How long a connection is waited for if no setting says so.
const PATIENCE: Duration = Duration::from_secs(10);

/// The two ends of a client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientConnection {
    pub client: SocketAddr,
    pub server: SocketAddr,
}

/// Has each connection to a peer begin with the header; it serves that client alone. `None` is a connection for the edge
/// itself.
pub fn begin_with(peer: &mut HttpPeer, version: OriginProxyProtocol, of: Option<ClientConnection>) {
    let Some(header) = header(version, of) else { return };
    let mut hasher = DefaultHasher::new();
    (peer.group_key, &header).hash(&mut hasher);
    // Connections are shared by peers that are the same.
    peer.group_key = hasher.finish();
    let patience = peer.options.connection_timeout.unwrap_or(PATIENCE);
    peer.options.custom_l4 = Some(Arc::new(HeaderFirst { header, patience }));
}

/// The bytes of a header; `None` if there is to be none.
fn header(version: OriginProxyProtocol, of: Option<ClientConnection>) -> Option<Vec<u8>> {
    let of = of.map(of_one_family);
    match (version, of) {
        (OriginProxyProtocol::Off, _) => None,
        (OriginProxyProtocol::V1, None) => Some(b"PROXY UNKNOWN\r\n".to_vec()),
        (OriginProxyProtocol::V1, Some(ClientConnection { client, server })) => {
            let family = if client.is_ipv4() { "TCP4" } else { "TCP6" };
            let (from, to) = (client.port(), server.port());
            Some(format!("PROXY {family} {} {} {from} {to}\r\n", client.ip(), server.ip()).into_bytes())
        }
        (OriginProxyProtocol::V2, None) => {
            Builder::new(Version::Two | Command::Local, Protocol::Unspecified as u8).build().ok()
        }
        (OriginProxyProtocol::V2, Some(ClientConnection { client, server })) => {
            Builder::with_addresses(Version::Two | Command::Proxy, Protocol::Stream, (client, server))
                .build()
                .ok()
        }
    }
}

/// Both addresses in one family, as a header has them: an address of IPv4 beside one of IPv6 is mapped.
fn of_one_family(of: ClientConnection) -> ClientConnection {
    let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let mapped = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
        IpAddr::V6(_) => address,
    };
    let ClientConnection { client, server } = of;
    let (client, server) = (plain(client), plain(server));
    match client.is_ipv4() == server.is_ipv4() {
        true => ClientConnection { client, server },
        false => ClientConnection { client: mapped(client), server: mapped(server) },
    }
}

/// Connects, and sends a header first: before TLS, if that is spoken.
#[derive(Debug)]
struct HeaderFirst {
    header: Vec<u8>,
    patience: Duration,
}

#[async_trait]
impl L4Connect for HeaderFirst {
    async fn connect(&self, address: &PeerAddress) -> Result<Stream> {
        let Some(address) = address.as_inet() else {
            return Error::e_explain(ErrorType::ConnectError, "the origin has no address of the Internet");
        };
        let connected = async {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(&self.header).await?;
            Ok::<_, std::io::Error>(stream)
        };
        match timeout(self.patience, connected).await {
            Ok(stream) => stream.map(Stream::from).or_err(ErrorType::ConnectError, "the origin"),
            Err(_) => Error::e_explain(ErrorType::ConnectTimedout, "the origin"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(client: &str, server: &str) -> Option<ClientConnection> {
        Some(ClientConnection { client: client.parse().unwrap(), server: server.parse().unwrap() })
    }

    #[test]
    fn lines_of_version_1_have_one_family() {
        let line = |of| String::from_utf8(header(OriginProxyProtocol::V1, of).unwrap()).unwrap();
        for (client, server, expected) in [
            ("192.0.2.1:5", "198.51.100.1:443", "PROXY TCP4 192.0.2.1 198.51.100.1 5 443\r\n"),
            ("[::ffff:192.0.2.1]:5", "198.51.100.1:443", "PROXY TCP4 192.0.2.1 198.51.100.1 5 443\r\n"),
            ("[2001:db8::1]:5", "[2001:db8::2]:80", "PROXY TCP6 2001:db8::1 2001:db8::2 5 80\r\n"),
            ("192.0.2.1:0", "[2001:db8::2]:80", "PROXY TCP6 ::ffff:192.0.2.1 2001:db8::2 0 80\r\n"),
        ] {
            assert_eq!(line(connection(client, server)), expected);
        }
        assert_eq!(line(None), "PROXY UNKNOWN\r\n");
    }

    #[test]
    fn headers_of_version_2_are_those_of_the_definition() {
        const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
        let of = connection("192.0.2.1:258", "198.51.100.1:443");
        let expected =
            [SIGNATURE, &[0x21, 0x11, 0, 12, 192, 0, 2, 1, 198, 51, 100, 1, 1, 2, 1, 0xBB]].concat();
        assert_eq!(header(OriginProxyProtocol::V2, of).unwrap(), expected);
        let local = [SIGNATURE, &[0x20, 0, 0, 0]].concat();
        assert_eq!(header(OriginProxyProtocol::V2, None).unwrap(), local);
        assert_eq!(header(OriginProxyProtocol::V2, connection("[::1]:1", "[::2]:2")).unwrap().len(), 16 + 36);
        assert_eq!(header(OriginProxyProtocol::Off, of), None);
    }
}
