//! The scan of a raw head.

use criterion::{Criterion, criterion_group, criterion_main};
use portcullis::admission::{HeadLimits, framing};
use portcullis::conf::Limits;

const HEAD: &[u8] = b"GET /shop/list?page=2&sort=price HTTP/1.1\r\nHost: shop.example\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en-GB,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nConnection: keep-alive\r\nCookie: session=abcdef0123456789; theme=dark\r\n\r\n";

fn head(c: &mut Criterion) {
    let limits = HeadLimits::from(&Limits::default());
    c.bench_function("admission/browser_get", |b| {
        b.iter(|| framing::scan(std::hint::black_box(HEAD), limits))
    });
}

criterion_group!(benches, head);
criterion_main!(benches);
