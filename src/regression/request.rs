//! A test's request, built as go-ftw builds it.

use super::case::Input;
use super::raw::RawRequest;
use body::base64::decode_all;

/// A request as the engine is given it.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub(super) method: Vec<u8>,
    pub(super) target: Vec<u8>,
    pub(super) protocol: String,
    pub(super) headers: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) body: Vec<u8>,
    /// Whether a line of the head ended in LF alone.
    pub(super) bare_lf: bool,
    /// What goes over the wire.
    pub(super) wire: Vec<u8>,
}

impl Request {
    /// Builds the request of a test's input.
    ///
    /// # Errors
    /// One sentence if `encoded_request` is not Base64 of a request, or a template is not known.
    pub(super) fn build(input: &Input) -> Result<Self, String> {
        if let Some(encoded) = &input.encoded_request {
            let raw = base64(&encoded.0).ok_or("`encoded_request` is not Base64")?;
            return Self::parse(&raw).ok_or_else(|| "`encoded_request` holds no request".to_owned());
        }
        if let Some(raw) = &input.raw_request {
            return Self::parse(raw.0.as_bytes()).ok_or_else(|| "`raw_request` holds no request".to_owned());
        }
        let text = |value: &Option<super::scalar::Scalar>, default: &str| {
            value.as_ref().map_or_else(|| default.to_owned(), |value| value.0.clone())
        };
        let mut request = Self {
            method: text(&input.method, "GET").into_bytes(),
            target: template(&text(&input.uri, "/"))?.into_bytes(),
            protocol: text(&input.version, "HTTP/1.1"),
            headers: Vec::new(),
            // Lines of the older form are joined as the wire has them.
            bare_lf: false,
            wire: Vec::new(),
            body: template(&input.data.as_ref().map_or_else(String::new, |data| data.0.join("\r\n")))?
                .into_bytes(),
        };
        for (name, value) in &input.headers.0 {
            request.headers.push((name.clone().into_bytes(), template(value)?.into_bytes()));
        }
        if input.autocomplete_headers.unwrap_or(!input.stop_magic.unwrap_or(false)) {
            request.complete(input.older);
        }
        request.wire = request.to_wire();
        request.frame();
        Ok(request)
    }

    /// The body as a server takes it from the wire (RFC 9112 section 6.3): chunks win over a length,
    /// a length cuts, and without either there is no body.
    fn frame(&mut self) {
        let chunked =
            self.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case(b"chunked"));
        if chunked {
            self.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(b"content-length"));
            self.body = unchunked(&self.body);
            return;
        }
        let length =
            self.header("content-length").map(|value| std::str::from_utf8(value).ok()?.trim().parse().ok());
        match length {
            None => self.body.clear(),
            Some(Some(length)) => self.body.truncate(length),
            Some(None) => {}
        }
    }

    /// Fills in what clients send without being told.
    fn complete(&mut self, older: bool) {
        if !self.body.is_empty() {
            if self.header("content-type").is_none() {
                self.add("Content-Type", "application/x-www-form-urlencoded");
            }
            let content_type = self.header("content-type").unwrap_or(&[]).to_ascii_lowercase();
            if content_type == b"application/x-www-form-urlencoded" {
                self.body = encoded_form(&self.body);
            }
            if memchr::memmem::find(&content_type, b"multipart/form-data;").is_some() {
                self.body = with_crlf(&self.body);
            }
        }
        if self.header("connection").is_none() {
            self.add("Connection", "close");
        }
        let carries_body =
            !older && matches!(self.method.as_slice(), b"POST" | b"PUT" | b"PATCH" | b"DELETE");
        if self.header("content-length").is_none() && (carries_body || !self.body.is_empty()) {
            let length = self.body.len().to_string();
            self.add("Content-Length", &length);
        }
    }

    fn to_wire(&self) -> Vec<u8> {
        let mut wire =
            [&self.method, &b" "[..], &self.target, b" ", self.protocol.as_bytes(), b"\r\n"].concat();
        for (name, value) in &self.headers {
            wire.extend([name, &b": "[..], value, b"\r\n"].concat());
        }
        wire.extend_from_slice(b"\r\n");
        wire.extend_from_slice(&self.body);
        wire
    }

    pub(super) fn header(&self, name: &str) -> Option<&[u8]> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
        found.map(|(_, value)| value.as_slice())
    }

    fn add(&mut self, name: &str, value: &str) {
        self.headers.push((name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    }

    /// A request as it goes over the wire. Bare LF is taken for a line end, as servers do.
    fn parse(raw: &[u8]) -> Option<Self> {
        let RawRequest { line, headers, body } = RawRequest::split(raw).ok()?;
        let mut words = line.split(|byte| *byte == b' ');
        let (method, target, protocol) = (words.next()?, words.next()?, words.next().unwrap_or(&[]));
        let head = raw.get(..raw.len() - body.len()).unwrap_or(&[]);
        let mut request = Self {
            method: method.to_vec(),
            target: target.to_vec(),
            protocol: String::from_utf8_lossy(protocol).into_owned(),
            headers: headers.into_iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect(),
            body: body.to_vec(),
            bare_lf: memchr::memchr_iter(b'\n', head).any(|at| at == 0 || head.get(at - 1) != Some(&b'\r')),
            wire: raw.to_vec(),
        };
        request.frame();
        Some(request)
    }
}

/// A form's names and values escaped, unless it has escapes of its own.
fn encoded_form(body: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::new();
    body::urlencoded::decode(body, &mut decoded);
    // A malformed escape is kept as it is, too.
    if decoded != body || body::urlencoded::is_malformed(body) {
        return body.to_vec();
    }
    let mut out = Vec::new();
    for (index, pair) in body.split(|byte| *byte == b'&').enumerate() {
        if index > 0 {
            out.push(b'&');
        }
        let at = memchr::memchr(b'=', pair);
        let (name, value) = at.and_then(|at| pair.split_at_checked(at)).unwrap_or((pair, &[]));
        escape(name, &mut out);
        if let Some((_, value)) = value.split_first() {
            out.push(b'=');
            escape(value, &mut out);
        }
    }
    out
}

fn escape(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte),
            b' ' => out.push(b'+'),
            _ => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
}

