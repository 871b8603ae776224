//! Listening sockets: bound here, or taken over from the process before this one.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd};

use pingora::server::ListenFds;
use socket2::{Domain, Protocol, Socket, Type};

use super::http3;
use super::passed_sockets::PassedSockets;

/// Ports that are tried if the system chooses.
const MAX_ATTEMPTS: usize = 16;
/// Connections the kernel holds before they are accepted.
const BACKLOG: i32 = 1024;

/// The sockets of a listener, bound before the process begins to serve.
#[derive(Debug)]
pub struct ReservedSockets {
    pub tcp: TcpListener,
    /// For HTTP/3, if it is spoken.
    pub udp: Option<UdpSocket>,
}

impl ReservedSockets {
    /// Takes the sockets that were passed for an address, and binds the others. With `with_udp` there is one for UDP.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn new(address: SocketAddr, with_udp: bool, passed: &mut PassedSockets) -> std::io::Result<Self> {
        if let Some(tcp) = passed.take_tcp(address) {
            let udp = with_udp.then(|| passed.take_udp(address).map_or_else(|| http3::reserve(address), Ok));
            return Ok(Self { tcp, udp: udp.transpose()? });
        }
        // Of a port that the system chooses, the other protocol's may be taken.
        let mut attempts = if address.port() == 0 { MAX_ATTEMPTS } else { 1 };
        loop {
            let tcp = reserve(address)?;
            if !with_udp {
                return Ok(Self { tcp, udp: None });
            }
            attempts -= 1;
            match http3::reserve(tcp.local_addr()?) {
                Ok(udp) => return Ok(Self { tcp, udp: Some(udp) }),
                Err(error) if attempts == 0 => return Err(error),
                Err(_) => {}
            }
        }
    }
}

/// A socket that listens, registered for hand-over.
#[derive(Debug)]
pub struct Bound {
    pub listener: TcpListener,
    pub inherited: bool,
}

/// Binds an address before the process begins to serve, so that one that cannot be had ends it.
///
/// # Errors
/// If the address cannot be bound.
pub fn reserve(address: SocketAddr) -> std::io::Result<TcpListener> {
    let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(TcpListener::from(socket))
}

/// The socket of `key`: the reserved one, or inherited if the process before handed it over, else bound to
/// `address`.
/// Either way it is registered, so that the next process can inherit it.
///
/// # Errors
/// If the address cannot be bound.
pub fn bind(
    key: &str,
    address: SocketAddr,
    reserved: Option<TcpListener>,
    fds: Option<&ListenFds>,
) -> std::io::Result<Bound> {
    let inherited = fds.and_then(|fds| fds.lock().get(key).copied());
    if let Some(fd) = inherited {
        #[expect(unsafe_code, reason = "a descriptor number can be made a socket in no other way")]
        // SAFETY: the descriptor came over the upgrade socket, so this process owns it, and it is in
        // the table only until it is claimed here: each key is bound by exactly one service, once.
        // Nothing else closes it. That it is a listening socket is checked by the first `accept`.
        let listener = unsafe { TcpListener::from_raw_fd(fd) };
        listener.set_nonblocking(true)?;
        return Ok(Bound { listener, inherited: true });
    }
    let listener = match reserved {
        Some(reserved) => reserved,
        None => reserve(address)?,
    };
    if let Some(fds) = fds {
        fds.lock().add(key.to_owned(), listener.as_raw_fd());
    }
    Ok(Bound { listener, inherited: false })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use pingora::server::Fds;

    use super::*;

    #[test]
    fn a_registered_socket_is_taken_over() {
        let fds: ListenFds = Arc::new(Mutex::new(Fds::new()));
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let first = bind("a", any, None, Some(&fds)).unwrap();
        let address = first.listener.local_addr().unwrap();
        // The descriptor is given up, as the old process does when it ends.
        let fd = std::os::fd::IntoRawFd::into_raw_fd(first.listener);
        assert_eq!(fds.lock().get("a"), Some(&fd));
        let second = bind("a", any, None, Some(&fds)).unwrap();
        assert!(second.inherited);
        assert_eq!(second.listener.local_addr().unwrap(), address);
        assert!(std::net::TcpStream::connect(address).is_ok());
    }
}
