#![no_main]
//! Any body is scanned; findings lie in it, in order, and are those of the plain scanner; samples are made of any.

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use body::decompress::{self, Coding};
use detection::Detector;

static DETECTOR: LazyLock<Detector> = LazyLock::new(|| portcullis::rules::sensitive(None).0);

/// The plain scanner reads the words before each value anew.
const MAX_PLAIN_BYTES: usize = 4096;

fuzz_target!(|body: &[u8]| {
    let scanned = DETECTOR.scan(body, &|_| true);
    let found = scanned.detections;
    assert!(found.is_sorted());
    if body.len() <= MAX_PLAIN_BYTES && !scanned.exhausted {
        assert_eq!(found, detection::scanner::oracle::scan(&DETECTOR, body, &|_| true));
    }
    for detection in found {
        assert!(detection.start < detection.end && detection.end <= body.len());
        let _ = DETECTOR.rules()[detection.rule].mask(&body[detection.start..detection.end]);
    }
    for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
        let decoded = decompress::decode(coding, body, decompress::Limits { output_bytes: 1 << 16, ratio: 100 });
        assert!(decoded.bytes.len() <= 1 << 16);
    }
});