fn with_crlf(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    for &byte in body {
        if byte == b'\n' && out.last() != Some(&b'\r') {
            out.push(b'\r');
        }
        out.push(byte);
    }
    out
}

/// The content of chunks (RFC 9112 section 7.1); what is malformed ends it.
fn unchunked(mut raw: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = memchr::memchr(b'\n', raw) {
        let size = raw.get(..end).unwrap_or(&[]).trim_ascii();
        let size = std::str::from_utf8(size).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
        let Some(size) = size.filter(|size| *size > 0) else { break };
        let chunk = raw.get(end + 1..).unwrap_or(&[]);
        body.extend_from_slice(chunk.get(..size).unwrap_or(chunk));
        let after = chunk.get(size..).unwrap_or(&[]);
        raw = after.strip_prefix(b"\r\n").or_else(|| after.strip_prefix(b"\n")).unwrap_or(after);
    }
    body
}

/// The two template calls that tests use: `{{ "text" | repeat 3 }}` and `{{ repeat 3 "text" }}`.
fn template(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once("{{") {
        let Some((call, after)) = from.split_once("}}") else { break };
        out.push_str(before);
        match repeated(call) {
            Some(repeated) => out.push_str(&repeated),
            // Attack strings look like templates, too.
            None if call.contains("repeat") => {
                return Err(format!("the template `{{{{{call}}}}}` is not known"));
            }
            None => {
                out.push_str("{{");
                out.push_str(call);
                out.push_str("}}");
            }
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn repeated(call: &str) -> Option<String> {
    let call = call.trim().trim_matches('-').trim();
    let quoted = |text: &str| text.trim().strip_prefix('"')?.strip_suffix('"').map(str::to_owned);
    if let Some((text, function)) = call.rsplit_once('|') {
        let count: usize = function.trim().strip_prefix("repeat")?.trim().parse().ok()?;
        return Some(quoted(text)?.repeat(count));
    }
    let (count, text) = call.strip_prefix("repeat")?.trim().split_once(' ')?;
    Some(quoted(text)?.repeat(count.trim().parse().ok()?))
}

pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    decode_all(text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_escaped_once() {
        assert_eq!(encoded_form(b"a=<b> c&d"), b"a=%3Cb%3E+c&d");
        assert_eq!(encoded_form(b"a=%3C+b"), b"a=%3C+b");
        assert_eq!(encoded_form(b"a=1=2"), b"a=1%3D2");
    }

    #[test]
    fn raw_requests_chunks_and_templates() {
        let raw = b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n";
        let request = Request::parse(raw).unwrap();
        assert_eq!((request.target.as_slice(), request.body.as_slice()), (&b"/x"[..], &b"abcd"[..]));
        assert_eq!(template("a{{ repeat 3 \"xy\" }}b{{7*7}}").unwrap(), "axyxyxyb{{7*7}}");
        assert_eq!(template("{{ \"z\" | repeat 2 }}").unwrap(), "zz");
        assert!(template("{{ repeat many }}").is_err());
        assert_eq!(base64("YWJj\nYw=="), Some(b"abcc".to_vec()));
    }
}
