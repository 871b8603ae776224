//! A content coding undone as the bytes come, for a body that never stands in one piece.

use std::io::Write;

use super::Coding;

/// The decoder of one body.
pub struct PushDecoder {
    state: PushState,
}

enum PushState {
    Identity,
    /// Deflate, as long as no byte has come: the first one shows whether it is wrapped in zlib.
    Deflate(Sink),
    Decoding(Box<dyn DecoderOf>),
    /// A coding that is not known, a corrupt body, or one that is too long.
    Ended,
}

/// A writer that decodes into its sink. Like an answer, it may move to another thread.
trait DecoderOf: Write + Send + Sync {
    fn sink(&mut self) -> &mut Sink;
}

macro_rules! decodes {
    ($($decoder:ty),+ $(,)?) => {
        $(impl DecoderOf for $decoder {
            fn sink(&mut self) -> &mut Sink {
                self.get_mut()
            }
        })+
    };
}

decodes!(
    flate2::write::MultiGzDecoder<Sink>,
    flate2::write::ZlibDecoder<Sink>,
    flate2::write::DeflateDecoder<Sink>,
    brotli::DecompressorWriter<Sink>,
    zstd::stream::write::Decoder<'static, Sink>,
);

/// What came out and was not taken yet.
struct Sink {
    bytes: Vec<u8>,
    /// Bytes that may still come out.
    left: usize,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or_else(|| std::io::Error::other("too long"))?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl PushDecoder {
    /// Decodes a body with this coding. It ends after `output_bytes` of output, and ignores input after that.
    pub fn new(coding: Option<Coding>, output_bytes: usize) -> Self {
        let sink = Sink { bytes: Vec::new(), left: output_bytes };
        let state = match coding {
            Some(Coding::Identity) => PushState::Identity,
            Some(Coding::Gzip) => PushState::Decoding(Box::new(flate2::write::MultiGzDecoder::new(sink))),
            Some(Coding::Deflate) => PushState::Deflate(sink),
            Some(Coding::Brotli) => {
                PushState::Decoding(Box::new(brotli::DecompressorWriter::new(sink, 4096)))
            }
            Some(Coding::Zstd) => zstd::stream::write::Decoder::new(sink)
                .map_or(PushState::Ended, |decoder| PushState::Decoding(Box::new(decoder))),
            None => PushState::Ended,
        };
        Self { state }
    }

    /// Takes bytes as they came and hands on what they decode to; false if they cannot be decoded.
    pub fn push(&mut self, chunk: &[u8], mut take: impl FnMut(&[u8])) -> bool {
        if let (PushState::Deflate(_), Some(first)) = (&self.state, chunk.first())
            && let PushState::Deflate(sink) = std::mem::replace(&mut self.state, PushState::Ended)
        {
            self.state = PushState::Decoding(if super::begins_zlib(*first) {
                Box::new(flate2::write::ZlibDecoder::new(sink))
            } else {
                Box::new(flate2::write::DeflateDecoder::new(sink))
            });
        }
        match &mut self.state {
            PushState::Identity => take(chunk),
            PushState::Deflate(_) => {}
            PushState::Decoding(decoder) => {
                let written = decoder.write_all(chunk).and_then(|()| decoder.flush());
                let bytes = std::mem::take(&mut decoder.sink().bytes);
                // What came out before a fault is right.
                if !bytes.is_empty() {
                    take(&bytes);
                }
                if written.is_err() {
                    self.state = PushState::Ended;
                }
            }
            PushState::Ended => {}
        }
        !matches!(self.state, PushState::Ended)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{TEXT, coded};
    use super::*;

    #[test]
    fn every_coding_is_undone_whatever_its_pieces() {
        for (word, input) in coded() {
            for step in [1, 3, input.len()] {
                let mut decoder = PushDecoder::new(Coding::of(word.as_bytes()), 1000);
                let mut output = Vec::new();
                for piece in input.chunks(step) {
                    assert!(decoder.push(piece, |bytes| output.extend_from_slice(bytes)), "{word} {step}");
                }
                assert_eq!(output, TEXT, "{word} {step}");
            }
        }
    }

    #[test]
    fn what_is_unknown_corrupt_or_too_long_ends() {
        for (coding, input) in coded().into_iter().filter(|(word, _)| *word != "identity") {
            let mut decoder = PushDecoder::new(Coding::of(coding.as_bytes()), TEXT.len() - 1);
            assert!(!decoder.push(&input, |_| ()), "{coding}");
        }
        assert!(!PushDecoder::new(None, 1000).push(b"x", |_| ()));
        let mut decoder = PushDecoder::new(Some(Coding::Gzip), 1000);
        assert!(!decoder.push(b"no gzip at all", |_| ()));
        assert!(!decoder.push(b"nor this", |_| ()));
    }
}
