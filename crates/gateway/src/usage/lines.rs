//! Lines of a stream.

/// Lines that end with LF, CR LF or CR, split off as their bytes come.
#[derive(Debug)]
pub(crate) struct Lines {
    pending: Vec<u8>,
    max_bytes: usize,
    /// What the reader of the lines gathers from several of them.
    pub(crate) event: Vec<u8>,
    /// The last byte was a CR: an LF now ends no line.
    after_cr: bool,
    /// The line is longer than is held; the rest of it is not read.
    is_overlong: bool,
    unread_bytes: u64,
}

impl Lines {
    /// Lines up to so many bytes; longer ones are passed over.
    pub(crate) fn holding(max_bytes: usize) -> Self {
        Self {
            pending: Vec::new(),
            max_bytes,
            event: Vec::new(),
            after_cr: false,
            is_overlong: false,
            unread_bytes: 0,
        }
    }

    /// Hands on each line that is complete; false if one is longer than is held.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut take: impl FnMut(&[u8], &mut Vec<u8>)) -> bool {
        let mut is_whole = true;
        while let Some(at) = memchr::memchr2(b'\n', b'\r', bytes) {
            let Some((line, rest)) = bytes.split_at_checked(at) else { break };
            let Some((end, rest)) = rest.split_first() else { break };
            bytes = rest;
            let is_second_half = *end == b'\n' && self.after_cr && line.is_empty() && self.pending.is_empty();
            self.after_cr = *end == b'\r';
            if is_second_half {
                continue;
            }
            if self.pending.is_empty() && !self.is_overlong && line.len() <= self.max_bytes {
                take(line, &mut self.event);
            } else {
                self.hold(line);
                let line = std::mem::take(&mut self.pending);
                if std::mem::take(&mut self.is_overlong) {
                    is_whole = false;
                } else {
                    take(&line, &mut self.event);
                }
            }
        }
        if !bytes.is_empty() {
            self.after_cr = false;
            self.hold(bytes);
        }
        is_whole && !self.is_overlong
    }

    fn hold(&mut self, bytes: &[u8]) {
        if self.is_overlong || self.pending.len() + bytes.len() > self.max_bytes {
            self.is_overlong = true;
            self.unread_bytes += (self.pending.len() + bytes.len()) as u64;
            self.pending.clear();
        } else {
            self.pending.extend_from_slice(bytes);
        }
    }

    /// Bytes of the lines that were too long to be handed on.
    pub(crate) fn unread_bytes(&self) -> u64 {
        self.unread_bytes
    }

    /// What came last without the end of its line.
    pub(crate) fn end(&mut self, mut take: impl FnMut(&[u8], &mut Vec<u8>)) {
        let line = std::mem::take(&mut self.pending);
        if !line.is_empty() && !self.is_overlong {
            take(&line, &mut self.event);
        }
    }
}

/// How a stream is parted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Events of several lines (WHATWG HTML, section "Server-sent events").
    Events,
    /// A JSON text in each line.
    Lines,
}

impl Form {
    /// `None` for a media type of what is no stream.
    pub(crate) fn of(media_type: &[u8]) -> Option<Self> {
        const LINES: [&[u8]; 3] = [b"application/x-ndjson", b"application/jsonl", b"application/stream+json"];
        if body::is_event_stream(media_type) {
            return Some(Self::Events);
        }
        LINES.iter().any(|lines| media_type.eq_ignore_ascii_case(lines)).then_some(Self::Lines)
    }
}
