//! HTTP/3 of a listener (RFC 9114): QUIC on the UDP port of the same number.
//!
//! ```text
//! endpoint -> handshake -> caps -> connection -> head in time -> session -> the proxy
//! ```
//! A request reaches the proxy as one of HTTP/2 does, and everything behind it is the same. Not there, because each would
//! let bytes in whose sender is not known: early data, and connections that move to another address.

mod connection;
mod endpoint;
mod request_stream;
mod reset_secret;
mod response_stream;
mod session;
mod streams;

pub(super) use endpoint::{Http3Endpoint, reserve};
pub use reset_secret::ResetSecret;

use pingora::protocols::http::ServerSession;

use http3::Http3Code;

/// Streams a client may have open for requests on one connection.
const MAX_REQUESTS: u32 = 128;
/// Streams it may have open in its direction alone: three are needed.
const MAX_CLIENT_STREAMS: u32 = 16;

/// Whether a session is one of several on its connection, as those of HTTP/2 and HTTP/3 are.
pub fn is_multiplexed(session: &ServerSession) -> bool {
    session.is_http2() || session.req_header().version == http::Version::HTTP_3
}

/// A code as QUIC has it.
fn code(code: Http3Code) -> quinn::VarInt {
    quinn::VarInt::from_u32(code.number())
}
