//! The raw head of an HTTP/1 request, in one pass (RFC 9112 sections 2.2, 3 and 6).
//!
//! The parser below us repairs what it can: it drops a `Content-Length` beside a
//! `Transfer-Encoding`, takes LF for CRLF, encodes spaces. An origin may repair differently, and
//! the difference is request smuggling. So what is ambiguous is refused here, from the bytes.

use super::{HeadLimits, Refused, method};

/// How the body of an admitted request is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// In bytes; 0 if there is none.
    Length(u64),
    Chunked,
}

/// Judges a head: request line, header lines and the empty line that ends them.
///
/// # Errors
/// The first reason to refuse it.
pub fn scan(raw: &[u8], limits: HeadLimits) -> Result<Framing, Refused> {
    let head = skip_empty_lines(raw)?;
    let line_end = memchr::memchr(b'\n', head).unwrap_or(head.len());
    if line_end > limits.request_line_bytes {
        return Err(Refused::RequestLineTooLong);
    }
    let (line, section) = head.split_at_checked(line_end + 1).unwrap_or((head, &[]));
    let line = request_line(without_end(line)?)?;
    if section.len() > limits.header_section_bytes {
        return Err(Refused::HeaderSectionTooLong);
    }
    headers(section, line, limits)
}

/// Judges the beginning of a head: whether it is too long already.
///
/// # Errors
/// Why it is refused before it ends.
pub fn check_length(raw: &[u8], limits: HeadLimits) -> Result<(), Refused> {
    let head = skip_empty_lines(raw)?;
    match memchr::memchr(b'\n', head) {
        None if head.len() > limits.request_line_bytes => Err(Refused::RequestLineTooLong),
        Some(end) if end > limits.request_line_bytes => Err(Refused::RequestLineTooLong),
        Some(end) if head.len() - end - 1 > limits.header_section_bytes => Err(Refused::HeaderSectionTooLong),
        _ => Ok(()),
    }
}

/// Empty lines before a request line that are ignored. Some clients send one.
const MAX_EMPTY_LINES: usize = 16;

/// RFC 9112 section 2.2: empty lines before the request line are ignored.
fn skip_empty_lines(raw: &[u8]) -> Result<&[u8], Refused> {
    let mut rest = raw;
    let mut lines = 0;
    while let Some(after) = rest.strip_prefix(b"\r\n") {
        rest = after;
        lines += 1;
        // Else they would be kept without end.
        if lines > MAX_EMPTY_LINES {
            return Err(Refused::BadRequestLine);
        }
    }
    if rest.first() == Some(&b'\n') { Err(Refused::BareLf) } else { Ok(rest) }
}

fn without_end(line: &[u8]) -> Result<&[u8], Refused> {
    match line.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").ok_or(Refused::BareLf),
        None => Ok(line),
    }
}

/// What a request line says of the head below it.
#[derive(Clone, Copy)]
struct Line<'l> {
    is_http_11: bool,
    /// Of a target in absolute form.
    authority: Option<&'l [u8]>,
}

fn request_line(line: &[u8]) -> Result<Line<'_>, Refused> {
    let mut words = line.split(|byte| *byte == b' ');
    let (name, target, version) = (words.next(), words.next(), words.next());
    let (name, target) = (name.unwrap_or(&[]), target.ok_or(Refused::BadRequestLine)?);
    if words.next().is_some() {
        return Err(Refused::BadRequestLine);
    }
    method(name)?;
    let authority = is_target(name, target)?;
    match version {
        Some(b"HTTP/1.1") => Ok(Line { is_http_11: true, authority }),
        Some(b"HTTP/1.0") => Ok(Line { is_http_11: false, authority }),
        _ => Err(Refused::BadRequestLine),
    }
}

/// Judges a target by RFC 9112 section 3.2; the authority of an absolute one.
fn is_target<'t>(method: &[u8], target: &'t [u8]) -> Result<Option<&'t [u8]>, Refused> {
    if target.iter().any(|byte| matches!(byte, b'#' | 0..=b' ' | 0x7f)) {
        return Err(Refused::BadRequestLine);
    }
    if target == b"*" && method == b"OPTIONS" {
        return Ok(None);
    }
    let after = |scheme: &[u8]| {
        let (start, rest) = target.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    };
    let (authority, path) = match (target, after(b"http://").or_else(|| after(b"https://"))) {
        ([b'/', ..], _) => (None, target),
        (_, Some(rest)) => {
            let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            (Some(authority), path)
        }
        _ => return Err(Refused::BadRequestLine),
    };
    if super::has_control_escape(path) {
        return Err(Refused::BadRequestLine);
    }
    Ok(authority)
}

