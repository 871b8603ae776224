//! Our own accept loop in front of Pingora's connection handling.
//!
//! ```text
//! accept -> caps -> PROXY protocol -> TLS by SNI -> deadlines of heads -> the proxy
//! http3:    handshakes in measure -> caps -> streams -> deadlines of heads -> the proxy
//! ```
//! Stock listeners have no caps, no whole-header deadline and no certificate by name that can be
//! swapped; see the modules for each.

mod caps;
mod deadline;
mod framer;
mod gathering_writer;
mod guard;
mod http3;
mod meta;
mod passed_sockets;
pub mod proxy_protocol;
mod service;
mod socket;
mod stream;
mod tickets;
mod tls;

pub use caps::Connections;
pub use guard::Guarded;
pub use http3::{ResetSecret, is_multiplexed};
pub use meta::{ConnectionMeta, Progress, address_text};
pub use passed_sockets::PassedSockets;
pub(crate) use service::until;
pub use service::{EdgeListener, ListenerContext, Queries};
pub use socket::{Bound, ReservedSockets, bind, reserve};
pub(crate) use stream::without_socket;
