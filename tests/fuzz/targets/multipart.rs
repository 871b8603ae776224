#![no_main]
//! Any body is read under any boundary in it; contents are parts of the body.

use libfuzzer_sys::fuzz_target;
use portcullis::body::multipart;

fuzz_target!(|bytes: &[u8]| {
    let (content_type, body) = bytes.split_at(bytes.len().min(usize::from(bytes.first().copied().unwrap_or(0))));
    let boundary = multipart::boundary(content_type).unwrap_or(b"B");
    let mut total = 0;
    let read = multipart::read(body, boundary, 16, &mut |part| total += part.content.len());
    assert!(total <= body.len());
    assert!(read.parts <= 16);
});