#[derive(Default)]
struct Seen<'h> {
    fields: usize,
    length: Option<u64>,
    transfer_encodings: usize,
    chunked: usize,
    host: Option<&'h [u8]>,
}

fn headers(section: &[u8], line: Line<'_>, limits: HeadLimits) -> Result<Framing, Refused> {
    let mut seen = Seen::default();
    for field_line in section.split_inclusive(|byte| *byte == b'\n') {
        let field_line = without_end(field_line)?;
        if field_line.is_empty() {
            break;
        }
        seen.fields += 1;
        if seen.fields > limits.header_fields {
            return Err(Refused::TooManyHeaderFields);
        }
        field(field_line, &mut seen)?;
    }
    if seen.transfer_encodings > 0 && seen.length.is_some() {
        return Err(Refused::LengthAndTransferEncoding);
    }
    // RFC 9112 section 6.1: HTTP/1.0 has no transfer codings.
    let is_bad = seen.chunked != 1 || seen.transfer_encodings != 1 || !line.is_http_11;
    if seen.transfer_encodings > 0 && is_bad {
        return Err(Refused::BadTransferEncoding);
    }
    match (seen.host, line.authority) {
        (None, _) if line.is_http_11 => return Err(Refused::MissingHost),
        (Some(host), Some(authority)) if !host.eq_ignore_ascii_case(authority) => {
            return Err(Refused::BadHost);
        }
        _ => {}
    }
    Ok(if seen.chunked > 0 { Framing::Chunked } else { Framing::Length(seen.length.unwrap_or(0)) })
}

