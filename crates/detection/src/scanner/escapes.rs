//! Values behind character references (HTML), escapes (JSON, RFC 8259 section 7) and percent-encoding
//! (RFC 3986 section 2.1).
//!
//! A body is never decoded as a whole. Where escapes stand that may hide a value, a region round them is,
//! and what is found in it is told by the bytes it was written with.

use smallvec::SmallVec;
use zeroize::Zeroizing;

use super::Detection;
use super::find::classes::is_capital;

/// What is decoded on either side of an escape: a keyword and a value.
const MARGIN_BYTES: usize = 160;
/// Escapes of quotes and letters that make a region: one alone hides nothing.
const MANY: usize = 3;

/// An escape in a body.
struct Site {
    length: usize,
    text: SmallVec<[u8; 4]>,
    /// Whether it may stand inside a number or an address.
    joins: bool,
}

/// A part of a body, decoded.
#[derive(Debug, Default)]
pub struct Region {
    /// Wiped when it goes, as all copies of a body.
    pub text: Zeroizing<Vec<u8>>,
    /// For each byte of the text and for its end, where it comes from in the body.
    origins: Vec<usize>,
    /// Whether it begins and ends where the body does.
    at_start: bool,
    at_end: bool,
}

impl Region {
    /// A detection in the text as one in the body; `None` if it may be cut.
    pub fn detection(&self, found: Detection) -> Option<Detection> {
        let (start, end) = self.origin(found.start, found.end)?;
        Some(Detection { start, end, ..found })
    }

    /// Where `start..end` of the text comes from; `None` if it touches an end of the region that is none
    /// of the body, so that more may belong to it.
    fn origin(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        let cut = (start == 0 && !self.at_start) || (end == self.text.len() && !self.at_end);
        if cut {
            return None;
        }
        Some((*self.origins.get(start)?, *self.origins.get(end)?))
    }
}

/// Decodes round the escapes that begin at some of `places`, which ascend.
pub fn regions(body: &[u8], places: &[usize], mut each: impl FnMut(&Region)) {
    let mut open: Option<(usize, usize, usize)> = None;
    let mut region = Region::default();
    let mut close = |(first, last, weight): (usize, usize, usize)| {
        if weight >= MANY {
            decode(body, first.saturating_sub(MARGIN_BYTES), last + MARGIN_BYTES, &mut region);
            each(&region);
        }
    };
    for place in places {
        let Some(site) = site(body, *place) else { continue };
        let weight = if site.joins { MANY } else { 1 };
        open = match open {
            Some((first, last, sum)) if place - last <= 2 * MARGIN_BYTES => {
                Some((first, *place, sum + weight))
            }
            before => {
                before.into_iter().for_each(&mut close);
                Some((*place, *place, weight))
            }
        };
    }
    open.into_iter().for_each(&mut close);
}

fn decode(body: &[u8], start: usize, end: usize, region: &mut Region) {
    let end = end.min(body.len());
    region.text.clear();
    region.origins.clear();
    let mut at = start;
    while let Some(byte) = body.get(at).filter(|_| at < end) {
        if let Some(site) = matches!(byte, b'&' | b'\\' | b'%' | b'<').then(|| site(body, at)).flatten() {
            region.origins.extend(site.text.iter().map(|_| at));
            region.text.extend(&site.text);
            at += site.length;
        } else {
            region.origins.push(at);
            region.text.push(*byte);
            at += 1;
        }
    }
    region.origins.push(at.min(body.len()));
    region.at_start = start == 0;
    region.at_end = at >= body.len();
}

#[inline]
fn site(body: &[u8], at: usize) -> Option<Site> {
    let rest = body.get(at..)?;
    let (length, text) = match rest.first()? {
        b'&' => reference(rest)?,
        b'\\' => escape(rest)?,
        b'%' => percent(rest)?,
        b'<' => (tag(rest)?, SmallVec::new()),
        _ => return None,
    };
    let before = at.checked_sub(1).and_then(|at| body.get(at)).copied().unwrap_or(b' ');
    let joins = match text.as_slice() {
        [b'@'] => true,
        [] | [b' ' | b'-' | b'.' | b'/'] => is_capital(before),
        [digit] => digit.is_ascii_digit(),
        _ => false,
    };
    Some(Site { length, text, joins })
}

