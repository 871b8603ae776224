//! Sockets that the service manager bound before it started this process (sd_listen_fds(3), systemd.socket(5)).
//!
//! Connections wait in them while the process starts anew, and it needs no right to bind low ports.

use std::net::{SocketAddr, TcpListener, UdpSocket};

use listenfd::ListenFd;
use socket2::SockRef;

/// Passed sockets that nothing has taken yet, each for the address that it is bound to.
#[derive(Debug, Default)]
pub struct PassedSockets {
    tcp: Vec<(SocketAddr, TcpListener)>,
    udp: Vec<(SocketAddr, UdpSocket)>,
}

impl PassedSockets {
    /// Those of the environment; none if there are none for this process.
    ///
    /// # Errors
    /// One sentence if one is neither of TCP nor of UDP, or takes IPv4 by an address of IPv6: rules and lists of addresses know
    /// clients by their own.
    pub fn from_environment() -> Result<Self, String> {
        let mut found = ListenFd::from_env();
        let mut passed = Self::default();
        for nth in 0..found.len() {
            if let Ok(Some(socket)) = found.take_tcp_listener(nth) {
                passed.tcp.push((prepared(&SockRef::from(&socket), nth)?, socket));
            } else if let Ok(Some(socket)) = found.take_udp_socket(nth) {
                passed.udp.push((prepared(&SockRef::from(&socket), nth)?, socket));
            } else {
                return Err(format!(
                    "the socket {nth} of the service manager is for neither `ListenStream` nor `ListenDatagram` with an \
                     address and a port"
                ));
            }
        }
        Ok(passed)
    }

    /// The one that listens on an address.
    pub fn take_tcp(&mut self, address: SocketAddr) -> Option<TcpListener> {
        take(&mut self.tcp, address)
    }

    /// The one that gets datagrams at an address.
    pub fn take_udp(&mut self, address: SocketAddr) -> Option<UdpSocket> {
        take(&mut self.udp, address)
    }

    /// Nothing answers what is left.
    ///
    /// # Errors
    /// One sentence that names one.
    pub fn check_all_taken(&self) -> Result<(), String> {
        let tcp = self.tcp.iter().map(|(address, _)| (address, "ListenStream"));
        let mut left = tcp.chain(self.udp.iter().map(|(address, _)| (address, "ListenDatagram")));
        left.next().map_or(Ok(()), |(address, kind)| {
            Err(format!(
                "the service manager passed a socket (`{kind}={address}`) that no listener of the configuration has as its \
                 `address`; name it there, or take it out of the socket unit"
            ))
        })
    }
}

fn take<S>(sockets: &mut Vec<(SocketAddr, S)>, address: SocketAddr) -> Option<S> {
    let at = sockets.iter().position(|(of, _)| *of == address)?;
    Some(sockets.swap_remove(at).1)
}

/// The address of a socket, which waits for nothing from then on.
fn prepared(socket: &SockRef<'_>, nth: usize) -> Result<SocketAddr, String> {
    let failed = |error: std::io::Error| format!("the socket {nth} of the service manager: {error}");
    socket.set_nonblocking(true).map_err(failed)?;
    let address = socket.local_addr().map_err(failed)?.as_socket();
    let address = address.ok_or_else(|| format!("the socket {nth} of the service manager has no address"))?;
    if address.is_ipv6() && !socket.only_v6().unwrap_or(false) {
        return Err(format!(
            "the socket `{address}` of the service manager takes IPv4 as well; write `BindIPv6Only=ipv6-only` into its unit, \
             and an address of IPv4 beside it"
        ));
    }
    Ok(address)
}
