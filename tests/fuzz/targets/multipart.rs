#![no_main]
//! Any body is read under any boundary in it; contents are parts of the body.

use libfuzzer_sys::fuzz_target;
use body::multipart;

fuzz_target!(|bytes: &[u8]| {
    let (content_type, body) = bytes.split_at(bytes.len().min(usize::from(bytes.first().copied().unwrap_or(0))));
    let plain = multipart::Form { boundary: b"B", is_form: false, max_parts: 16 };
    let form = multipart::Form::of(content_type, 16).unwrap_or(plain);
    let mut total = 0;
    let read = multipart::read(body, form, &mut |part| {
        total += part.content.len();
        // What it decodes to is no longer than what it was.
        assert!(part.decoded_content().is_none_or(|decoded| decoded.len() <= part.content.len()));
    });
    assert!(total <= body.len());
    assert!(read.parts <= 16);
});
