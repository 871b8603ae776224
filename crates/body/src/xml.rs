//! XML bodies: their text and their attributes. No entity but the five of XML itself is expanded and
//! no document type is followed, so that a body can neither read files nor grow.

use quick_xml::Reader;
use quick_xml::events::Event;

use super::BodyError;

/// What there are too many of, in the error of a document with more attributes than the limit.
pub const ATTRIBUTES: &str = "attributes of XML";

/// Limits of one document.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub depth: usize,
    /// Attributes of all elements together.
    pub attributes: usize,
    /// Texts of elements that are kept apart; those past it are one.
    pub texts: usize,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Document {
    /// All text below the root, in order.
    pub text: Vec<u8>,
    /// Each piece of text between two tags; and for an element with several, all of them joined.
    pub texts: Vec<Vec<u8>>,
    pub attributes: Vec<Vec<u8>>,
    /// Whether a root element was read to its end, whatever follows it.
    pub has_root: bool,
}

/// Reads a document into `document`, which holds what was seen even if reading fails.
///
/// # Errors
/// If the body is not well-formed or nests deeper than the limit.
pub fn read(body: &[u8], limits: Limits, document: &mut Document) -> Result<(), BodyError> {
    // Bytes that are not UTF-8 become replacement characters; what is not text at all is refused below.
    let text = String::from_utf8_lossy(body);
    let mut reader = Reader::from_str(&text);
    reader.config_mut().allow_unmatched_ends = false;
    let mut depth = 0usize;
    let mut roots = 0usize;
    // Of each element that is open: the pieces of its text.
    let mut open: Vec<Vec<Vec<u8>>> = Vec::new();
    loop {
        match reader.read_event() {
            Ok(Event::Start(element)) => {
                roots += usize::from(depth == 0);
                depth += 1;
                if depth > limits.depth {
                    return Err(BodyError::TooMany { what: "levels of XML", limit: limits.depth });
                }
                attributes(&element, limits, document)?;
                end_piece(&mut open);
                open.push(vec![Vec::new()]);
            }
            Ok(Event::Empty(element)) => {
                roots += usize::from(depth == 0);
                end_piece(&mut open);
                attributes(&element, limits, document)?;
                document.has_root |= depth == 0;
            }
            Ok(Event::End(_)) => {
                depth = depth.saturating_sub(1);
                document.has_root |= depth == 0;
                add_texts(open.pop().unwrap_or_default(), limits, document);
            }
            Ok(Event::Text(text)) if depth > 0 => add_text(text.as_bytes(), &mut open, document),
            Ok(Event::Text(text)) if !text.trim().is_empty() => {
                return Err(BodyError::Malformed("text stands outside the XML root"));
            }
            Ok(Event::CData(text)) => add_text(text.as_bytes(), &mut open, document),
            Ok(Event::GeneralRef(name)) => {
                let mut text = Vec::new();
                reference(&name, &mut text);
                add_text(&text, &mut open, document);
            }
            Ok(Event::Eof) if depth > 0 => return Err(BodyError::Malformed("an XML element is not closed")),
            Ok(Event::Eof) if roots != 1 => {
                return Err(BodyError::Malformed("the XML has not exactly one root"));
            }
            Ok(Event::Eof) => return Ok(()),
            Ok(_) => {}
            Err(_) => return Err(BodyError::Malformed("the XML is not well-formed")),
        }
    }
}

fn add_text(text: &[u8], open: &mut [Vec<Vec<u8>>], document: &mut Document) {
    document.text.extend_from_slice(text);
    if let Some(piece) = open.last_mut().and_then(|pieces| pieces.last_mut()) {
        piece.extend_from_slice(text);
    }
}

/// An element begins within another, whose text goes on as another piece.
fn end_piece(open: &mut [Vec<Vec<u8>>]) {
    if let Some(pieces) =
        open.last_mut().filter(|pieces| pieces.last().is_some_and(|piece| !piece.is_empty()))
    {
        pieces.push(Vec::new());
    }
}

