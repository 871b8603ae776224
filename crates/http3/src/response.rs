//! Responses as frames.

use http::{HeaderMap, StatusCode};

use crate::frame;
use crate::qpack::{begin, write_field};

/// The frame of a response's head.
pub fn head(status: StatusCode, headers: &HeaderMap) -> Vec<u8> {
    let mut section = begin();
    write_field(":status", status.as_str().as_bytes(), &mut section);
    frame_of(section, headers)
}

/// The frame of trailers.
pub fn fields(trailers: &HeaderMap) -> Vec<u8> {
    frame_of(begin(), trailers)
}

fn frame_of(mut section: Vec<u8>, headers: &HeaderMap) -> Vec<u8> {
    for (name, value) in headers {
        write_field(name.as_str(), value.as_bytes(), &mut section);
    }
    let mut written = Vec::with_capacity(section.len() + 9);
    frame::write_head(frame::HEADERS, section.len(), &mut written);
    written.extend(section);
    written
}

/// The header of a DATA frame with a payload of `length` bytes.
pub fn data_head(length: usize) -> Vec<u8> {
    let mut written = Vec::with_capacity(9);
    frame::write_head(frame::DATA, length, &mut written);
    written
}
