//! `multipart/form-data` (RFC 7578 over RFC 2046).
//!
//! Parsers differ in what they let pass, and attackers live in the difference. So this one is
//! strict about framing and reports every [`Bend`] it sees.

use std::borrow::Cow;

use super::{BodyError, base64, urlencoded};

/// One part. Its slices are slices of the body, so that their offsets in it are known.
#[derive(Debug)]
pub struct Part<'b> {
    /// Empty if the part has none.
    pub name: Vec<u8>,
    /// Present if the part is a file, by `filename` or `filename*`.
    pub file_name: Option<Vec<u8>>,
    /// The value of `filename*`, decoded (RFC 8187), if the part has both.
    pub extended_file_name: Option<Vec<u8>>,
    /// Header lines as sent, without line ends.
    pub headers: Vec<&'b [u8]>,
    pub content: &'b [u8],
}

impl Part<'_> {
    /// The content with its transfer encoding undone (RFC 2045 section 6), if that changes it. Some servers undo it,
    /// others take what they see.
    pub fn decoded_content(&self) -> Option<Vec<u8>> {
        let encoding = self.header(b"content-transfer-encoding")?.trim_ascii();
        if encoding.eq_ignore_ascii_case(b"base64") {
            let mut decoded = Vec::with_capacity(self.content.len() / 4 * 3);
            base64::decode(self.content.iter().filter_map(|byte| base64::sextet(*byte)), &mut decoded);
            return Some(decoded);
        }
        encoding.eq_ignore_ascii_case(b"quoted-printable").then(|| decode_quoted_printable(self.content))
    }

    /// The value of the last header of this name.
    pub fn header(&self, name: &[u8]) -> Option<&[u8]> {
        self.headers.iter().rev().find_map(|header| {
            let (field, value) = header.split_at_checked(memchr::memchr(b':', header)?)?;
            field.trim_ascii().eq_ignore_ascii_case(name).then(|| value.get(1..).unwrap_or(&[]))
        })
    }
}

/// A header as one line: a line break and the white space behind it are one space (RFC 5322 section 2.2.3).
pub fn unfolded(header: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\n', header).is_none() {
        return Cow::Borrowed(header);
    }
    let lines = header.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    Cow::Owned(lines.collect::<Vec<_>>().join(&b' '))
}

/// Quoted-printable (RFC 2045 section 6.7); what is malformed stays.
fn decode_quoted_printable(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = match rest {
            [b'=', b'\r', b'\n', tail @ ..] | [b'=', b'\n', tail @ ..] => {
                rest = tail;
                continue;
            }
            [b'=', high, low, tail @ ..] => urlencoded::hex_pair(*high, *low).map(|byte| (byte, tail)),
            _ => None,
        };
        let (byte, tail) = escaped.unwrap_or((byte, after));
        out.push(byte);
        rest = tail;
    }
    out
}

/// A rule of the format that a body bends without being unreadable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bend {
    BoundaryQuoted,
    BoundaryWhitespace,
    TextBefore,
    TextAfter,
    LfLine,
    /// Some lines end in CRLF, others in LF alone.
    MixedLines,
    HeaderFolding,
    InvalidHeaderFolding,
    /// A part has the same parameter twice, or in pieces.
    InvalidPart,
    InvalidQuoting,
    SemicolonMissing,
    /// A line of a part begins as a boundary does. Texts have such lines too.
    UnmatchedBoundary,
    FileLimit,
}

/// How a body was read: what was seen of it, and whether that is all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    pub parts: usize,
    /// Each at most once, in the order in which they were seen.
    pub bends: Vec<Bend>,
    pub end: Result<(), BodyError>,
}

impl Read {
    fn bend(&mut self, bend: Bend) {
        if !self.bends.contains(&bend) {
            self.bends.push(bend);
        }
    }
}

