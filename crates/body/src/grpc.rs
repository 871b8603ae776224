//! Messages of gRPC (its "gRPC over HTTP2", section "Requests"): whether one is compressed, its length in four
//! bytes, then the message.

use super::base64;
use super::decompress::{self, Coding, End};

/// What stands before each message.
const PREFIX_BYTES: usize = 5;

/// The first message of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'b> {
    pub is_compressed: bool,
    pub bytes: &'b [u8],
    /// The whole of it, with what stands before it.
    pub framed: &'b [u8],
}

/// The first message and what comes after it; `None` if it is not complete, or the body does not begin with
/// one.
pub fn split_first(body: &[u8]) -> Option<(Message<'_>, &[u8])> {
    let (&[flag, length @ ..], _) = body.split_first_chunk::<PREFIX_BYTES>()?;
    let end = PREFIX_BYTES.checked_add(usize::try_from(u32::from_be_bytes(length)).ok()?)?;
    let (framed, rest) = body.split_at_checked(end).filter(|_| flag <= 1)?;
    let bytes = framed.get(PREFIX_BYTES..)?;
    Some((Message { is_compressed: flag == 1, bytes, framed }, rest))
}

/// The complete messages with which a body begins.
pub fn messages(body: &[u8]) -> impl Iterator<Item = Message<'_>> {
    let mut rest = body;
    std::iter::from_fn(move || {
        let (message, after) = split_first(rest)?;
        rest = after;
        Some(message)
    })
}

/// How many bytes they take.
pub fn complete_bytes(body: &[u8]) -> usize {
    messages(body).map(|message| message.framed.len()).sum()
}

/// A body with its messages decompressed; as it is if none is compressed. `None` if one cannot be
/// decompressed within the limits.
pub fn decode(body: &[u8], coding: Option<Coding>, limits: decompress::Limits) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for message in messages(body) {
        if message.is_compressed {
            let left = limits.output_bytes.saturating_sub(out.len());
            let limits = decompress::Limits { output_bytes: left, ..limits };
            let decoded = decompress::decode(coding?, message.bytes, limits);
            if decoded.end != End::Complete {
                return None;
            }
            out.push(0);
            out.extend_from_slice(&u32::try_from(decoded.bytes.len()).ok()?.to_be_bytes());
            out.extend_from_slice(&decoded.bytes);
        } else {
            out.extend_from_slice(message.framed);
        }
    }
    out.extend_from_slice(body.get(complete_bytes(body)..)?);
    Some(out)
}

/// Whether a media type is that of gRPC-Web as text: Base64, part by part (gRPC-Web, section "Protocol
/// differences").
pub fn is_web_text(media_type: &[u8]) -> bool {
    const START: &[u8] = b"application/grpc-web-text";
    media_type.get(..START.len()).is_some_and(|start| start.eq_ignore_ascii_case(START))
}

/// The bytes of such a body.
pub fn decode_web_text(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    // Each part that was padded ends for itself.
    for part in text.split(|byte| *byte == b'=') {
        base64::decode(part.iter().filter_map(|byte| base64::sextet(*byte)), &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const LIMITS: decompress::Limits = decompress::Limits { output_bytes: 100_000, ratio: 100 };

    fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        [&[flag], &length[..], message].concat()
    }

    #[test]
    fn a_message_is_known_by_its_prefix() {
        for (body, expected) in [
            (&b"\0\0\0\0\x02ab"[..], Some((&b"ab"[..], &b""[..]))),
            (b"\x01\0\0\0\x02abc", Some((b"ab", b"c"))),
            (b"\0\0\0\0\0", Some((b"", b""))),
            (b"\0\0\0\0\x02a", None),
            (b"\0\xff\xff\xff\xffa", None),
            (b"\x02\0\0\0\x01a", None),
            (b"\0\0\0", None),
            (b"{\"a\":1}", None),
            (b"", None),
        ] {
            let found = split_first(body).map(|(message, rest)| (message.bytes, rest));
            assert_eq!(found, expected, "{body:?}");
        }
        let two = [framed(0, b"ab"), framed(0, b"c"), b"\0\0".to_vec()].concat();
        assert_eq!(complete_bytes(&two), two.len() - 2);
    }

    #[test]
    fn compressed_messages_are_read_or_refused() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"hello").unwrap();
        let gzip = gzip.finish().unwrap();
        let body = [framed(0, b"plain"), framed(1, &gzip), b"rest".to_vec()].concat();
        let decoded = decode(&body, Some(Coding::Gzip), LIMITS).unwrap();
        assert_eq!(decoded, [&framed(0, b"plain")[..], &framed(0, b"hello"), b"rest"].concat());
        assert_eq!(decode(&body, None, LIMITS), None, "the coding is not named");
        assert_eq!(decode(&framed(1, b"junk"), Some(Coding::Gzip), LIMITS), None);
        let small = decompress::Limits { output_bytes: 4, ..LIMITS };
        assert_eq!(decode(&framed(1, &gzip), Some(Coding::Gzip), small), None);
    }

    #[test]
    fn text_is_read_part_by_part() {
        assert_eq!(decode_web_text(b"AAAAAAI=YWI="), b"\0\0\0\0\x02ab");
        assert!(is_web_text(b"application/grpc-web-text+proto") && !is_web_text(b"application/grpc-web"));
    }
}
