//! The key of the JSON member that a value belongs to, and the rules that its words tell: a body has few keys,
//! again and again.
//!
//! Behind the comma or brace before a member its words end, so what they tell is told by the key alone.

use super::keyword::Near;

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
        let Some(key) = key_before(body, start).map(Key::of) else { return read() };
        if self.known.is_empty() {
            self.known.resize_with(KEYS, Default::default);
        }
        let Some((known, near)) = self.known.get_mut(key.slot()) else { return read() };
        if !key.is(known) {
            (*known, *near) = (key, read());
        }
        near.clone()
    }
}

impl Key {
    /// The key of at most [`MAX_KEY_BYTES`].
    #[inline]
    fn of(key: &[u8]) -> Self {
        let word = |bytes: Option<&[u8; 8]>| bytes.map(|bytes| u64::from_le_bytes(*bytes));
        let short = |bytes: &[u8]| bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let ends = |bytes: &[u8]| match (word(bytes.first_chunk()), word(bytes.last_chunk())) {
            (Some(first), Some(last)) => (first, last),
            _ => (short(bytes), 0),
        };
        let (first, last) = ends(key);
        // Most keys have no more bytes than these two.
        let inner = key.get(8..key.len().saturating_sub(8)).unwrap_or(&[]);
        let (second, third) = ends(inner);
        let words = [first, last, second, third];
        Self { length: key.len(), words }
    }

    /// Whether they are the same. Word by word: compared as a whole, the one that was just made would first have to
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

/// The key before a value that begins at `start`, `"key":` behind a comma or a brace; `None` also where its words
/// may not be all that stand before the value.
#[inline]
fn key_before(body: &[u8], start: usize) -> Option<&[u8]> {
    let before = body.get(..start)?;
    // A telephone number begins with no digit.
    let before = before.strip_suffix(b"+").or_else(|| before.strip_suffix(b"(")).unwrap_or(before);
    let before = before.strip_suffix(b"\"").unwrap_or(before);
    let before = before.strip_suffix(b" ").unwrap_or(before).strip_suffix(b"\":")?;
    let window = before.get(before.len().saturating_sub(MAX_KEY_BYTES + 1)..)?;
    let length = window.iter().rev().position(|byte| *byte == b'"')?;
    let (before, key) = before.split_at_checked(before.len() - length)?;
    // A key without a word tells nothing: then those before it do.
    let has_word = key.iter().any(|byte| byte.is_ascii_alphanumeric());
    (has_word && begins_member(before.strip_suffix(b"\"")?)).then_some(key)
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
            key_before(text.as_bytes(), text.len()).map(|key| str::from_utf8(key).unwrap())
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
            r#"{"_":"#,
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