fn field<'h>(line: &'h [u8], seen: &mut Seen<'h>) -> Result<(), Refused> {
    let (name, value) = memchr::memchr(b':', line)
        .and_then(|colon| line.split_at_checked(colon))
        .ok_or(Refused::BadHeaderField)?;
    // A name that is a token leaves no room for folded lines either (RFC 9112 section 5.2).
    if name.is_empty() || !name.iter().all(|byte| super::is_token_byte(*byte)) {
        return Err(Refused::BadHeaderField);
    }
    let value = value.get(1..).unwrap_or(&[]).trim_ascii();
    if value.iter().any(|byte| matches!(byte, 0..=8 | 10..=31 | 0x7f)) {
        return Err(Refused::BadHeaderField);
    }
    if name.eq_ignore_ascii_case(b"content-length") {
        if seen.length.is_some() || value.contains(&b',') {
            return Err(Refused::RepeatedContentLength);
        }
        seen.length = Some(super::content_length(value)?);
    } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
        seen.transfer_encodings += 1;
        for coding in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            if coding.eq_ignore_ascii_case(b"chunked") {
                seen.chunked += 1;
            } else {
                return Err(Refused::UnknownTransferEncoding);
            }
        }
    } else if name.eq_ignore_ascii_case(b"host") && seen.host.replace(value).is_some() {
        return Err(Refused::BadHost);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: HeadLimits =
        HeadLimits { request_line_bytes: 40, header_section_bytes: 200, header_fields: 5 };

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn the_table() {
        let ok = "GET / HTTP/1.1\r\nHost: a\r\n";
        let cases: &[(String, Result<Framing, Refused>)] = &[
            (format!("{ok}\r\n"), Ok(Framing::Length(0))),
            (format!("\r\n\r\n{ok}\r\n"), Ok(Framing::Length(0))),
            (format!("{}{ok}\r\n", "\r\n".repeat(16)), Ok(Framing::Length(0))),
            (format!("{}{ok}\r\n", "\r\n".repeat(17)), Err(Refused::BadRequestLine)),
            ("GET / HTTP/1.0\r\n\r\n".into(), Ok(Framing::Length(0))),
            (
                format!("{ok}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"),
                Err(Refused::LengthAndTransferEncoding),
            ),
            (
                format!("{ok}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"),
                Err(Refused::LengthAndTransferEncoding),
            ),
            (
                format!("{ok}Content-Length: 3\r\nContent-Length: 3\r\n\r\n"),
                Err(Refused::RepeatedContentLength),
            ),
            (format!("{ok}Content-Length: 3, 3\r\n\r\n"), Err(Refused::RepeatedContentLength)),
            (format!("{ok}Content-Length: +3\r\n\r\n"), Err(Refused::BadContentLength)),
            (format!("{ok}Content-Length:\r\n\r\n"), Err(Refused::BadContentLength)),
            (format!("{ok}Transfer-Encoding: gzip, chunked\r\n\r\n"), Err(Refused::UnknownTransferEncoding)),
            (
                format!("{ok}Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n"),
                Err(Refused::UnknownTransferEncoding),
            ),
            (format!("{ok}Transfer-Encoding: chunked, chunked\r\n\r\n"), Err(Refused::BadTransferEncoding)),
            (
                format!("{ok}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
                Err(Refused::BadTransferEncoding),
            ),
            (format!("{ok}Transfer-Encoding: CHUNKED\r\n\r\n"), Ok(Framing::Chunked)),
            (format!("{ok}Content-Length: 12\r\n\r\n"), Ok(Framing::Length(12))),
            (format!("{ok}Content-Length: {}\r\n\r\n", "0".repeat(100)), Err(Refused::BadContentLength)),
            (format!("{ok}Content-Length: 9223372036854775807\r\n\r\n"), Err(Refused::BadContentLength)),
            (format!("{ok}Host: a\r\n\r\n"), Err(Refused::BadHost)),
            (format!("{ok} X: y\r\n\r\n"), Err(Refused::BadHeaderField)),
            (format!("{ok}X : y\r\n\r\n"), Err(Refused::BadHeaderField)),
            (format!("{ok}X\r\n\r\n"), Err(Refused::BadHeaderField)),
            (format!("{ok}X: a\0b\r\n\r\n"), Err(Refused::BadHeaderField)),
            ("GET /a%00b HTTP/1.1\r\nHost: a\r\n\r\n".into(), Err(Refused::BadRequestLine)),
            ("GET /a%0Db HTTP/1.1\r\nHost: a\r\n\r\n".into(), Err(Refused::BadRequestLine)),
            ("GET /?a=%00 HTTP/1.1\r\nHost: a\r\n\r\n".into(), Ok(Framing::Length(0))),
            ("GET * HTTP/1.1\r\nHost: a\r\n\r\n".into(), Err(Refused::BadRequestLine)),
            ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n".into(), Ok(Framing::Length(0))),
            ("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n".into(), Err(Refused::BadRequestLine)),
            ("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n".into(), Err(Refused::BadHost)),
            (
                "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".into(),
                Err(Refused::BadTransferEncoding),
            ),
            ("GET / HTTP/1.1\nHost: a\r\n\r\n".into(), Err(Refused::BareLf)),
            ("GET / HTTP/1.1\r\nHost: a\n\r\n".into(), Err(Refused::BareLf)),
            (format!("\n{ok}\r\n"), Err(Refused::BareLf)),
            ("GET / HTTP/1.1\r\nX: y\r\n\r\n".into(), Err(Refused::MissingHost)),
            ("TRACE / HTTP/1.1\r\nHost: a\r\n\r\n".into(), Err(Refused::MethodNotAllowed)),
            ("get / HTTP/1.1\r\nHost: a\r\n\r\n".into(), Err(Refused::BadMethod)),
            ("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n".into(), Err(Refused::BadRequestLine)),
            ("GET  HTTP/1.1\r\nHost: a\r\n\r\n".into(), Err(Refused::BadRequestLine)),
            ("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n".into(), Err(Refused::BadRequestLine)),
            ("GET \\a HTTP/1.1\r\nHost: a\r\n\r\n".into(), Err(Refused::BadRequestLine)),
            ("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n".into(), Ok(Framing::Length(0))),
            (
                format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(40)),
                Err(Refused::RequestLineTooLong),
            ),
            (format!("{ok}X: {}\r\n\r\n", "x".repeat(200)), Err(Refused::HeaderSectionTooLong)),
            (format!("{ok}{}\r\n", "X: y\r\n".repeat(5)), Err(Refused::TooManyHeaderFields)),
        ];
        for (raw, expected) in cases {
            assert_eq!(scan(raw.as_bytes(), LIMITS), *expected, "{raw:?}");
        }
    }

    #[test]
    fn words_are_unique() {
        let mut words = Refused::ALL.map(Refused::word).to_vec();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), Refused::ALL.len());
    }
}
