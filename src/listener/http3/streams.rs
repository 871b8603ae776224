//! Streams that a client opens in its direction alone: each is judged by what it carries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use bytes::{Bytes, BytesMut};
use quinn::RecvStream;

use super::code;
use http3::{ControlReader, DecoderStreamReader, EncoderStreamReader, Http3Code, StreamKind};

/// Bytes that are read at once.
const READ_BYTES: usize = 4 << 10;

/// Which of the streams that there may be once are there.
#[derive(Debug, Default)]
pub(super) struct ClientStreams(AtomicU8);

impl ClientStreams {
    /// Notes a stream; false if it is there already.
    fn is_first(&self, kind: StreamKind) -> bool {
        let bit = match kind {
            StreamKind::Control => 1,
            StreamKind::QpackEncoder => 2,
            StreamKind::QpackDecoder => 4,
            StreamKind::Push | StreamKind::Unknown => return false,
        };
        self.0.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }
}

enum Reader {
    Control(ControlReader),
    Encoder(EncoderStreamReader),
    Decoder(DecoderStreamReader),
}

impl Reader {
    fn take(&mut self, bytes: Bytes) -> Result<(), Http3Code> {
        match self {
            Self::Control(reader) => reader.take(bytes),
            Self::Encoder(reader) => reader.take(&bytes),
            Self::Decoder(reader) => reader.take(&bytes),
        }
    }
}

/// Reads a stream as long as its connection lasts, and ends the connection if it must not be as it is.
pub(super) async fn judge(quic: quinn::Connection, stream: RecvStream, streams: Arc<ClientStreams>) {
    if let Err(error) = read(stream, &streams).await {
        // Nothing happens if it has ended already.
        quic.close(code(error), b"");
    }
}

async fn read(mut stream: RecvStream, streams: &ClientStreams) -> Result<(), Http3Code> {
    let mut start = BytesMut::new();
    let (kind, used) = loop {
        if let Some(found) = StreamKind::read(&start) {
            break found;
        }
        match stream.read_chunk(READ_BYTES, true).await {
            Ok(Some(chunk)) => start.extend_from_slice(&chunk.bytes),
            // It ended before it said what it is (RFC 9114 section 6.2).
            Ok(None) | Err(_) => return Ok(()),
        }
    };
    let mut reader = match kind {
        StreamKind::Push => return Err(Http3Code::StreamCreationError),
        StreamKind::Unknown => {
            // Fails if it has ended already.
            let _ = stream.stop(code(Http3Code::StreamCreationError));
            return Ok(());
        }
        _ if !streams.is_first(kind) => return Err(Http3Code::StreamCreationError),
        StreamKind::Control => Reader::Control(ControlReader::default()),
        StreamKind::QpackEncoder => Reader::Encoder(EncoderStreamReader),
        StreamKind::QpackDecoder => Reader::Decoder(DecoderStreamReader::default()),
    };
    reader.take(start.split_off(used).freeze())?;
    while let Ok(Some(chunk)) = stream.read_chunk(READ_BYTES, true).await {
        reader.take(chunk.bytes)?;
    }
    Err(Http3Code::ClosedCriticalStream)
}
