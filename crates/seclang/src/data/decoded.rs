//! Values as a server may read them after one more step: each form of a value is judged beside the value itself.

use smallvec::SmallVec;

use super::message::{BodyLimits, Pair};
use super::request_body::{add_line, json_values_in};
use super::text::{Buffers, Text};
use body::{base64, urlencoded};

/// Percent signs that are coded are undone no more often than this.
const MAX_LEVELS: usize = 4;
/// Shorter runs of letters are words.
const MIN_BASE64_BYTES: usize = 8;
/// No rule looks further for what a value begins with.
const MAX_BEGINNING_BYTES: usize = 512;
/// What is looked at before all of a value is decoded.
const SAMPLE_BYTES: usize = 64;

/// Adds to values, from the one at `first` on, what they are if their percent signs are undone again, or if they are
/// Base64 of a text, JSON, or a text behind spaces.
pub(crate) fn add_decoded(first: usize, limits: BodyLimits, pairs: &mut Vec<Pair>, buffers: &mut Buffers) {
    // Many values may have many forms each: past the limit they are one, a line each.
    let most = pairs.len() + limits.arguments;
    let mut rest = Vec::new();
    for at in first..pairs.len() {
        let Some(Pair { key, value }) = pairs.get(at).copied() else { break };
        let mut add = |form: Vec<u8>, buffers: &mut Buffers| {
            let value = buffers.add(&form);
            if pairs.len() < most {
                pairs.push(Pair { key, value });
            } else {
                add_line(&form, &mut rest);
            }
            value
        };
        let mut level = value;
        for _ in 0..MAX_LEVELS {
            if !has_coded_percent(buffers.get(level)) {
                break;
            }
            let mut form = Vec::with_capacity(level.len());
            urlencoded::decode(buffers.get(level), &mut form);
            level = add(form, buffers);
        }
        // Of JSON in Base64, as cookies have it, the values count: its signs say nothing.
        let decoded = base64_text(buffers.get(value));
        let (values, is_json) = json_values_in(decoded.as_deref().unwrap_or(buffers.get(value)), limits);
        let decoded = decoded.filter(|_| !is_json);
        let forms = [decoded, behind_spaces(buffers.get(value))];
        for form in forms.into_iter().flatten().chain(values) {
            add(form, buffers);
        }
    }
    if !rest.is_empty() {
        pairs.push(Pair { key: Text::EMPTY, value: buffers.add(&rest) });
    }
}

/// Whether undoing percent signs leaves another one to be undone, which rules do not do.
fn has_coded_percent(value: &[u8]) -> bool {
    memchr::memmem::find_iter(value, b"%25").any(|at| {
        let digits = value.get(at + 3..at + 5).unwrap_or(&[]);
        digits.len() == 2
            && digits.iter().all(|digit| digit.is_ascii_hexdigit() || matches!(digit, b'%' | b'u'))
    })
}

/// The text of a value that is Base64 in either alphabet; `None` if it is no text, or a text of letters and digits.
fn base64_text(value: &[u8]) -> Option<Vec<u8>> {
    let end = value.iter().rposition(|byte| *byte != b'=').map_or(0, |at| at + 1);
    let (text, padding) = value.split_at(end);
    if text.len() < MIN_BASE64_BYTES || padding.len() > 2 || text.len() % 4 == 1 {
        return None;
    }
    let mut sample = SmallVec::<[u8; SAMPLE_BYTES]>::new();
    decode(text.get(..SAMPLE_BYTES).unwrap_or(text), &mut sample)?;
    if !is_text(&sample, true) {
        return None;
    }
    let mut decoded = Vec::with_capacity(text.len() / 4 * 3 + 2);
    decode(text, &mut decoded)?;
    let has_signs =
        decoded.iter().any(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b' ' | b'-' | b'_'));
    (has_signs && is_text(&decoded, false)).then_some(decoded)
}

/// Appends the bytes of a text in either alphabet; `None` if one of its signs is in none.
fn decode(text: &[u8], out: &mut impl Extend<u8>) -> Option<()> {
    let sextet = |byte: &u8| match byte {
        b'-' => base64::sextet(b'+'),
        b'_' => base64::sextet(b'/'),
        _ => base64::sextet(*byte),
    };
    let mut read = 0;
    base64::decode(text.iter().map_while(sextet).inspect(|_| read += 1), out);
    (read == text.len()).then_some(())
}

/// Whether bytes are UTF-8 without control characters; if they are `cut`, the last letter may be so too.
fn is_text(bytes: &[u8], is_cut: bool) -> bool {
    let is_utf8 = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => is_cut && error.error_len().is_none(),
    };
    is_utf8 && !bytes.iter().any(|byte| (*byte < b' ' && !byte.is_ascii_whitespace()) || *byte == 127)
}

/// How a text begins behind spaces: the rest of it is judged with the value.
fn behind_spaces(value: &[u8]) -> Option<Vec<u8>> {
    let text = value.trim_ascii();
    let beginning = text.get(..MAX_BEGINNING_BYTES).unwrap_or(text);
    (value.first().is_some_and(u8::is_ascii_whitespace) && !text.is_empty()).then(|| beginning.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_no_more_than_the_limit() {
        let mut buffers = Buffers::default();
        let text = buffers.add(b"[1,2,3,4,5]");
        let mut pairs = vec![Pair { key: text, value: text }; 10];
        let limits = BodyLimits { arguments: 7, ..BodyLimits::default() };
        add_decoded(0, limits, &mut pairs, &mut buffers);
        assert_eq!(pairs.len(), 10 + 7 + 1);
        let rest = pairs.last().map(|pair| buffers.get(pair.value).to_vec()).unwrap();
        assert_eq!(rest.iter().filter(|byte| **byte == b'\n').count(), 50 - 7);
    }

    #[test]
    fn each_form_of_a_value_is_added() {
        let forms = |value: &[u8]| {
            let mut buffers = Buffers::default();
            let text = buffers.add(value);
            let mut pairs = vec![Pair { key: text, value: text }];
            add_decoded(0, BodyLimits::default(), &mut pairs, &mut buffers);
            pairs.iter().skip(1).map(|pair| buffers.get(pair.value).to_vec()).collect::<Vec<_>>()
        };
        for (value, expected) in [
            (&b"%252527 x"[..], &[&b"%2527 x"[..], b"%27 x"][..]),
            (b"%2527", &[b"%27"]),
            (b"100%25 of", &[]),
            (b"JyBPUiAxPTE=", &[b"' OR 1=1"]),
            (b"Jz8-Pz8_", &[b"'?>???"]),
            (b"password", &[]),
            (b"c29tZSB3b3Jkcw", &[]),
            (b"AAECAwQFBgcICQ==", &[]),
            (b"eyJhIjoiYidjIn0=", &[b"b'c"]),
            (b"{\"a\":\"\\u003cb\",\"c'd\":[1]}", &[b"<b", b"c'd", b"1"]),
            (b"  x ", &[b"x"]),
            (b"x", &[]),
        ] {
            assert_eq!(forms(value), expected, "{:?}", String::from_utf8_lossy(value));
        }
    }
}
