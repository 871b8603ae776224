//! What an HTTP server answers before any rule sees a request: the few checks that tests with an
//! expected `status` are about (RFC 9112 section 3, RFC 3986 section 2).

use super::request::Request;
use crate::admission;

/// How a server takes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reception {
    Accepted,
    /// 400
    Malformed,
    /// The connection ends without an answer: a request of HTTP/0.9 gets no status line, and a body
    /// that does not come is not waited for.
    Dropped,
}

pub(super) fn receive(request: &Request) -> Reception {
    let announced =
        request.header("content-length").and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
    if request.protocol.is_empty() || announced.is_some_and(|length: usize| length > request.body.len()) {
        return Reception::Dropped;
    }
    let sound = !request.bare_lf
        && is_token(&request.method)
        && is_target(&request.method, &request.target)
        && matches!(request.protocol.as_str(), "HTTP/1.0" | "HTTP/1.1")
        && request.headers.iter().all(|(name, value)| {
            is_token(name) && !value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0))
        })
        && request.header("content-length").is_none_or(is_length)
        && request.header("host").is_none_or(is_host);
    if sound { Reception::Accepted } else { Reception::Malformed }
}

fn is_token(text: &[u8]) -> bool {
    let special = b"!#$%&'*+-.^_`|~";
    !text.is_empty() && text.iter().all(|byte| byte.is_ascii_alphanumeric() || special.contains(byte))
}

fn is_target(method: &[u8], target: &[u8]) -> bool {
    let sound = target.iter().all(|byte| byte.is_ascii_graphic() && !b"\"#<>\\^`{|}".contains(byte));
    let form = match target {
        _ if method == b"CONNECT" => {
            memchr::memrchr(b':', target).is_some_and(|colon| target.get(colon + 1..).is_some_and(is_length))
        }
        [b'/', ..] | b"*" => true,
        _ => memchr::memmem::find(target, b"://").is_some(),
    };
    sound && form
}

fn is_length(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

fn is_host(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| admission::host::normal_form(text, &mut String::new()).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table() {
        let request = |method: &str, target: &str, protocol: &str, field: (&str, &str)| Request {
            method: method.into(),
            target: target.into(),
            protocol: protocol.into(),
            headers: vec![(field.0.into(), field.1.into())],
            body: Vec::new(),
            bare_lf: false,
            wire: Vec::new(),
        };
        let host = ("Host", "localhost");
        for (request, expected) in [
            (request("GET", "/", "HTTP/1.1", host), Reception::Accepted),
            (request("CONNECT", "192.0.2.1:80", "HTTP/1.1", host), Reception::Accepted),
            (request("CONNECT", "a.example", "HTTP/1.1", host), Reception::Malformed),
            (request(" GET", "/", "HTTP/1.1", host), Reception::Malformed),
            (request("GET", "/a#b", "HTTP/1.1", host), Reception::Malformed),
            (request("GET", "\\", "HTTP/1.1", host), Reception::Malformed),
            (request("GET", "/", "HTTP/0.9", host), Reception::Malformed),
            (request("GET", "/", "", host), Reception::Dropped),
            (request("GET", "/", "HTTP/1.1", ("Host", "a%00")), Reception::Malformed),
            (request("GET", "/", "HTTP/1.1", ("A", "b\rC: d")), Reception::Malformed),
            (request("GET", "/", "HTTP/1.1", ("Content-Length", "3;")), Reception::Malformed),
        ] {
            assert_eq!(receive(&request), expected, "{request:?}");
        }
    }
}
