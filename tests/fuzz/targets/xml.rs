#![no_main]
//! What is read never grows: no entity expands to more than it takes.

use libfuzzer_sys::fuzz_target;
use body::xml;

fuzz_target!(|bytes: &[u8]| {
    let mut document = xml::Document::default();
    let _ = xml::read(bytes, xml::Limits { depth: 64, texts: 16, attributes: 1000 }, &mut document);
    let attributes: usize = document.attributes.iter().map(Vec::len).sum();
    // A byte that is not UTF-8 becomes a replacement character of three.
    assert!(document.text.len() + attributes <= 3 * bytes.len());
});
