#![no_main]
//! Any bytes are streams of HTTP/3: they say the same however they are cut, and a head that is read holds no more than
//! its limit.

use bytes::Bytes;
use http3::{ControlReader, DecoderStreamReader, EncoderStreamReader, DecodedHead, RequestPart, RequestReader};
use libfuzzer_sys::fuzz_target;

const MAX_HEAD_BYTES: usize = 4 << 10;

/// The heads and the body of a request's stream, or the error that it ends with.
fn request(stream: &[u8], size: usize) -> Result<(Vec<Bytes>, Vec<u8>), http3::Http3Code> {
    let mut reader = RequestReader::new(MAX_HEAD_BYTES);
    let (mut heads, mut body) = (Vec::new(), Vec::new());
    for chunk in stream.chunks(size) {
        reader.push(Bytes::copy_from_slice(chunk));
        while let Some(part) = reader.next_part()? {
            match part {
                RequestPart::Head(head) => heads.push(head),
                RequestPart::HeadTooLong => heads.push(Bytes::from_static(b"too long")),
                RequestPart::Data(piece) => body.extend(piece),
            }
        }
    }
    reader.end().map(|()| (heads, body))
}

fuzz_target!(|input: (&[u8], u8)| {
    let (stream, size) = input;
    let size = usize::from(size).max(1);
    let whole = request(stream, stream.len().max(1));
    assert_eq!(request(stream, size), whole);
    if let Ok((heads, _)) = whole {
        assert!(heads.len() == 1 && heads.iter().all(|head| head.len() <= MAX_HEAD_BYTES));
    }
    if let Ok(head) = DecodedHead::read(stream, MAX_HEAD_BYTES) {
        let bytes: usize = head.request.headers().iter().map(|(n, v)| n.as_str().len() + v.len() + 32).sum();
        assert!(bytes <= MAX_HEAD_BYTES);
    }
    let control = |size| {
        let mut reader = ControlReader::default();
        stream.chunks(size).try_for_each(|chunk| reader.take(Bytes::copy_from_slice(chunk)))
    };
    assert_eq!(control(size), control(stream.len().max(1)));
    let _ = (EncoderStreamReader.take(stream), DecoderStreamReader::default().take(stream));
});