fn add_texts(mut pieces: Vec<Vec<u8>>, limits: Limits, document: &mut Document) {
    pieces.retain(|piece| !piece.trim_ascii().is_empty());
    let whole = (pieces.len() > 1).then(|| pieces.concat());
    for text in pieces.into_iter().chain(whole) {
        let is_full = document.texts.len() >= limits.texts;
        match document.texts.last_mut().filter(|_| is_full) {
            Some(last) => {
                last.push(b'\n');
                last.extend_from_slice(&text);
            }
            None => document.texts.push(text),
        }
    }
}

fn attributes(
    element: &quick_xml::events::BytesStart<'_>,
    limits: Limits,
    document: &mut Document,
) -> Result<(), BodyError> {
    // What the check for repeated names would take grows with the square of their number.
    for attribute in element.attributes().with_checks(false) {
        if document.attributes.len() == limits.attributes {
            return Err(BodyError::TooMany { what: ATTRIBUTES, limit: limits.attributes });
        }
        let attribute = attribute.map_err(|_| BodyError::Malformed("an XML attribute is malformed"))?;
        document.attributes.push(unescaped(&attribute.value));
    }
    Ok(())
}

/// The value of an attribute, its references read.
pub(super) fn unescaped(value: &str) -> Vec<u8> {
    let mut unescaped = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, from)) = rest.split_once('&') {
        unescaped.extend_from_slice(before.as_bytes());
        let (name, after) = from.split_once(';').unwrap_or((from, ""));
        reference(name, &mut unescaped);
        rest = after;
    }
    unescaped.extend_from_slice(rest.as_bytes());
    unescaped
}

/// A reference by its name: the five entities of XML and characters by number; others stay as
/// written.
pub(super) fn reference(text: &str, out: &mut Vec<u8>) {
    let number = match (text.strip_prefix("#x"), text.strip_prefix('#')) {
        (Some(hex), _) => u32::from_str_radix(hex, 16).ok(),
        (None, Some(decimal)) => decimal.parse().ok(),
        (None, None) => None,
    };
    let named = match text {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => number.and_then(char::from_u32),
    };
    match named {
        Some(character) => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        None => {
            out.push(b'&');
            out.extend_from_slice(text.as_bytes());
            out.push(b';');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(body: &str) -> Result<String, BodyError> {
        let mut document = Document::default();
        read(body.as_bytes(), Limits { depth: 3, attributes: 5, texts: 2 }, &mut document)?;
        let attributes: Vec<_> = document.attributes.iter().map(|a| String::from_utf8_lossy(a)).collect();
        Ok(format!("{} {}", String::from_utf8_lossy(&document.text), attributes.join("|")))
    }

    #[test]
    fn text_and_attributes() {
        let body = "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a b='1&lt;2' c=\"&#x41;\">t&amp;<d>&x;</d><![CDATA[<e>]]><f g=''/></a>";
        assert_eq!(flat(body).unwrap(), "t&&x;<e> 1<2|A|");
    }

    #[test]
    fn elements_have_texts_of_their_own() {
        let mut document = Document::default();
        let body = b"<a> <b>uni<!-- x -->on</b><c>one<d/>two</c><e>3</e></a>";
        read(body, Limits { depth: 3, attributes: 5, texts: 3 }, &mut document).unwrap();
        assert_eq!(document.texts, [&b"union"[..], b"one", b"two\nonetwo\n3"]);
    }

    #[test]
    fn malformed_and_deep_documents_are_refused() {
        for body in ["", "x", "<a>", "<a></b>", "<a/><b/>", "<a b></a>", "<a>&lt</a>"] {
            assert!(flat(body).is_err(), "{body:?} must be refused");
        }
        assert_eq!(flat("<a><b><c><d/></c></b></a>").unwrap(), " ");
        assert_eq!(
            flat("<a><b><c><d></d></c></b></a>"),
            Err(BodyError::TooMany { what: "levels of XML", limit: 3 })
        );
    }
}
