//! Sockets of the name server: at each address one for TCP, and for UDP one for each thread, among which the kernel
//! shares the clients.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

/// Connections the kernel holds before they are accepted.
const BACKLOG: i32 = 1_024;
/// Bytes that wait in a socket for UDP.
const RECEIVE_BYTES: usize = 4 << 20;
/// How long a thread waits for a query before it looks whether the process ends.
const PATIENCE: Duration = Duration::from_millis(200);
/// How often a free port is looked for that both protocols have.
const TRIES: usize = 16;

/// What is bound at an address.
pub struct NameSockets {
    /// With the port that it has.
    pub address: SocketAddr,
    pub(super) udp: Vec<UdpSocket>,
    pub(super) tcp: TcpListener,
}

impl NameSockets {
    /// Binds an address for so many threads. The process before this one may still have it: sockets share it.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn bind(address: SocketAddr, threads: usize) -> std::io::Result<Self> {
        let mut tries = 0;
        loop {
            tries += 1;
            match Self::bind_once(address, threads) {
                Err(error) if address.port() == 0 && tries < TRIES => drop(error),
                outcome => return outcome,
            }
        }
    }

    fn bind_once(address: SocketAddr, threads: usize) -> std::io::Result<Self> {
        let tcp = socket(address, Type::STREAM, Protocol::TCP)?;
        tcp.set_nonblocking(true)?;
        tcp.listen(BACKLOG)?;
        let tcp = TcpListener::from(tcp);
        let address = SocketAddr::new(address.ip(), tcp.local_addr()?.port());
        let udp = (0..threads.max(1)).map(|_| {
            let udp = socket(address, Type::DGRAM, Protocol::UDP)?;
            // What the system does not give is as much as it gives.
            let _ = udp.set_recv_buffer_size(RECEIVE_BYTES);
            udp.set_read_timeout(Some(PATIENCE))?;
            if address.ip().is_unspecified() {
                tells_destination(&udp, address.is_ipv4())?;
            }
            Ok(UdpSocket::from(udp))
        });
        Ok(Self { address, udp: udp.collect::<std::io::Result<_>>()?, tcp })
    }
}

fn socket(address: SocketAddr, kind: Type, protocol: Protocol) -> std::io::Result<Socket> {
    let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = Socket::new(domain, kind, Some(protocol))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    Ok(socket)
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
