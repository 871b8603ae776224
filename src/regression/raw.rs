//! A raw HTTP/1 request taken apart, leniently: bare LF is a line end, since people write files.

/// The parts of a request, as written.
#[derive(Debug)]
pub struct RawRequest<'r> {
    /// The request line.
    pub line: &'r [u8],
    /// Values without white space at their ends.
    pub headers: Vec<(&'r [u8], &'r [u8])>,
    pub body: &'r [u8],
}

impl<'r> RawRequest<'r> {
    /// Splits at the first empty line; a head that does not end is the whole request.
    ///
    /// # Errors
    /// One sentence if a line after the first has no colon.
    pub fn split(raw: &'r [u8]) -> Result<Self, String> {
        let mut rest = raw;
        let mut next_line = || {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or(&[]);
            line.strip_suffix(b"\r").unwrap_or(line)
        };
        let line = next_line();
        let mut headers = Vec::new();
        loop {
            let field = next_line();
            if field.is_empty() {
                break;
            }
            let colon = memchr::memchr(b':', field)
                .ok_or_else(|| format!("`{}` is not a header", String::from_utf8_lossy(field)))?;
            let (name, value) = field.split_at(colon);
            headers.push((name, value.get(1..).unwrap_or(&[]).trim_ascii()));
        }
        Ok(Self { line, headers, body: rest })
    }

    /// Method, target and protocol. The target may hold spaces: attacks do.
    ///
    /// # Errors
    /// One sentence if the line does not have three parts, or the protocol is not text.
    pub fn parts(&self) -> Result<(&'r [u8], &'r [u8], &'r str), String> {
        let malformed = || "the first line is not `METHOD /target HTTP/1.1`".to_owned();
        let mut words = self.line.splitn(2, |byte| *byte == b' ');
        let (method, rest) = (words.next().unwrap_or(&[]), words.next().unwrap_or(&[]));
        let (target, protocol) = memchr::memrchr(b' ', rest)
            .and_then(|space| rest.split_at_checked(space))
            .ok_or_else(malformed)?;
        let protocol =
            std::str::from_utf8(protocol.trim_ascii()).map_err(|_| "the protocol is not text".to_owned())?;
        Ok((method, target, protocol))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_taken_apart() {
        let request = RawRequest::split(b"POST /a b HTTP/1.1\r\nHost: x\nA:b\r\n\r\nbody\n").unwrap();
        assert_eq!(request.parts().unwrap(), (&b"POST"[..], &b"/a b"[..], "HTTP/1.1"));
        assert_eq!((request.headers.len(), request.body), (2, &b"body\n"[..]));
        assert!(RawRequest::split(b"GET\r\n\r\n").unwrap().parts().is_err());
        assert!(RawRequest::split(b"GET / HTTP/1.1\r\nno colon\r\n\r\n").is_err());
    }
}
