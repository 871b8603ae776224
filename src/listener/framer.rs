//! Requests of an HTTP/1 connection, one after another.
//!
//! The bytes of a connection are cut where each request ends, by its head as `admission` reads it. What follows
//! waits until the next request is awaited, so a client may send several at once, and the parser above never
//! sees more than one. A head is judged here, whole and as it came; of one that is refused the parser sees a
//! stand-in, so that it is answered as every refusal is.

use crate::admission::chunks::Chunks;
use crate::admission::framing::{self, Framing};
use crate::admission::{HeadLimits, METHODS, Refused, host};

/// Bytes of following requests that are read before they are awaited.
const MAX_AHEAD_BYTES: usize = 16 << 10;

/// What a connection reads next.
#[derive(Debug, Default)]
pub(super) struct Framer {
    /// Came, and is not given yet.
    waiting: Vec<u8>,
    /// A head that is ready to be given, and how much of it was.
    head: Vec<u8>,
    given: usize,
    body: Body,
    /// Where the last line of an unfinished head begins.
    line_start: usize,
    /// Whether a line of that head is complete that is not empty.
    has_line: bool,
    /// Heads so far.
    heads: usize,
}

#[derive(Debug, Default)]
enum Body {
    #[default]
    Over,
    Length(u64),
    Chunked(Chunks),
    /// All that comes is given as it is.
    Endless,
    /// Nothing is given any more.
    Refused,
}

/// What the framer needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    /// Bytes are ready.
    Nothing,
    /// More of a head.
    Head,
    /// Up to as many bytes of a body, which may go past the framer.
    Body(u64),
    /// The connection's end, or a few bytes ahead.
    End,
    /// Not even those.
    Rest,
}

/// A head that was judged.
pub(super) type Judged = Result<(), Refused>;

/// A body is not framed as its head says.
#[derive(Debug)]
pub(super) struct BadBody;

impl Framer {
    /// From here on bytes are given as they come.
    pub(super) fn let_all_pass(&mut self) {
        self.body = Body::Endless;
    }

    /// Whether a byte of an unfinished head came.
    pub(super) fn has_begun(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What is needed next, if `awaited` requests were asked for so far. A head that is complete is judged,
    /// and what came of it returned.
    pub(super) fn advance(
        &mut self,
        awaited: usize,
        limits: impl FnOnce() -> HeadLimits,
    ) -> (Wants, Option<Judged>) {
        if self.given < self.head.len() {
            return (Wants::Nothing, None);
        }
        match &self.body {
            Body::Over if awaited > self.heads => match self.next_head(limits) {
                Some(judged) => (Wants::Nothing, Some(judged)),
                None => (Wants::Head, None),
            },
            Body::Over | Body::Refused if self.waiting.len() < MAX_AHEAD_BYTES => (Wants::End, None),
            Body::Over | Body::Refused => (Wants::Rest, None),
            _ if !self.waiting.is_empty() => (Wants::Nothing, None),
            Body::Length(left) => (Wants::Body(*left), None),
            Body::Chunked(_) | Body::Endless => (Wants::Body(u64::MAX), None),
        }
    }

    /// Takes bytes that came.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        // Nothing behind a refused head is looked at.
        if !matches!(self.body, Body::Refused) {
            self.waiting.extend_from_slice(bytes);
        }
    }

    /// Gives bytes that are ready, at most `room`.
    pub(super) fn give(&mut self, room: usize, put: impl FnOnce(&[u8])) -> Result<(), BadBody> {
        if let Some(rest) = self.head.get(self.given..).filter(|rest| !rest.is_empty()) {
            let now = rest.get(..room).unwrap_or(rest);
            put(now);
            self.given += now.len();
            if self.given == self.head.len() {
                self.head.clear();
                self.given = 0;
            }
            return Ok(());
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        let offered = waiting.get(..room).unwrap_or(&waiting);
        let taken = self.of_body(offered)?;
        put(offered.get(..taken).unwrap_or(offered));
        waiting.drain(..taken);
        self.waiting = waiting;
        Ok(())
    }

    /// How many of these bytes belong to the body. The others wait until the next request is read.
    pub(super) fn passed(&mut self, bytes: &[u8]) -> Result<usize, BadBody> {
        let taken = self.of_body(bytes)?;
        self.waiting.extend_from_slice(bytes.get(taken..).unwrap_or(&[]));
        Ok(taken)
    }

    fn of_body(&mut self, bytes: &[u8]) -> Result<usize, BadBody> {
        let (taken, is_over) = match &mut self.body {
            Body::Over | Body::Refused => (0, false),
            Body::Endless => (bytes.len(), false),
            Body::Length(left) => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= taken as u64;
                (taken, *left == 0)
            }
            Body::Chunked(chunks) => match chunks.push(bytes) {
                Ok(taken) => (taken, chunks.is_over()),
                Err(_) => {
                    self.body = Body::Refused;
                    return Err(BadBody);
                }
            },
        };
        if is_over {
            self.body = Body::Over;
        }
        Ok(taken)
    }

