//! The same judgement for heads that came in HTTP/2 frames, where the bytes are already fields.

use http::HeaderMap;
use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};

use super::{HeadLimits, Refused, method};

/// A head without its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Head<'r> {
    pub method: &'r str,
    /// `:path`
    pub target: &'r [u8],
    /// `:authority`
    pub authority: Option<&'r str>,
    pub headers: &'r HeaderMap,
}

/// Judges a head.
///
/// # Errors
/// The first reason to refuse it.
pub fn check(head: Head<'_>, limits: HeadLimits) -> Result<(), Refused> {
    if head.target.len() + head.method.len() > limits.request_line_bytes {
        return Err(Refused::RequestLineTooLong);
    }
    method(head.method.as_bytes())?;
    let is_path = head.target.first() == Some(&b'/') || head.target == b"*" && head.method == "OPTIONS";
    let is_printable = !head.target.iter().any(|byte| matches!(byte, b'#' | 0..=b' ' | 0x7f));
    if !is_path || !is_printable || super::has_control_escape(head.target) {
        return Err(Refused::BadRequestLine);
    }
    if head.headers.len() > limits.header_fields {
        return Err(Refused::TooManyHeaderFields);
    }
    // As RFC 9113 section 6.5.2 counts, without its 32 bytes a field.
    let section: usize = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if section > limits.header_section_bytes {
        return Err(Refused::HeaderSectionTooLong);
    }
    // RFC 9113 section 8.2.2.
    if head.headers.contains_key(TRANSFER_ENCODING) {
        return Err(Refused::BadTransferEncoding);
    }
    let mut lengths = head.headers.get_all(CONTENT_LENGTH).iter();
    if let Some(length) = lengths.next() {
        if lengths.next().is_some() || length.as_bytes().contains(&b',') {
            return Err(Refused::RepeatedContentLength);
        }
        super::content_length(length.as_bytes())?;
    }
    let mut hosts = head.headers.get_all(HOST).iter().map(http::HeaderValue::as_bytes);
    let host = hosts.next();
    if hosts.next().is_some() {
        return Err(Refused::BadHost);
    }
    match (head.authority, host) {
        (None, None) => Err(Refused::MissingHost),
        // RFC 9113 section 8.3.1: a `host` that differs from `:authority` is malformed.
        (Some(authority), Some(host)) if !authority.as_bytes().eq_ignore_ascii_case(host) => {
            Err(Refused::BadHost)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table() {
        let limits = HeadLimits { request_line_bytes: 20, header_section_bytes: 60, header_fields: 3 };
        type Case =
            (&'static str, &'static str, &'static [(&'static str, &'static str)], Result<(), Refused>);
        let cases: &[Case] = &[
            ("GET", "/", &[], Ok(())),
            ("TRACE", "/", &[], Err(Refused::MethodNotAllowed)),
            ("get", "/", &[], Err(Refused::BadMethod)),
            ("GET", "/xxxxxxxxxxxxxxxxxxxx", &[], Err(Refused::RequestLineTooLong)),
            (
                "GET",
                "/",
                &[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")],
                Err(Refused::TooManyHeaderFields),
            ),
            (
                "GET",
                "/",
                &[("a", "1234567890123456789012345678901234567890123456789012345678")],
                Err(Refused::HeaderSectionTooLong),
            ),
            (
                "GET",
                "/",
                &[("content-length", "1"), ("content-length", "1")],
                Err(Refused::RepeatedContentLength),
            ),
            ("GET", "/", &[("content-length", "-1")], Err(Refused::BadContentLength)),
            ("GET", "/", &[("transfer-encoding", "chunked")], Err(Refused::BadTransferEncoding)),
            ("GET", "/", &[("host", "other")], Err(Refused::BadHost)),
            ("GET", "/", &[("host", "A.example")], Ok(())),
            ("GET", "/", &[("host", "a.example"), ("host", "a.example")], Err(Refused::BadHost)),
        ];
        for (method, target, fields, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in *fields {
                headers
                    .append(http::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
            }
            let head =
                Head { method, target: target.as_bytes(), authority: Some("a.example"), headers: &headers };
            assert_eq!(check(head, limits), *expected, "{method} {target} {fields:?}");
        }
        let headers = HeaderMap::new();
        let head = Head { method: "GET", target: b"/", authority: None, headers: &headers };
        assert_eq!(check(head, limits), Err(Refused::MissingHost));
    }
}
