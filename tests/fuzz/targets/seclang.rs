#![no_main]
//! Any text is parsed, lowered and compiled; what compiles prints and runs.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use seclang::BodyLimits;
use seclang::syntax::MemoryLoader;
use seclang::{Phase, Plan, PlanSettings, RequestHead, Transaction};

fuzz_target!(|text: &str| {
    // Patterns may be as slow to compile as their limits allow: that is not what is looked for here.
    if text.len() > 2000 {
        return;
    }
    let loader = MemoryLoader(vec![("f".to_owned(), text.to_owned())]);
    let (ir, diagnostics) = seclang::load(&["f".to_owned()], &loader);
    let _ = (ir.to_string(), diagnostics.sorted().to_string());
    let plan = Arc::new(Plan::new(Arc::new(seclang::optimize(&ir)), &PlanSettings::default()));
    let mut transaction = Transaction::new(plan, BodyLimits::default());
    transaction.request_head(&RequestHead {
        method: b"GET",
        target: b"/a/b?c=d%20e&f",
        protocol: "HTTP/1.1",
        headers: &[(b"host", b"a"), (b"cookie", b"x=y; z")],
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        server: None,
        request_id: "f",
        received: std::time::Duration::ZERO,
    });
    transaction.run(Phase::RequestHeaders);
    transaction.request_body(bytes::Bytes::new(), false);
    transaction.run(Phase::RequestBody);
    let _ = transaction.matches();
});