    fn next_head(&mut self, limits: impl FnOnce() -> HeadLimits) -> Option<Judged> {
        let limits = limits();
        let outcome = match self.end_of_head() {
            Some(end) => framing::scan(self.waiting.get(..end)?, limits).map(|framing| (end, framing)),
            None => match framing::check_length(&self.waiting, limits) {
                Ok(()) => return None,
                Err(refused) => Err(refused),
            },
        };
        self.heads += 1;
        self.line_start = 0;
        self.has_line = false;
        match outcome {
            Ok((end, framing)) => {
                let rest = self.waiting.split_off(end);
                self.head = escaped(std::mem::replace(&mut self.waiting, rest));
                self.body = match framing {
                    Framing::Length(0) => Body::Over,
                    Framing::Length(length) => Body::Length(length),
                    Framing::Chunked => Body::Chunked(Chunks::default()),
                };
                Some(Ok(()))
            }
            Err(refused) => {
                self.head = stand_in(&self.waiting);
                self.waiting.clear();
                self.body = Body::Refused;
                Some(Err(refused))
            }
        }
    }

    /// Where the head ends, behind its empty line, however its lines end.
    fn end_of_head(&mut self) -> Option<usize> {
        loop {
            let rest = self.waiting.get(self.line_start..)?;
            let line_end = memchr::memchr(b'\n', rest)?;
            let line = rest.get(..line_end)?;
            let is_empty = line.is_empty() || line == b"\r";
            self.line_start += line_end + 1;
            // Empty lines before a request line are passed over (RFC 9112 section 2.2).
            if is_empty && self.has_line {
                return Some(self.line_start);
            }
            self.has_line |= !is_empty;
        }
    }
}

/// A head with `"`, `<` and `>` of its request line escaped: the parser above refuses them before any of
/// our code hears of the request, other servers take them, and attacks are full of them, so rules are to see them.
fn escaped(head: Vec<u8>) -> Vec<u8> {
    let begin = head.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(0);
    let end = head.iter().skip(begin).position(|byte| *byte == b'\n').map_or(head.len(), |end| begin + end);
    let (Some(line), Some(rest)) = (head.get(begin..end), head.get(end..)) else { return head };
    if !line.iter().any(|byte| matches!(byte, b'"' | b'<' | b'>')) {
        return head;
    }
    let mut escaped = Vec::with_capacity(head.len() + 64);
    for byte in line {
        match byte {
            b'"' => escaped.extend_from_slice(b"%22"),
            b'<' => escaped.extend_from_slice(b"%3C"),
            b'>' => escaped.extend_from_slice(b"%3E"),
            _ => escaped.push(*byte),
        }
    }
    escaped.extend_from_slice(rest);
    escaped
}