/// The boundary of a `Content-Type` value.
///
/// # Errors
/// If there is none, more than one, or it is longer than the 70 bytes of RFC 2046 section 5.1.1.
pub fn boundary(content_type: &[u8]) -> Result<&[u8], BodyError> {
    let mut found = None;
    for parameter in content_type.split(|byte| matches!(byte, b';' | b',')).skip(1) {
        let parameter = parameter.trim_ascii();
        let Some((name, value)) = parameter.split_at_checked(8) else { continue };
        if !name.eq_ignore_ascii_case(b"boundary") {
            continue;
        }
        let Some(value) = value.trim_ascii_start().strip_prefix(b"=") else {
            return Err(BodyError::Malformed("the multipart boundary has no `=`"));
        };
        if found.replace(unquote(value.trim_ascii())).is_some() {
            return Err(BodyError::Malformed("there are two multipart boundaries"));
        }
    }
    match found {
        Some(boundary) if (1..=70).contains(&boundary.len()) => Ok(boundary),
        Some(_) => Err(BodyError::Malformed("the multipart boundary is not 1 to 70 bytes long")),
        None => Err(BodyError::Malformed("there is no multipart boundary")),
    }
}

fn unquote(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|v| v.strip_suffix(b"\"")).unwrap_or(value)
}

/// What is expected of a body.
#[derive(Clone, Copy, Debug)]
pub struct Form<'c> {
    pub boundary: &'c [u8],
    /// Whether it is a form, whose parts have names and before whose first boundary nothing stands.
    pub is_form: bool,
    pub max_parts: usize,
}

impl<'c> Form<'c> {
    /// The form of a body with this `Content-Type`.
    ///
    /// # Errors
    /// As of [`boundary`].
    pub fn of(content_type: &'c [u8], max_parts: usize) -> Result<Self, BodyError> {
        let is_form = super::media_type(content_type).eq_ignore_ascii_case(b"multipart/form-data");
        Ok(Self { boundary: boundary(content_type)?, is_form, max_parts })
    }
}

/// Calls with each part. If a boundary is missing, a part has no header end or a form's part no name, the end
/// is cut off, or there are more parts than the limit, the outcome says so.
pub fn read<'b>(body: &'b [u8], form: Form<'_>, part: &mut dyn FnMut(Part<'b>)) -> Read {
    let mut outcome = Read { parts: 0, bends: Vec::new(), end: Ok(()) };
    outcome.end = parts(body, form, part, &mut outcome);
    if outcome.bends.contains(&Bend::LfLine) && memchr::memmem::find(body, b"\r\n").is_some() {
        outcome.bend(Bend::MixedLines);
    }
    outcome
}

fn parts<'b>(
    body: &'b [u8],
    form: Form<'_>,
    part: &mut dyn FnMut(Part<'b>),
    outcome: &mut Read,
) -> Result<(), BodyError> {
    let Form { boundary, is_form, max_parts } = form;
    let delimiter = [b"--", boundary].concat();
    let first = next_delimiter(body, &delimiter, 0)
        .ok_or(BodyError::Malformed("the first multipart boundary is missing"))?;
    // Mails and batches may say something for readers without multipart there, but no part.
    let before = body.get(..first).unwrap_or(&[]);
    let is_hidden = if is_form { !before.is_empty() } else { memchr::memmem::find(before, b"--").is_some() };
    if is_hidden {
        outcome.bend(Bend::TextBefore);
    }
    let mut at = first + delimiter.len();
    loop {
        let rest = body.get(at..).unwrap_or(&[]);
        if let Some(epilogue) = rest.strip_prefix(b"--") {
            if !epilogue.trim_ascii().is_empty() {
                outcome.bend(Bend::TextAfter);
            }
            return Ok(());
        }
        let line = match rest {
            [b'\r', b'\n', ..] => 2,
            [b'\n', ..] => {
                outcome.bend(Bend::LfLine);
                1
            }
            _ => return Err(BodyError::Malformed("a multipart boundary is followed by other text")),
        };
        if outcome.parts >= max_parts {
            return Err(BodyError::TooMany { what: "multipart parts", limit: max_parts });
        }
        outcome.parts += 1;
        let start = at + line;
        let end = next_delimiter(body, &delimiter, start)
            .ok_or(BodyError::Malformed("the last multipart boundary is missing"))?;
        let before = body.get(start..end).unwrap_or(&[]);
        let raw = before.strip_suffix(b"\r\n").or_else(|| before.strip_suffix(b"\n")).unwrap_or(before);
        let found = one(raw, is_form, &mut |bend| outcome.bend(bend))?;
        if begins_a_line(found.content, b"--") {
            outcome.bend(Bend::UnmatchedBoundary);
        }
        part(found);
        at = end + delimiter.len();
    }
}

