#![no_main]
//! What is read is JSON, and paths are made of its members only.

use libfuzzer_sys::fuzz_target;
use body::json;

fuzz_target!(|bytes: &[u8]| {
    let mut values = 0usize;
    let _ = json::read(bytes, json::Limits { depth: 64 }, &mut |path, _| {
        assert!(path.starts_with(b"json"));
        values += 1;
    });
    assert!(values <= bytes.len());
    // Without members there is one path.
    if !bytes.contains(&b'{') {
        let _ = json::read(bytes, json::Limits { depth: 64 }, &mut |path, _| assert_eq!(path, b"json"));
    }
});
