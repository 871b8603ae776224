#![no_main]
//! Every text of a message is a part of it, and nothing overflows.

use libfuzzer_sys::fuzz_target;
use body::{grpc, protobuf};

const DEPTH: usize = 16;

fuzz_target!(|bytes: &[u8]| {
    assert!(grpc::complete_bytes(bytes) <= bytes.len());
    let mut total = 0;
    protobuf::read(bytes, DEPTH, &mut |_, text| {
        assert!(text.is_empty() || bytes.as_ptr_range().contains(&text.as_ptr()));
        total += text.len();
    });
    assert!(total <= bytes.len() * (DEPTH + 1));
});
