//! What is known of a connection, readable in every filter of the proxy.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use http::HeaderValue;
use pingora::protocols::Digest;

/// Facts of a connection. They ride in Pingora's digest.
#[derive(Clone, Debug)]
pub struct ConnectionMeta {
    /// The peer, or who it says it speaks for by the PROXY protocol.
    pub source: IpAddr,
    /// `source` as text: it is the same for every request of the connection.
    pub source_text: HeaderValue,
    pub tls: bool,
    /// The name the client asked for in TLS.
    pub server_name: Option<String>,
    pub progress: Arc<Progress>,
}

impl ConnectionMeta {
    /// Those of a request's connection.
    pub fn of(digest: Option<&Digest>) -> Option<&Self> {
        digest?.proxy_digest.as_ref()?.user_data.as_ref()?.downcast_ref()
    }
}

/// An address as a field value.
pub fn address_text(address: IpAddr) -> HeaderValue {
    // Digits, letters, dots and colons are always a field value.
    HeaderValue::try_from(address.to_string()).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// How far the current request of a connection has come.
#[derive(Debug, Default)]
pub struct Progress {
    /// A byte of a head has come since the last request.
    head_began: AtomicBool,
    /// The current head is complete.
    head_done: AtomicBool,
    requests: AtomicUsize,
    line: RequestLine,
    timed_out: AtomicBool,
}

/// What a connection waits for: the first byte of its next head, or the rest of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    /// Requests before it.
    pub(super) request: usize,
    pub(super) head_began: bool,
}

impl Progress {
    /// A new request is awaited.
    pub(super) fn await_head(&self) {
        self.head_began.store(false, Ordering::Relaxed);
        self.head_done.store(false, Ordering::Relaxed);
        self.line.begin();
    }

    /// How many of these bytes, just come, belong to the request line.
    pub(super) fn line_bytes(&self, bytes: &[u8]) -> usize {
        match self.line.stage.load(Ordering::Relaxed) {
            2 => 0,
            _ if self.head_done.load(Ordering::Relaxed) => 0,
            stage => {
                let skipped = if stage == 0 {
                    bytes.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count()
                } else {
                    0
                };
                let rest = bytes.get(skipped..).unwrap_or(&[]);
                skipped + memchr::memchr(b'\n', rest).unwrap_or(rest.len())
            }
        }
    }

    /// Bytes came.
    pub(super) fn read(&self, bytes: &[u8]) {
        self.line.read(bytes);
        self.head_began.store(true, Ordering::Relaxed);
    }

    /// Whether the request line had more than its two spaces. The parser below us encodes them
    /// before anyone can see.
    pub fn has_spaces_in_target(&self) -> bool {
        self.line.spaces.load(Ordering::Relaxed) > 2
    }

    /// The head of a request is complete: its deadline no longer holds.
    pub fn head_done(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.head_done.store(true, Ordering::Relaxed);
    }

    /// What of a head is awaited; `None` once it is complete.
    pub(super) fn wait(&self) -> Option<Wait> {
        let head_began = self.head_began.load(Ordering::Relaxed);
        (!self.head_done.load(Ordering::Relaxed)).then(|| Wait { request: self.requests(), head_began })
    }

    pub(super) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    pub(super) fn time_out(&self) {
        self.timed_out.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_timed_out(&self) -> bool {
        self.timed_out.load(Ordering::Relaxed)
    }
}

/// The spaces of a request line, counted as it comes in.
#[derive(Debug, Default)]
struct RequestLine {
    /// 0 before the first byte that is no line end, 1 within the line, 2 after it.
    stage: AtomicU8,
    spaces: AtomicU8,
}

impl RequestLine {
    fn begin(&self) {
        self.stage.store(0, Ordering::Relaxed);
        self.spaces.store(0, Ordering::Relaxed);
    }

    fn read(&self, bytes: &[u8]) {
        let mut line = bytes;
        match self.stage.load(Ordering::Relaxed) {
            2 => return,
            1 => {}
            _ => {
                let begin = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
                line = begin.and_then(|begin| bytes.get(begin..)).unwrap_or(&[]);
            }
        }
        let end = memchr::memchr(b'\n', line);
        let line = end.and_then(|end| line.get(..end)).unwrap_or(line);
        let spaces = memchr::memchr_iter(b' ', line).count();
        let spaces =
            self.spaces.load(Ordering::Relaxed).saturating_add(u8::try_from(spaces).unwrap_or(u8::MAX));
        self.spaces.store(spaces, Ordering::Relaxed);
        let stage = match (end, line) {
            (Some(_), _) => 2,
            (None, []) => self.stage.load(Ordering::Relaxed),
            (None, _) => 1,
        };
        self.stage.store(stage, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_counted_in_the_request_line_only() {
        for (text, spaces) in [
            ("\r\nGET / HTTP/1.1\r\nA: b c d\r\n", false),
            ("GET /a b HTTP/1.1\r\n\r\n", true),
            ("GET  / HTTP/1.1\r\n", true),
        ] {
            let whole = Progress::default();
            whole.await_head();
            whole.read(text.as_bytes());
            let split = Progress::default();
            split.await_head();
            text.as_bytes().iter().for_each(|byte| split.read(&[*byte]));
            assert_eq!(
                (whole.has_spaces_in_target(), split.has_spaces_in_target()),
                (spaces, spaces),
                "{text:?}"
            );
        }
    }
}