/// A sound head in place of one that is refused, with what its answer and its event depend on if that is sound.
fn stand_in(head: &[u8]) -> Vec<u8> {
    let mut lines =
        head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).skip_while(|line| line.is_empty());
    let mut words = lines.next().unwrap_or(&[]).split(|byte| *byte == b' ');
    let method = words.next().and_then(|method| METHODS.iter().find(|known| known.as_bytes() == method));
    let is_sound = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~/%?&=+,:@!".contains(byte);
    let target = words.next().filter(|target| target.first() == Some(&b'/') && target.iter().all(is_sound));
    let target = target.map(|target| target.get(..512).unwrap_or(target));
    let field = |name: &[u8]| {
        let mut values = lines.clone().filter_map(|line| {
            let (found, value) = line.split_at_checked(memchr::memchr(b':', line)?)?;
            found.eq_ignore_ascii_case(name).then(|| value.get(1..).unwrap_or(&[]).trim_ascii())
        });
        str::from_utf8(values.next()?).ok().filter(|text| text.bytes().all(|b| (b' '..=b'~').contains(&b)))
    };
    let host = field(b"host").filter(|text| host::normal_form(text, &mut String::new()).is_ok());
    let accept = field(b"accept").filter(|text| text.len() < 1024);
    let mut made = Vec::with_capacity(128);
    made.extend_from_slice(method.map_or("GET", |method| method).as_bytes());
    made.push(b' ');
    made.extend_from_slice(target.unwrap_or(b"/"));
    made.extend_from_slice(b" HTTP/1.1\r\nhost: ");
    made.extend_from_slice(host.unwrap_or("invalid").as_bytes());
    if let Some(accept) = accept {
        made.extend_from_slice(b"\r\naccept: ");
        made.extend_from_slice(accept.as_bytes());
    }
    made.extend_from_slice(b"\r\n\r\n");
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: HeadLimits =
        HeadLimits { request_line_bytes: 100, header_section_bytes: 200, header_fields: 5 };

    /// What the parser above gets of each request of a connection whose bytes come in pieces of one size.
    fn requests(bytes: &[u8], piece: usize) -> Vec<(Vec<u8>, Option<Refused>)> {
        let (mut framer, mut pieces) = (Framer::default(), bytes.chunks(piece));
        let mut found: Vec<(Vec<u8>, Option<Refused>)> = Vec::new();
        let mut awaited = 1;
        loop {
            let (wants, judged) = framer.advance(awaited, || LIMITS);
            if let Some(judged) = judged {
                found.push((Vec::new(), judged.err()));
            }
            let outcome = match wants {
                Wants::Nothing => {
                    let last = &mut found.last_mut().unwrap().0;
                    framer.give(7, |bytes| last.extend_from_slice(bytes))
                }
                Wants::Head | Wants::Body(_) | Wants::End => {
                    if wants == Wants::End && awaited == found.len() {
                        awaited += 1;
                        continue;
                    }
                    let Some(piece) = pieces.next() else { return found };
                    framer.push(piece);
                    Ok(())
                }
                Wants::Rest => {
                    awaited += 1;
                    Ok(())
                }
            };
            if outcome.is_err() {
                return found;
            }
        }
    }

    #[test]
    fn requests_are_parted_however_they_come() {
        let get = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n";
        let post = "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\nGET / HTTP\r\n";
        let chunked =
            "POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: 1\r\n\r\n";
        let text = format!("\r\n{get}{post}{chunked}{get}");
        for piece in [1, 2, 3, 5, 17, 64, 1000] {
            let found: Vec<String> = requests(text.as_bytes(), piece)
                .into_iter()
                .map(|(bytes, refused)| {
                    assert_eq!(refused, None);
                    String::from_utf8(bytes).unwrap()
                })
                .collect();
            assert_eq!(found, [&format!("\r\n{get}"), post, chunked, get], "pieces of {piece}");
        }
    }

    #[test]
    fn of_a_refused_head_a_stand_in_is_given_and_nothing_behind_it() {
        let text = "HEAD /x?a=1 HTTP/1.1\r\nHost: a.example\r\nAccept: text/html\r\nTransfer-Encoding: identity\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
        for piece in [1, 7, 1000] {
            let found = requests(text.as_bytes(), piece);
            let expected = "HEAD /x?a=1 HTTP/1.1\r\nhost: a.example\r\naccept: text/html\r\n\r\n";
            assert_eq!(found, [(expected.into(), Some(Refused::UnknownTransferEncoding))]);
        }
        for (text, refused) in [
            ("\u{1}\u{2}", None),
            ("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", Some(Refused::BadRequestLine)),
            ("GET / HTTP/1.1\nHost: a\n\n", Some(Refused::BareLf)),
            (&format!("GET /{}", "x".repeat(200)), Some(Refused::RequestLineTooLong)),
            (&format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(300)), Some(Refused::HeaderSectionTooLong)),
        ] {
            let found = requests(text.as_bytes(), 1);
            assert_eq!(found.first().and_then(|(_, refused)| *refused), refused, "{text:?}");
            let wide = HeadLimits { request_line_bytes: 1000, ..LIMITS };
            let sound = found.iter().all(|(head, _)| framing::scan(head, wide).is_ok());
            assert!(sound, "{found:?}");
        }
    }

    #[test]
    fn a_chunked_body_that_is_none_ends_the_connection() {
        let text =
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n";
        for piece in [1, 1000] {
            let found = requests(text.as_bytes(), piece);
            assert_eq!(found.len(), 1);
            assert!(!found[0].0.ends_with(b"HTTP/1.1\r\n\r\n"));
        }
    }

    #[test]
    fn only_the_request_line_is_escaped() {
        let head = b"\r\nGET /?a=<b>\" HTTP/1.1\r\nA: <\r\n\r\n".to_vec();
        assert_eq!(escaped(head), b"GET /?a=%3Cb%3E%22 HTTP/1.1\r\nA: <\r\n\r\n");
        let plain = b"GET / HTTP/1.1\r\nA: <\r\n\r\n".to_vec();
        assert_eq!(escaped(plain.clone()), plain);
    }
}