/// A character reference (HTML, section 13.5), by number or by one of the names that pages use for
/// characters of values.
#[inline]
fn reference(rest: &[u8]) -> Option<(usize, SmallVec<[u8; 4]>)> {
    const NAMES: &[(&[u8], char)] = &[
        (b"amp", '&'),
        (b"quot", '"'),
        (b"lt", '<'),
        (b"gt", '>'),
        (b"apos", '\''),
        (b"nbsp", ' '),
        (b"commat", '@'),
        (b"hyphen", '-'),
        (b"dash", '-'),
        (b"ndash", '-'),
        (b"period", '.'),
        (b"sol", '/'),
        (b"colon", ':'),
        (b"equals", '='),
        (b"lowbar", '_'),
    ];
    let end = rest.iter().take(10).position(|byte| *byte == b';')?;
    let name = rest.get(1..end)?;
    if name == b"shy" {
        return Some((end + 1, SmallVec::new()));
    }
    let character = match name.strip_prefix(b"#") {
        Some(number) => {
            let text = std::str::from_utf8(number).ok()?;
            let hex = text.strip_prefix(['x', 'X']);
            hex.map_or_else(|| text.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok())
                .and_then(char::from_u32)?
        }
        None => NAMES.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((end + 1, bytes(character)))
}

#[inline]
fn escape(rest: &[u8]) -> Option<(usize, SmallVec<[u8; 4]>)> {
    match rest.get(1)? {
        b'u' => {
            let text = std::str::from_utf8(rest.get(2..6)?).ok()?;
            let character = u32::from_str_radix(text, 16).ok().and_then(char::from_u32)?;
            Some((6, bytes(character)))
        }
        byte @ (b'/' | b'"' | b'\'') => Some((2, SmallVec::from_slice(&[*byte]))),
        _ => None,
    }
}

#[inline]
fn percent(rest: &[u8]) -> Option<(usize, SmallVec<[u8; 4]>)> {
    let digit = |at: usize| rest.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let byte = u8::try_from(digit(1)? * 16 + digit(2)?).ok()?;
    // Letters and digits are not encoded by anyone, but a program writes `n%64`.
    (byte.is_ascii_punctuation() || byte == b' ').then(|| (3, SmallVec::from_slice(&[byte])))
}

/// Tags that change how a number looks and not what it is: their length.
#[inline]
fn tag(rest: &[u8]) -> Option<usize> {
    const TAGS: &[&[u8]] = &[b"<wbr>", b"<wbr/>", b"<wbr />", b"<b>", b"</b>", b"<b></b>", b"<i>", b"</i>"];
    TAGS.iter().filter(|tag| rest.starts_with(tag)).map(|tag| tag.len()).max()
}

/// UTF-8, with every space as a space and every hyphen as one.
fn bytes(character: char) -> SmallVec<[u8; 4]> {
    match character {
        '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' => SmallVec::from_slice(b" "),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => SmallVec::from_slice(b"-"),
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' => SmallVec::new(),
        other => SmallVec::from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(body: &str) -> Vec<String> {
        let places: Vec<usize> =
            body.bytes().enumerate().filter(|(_, b)| b"&\\%<".contains(b)).map(|(at, _)| at).collect();
        let mut texts = Vec::new();
        regions(body.as_bytes(), &places, |region| {
            texts.push(String::from_utf8_lossy(&region.text).into_owned())
        });
        texts
    }

    #[test]
    fn what_joins_a_value_is_decoded() {
        for (body, text) in [
            ("4645&nbsp;1137", "4645 1137"),
            ("3767<b></b>&#8209;255205", "3767-255205"),
            (r"4922\u002d6167", "4922-6167"),
            ("3433%20530555", "3433 530555"),
            ("a&#64;example.com", "a@example.com"),
            ("a&commat;b, a&#x40;b", "a@b, a@b"),
            (r#"{\"a\":\"b\"}"#, r#"{"a":"b"}"#),
        ] {
            assert_eq!(decoded(body), [text]);
        }
    }

    #[test]
    fn one_quote_or_letter_alone_is_not() {
        for body in
            ["a &amp; b", "a &lt; b", "if (a && b % c)", "100%", r"a\b", "&nosuch;", "Foo%20Bar", "a<b>c"]
        {
            assert_eq!(decoded(body), [""; 0], "{body}");
        }
    }

    #[test]
    fn regions_apart_are_apart_and_tell_their_places() {
        let body = format!("{0}1&nbsp;2{0}3&nbsp;4{0}", " ".repeat(400));
        let mut found = Vec::new();
        let places: Vec<usize> = body.match_indices('&').map(|(at, _)| at).collect();
        regions(body.as_bytes(), &places, |region| {
            let at = region.text.iter().position(u8::is_ascii_digit).unwrap();
            found.push(region.origin(at, at + 3).unwrap());
            assert_eq!(region.origin(0, 3), None);
        });
        assert_eq!(found, [(400, 408), (808, 816)]);
    }
}
