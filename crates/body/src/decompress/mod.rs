//! Content codings undone under a limit (RFC 9110 section 8.4.1): [`decode`] a body that is held, [`PushDecoder`] one
//! that passes.

mod push;

pub use push::PushDecoder;

use std::io::{Read, Result};

/// Limits of one body.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most bytes that come out; the rest is left.
    pub output_bytes: usize,
    /// Most bytes out for each byte in; past it decoding ends. The first [`ALWAYS_DECODED_BYTES`] come out
    /// whatever they grew from, or a run of zeros could hide what follows it.
    pub ratio: usize,
}

/// Bytes that come out of any body.
pub const ALWAYS_DECODED_BYTES: usize = 1 << 20;

/// Content codings that are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    Identity,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    /// The coding of a `Content-Encoding` value; `None` for one that is not understood or for more
    /// than one.
    pub fn of(value: &[u8]) -> Option<Self> {
        match value.trim_ascii().to_ascii_lowercase().as_slice() {
            b"" | b"identity" => Some(Self::Identity),
            b"gzip" | b"x-gzip" => Some(Self::Gzip),
            b"deflate" => Some(Self::Deflate),
            b"br" => Some(Self::Brotli),
            b"zstd" => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// What came out of a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Decoded {
    pub bytes: Vec<u8>,
    pub end: End,
}

/// Why decoding ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Complete,
    /// There was more than the limit.
    Truncated,
    /// The input grew more than the ratio allows.
    Bomb,
    /// The input is cut off or corrupt; what came out before is kept.
    Malformed,
}

const STEP_BYTES: usize = 64 << 10;

/// Decodes a body as far as the limits allow.
pub fn decode(coding: Coding, input: &[u8], limits: Limits) -> Decoded {
    let reader: Result<Box<dyn Read + '_>> = match coding {
        Coding::Identity => {
            let kept = input.get(..limits.output_bytes.min(input.len())).unwrap_or(input);
            let end = if kept.len() < input.len() { End::Truncated } else { End::Complete };
            return Decoded { bytes: kept.to_vec(), end };
        }
        Coding::Gzip => Ok(Box::new(flate2::read::MultiGzDecoder::new(input))),
        Coding::Deflate if input.first().is_some_and(|first| begins_zlib(*first)) => {
            Ok(Box::new(flate2::read::ZlibDecoder::new(input)))
        }
        Coding::Deflate => Ok(Box::new(flate2::read::DeflateDecoder::new(input))),
        Coding::Brotli => Ok(Box::new(brotli::Decompressor::new(input, 4096))),
        Coding::Zstd => {
            zstd::stream::read::Decoder::with_buffer(input).map(|decoder| Box::new(decoder) as Box<dyn Read>)
        }
    };
    match reader {
        Ok(reader) => drain(reader, input.len(), limits),
        Err(_) => Decoded { bytes: Vec::new(), end: End::Malformed },
    }
}

/// Whether a body of the coding `deflate` that begins with this byte has the zlib form of the RFC. Servers send raw
/// deflate under this name too.
fn begins_zlib(first: u8) -> bool {
    first & 0x0f == 8
}

fn drain(mut reader: Box<dyn Read + '_>, input_bytes: usize, limits: Limits) -> Decoded {
    let mut bytes = Vec::new();
    let allowed = input_bytes.saturating_mul(limits.ratio).max(ALWAYS_DECODED_BYTES);
    let end = loop {
        let step = STEP_BYTES.min((limits.output_bytes + 1).saturating_sub(bytes.len()));
        match reader.by_ref().take(step as u64).read_to_end(&mut bytes) {
            Ok(0) => break End::Complete,
            Ok(_) if bytes.len() > allowed => break End::Bomb,
            Ok(_) if bytes.len() > limits.output_bytes => break End::Truncated,
            Ok(_) => {}
            Err(_) => break End::Malformed,
        }
    };
    bytes.truncate(limits.output_bytes);
    Decoded { bytes, end }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const LIMITS: Limits = Limits { output_bytes: 1000, ratio: 100 };

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    pub(super) const TEXT: &[u8] = b"hello hello hello";

    /// The text in each coding and form.
    pub(super) fn coded() -> [(&'static str, Vec<u8>); 6] {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        zlib.write_all(TEXT).unwrap();
        let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        deflate.write_all(TEXT).unwrap();
        let mut br = Vec::new();
        brotli::CompressorWriter::new(&mut br, 4096, 5, 20).write_all(TEXT).unwrap();
        [
            ("identity", TEXT.to_vec()),
            ("gzip", gzip(TEXT)),
            ("deflate", zlib.finish().unwrap()),
            ("deflate", deflate.finish().unwrap()),
            ("br", br),
            ("ZSTD", zstd::encode_all(TEXT, 3).unwrap()),
        ]
    }

    #[test]
    fn every_coding_round_trips() {
        for (word, input) in coded() {
            let decoded = decode(Coding::of(word.as_bytes()).unwrap(), &input, LIMITS);
            assert_eq!((decoded.bytes.as_slice(), decoded.end), (TEXT, End::Complete), "{word}");
        }
        assert_eq!(Coding::of(b"gzip, br"), None);
    }

    #[test]
    fn limits_hold() {
        let zeros = vec![0; 2 << 20];
        let bomb = decode(Coding::Gzip, &gzip(&zeros), Limits { output_bytes: 4 << 20, ratio: 100 });
        assert!(bomb.end == End::Bomb && bomb.bytes.len() >= ALWAYS_DECODED_BYTES);
        // Zeros hide nothing that stands behind them.
        let hidden = [&zeros[..900_000], b"hidden"].concat();
        let found = decode(Coding::Gzip, &gzip(&hidden), Limits { output_bytes: 4 << 20, ratio: 100 });
        assert!(found.end == End::Complete && found.bytes.ends_with(b"hidden"));
        let truncated = decode(Coding::Gzip, &gzip(&[1; 1500]), LIMITS);
        assert_eq!((truncated.bytes.len(), truncated.end), (1000, End::Truncated));
        let exact = decode(Coding::Gzip, &gzip(&[1; 1000]), LIMITS);
        assert_eq!((exact.bytes.len(), exact.end), (1000, End::Complete));
        let whole = gzip(b"hello");
        assert_eq!(decode(Coding::Gzip, &whole[..whole.len() - 3], LIMITS).end, End::Malformed);
        assert_eq!(decode(Coding::Identity, &[0; 1001], LIMITS).end, End::Truncated);
    }
}
