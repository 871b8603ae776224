#![no_main]
//! Any form is read; nothing is lost but what separates.

use libfuzzer_sys::fuzz_target;
use body::urlencoded;

fuzz_target!(|bytes: &[u8]| {
    let mut seen = 0;
    urlencoded::read(bytes, |name, value| {
        seen += name.len() + value.len();
        for part in [name, value] {
            let mut decoded = Vec::new();
            urlencoded::decode(part, &mut decoded);
            assert!(decoded.len() <= part.len());
            assert!(urlencoded::needs_decoding(part) || decoded == part);
        }
    });
    let separators = bytes.iter().filter(|byte| matches!(byte, b'&' | b'=')).count();
    assert!(seen <= bytes.len() && seen + separators >= bytes.len());
});
