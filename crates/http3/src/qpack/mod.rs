//! Field sections without a dynamic table (RFC 9204).

mod decode;
mod encode;
mod huffman;
mod integer;
mod static_table;

pub(crate) use decode::{DecodeError, decode};
pub(crate) use encode::{begin, write_field};
