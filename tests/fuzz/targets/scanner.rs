#![no_main]
//! Any body is scanned; findings lie in it, in order; samples are made of any.

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use body::decompress::{self, Coding};
use detection::Detector;

static DETECTOR: LazyLock<Detector> = LazyLock::new(|| portcullis::rules::sensitive(None).0);

fuzz_target!(|body: &[u8]| {
    let found = DETECTOR.scan(body, &|_| true).detections;
    assert!(found.is_sorted());
    for detection in found {
        assert!(detection.start < detection.end && detection.end <= body.len());
        let _ = DETECTOR.rules()[detection.rule].mask(&body[detection.start..detection.end]);
    }
    for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
        let decoded = decompress::decode(coding, body, decompress::Limits { output_bytes: 1 << 16, ratio: 100 });
        assert!(decoded.bytes.len() <= 1 << 16);
    }
});
