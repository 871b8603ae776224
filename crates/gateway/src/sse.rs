//! Server-sent events (WHATWG HTML, section "Server-sent events"): where an event ends, and what a line says.
//!
//! Everything that reads or changes an event stream goes through here: the usage tap, the event that is withheld,
//! signs of life between events, and the messages of a universal WebSocket.

/// Where in its events a stream stands, as its bytes come.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    is_line_empty: bool,
    /// The last byte was a CR: an LF now ends no line.
    is_after_cr: bool,
    is_event_empty: bool,
}

impl Default for Position {
    fn default() -> Self {
        Self { is_line_empty: true, is_after_cr: false, is_event_empty: true }
    }
}

impl Position {
    /// Goes on to the end of an event and returns how many bytes that is; `None` if the bytes end before.
    fn next_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut from = 0;
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            if at > from {
                self.text();
            }
            from = at + 1;
            if self.line_end(bytes.get(at) == Some(&b'\r')) {
                return Some(from);
            }
        }
        if from < bytes.len() {
            self.text();
        }
        None
    }

    fn text(&mut self) {
        (self.is_line_empty, self.is_after_cr, self.is_event_empty) = (false, false, false);
    }

    /// Goes on over a CR or LF; true if it ends an event.
    fn line_end(&mut self, is_cr: bool) -> bool {
        let is_second_half = std::mem::replace(&mut self.is_after_cr, is_cr) && !is_cr;
        let ends_event = !is_second_half && std::mem::replace(&mut self.is_line_empty, true);
        self.is_event_empty |= ends_event;
        ends_event
    }

    /// Goes on over bytes.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while let Some(end) = self.next_end(bytes) {
            bytes = bytes.get(end..).unwrap_or(&[]);
        }
    }

    /// Whether an event has ended, or none has begun: something can be put in here.
    pub fn is_between_events(&self) -> bool {
        self.is_event_empty
    }
}

/// The length of the event that `bytes` begin with, the empty line behind it counted; `None` if its end has not come.
pub(crate) fn event_bytes(bytes: &[u8]) -> Option<usize> {
    let end = Position::default().next_end(bytes)?;
    let is_cr_lf = bytes.get(end - 1..=end) == Some(b"\r\n");
    Some(end + usize::from(is_cr_lf))
}

/// The name and the value of a line's field; the name is empty for a comment.
pub(crate) fn field(line: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b':', line).and_then(|at| Some((line.get(..at)?, line.get(at + 1..)?))) {
        Some((name, value)) => (name, value.strip_prefix(b" ").unwrap_or(value)),
        None => (line, b""),
    }
}

/// What a line adds to the data of its event.
pub(crate) fn data(line: &[u8]) -> Option<&[u8]> {
    let (name, value) = field(line);
    (name == b"data").then_some(value)
}

/// Adds data to an event as a line of its own; false if its texts together are longer than `max_bytes`.
pub(crate) fn gather(event: &mut Vec<u8>, data: &[u8], max_bytes: usize) -> bool {
    let fits = event.len() + data.len() <= max_bytes;
    if fits {
        if !event.is_empty() {
            event.push(b'\n');
        }
        event.extend_from_slice(data);
    }
    fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_the_standard_says() {
        for (line, name, value) in [
            ("data: a: b", "data", "a: b"),
            ("data:a", "data", "a"),
            ("data:  a", "data", " a"),
            ("data", "data", ""),
            (": comment", "", "comment"),
            ("event:error", "event", "error"),
        ] {
            assert_eq!(field(line.as_bytes()), (name.as_bytes(), value.as_bytes()), "{line}");
        }
        assert_eq!(data(b"database: x"), None);
    }

    #[test]
    fn an_event_ends_at_an_empty_line_whatever_ends_lines() {
        let ends = ["\n", "\r", "\r\n"];
        for first in ends {
            for second in ends {
                // CR and then LF is one end, and no empty line.
                if (first, second) == ("\r", "\n") {
                    continue;
                }
                let event = format!("data: a{first}{second}");
                let stream = format!("{event}data: b");
                assert_eq!(event_bytes(stream.as_bytes()), Some(event.len()), "{stream:?}");
                assert_eq!(event_bytes(event.as_bytes()), Some(event.len()), "{event:?}");
                assert_eq!(event_bytes(b"data: a"), None);
            }
        }
        assert_eq!(event_bytes(b"data: a\r\ndata: b"), None);
    }

    #[test]
    fn a_position_is_the_same_however_a_stream_is_split() {
        let pieces = ["a", "\n", "\r", "\r\n", "b"];
        let mut checked = 0;
        for nth in 0..pieces.len().pow(5) {
            let stream: String =
                (0..5).map(|place| pieces[nth / pieces.len().pow(place) % pieces.len()]).collect();
            let bytes = stream.as_bytes();
            let mut naive = Position::default();
            for byte in bytes {
                naive.push(&[*byte]);
            }
            for split in 0..=bytes.len() {
                let mut position = Position::default();
                position.push(&bytes[..split]);
                position.push(&bytes[split..]);
                assert_eq!(position.is_between_events(), naive.is_between_events(), "{stream:?} at {split}");
                checked += 1;
            }
        }
        assert!(checked > 15_000, "{checked}");
    }
}
