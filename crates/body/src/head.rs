//! Heads of requests and responses, as the readers of bodies and the engines get them.

use std::net::IpAddr;
use std::time::Duration;

/// The head of a request, as received.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'r> {
    pub method: &'r [u8],
    /// The request target, undecoded.
    pub target: &'r [u8],
    /// As `HTTP/1.1`.
    pub protocol: &'r str,
    pub headers: &'r [(&'r [u8], &'r [u8])],
    pub client: IpAddr,
    /// The address that the client connected to, if it is known.
    pub server: Option<IpAddr>,
    pub request_id: &'r str,
    /// When it came, since the Unix epoch.
    pub received: Duration,
}

impl<'r> RequestHead<'r> {
    /// Path and query of the target, undecoded, whatever its form (RFC 9112 section 3.2).
    pub fn origin_form(&self) -> &'r [u8] {
        origin_form(self.target)
    }
}

/// The head of a response, as received.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'r> {
    pub status: u16,
    /// As `HTTP/1.1`.
    pub protocol: &'r str,
    pub headers: &'r [(&'r [u8], &'r [u8])],
}

/// A target without the scheme and the authority that it may name.
pub fn origin_form(target: &[u8]) -> &[u8] {
    if target.starts_with(b"/") {
        return target;
    }
    let absolute = memchr::memmem::find(target, b"://")
        .filter(|at| !target.get(..*at).is_some_and(|s| s.contains(&b'/')));
    let Some(scheme) = absolute else { return target };
    let authority = target.get(scheme + 3..).unwrap_or(&[]);
    let end = authority.iter().position(|b| matches!(b, b'/' | b'?')).unwrap_or(authority.len());
    authority.get(end..).unwrap_or(&[])
}
