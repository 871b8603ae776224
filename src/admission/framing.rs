//! The raw head of an HTTP/1 request, in one pass (RFC 9112 sections 2.2, 3 and 6).
//!
//! The parser below us repairs what it can: it drops a `Content-Length` beside a
//! `Transfer-Encoding`, takes LF for CRLF, encodes spaces. An origin may repair differently, and
//! the difference is request smuggling. So what is ambiguous is refused here, from the bytes.

use super::{HeadLimits, Refused, method};

/// Judges a head: request line, header lines and the empty line that ends them.
///
/// # Errors
/// The first reason to refuse it.
pub fn scan(raw: &[u8], limits: HeadLimits) -> Result<(), Refused> {
    let head = skip_empty_lines(raw)?;
    let line_end = memchr::memchr(b'\n', head).unwrap_or(head.len());
    if line_end > limits.request_line_bytes {
        return Err(Refused::RequestLineTooLong);
    }
    let (line, section) = head.split_at_checked(line_end + 1).unwrap_or((head, &[]));
    let http_11 = request_line(without_end(line)?)?;
    if section.len() > limits.header_section_bytes {
        return Err(Refused::HeaderSectionTooLong);
    }
    headers(section, http_11, limits)
}

/// RFC 9112 section 2.2: empty lines before the request line are ignored.
fn skip_empty_lines(raw: &[u8]) -> Result<&[u8], Refused> {
    let mut rest = raw;
    while let Some(after) = rest.strip_prefix(b"\r\n") {
        rest = after;
    }
    if rest.first() == Some(&b'\n') { Err(Refused::BareLf) } else { Ok(rest) }
}

fn without_end(line: &[u8]) -> Result<&[u8], Refused> {
    match line.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").ok_or(Refused::BareLf),
        None => Ok(line),
    }
}

/// Whether the version is HTTP/1.1.
fn request_line(line: &[u8]) -> Result<bool, Refused> {
    let mut words = line.split(|byte| *byte == b' ');
    let (name, target, version) = (words.next(), words.next(), words.next());
    let name = name.unwrap_or(&[]);
    if words.next().is_some() || !target.is_some_and(|target| is_target(name, target)) {
        return Err(Refused::BadRequestLine);
    }
    method(name)?;
    match version {
        Some(b"HTTP/1.1") => Ok(true),
        Some(b"HTTP/1.0") => Ok(false),
        _ => Err(Refused::BadRequestLine),
    }
}

/// Whether a target has one of the four forms of RFC 9112 section 3.2, none of which has a fragment.
fn is_target(method: &[u8], target: &[u8]) -> bool {
    let form = match target {
        [b'/', ..] | b"*" => true,
        [] => false,
        _ => method == b"CONNECT" || memchr::memmem::find(target, b"://").is_some(),
    };
    form && memchr::memchr(b'#', target).is_none()
}

#[derive(Default)]
struct Seen {
    fields: usize,
    content_lengths: usize,
    transfer_encodings: usize,
    chunked: usize,
    hosts: usize,
}

fn headers(section: &[u8], http_11: bool, limits: HeadLimits) -> Result<(), Refused> {
    let mut seen = Seen::default();
    for line in section.split_inclusive(|byte| *byte == b'\n') {
        let line = without_end(line)?;
        if line.is_empty() {
            break;
        }
        seen.fields += 1;
        if seen.fields > limits.header_fields {
            return Err(Refused::TooManyHeaderFields);
        }
        field(line, &mut seen)?;
    }
    if seen.transfer_encodings > 0 && seen.content_lengths > 0 {
        return Err(Refused::LengthAndTransferEncoding);
    }
    if seen.transfer_encodings > 0 && (seen.chunked != 1 || seen.transfer_encodings != 1) {
        return Err(Refused::BadTransferEncoding);
    }
    if http_11 && seen.hosts == 0 {
        return Err(Refused::MissingHost);
    }
    Ok(())
}

fn field(line: &[u8], seen: &mut Seen) -> Result<(), Refused> {
    let Some((name, value)) = memchr::memchr(b':', line).and_then(|colon| line.split_at_checked(colon))
    else {
        return Ok(());
    };
    let value = value.get(1..).unwrap_or(&[]).trim_ascii();
    if name.eq_ignore_ascii_case(b"content-length") {
        seen.content_lengths += 1;
        if seen.content_lengths > 1 || value.contains(&b',') {
            return Err(Refused::RepeatedContentLength);
        }
        if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
            return Err(Refused::BadContentLength);
        }
    } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
        seen.transfer_encodings += 1;
        for coding in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            if coding.eq_ignore_ascii_case(b"chunked") {
                seen.chunked += 1;
            } else {
                return Err(Refused::UnknownTransferEncoding);
            }
        }
    } else if name.eq_ignore_ascii_case(b"host") {
        seen.hosts += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: HeadLimits =
        HeadLimits { request_line_bytes: 40, header_section_bytes: 200, header_fields: 5 };

    #[test]
    fn the_table() {
        let ok = "GET / HTTP/1.1\r\nHost: a\r\n";
        let cases: &[(String, Result<(), Refused>)] = &[
            (format!("{ok}\r\n"), Ok(())),
            (format!("\r\n\r\n{ok}\r\n"), Ok(())),
            ("GET / HTTP/1.0\r\n\r\n".into(), Ok(())),
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
            (format!("{ok}Transfer-Encoding: CHUNKED\r\n\r\n"), Ok(())),
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
            ("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n".into(), Ok(())),
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
