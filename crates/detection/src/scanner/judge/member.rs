//! The key of the JSON member that a value belongs to, and the rules that its words tell: a body has few keys,
//! again and again.
//!
//! Behind the comma or brace before a member its words end, so what they tell is told by the key alone.

use super::keyword::Near;
use crate::scanner::eights::bytes_behind_last;

/// Longest key that is remembered.
const MAX_KEY_BYTES: usize = 32;
/// Keys that are remembered, by the top bits of a hash.
const KEYS: usize = 128;
/// Most spaces before a key.
const MAX_INDENT: usize = 32;

/// What the keys of a body tell.
#[derive(Debug, Default)]
pub struct Members {
    /// Empty until there is a key, then [`KEYS`].
    known: Vec<(Key, Near)>,
}

/// The bytes of a key, and how many they are; none has none.
#[derive(Clone, Copy, Debug, Default)]
struct Key {
    length: usize,
    /// From both ends, as far as they are needed.
    words: [u64; MAX_KEY_BYTES / 8],
}

impl Members {
    /// What the key of the member tells whose value begins at `start`; what is not known is `read`.
    #[inline]
    pub fn near(&mut self, body: &[u8], start: usize, read: impl FnOnce() -> Near) -> Near {
        let Some((text, length)) = key_before(body, start) else { return read() };
        let key = Key::of(text, length);
        if self.known.is_empty() {
            self.known.resize_with(KEYS, Default::default);
        }
        let Some((known, near)) = self.known.get_mut(key.slot()) else { return read() };
        if !key.is(known) {
            // A key without a word tells nothing: then those before it do.
            if !text.iter().rev().take(length).any(u8::is_ascii_alphanumeric) {
                return read();
            }
            (*known, *near) = (key, read());
        }
        near.clone()
    }
}

impl Key {
    /// The last `length` bytes of a text, from one to [`MAX_KEY_BYTES`].
    #[inline]
    fn of(text: &[u8], length: usize) -> Self {
        if length <= 8 {
            // Of a text that is shorter than a word, as if zeros stood before it.
            let padded = || text.iter().fold(0, |word, byte| word >> 8 | u64::from(*byte) << 56);
            let last = text.last_chunk().map_or_else(padded, |eight| u64::from_le_bytes(*eight));
            return Self { length, words: [last.unbounded_shr(64 - 8 * length as u32), 0, 0, 0] };
        }
        let key = text.get(text.len() - length..).unwrap_or(&[]);
        let word = |at: usize| {
            let eight = key.get(at..).and_then(|rest| rest.first_chunk());
            eight.map_or(0, |eight| u64::from_le_bytes(*eight))
        };
        // Words from both ends overlap if there are fewer bytes.
        let [second, third] = if length > 16 { [word(8), word(length - 16)] } else { [0; 2] };
        Self { length, words: [word(0), word(length - 8), second, third] }
    }

    /// Whether they are the same. PERF: benches/detection.rs. Word by word: compared as a whole, the one that was just made would first have to
    /// reach memory.
    #[inline]
    fn is(&self, other: &Self) -> bool {
        let differ = self.words.iter().zip(&other.words).fold(0, |differ, (one, other)| differ | one ^ other);
        differ | (self.length ^ other.length) as u64 == 0
    }