/// Whether a line of a text begins so.
fn begins_a_line(text: &[u8], start: &[u8]) -> bool {
    memchr::memmem::find_iter(text, start).any(|at| at == 0 || text.get(at - 1) == Some(&b'\n'))
}

/// Where the next boundary that begins a line stands.
fn next_delimiter(body: &[u8], delimiter: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let found = at + memchr::memmem::find(body.get(at..)?, delimiter)?;
        if found == from || body.get(found - 1) == Some(&b'\n') {
            return Some(found);
        }
        at = found + 1;
    }
}

fn one<'b>(raw: &'b [u8], is_form: bool, bend: &mut dyn FnMut(Bend)) -> Result<Part<'b>, BodyError> {
    let mut found = Disposition::default();
    let mut dispositions = 0;
    let mut at = 0;
    // Where each header stands, with the folded lines that belong to it.
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    let content = loop {
        let rest = raw.get(at..).unwrap_or(&[]);
        let Some(end) = memchr::memchr(b'\n', rest) else {
            return Err(BodyError::Malformed("the headers of a multipart part do not end"));
        };
        let line = rest.get(..end).unwrap_or(&[]);
        let line = line.strip_suffix(b"\r").unwrap_or_else(|| {
            bend(Bend::LfLine);
            line
        });
        let start = at;
        at += end + 1;
        if line.is_empty() {
            break raw.get(at..).unwrap_or(&[]);
        }
        let is_folded = line.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'));
        match ranges.last_mut().filter(|_| is_folded) {
            Some(header) => {
                bend(Bend::HeaderFolding);
                header.end = start + line.len();
            }
            None => ranges.push(start..start + line.len()),
        }
    };
    let headers: Vec<&[u8]> = ranges.into_iter().filter_map(|range| raw.get(range)).collect();
    for header in &headers {
        let Some(colon) = memchr::memchr(b':', header) else {
            return Err(BodyError::Malformed("a multipart part header has no `:`"));
        };
        let (field, value) = header.split_at(colon);
        if field.trim_ascii().eq_ignore_ascii_case(b"content-disposition") {
            dispositions += 1;
            found.read(value.get(1..).unwrap_or(&[]), bend);
        }
    }
    if dispositions > 1 {
        bend(Bend::InvalidPart);
    }
    let Disposition { name, file_name, extended_file_name } = found;
    if is_form && name.is_none() {
        return Err(BodyError::Malformed("a multipart part has no name"));
    }
    let (file_name, extended_file_name) = match file_name {
        Some(file_name) => (Some(file_name), extended_file_name),
        None => (extended_file_name, None),
    };
    Ok(Part { name: name.unwrap_or_default(), file_name, extended_file_name, headers, content })
}

/// What the `Content-Disposition` of a part says.
#[derive(Default)]
struct Disposition {
    name: Option<Vec<u8>>,
    file_name: Option<Vec<u8>>,
    extended_file_name: Option<Vec<u8>>,
}

impl Disposition {
    fn read(&mut self, value: &[u8], bend: &mut dyn FnMut(Bend)) {
        let mut rest = value;
        while let Some(at) = memchr::memchr(b';', rest) {
            rest = rest.get(at + 1..).unwrap_or(&[]).trim_ascii_start();
            let Some(equals) = memchr::memchr2(b'=', b';', rest).filter(|at| rest.get(*at) == Some(&b'='))
            else {
                continue;
            };
            let key = rest.get(..equals).unwrap_or(&[]).trim_ascii().to_ascii_lowercase();
            let (text, after) = parameter(rest.get(equals + 1..).unwrap_or(&[]).trim_ascii_start(), bend);
            rest = after;
            if !rest.trim_ascii_start().is_empty() && !rest.trim_ascii_start().starts_with(b";") {
                bend(Bend::SemicolonMissing);
            }
            let (slot, text) = match key.as_slice() {
                b"name" => (&mut self.name, text),
                b"name*" => (&mut self.name, extended(&text)),
                b"filename" => (&mut self.file_name, text),
                b"filename*" => (&mut self.extended_file_name, extended(&text)),
                // Parts of a value (RFC 2231 section 3), which some readers join and others do not know.
                _ if key.starts_with(b"name*") || key.starts_with(b"filename*") => {
                    bend(Bend::InvalidPart);
                    continue;
                }
                _ => continue,
            };
            if slot.replace(text).is_some() {
                bend(Bend::InvalidPart);
            }
        }
    }
}

