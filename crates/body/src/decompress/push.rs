//! A content coding undone as the bytes come, under a limit.

use std::io::Write;

use body::decompress::Coding;

/// Most bytes that come out of one answer; what follows is not read.
const MAX_DECODED_BYTES: usize = 64 << 20;

pub(super) enum Decoder {
    Identity,
    Gzip(Box<flate2::write::MultiGzDecoder<Sink>>),
    Zlib(Box<flate2::write::ZlibDecoder<Sink>>),
    Brotli(Box<brotli::DecompressorWriter<Sink>>),
    Zstd(Box<zstd::stream::write::Decoder<'static, Sink>>),
    /// A coding that is not known, a corrupt body, or one that is too long.
    Ended,
}

/// What came out and was not taken yet.
#[derive(Default)]
pub(super) struct Sink {
    bytes: Vec<u8>,
    total: usize,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.total += bytes.len();
        if self.total > MAX_DECODED_BYTES {
            return Err(std::io::Error::other("too long"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Decoder {
    pub(super) fn new(content_encoding: &[u8]) -> Self {
        match Coding::of(content_encoding) {
            Some(Coding::Identity) => Self::Identity,
            Some(Coding::Gzip) => Self::Gzip(Box::new(flate2::write::MultiGzDecoder::new(Sink::default()))),
            Some(Coding::Deflate) => Self::Zlib(Box::new(flate2::write::ZlibDecoder::new(Sink::default()))),
            Some(Coding::Brotli) => {
                Self::Brotli(Box::new(brotli::DecompressorWriter::new(Sink::default(), 4096)))
            }
            Some(Coding::Zstd) => zstd::stream::write::Decoder::new(Sink::default())
                .map_or(Self::Ended, |decoder| Self::Zstd(Box::new(decoder))),
            None => Self::Ended,
        }
    }

    /// Takes bytes as they came and hands on what they decode to; false if they cannot be decoded.
    pub(super) fn push(&mut self, chunk: &[u8], mut take: impl FnMut(&[u8])) -> bool {
        let outcome = match self {
            Self::Identity => {
                take(chunk);
                return true;
            }
            Self::Ended => return false,
            Self::Gzip(decoder) => {
                let written = decoder.write_all(chunk).and_then(|()| decoder.flush());
                written.map(|()| std::mem::take(&mut decoder.get_mut().bytes))
            }
            Self::Zlib(decoder) => {
                let written = decoder.write_all(chunk).and_then(|()| decoder.flush());
                written.map(|()| std::mem::take(&mut decoder.get_mut().bytes))
            }
            Self::Brotli(decoder) => {
                let written = decoder.write_all(chunk).and_then(|()| decoder.flush());
                written.map(|()| std::mem::take(&mut decoder.get_mut().bytes))
            }
            Self::Zstd(decoder) => {
                let written = decoder.write_all(chunk).and_then(|()| decoder.flush());
                written.map(|()| std::mem::take(&mut decoder.get_mut().bytes))
            }
        };
        match outcome {
            Ok(bytes) => take(&bytes),
            Err(_) => *self = Self::Ended,
        }
        !matches!(self, Self::Ended)
    }
}