    #[inline]
    fn slot(&self) -> usize {
        let [first, last, ..] = self.words;
        let word = first ^ last.rotate_left(23) ^ (self.length as u64) << 59;
        (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as usize % KEYS
    }
}

/// The body up to the end of the key before a value that begins at `start`, `"key":` behind a comma or a brace, and
/// the length of the key, which has a byte; `None` also if its words may not be all that stand before the value.
#[inline]
fn key_before(body: &[u8], start: usize) -> Option<(&[u8], usize)> {
    let before = body.get(..start)?;
    // A colon behind the key, a space or none, a quote or none; and a telephone number begins with no digit.
    let behind = match before.last_chunk::<5>()? {
        [.., b'"', b':'] => 2,
        [.., b'"', b':', b' ' | b'"' | b'+' | b'('] => 3,
        [.., b'"', b':', b' ', b'"' | b'+' | b'('] | [.., b'"', b':', b'"', b'+' | b'('] => 4,
        [b'"', b':', b' ', b'"', b'+' | b'('] => 5,
        _ => return None,
    };
    let before = before.get(..start - behind)?;
    let length = bytes_behind_quote(before.get(before.len().saturating_sub(MAX_KEY_BYTES + 1)..)?)?;
    let quote = before.len().checked_sub(length + 1)?;
    (length > 0 && begins_member(before.get(..quote)?)).then_some((before, length))
}

/// How many bytes stand behind the last quote of a text.
#[inline]
fn bytes_behind_quote(text: &[u8]) -> Option<usize> {
    let (rest, eights) = text.as_rchunks();
    let mut length = 0;
    for eight in eights.iter().rev() {
        match bytes_behind_last(*eight, b'"') {
            Some(behind) => return Some(length + behind),
            None => length += eight.len(),
        }
    }
    rest.iter().rev().position(|byte| *byte == b'"').map(|behind| length + behind)
}

/// Whether a member begins behind `before`: at once, behind one space, or on a line of its own.
#[inline]
fn begins_member(before: &[u8]) -> bool {
    match before {
        [.., b'{' | b','] | [.., b'{' | b',', b' '] => true,
        _ => {
            let indent = before.iter().rev().take(MAX_INDENT).take_while(|byte| **byte == b' ').count();
            let line = before.get(..before.len() - indent).unwrap_or(&[]);
            matches!(line, [.., b'{' | b',', b'\n'] | [.., b'{' | b',', b'\r', b'\n'])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::keyword::{Context, Entries, Keywords};
    use super::*;

    #[test]
    fn keys_are_those_of_the_member() {
        let of = |text: &'static str| {
            let (before, length) = key_before(text.as_bytes(), text.len())?;
            Some(str::from_utf8(&before[before.len() - length..]).unwrap())
        };
        for text in [
            r#"{"nhsNumber":"#,
            r#"{"nhsNumber":""#,
            r#"{"a":1,"nhsNumber": ""#,
            r#"{"a":1, "nhsNumber": "#,
            r#"{"nhsNumber":"+"#,
            r#"{"nhsNumber": ("#,
            "{\n    \"nhsNumber\": \"",
        ] {
            assert_eq!(of(text), Some("nhsNumber"), "{text}");
        }
        for text in [
            "",
            r#"":"#,
            r#"nhs":"#,
            r#""nhs":"#,
            r#"{"nhs\"x":"#,
            r#"{"":"#,
            r#"{"nhs"  :"#,
            r#"{"nhs":  "#,
            r#"{"nhs":"++"#,
            r#"so, said "nhs": "#,
            "so,  \"nhs\":",
            "{\"a\": 1,\r\n",
            r#"{"a key that is longer than what is kept":"#,
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn keys_differ_where_their_bytes_do() {
        let text = "0123456789abcdefghijklmnopqrstuv";
        let mut keys = Vec::new();
        for length in 1..=MAX_KEY_BYTES {
            for at in 0..=length {
                let mut key = text.as_bytes()[..length].to_vec();
                if let Some(byte) = key.get_mut(at) {
                    *byte = b'!';
                }
                // Whatever stands before them.
                let of = |before: &str| Key::of(&[before.as_bytes(), &key].concat(), length);
                assert!(of("").is(&of("{\"")) && of("").is(&of("a text before {\"")), "{length}");
                keys.push((of(""), key));
            }
        }
        for ((one, text), (other, other_text)) in
            keys.iter().flat_map(|one| keys.iter().map(move |two| (one, two)))
        {
            assert_eq!(one.is(other), text == other_text);
        }
        assert_eq!(keys.len(), 560);
    }

    #[test]
    fn what_is_remembered_is_what_would_be_read() {
        let mut entries = Entries::default();
        for (rule, text) in ["nhs number", "dob", "id", "12 number"].iter().enumerate() {
            entries.add(text, rule).unwrap();
        }
        let keywords = Keywords::new(entries);
        let keys = [
            "id",
            "nhsNumber",
            "nhs_number",
            "a",
            "_",
            "dob",
            "x 12 number",
            "numberId",
            "été",
            "id\\\"x",
            "ID",
        ];
        let joints = ["{", ",", ", ", ",\n  ", "{\r\n ", "dob, ", "dob ,  ", "} ", ""];
        let colons = ["\":", "\": ", "\":\"", "\": \"", "\" :", "\":\n", "\":\"+", "\": ("];
        let mut body = String::new();
        let (mut starts, mut hits) = (Vec::new(), 0);
        for nth in 0..5_000_usize {
            let part = |texts: &[&'static str], by: usize| texts[(nth * by + nth / 7) % texts.len()];
            body += part(&joints, 5);
            body.push('"');
            body += part(&keys, 3);
            body += part(&colons, 1);
            starts.push(body.len());
            body += "12345678";
        }
        let body = body.as_bytes();
        let (mut members, mut context) = (Members::default(), Context::default());
        for start in starts {
            let expected: Vec<usize> = keywords.near(body, start).rules().collect();
            let mut is_read = false;
            let near = members.near(body, start, || {
                is_read = true;
                context.near(&keywords, body, start)
            });
            hits += usize::from(!is_read);
            assert_eq!(
                near.rules().collect::<Vec<_>>(),
                expected,
                "{}",
                String::from_utf8_lossy(&body[start - 60.min(start)..start])
            );
        }
        assert!(hits > 500, "{hits} were remembered");
    }
}
