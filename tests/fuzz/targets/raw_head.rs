#![no_main]
//! Any bytes are judged as a head; the rest of the front door takes them too.

use libfuzzer_sys::fuzz_target;
use portcullis::admission::{HeadLimits, framing, host};
use portcullis::conf::Limits;
use portcullis::listener::proxy_protocol;
use portcullis::routing::GatewayPath;

fuzz_target!(|bytes: &[u8]| {
    let _ = framing::scan(bytes, HeadLimits::from(&Limits::default()));
    if let proxy_protocol::Parsed::Header(header) = proxy_protocol::parse(bytes) {
        assert!(header.length <= bytes.len());
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = host::normal_form(text, &mut String::new());
        if let Some(path) = GatewayPath::parse(text) {
            let whole = format!("/v1/{}/{}", path.account, path.gateway);
            assert!(text.starts_with(&whole));
            assert!(text.ends_with(&format!("{}{}", path.rest, path.query)));
        }
    }
});