/// An extended value without its character set and language, decoded (RFC 8187 section 3.2).
fn extended(value: &[u8]) -> Vec<u8> {
    let coded = value.splitn(3, |byte| *byte == b'\'').nth(2).unwrap_or(value);
    let mut out = Vec::with_capacity(coded.len());
    urlencoded::decode_path(coded, &mut out);
    out
}

/// A parameter's value and what follows it.
fn parameter<'b>(text: &'b [u8], bend: &mut dyn FnMut(Bend)) -> (Vec<u8>, &'b [u8]) {
    let Some(quoted) = text.strip_prefix(b"\"") else {
        if text.first() == Some(&b'\'') {
            bend(Bend::InvalidQuoting);
        }
        let end = memchr::memchr(b';', text).unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        return (value.trim_ascii().to_vec(), rest);
    };
    let mut value = Vec::new();
    let mut bytes = quoted.iter().enumerate();
    while let Some((at, &byte)) = bytes.next() {
        match byte {
            b'"' => return (value, quoted.get(at + 1..).unwrap_or(&[])),
            // Only a quote is escaped: browsers send the backslashes of paths as they are.
            b'\\' if quoted.get(at + 1) == Some(&b'"') => value.extend(bytes.next().map(|(_, quote)| *quote)),
            _ => value.push(byte),
        }
    }
    bend(Bend::InvalidQuoting);
    (value, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(body: &str) -> Result<(String, Read), BodyError> {
        let mut out = String::new();
        let form = Form { boundary: b"B", is_form: true, max_parts: 3 };
        let read = read(body.as_bytes(), form, &mut |part| {
            let file =
                part.file_name.map(|f| format!("@{}", String::from_utf8_lossy(&f))).unwrap_or_default();
            out.push_str(&format!(
                "{}{file}={};",
                String::from_utf8_lossy(&part.name),
                String::from_utf8_lossy(part.content)
            ));
        });
        read.end.map(|()| (out, read))
    }

    #[test]
    fn fields_and_files() {
        let body = "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n2\r\n--B\r\nContent-Disposition: form-data; name=f; filename=\"x\\\"y.php\"\r\nContent-Type: text/plain\r\n\r\n--Bx\r\n--B--\r\n";
        let (out, read) = flat(&body.replace("--Bx", " --Bx")).unwrap();
        assert_eq!(out, "a=1\r\n2;f@x\"y.php= --Bx;");
        assert_eq!(read, Read { parts: 2, bends: Vec::new(), end: Ok(()) });
    }

    #[test]
    fn bends_are_told_and_breaks_refused() {
        let lf = "--B\nContent-Disposition: form-data; name=\"a\"; name=\"b\"\n\n1\n--B--";
        assert!(!flat(lf).unwrap().1.bends.is_empty());
        let extended =
            "--B\r\nContent-Disposition: form-data; name=\"a\"; filename*=UTF-8''x.php\r\n\r\n1\r\n--B--";
        assert_eq!(flat(extended).unwrap().0, "a@x.php=1;");
        for body in [
            "",
            "--B\r\n",
            "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1",
            "--Bx\r\n",
            "--B\r\nX: y\r\n\r\n1\r\n--B--",
        ] {
            assert!(flat(body).is_err(), "{body:?} must be refused");
        }
        let many = "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n".repeat(4) + "--B--";
        assert_eq!(flat(&many).unwrap_err(), BodyError::TooMany { what: "multipart parts", limit: 3 });
    }

    #[test]
    fn boundaries_are_found_or_refused() {
        assert_eq!(boundary(b"multipart/form-data; charset=x; Boundary=\"a b\""), Ok(&b"a b"[..]));
        for value in ["multipart/form-data", "multipart/form-data; boundary=", "m/f; boundary=a; boundary=b"]
        {
            assert!(boundary(value.as_bytes()).is_err(), "{value}");
        }
    }
}
