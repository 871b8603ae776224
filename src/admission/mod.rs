//! What a request must be before any rule looks at it.
//!
//! [`framing`] reads the raw head of an HTTP/1 request in one pass, [`chunks`] finds the end of its body;
//! [`parsed`] asks the same of a head that came in HTTP/2 frames. All answer with the one reason for a refusal.

pub mod chunks;
pub mod framing;
pub mod host;
pub mod parsed;

use crate::conf::Limits;

/// Why a request is refused before any rule looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refused {
    /// A line of the head ends in LF without CR.
    BareLf,
    LengthAndTransferEncoding,
    RepeatedContentLength,
    BadContentLength,
    /// `chunked` more than once, or not alone.
    BadTransferEncoding,
    UnknownTransferEncoding,
    MissingHost,
    BadHost,
    /// A line of the head that is no field, or a value with bytes that none has.
    BadHeaderField,
    BadRequestLine,
    BadMethod,
    MethodNotAllowed,
    RequestLineTooLong,
    HeaderSectionTooLong,
    TooManyHeaderFields,
}

impl Refused {
    pub const ALL: [Self; 15] = [
        Self::BareLf,
        Self::LengthAndTransferEncoding,
        Self::RepeatedContentLength,
        Self::BadContentLength,
        Self::BadTransferEncoding,
        Self::UnknownTransferEncoding,
        Self::MissingHost,
        Self::BadHost,
        Self::BadHeaderField,
        Self::BadRequestLine,
        Self::BadMethod,
        Self::MethodNotAllowed,
        Self::RequestLineTooLong,
        Self::HeaderSectionTooLong,
        Self::TooManyHeaderFields,
    ];

    /// The word in events and metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::BareLf => "bare_lf",
            Self::LengthAndTransferEncoding => "length_and_transfer_encoding",
            Self::RepeatedContentLength => "repeated_content_length",
            Self::BadContentLength => "bad_content_length",
            Self::BadTransferEncoding => "bad_transfer_encoding",
            Self::UnknownTransferEncoding => "unknown_transfer_encoding",
            Self::MissingHost => "missing_host",
            Self::BadHost => "bad_host",
            Self::BadHeaderField => "bad_header_field",
            Self::BadRequestLine => "bad_request_line",
            Self::BadMethod => "bad_method",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::RequestLineTooLong => "request_line_too_long",
            Self::HeaderSectionTooLong => "header_section_too_long",
            Self::TooManyHeaderFields => "too_many_header_fields",
        }
    }

    pub fn status(self) -> u16 {
        match self {
            Self::UnknownTransferEncoding => 501,
            Self::MethodNotAllowed => 405,
            Self::RequestLineTooLong => 414,
            Self::HeaderSectionTooLong | Self::TooManyHeaderFields => 431,
            Self::BareLf
            | Self::LengthAndTransferEncoding
            | Self::RepeatedContentLength
            | Self::BadContentLength
            | Self::BadTransferEncoding
            | Self::MissingHost
            | Self::BadHost
            | Self::BadHeaderField
            | Self::BadRequestLine
            | Self::BadMethod => 400,
        }
    }
}

/// The limits admission looks at.
#[derive(Clone, Copy, Debug)]
pub struct HeadLimits {
    pub request_line_bytes: usize,
    pub header_section_bytes: usize,
    pub header_fields: usize,
}

impl From<&Limits> for HeadLimits {
    fn from(limits: &Limits) -> Self {
        Self {
            request_line_bytes: limits.request_line.0,
            header_section_bytes: limits.header_section.0,
            header_fields: limits.header_fields,
        }
    }
}

/// Methods every zone takes (RFC 9110 section 9, RFC 5789); `TRACE` and `CONNECT` are never taken.
pub const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Digits of the longest body that anybody sends.
const MAX_LENGTH_DIGITS: usize = 15;

/// The value of a `Content-Length`, in bytes.
fn content_length(value: &[u8]) -> Result<u64, Refused> {
    let is_number = (1..=MAX_LENGTH_DIGITS).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    let number = str::from_utf8(value).ok().filter(|_| is_number).and_then(|text| text.parse().ok());
    number.ok_or(Refused::BadContentLength)
}

/// Whether a byte may stand in a token (RFC 9110 section 5.6.2).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Whether a path, before its query, has an escaped NUL or CR: readers end it there, or drop it.
fn has_control_escape(target: &[u8]) -> bool {
    let path = target.split(|byte| *byte == b'?').next().unwrap_or(&[]);
    memchr::memchr_iter(b'%', path).any(|at| {
        let escape = path.get(at + 1..at + 3).unwrap_or(&[]);
        [b"00", b"0d"].iter().any(|control| escape.eq_ignore_ascii_case(*control))
    })
}

/// Judges a method: a token of upper-case letters that is in the list.
fn method(method: &[u8]) -> Result<(), Refused> {
    let upper =
        !method.is_empty() && method.iter().all(|b| b.is_ascii_uppercase() || matches!(b, b'-' | b'_'));
    if !upper {
        return Err(Refused::BadMethod);
    }
    let known = METHODS.iter().any(|known| known.as_bytes() == method);
    if known { Ok(()) } else { Err(Refused::MethodNotAllowed) }
}
