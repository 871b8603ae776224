//! Field sections to heads of requests (RFC 9114 sections 4.2 and 4.3).

use http::header::TE;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};

use crate::code::Http3Code;
use crate::qpack::{DecodeError, decode};

/// Fields that are about a connection of HTTP/1 and make a request malformed (RFC 9114 section 4.2). The
/// caller judges `transfer-encoding` together with other framing.
const OF_CONNECTIONS: [&str; 4] = ["connection", "keep-alive", "proxy-connection", "upgrade"];

/// Why a head is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    Method,
    /// `:scheme`, `:authority` or `:path`; one is missing, comes twice, or is not what it must be.
    RequestLine,
    /// A name or value that no field has, a field of a connection, or an unknown name that begins with a colon.
    Field,
    /// More fields than the limit has room for.
    TooLong,
}

/// The head of a request. Of one that is malformed, what is sound of it.
#[derive(Debug)]
pub struct DecodedHead {
    pub request: Request<()>,
    pub malformed: Option<Malformed>,
}

impl DecodedHead {
    /// Reads a field section of at most `max_bytes`, counted as RFC 9114 section 4.2.2 does.
    ///
    /// # Errors
    /// If it cannot be decoded, which ends the connection (RFC 9204 section 2.2).
    pub fn read(section: &[u8], max_bytes: usize) -> Result<Self, Http3Code> {
        let mut parts = HeadFields::default();
        match decode(section, max_bytes, |name, value| parts.take(name, value)) {
            Ok(()) => {}
            Err(DecodeError::TooLong) => parts.blame(Malformed::TooLong),
            Err(DecodeError::Unsound) => return Err(Http3Code::QpackDecompressionFailed),
        }
        Ok(parts.head())
    }
}

/// What is known of a head so far.
#[derive(Default)]
struct HeadFields {
    method: Option<Method>,
    scheme: Option<Scheme>,
    authority: Option<Authority>,
    path: Option<PathAndQuery>,
    fields: HeaderMap,
    has_fields: bool,
    malformed: Option<Malformed>,
}

impl HeadFields {
    /// The first fault counts.
    fn blame(&mut self, malformed: Malformed) {
        self.malformed.get_or_insert(malformed);
    }

    fn take(&mut self, name: &[u8], value: &[u8]) {
        match name.strip_prefix(b":") {
            Some(_) if self.has_fields => self.blame(Malformed::Field),
            Some(pseudo) => self.take_pseudo(pseudo, value),
            None => {
                self.has_fields = true;
                match field(name, value) {
                    Some((name, value)) => match self.fields.try_append(name, value) {
                        Ok(_) => {}
                        Err(_) => self.blame(Malformed::TooLong),
                    },
                    None => self.blame(Malformed::Field),
                }
            }
        }
    }

    fn take_pseudo(&mut self, name: &[u8], value: &[u8]) {
        let is_new = match name {
            b"method" => match Method::from_bytes(value) {
                Ok(method) => self.method.replace(method).is_none(),
                Err(_) => return self.blame(Malformed::Method),
            },
            // Nothing else is spoken to an edge (RFC 9114 section 4.3.1).
            b"scheme" => match value {
                b"https" => self.scheme.replace(Scheme::HTTPS).is_none(),
                b"http" => self.scheme.replace(Scheme::HTTP).is_none(),
                _ => false,
            },
            b"authority" => match Authority::try_from(value) {
                Ok(authority) => self.authority.replace(authority).is_none(),
                Err(_) => false,
            },
            b"path" => match PathAndQuery::try_from(value) {
                // A fragment would be dropped unseen.
                Ok(path) if !value.is_empty() && !value.contains(&b'#') => self.path.replace(path).is_none(),
                _ => false,
            },
            _ => return self.blame(Malformed::Field),
        };
        if !is_new {
            self.blame(Malformed::RequestLine);
        }
    }

    fn head(mut self) -> DecodedHead {
        let is_connect = self.method == Some(Method::CONNECT);
        let is_whole = match is_connect {
            // RFC 9114 section 4.4.
            true => self.scheme.is_none() && self.path.is_none() && self.authority.is_some(),
            false => self.method.is_some() && self.scheme.is_some() && self.path.is_some(),
        };
        if !is_whole {
            self.blame(Malformed::RequestLine);
        }
        let path = self.path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        let mut uri = http::uri::Parts::default();
        if self.authority.is_some() {
            uri.scheme = Some(self.scheme.unwrap_or(Scheme::HTTPS));
            uri.authority = self.authority;
        }
        uri.path_and_query = Some(path);
        let mut request = Request::new(());
        *request.version_mut() = Version::HTTP_3;
        *request.method_mut() = self.method.unwrap_or(Method::GET);
        match Uri::from_parts(uri) {
            Ok(uri) => *request.uri_mut() = uri,
            Err(_) => self.malformed = self.malformed.or(Some(Malformed::RequestLine)),
        }
        *request.headers_mut() = self.fields;
        DecodedHead { request, malformed: self.malformed }
    }
}

