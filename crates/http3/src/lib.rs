//! Frames and field sections of HTTP/3 (RFC 9114) and QPACK (RFC 9204), as a server reads and writes them. Nothing
//! here has a socket: bytes go in as they come, and what they say comes out.
//!
//! ```text
//! request stream -> RequestReader -> a head, pieces of a body -> DecodedHead
//! control stream -> ControlReader -> nothing, or why the connection ends
//! ```
//! No frame is gathered before its length is known to be allowed: of what a client declares, only heads up to a limit
//! and the short frames of its control stream are ever held. There is no dynamic table: its capacity is announced as 0,
//! so that no field depends on another stream and no client can make the edge keep a table for it (RFC 9204 section
//! 3.2.3).

mod code;
mod control;
mod frame;
mod qpack;
mod qpack_streams;
mod request_head;
mod request_stream;
mod response;
mod varint;

pub use code::Http3Code;
pub use control::{ControlReader, goaway, open_control};
pub use qpack_streams::{DecoderStreamReader, EncoderStreamReader};
pub use request_head::{DecodedHead, Malformed};
pub use request_stream::{RequestPart, RequestReader};
pub use response::{data_head, fields, head};
pub use varint::StreamKind;
