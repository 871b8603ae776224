#![no_main]
//! What is read is JSON, and no two members have one path.

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use portcullis::body::json;

fuzz_target!(|bytes: &[u8]| {
    let mut values = 0usize;
    let _ = json::read(bytes, json::Limits { depth: 64 }, &mut |path, _| {
        assert!(path.starts_with(b"json"));
        values += 1;
    });
    assert!(values <= bytes.len());
    // Arrays have no repeated names, so their paths must all differ.
    if !bytes.contains(&b'{') {
        let mut paths = HashSet::new();
        let _ = json::read(bytes, json::Limits { depth: 64 }, &mut |path, _| assert!(paths.insert(path.to_vec())));
    }
});