/// A field, if it is one.
fn field(name: &[u8], value: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let name = HeaderName::from_lowercase(name).ok()?;
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let is_of_connection = OF_CONNECTIONS.contains(&name.as_str()) || name == TE && value != b"trailers";
    if is_of_connection || is_blank(value.first()) || is_blank(value.last()) {
        return None;
    }
    Some((name, HeaderValue::from_bytes(value).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qpack::{begin, write_field};

    fn read(fields: &[(&str, &str)]) -> DecodedHead {
        let mut section = begin();
        for (name, value) in fields {
            write_field(name, value.as_bytes(), &mut section);
        }
        DecodedHead::read(&section, 1_000).unwrap()
    }

    const GET: [(&str, &str); 4] =
        [(":method", "GET"), (":scheme", "https"), (":authority", "a.example"), (":path", "/x?y")];

    #[test]
    fn a_head_is_read() {
        let head =
            read(&[&GET[..], &[("accept", "text/html"), ("cookie", "a=1"), ("cookie", "b=2")]].concat());
        assert_eq!(head.malformed, None);
        let request = head.request;
        assert_eq!((request.method(), request.version()), (&Method::GET, Version::HTTP_3));
        assert_eq!(request.uri().to_string(), "https://a.example/x?y");
        assert_eq!(request.headers().get_all("cookie").iter().count(), 2);
    }

    #[test]
    fn a_malformed_head_is_told_by_its_first_fault() {
        let without = |name: &str| GET.iter().copied().filter(|(n, _)| *n != name).collect::<Vec<_>>();
        let with = |field: (&'static str, &'static str)| [&GET[..], &[field]].concat();
        let instead = |name: &'static str, value: &'static str| {
            GET.iter().map(|(n, v)| (*n, if *n == name { value } else { *v })).collect::<Vec<_>>()
        };
        type Case<'c> = (&'c str, Vec<(&'c str, &'c str)>, Option<Malformed>);
        let cases: &[Case<'_>] = &[
            ("no authority", without(":authority"), None),
            ("no method", without(":method"), Some(Malformed::RequestLine)),
            ("no scheme", without(":scheme"), Some(Malformed::RequestLine)),
            ("no path", without(":path"), Some(Malformed::RequestLine)),
            ("an empty path", instead(":path", ""), Some(Malformed::RequestLine)),
            ("an empty authority", instead(":authority", ""), Some(Malformed::RequestLine)),
            ("another scheme", instead(":scheme", "ftp"), Some(Malformed::RequestLine)),
            ("a method that is none", instead(":method", "GE T"), Some(Malformed::Method)),
            ("a path with a blank", instead(":path", "/a b"), Some(Malformed::RequestLine)),
            ("a path with a fragment", instead(":path", "/a#b"), Some(Malformed::RequestLine)),
            ("a path with a line end", instead(":path", "/a\r\nx: y"), Some(Malformed::RequestLine)),
            ("a path twice", with((":path", "/")), Some(Malformed::RequestLine)),
            ("a status", with((":status", "200")), Some(Malformed::Field)),
            ("an unknown one", with((":protocol", "websocket")), Some(Malformed::Field)),
            ("an upper-case name", with(("Accept", "x")), Some(Malformed::Field)),
            ("an empty name", with(("", "x")), Some(Malformed::Field)),
            ("a name with a blank", with(("a b", "x")), Some(Malformed::Field)),
            ("a value with a line end", with(("a", "x\r\ny: z")), Some(Malformed::Field)),
            ("a value with NUL", with(("a", "x\0")), Some(Malformed::Field)),
            ("a value that begins with a blank", with(("a", " x")), Some(Malformed::Field)),
            ("a value that ends with a tab", with(("a", "x\t")), Some(Malformed::Field)),
            ("connection", with(("connection", "close")), Some(Malformed::Field)),
            ("upgrade", with(("upgrade", "websocket")), Some(Malformed::Field)),
            ("te", with(("te", "gzip")), Some(Malformed::Field)),
            ("te: trailers", with(("te", "trailers")), None),
            ("transfer-encoding, judged elsewhere", with(("transfer-encoding", "chunked")), None),
            ("nothing", vec![], Some(Malformed::RequestLine)),
            ("connect", vec![(":method", "CONNECT"), (":authority", "a.example:1")], None),
            ("connect with a path", instead(":method", "CONNECT"), Some(Malformed::RequestLine)),
        ];
        for (name, fields, expected) in cases {
            assert_eq!(read(fields).malformed, *expected, "{name}");
        }
        let late = read(&[&[("accept", "x")], &GET[..]].concat());
        assert_eq!(late.malformed, Some(Malformed::Field), "fields before the request line");
    }

    #[test]
    fn what_is_sound_of_a_malformed_head_is_kept() {
        let head = read(&[&GET[..3], &[(":path", "/a b"), ("accept", "text/html")]].concat());
        assert_eq!(head.request.uri().to_string(), "https://a.example/");
        assert_eq!(head.request.headers()["accept"], "text/html");
        let long = "x".repeat(2_000);
        let head = read(&[&GET[..], &[("accept", "text/html"), ("x-own", long.as_str())]].concat());
        assert_eq!(head.malformed, Some(Malformed::TooLong));
        assert_eq!(head.request.headers()["accept"], "text/html");
    }

    #[test]
    fn an_undecodable_section_ends_the_connection() {
        let outcome = DecodedHead::read(b"\x02\0\x80", 1_000).map(|_| ());
        assert_eq!(outcome, Err(Http3Code::QpackDecompressionFailed));
    }
}
