//! Sockets of the name server: at each address one for TCP, and for UDP one for each thread, among which the kernel
//! shares the clients.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use crate::listener;

/// Bytes that wait in a socket for UDP.
const RECEIVE_BYTES: usize = 4 << 20;
/// How long a thread waits for a query before it looks whether the process ends.
const PATIENCE: Duration = Duration::from_millis(200);
/// How often a free port is looked for that both protocols have.
const TRIES: usize = 16;
/// A port from which no client asks (RFC 863).
const DISCARD: u16 = 9;

/// What is bound at an address.
pub struct NameSockets {
    /// As it is configured.
    pub(super) configured: SocketAddr,
    /// With the port that it has.
    pub address: SocketAddr,
    pub(super) udp: Vec<UdpSocket>,
    /// `None` if the process before hands its socket over.
    pub(super) tcp: Option<TcpListener>,
}

impl NameSockets {
    /// Binds an address, with one UDP socket for each of `threads`.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn bind(configured: SocketAddr, threads: usize) -> std::io::Result<Self> {
        let mut tries = 0;
        loop {
            tries += 1;
            let tcp = listener::reserve(configured)?;
            let address = tcp.local_addr()?;
            match udp_sockets(address, threads) {
                Err(error) if configured.port() == 0 && tries < TRIES => drop(error),
                udp => return Ok(Self { configured, address, udp: udp?, tcp: Some(tcp) }),
            }
        }
    }

    /// Shares an address with the process before, which hands its socket for TCP over.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn take_over(configured: SocketAddr, threads: usize) -> std::io::Result<Self> {
        let udp = udp_sockets(configured, threads)?;
        let address = udp.first().map_or(Ok(configured), UdpSocket::local_addr)?;
        Ok(Self { configured, address, udp, tcp: None })
    }
}

/// Sockets for UDP that share an address, also with those of another process.
fn udp_sockets(address: SocketAddr, threads: usize) -> std::io::Result<Vec<UdpSocket>> {
    let udp = (0..threads.max(1)).map(|_| {
        let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        let udp = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        udp.set_reuse_port(true)?;
        if address.is_ipv6() {
            udp.set_only_v6(true)?;
        }
        // What the system does not give is as much as it gives.
        let _ = udp.set_recv_buffer_size(RECEIVE_BYTES);
        udp.set_read_timeout(Some(PATIENCE))?;
        if address.ip().is_unspecified() {
            tells_destination(&udp, address.is_ipv4())?;
        }
        udp.bind(&address.into())?;
        Ok(UdpSocket::from(udp))
    });
    udp.collect()
}

/// Has the socket tell to which address of the machine each query came, so that the answer comes from there.
fn tells_destination(socket: &Socket, is_v4: bool) -> std::io::Result<()> {
    use nix::sys::socket::{setsockopt, sockopt};
    let set = if is_v4 {
        setsockopt(socket, sockopt::Ipv4PacketInfo, &true)
    } else {
        setsockopt(socket, sockopt::Ipv6RecvPacketInfo, &true)
    };
    set.map_err(std::io::Error::from)
}

/// Has a socket get no further queries, and not wait for what it has got. The kernel passes over a socket that is
/// connected to somebody else.
pub(super) fn close_for_queries(socket: &UdpSocket) {
    let Ok(own) = socket.local_addr() else { return };
    let nobody = match own.ip() {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    };
    // If it cannot, what comes meanwhile is asked again.
    let _ = socket.connect(SocketAddr::new(nobody, DISCARD));
    let _ = socket.set_nonblocking(true);
}
