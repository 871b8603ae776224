//! The texts of a body as its reader sees them: without JSON escapes, and with the pieces of a stream joined.
//!
//! A model answers in pieces, each in an event of its own: a number that a client shows as one stands in several events.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::de::SliceRead;

use crate::sse;
use crate::usage::event_stream::{self, Frames};
use crate::usage::lines::{Form, Lines};

/// Members that each event of a stream has with the same text, or with one that is no part of what is said.
const LABELS: &[&str] =
    &["id", "item_id", "model", "obfuscation", "object", "response_id", "role", "system_fingerprint", "type"];

/// Longest event or line that is read, in bytes.
const MAX_OBJECT_BYTES: usize = 1 << 20;

/// The texts of a body, each on a line of its own; `None` if there are none, or none but those that stand in it as they are.
pub fn texts(body: &[u8], content_type: &[u8]) -> Option<Vec<u8>> {
    let media_type = body::media_type(content_type);
    let mut found = Texts::default();
    match Form::of(media_type) {
        Some(Form::Events) => {
            let mut lines = Lines::holding(MAX_OBJECT_BYTES);
            let mut take = |line: &[u8], event: &mut Vec<u8>| {
                if line.is_empty() {
                    found.objects(event);
                    event.clear();
                } else if let Some(data) = sse::data(line) {
                    sse::gather(event, data, MAX_OBJECT_BYTES);
                }
            };
            lines.push(body, &mut take);
            lines.end(&mut take);
            found.objects(&lines.event);
        }
        Some(Form::Lines) => found.objects(body),
        None if event_stream::is_its_type(media_type) => {
            Frames::default().push(body, |payload| match event_stream::inner(payload) {
                Some(inner) => found.objects(&inner),
                None => found.objects(payload),
            });
        }
        // What stands in a document as it is need not be read twice.
        None if is_list(body) || memchr::memchr(b'\\', body).is_some() => found.objects(body),
        None => {}
    }
    found.joined()
}

/// Whether a document is a list: some providers stream one.
fn is_list(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"[")
}

/// Texts by where they stand.
#[derive(Default)]
struct Texts {
    texts: Vec<String>,
    /// The place of each in `texts`, by the names that lead to it.
    by_path: HashMap<u64, usize>,
}

impl Texts {
    /// Takes JSON values, one behind another, as far as they can be read. A list of objects is a stream of them.
    fn objects(&mut self, json: &[u8]) {
        let mut reader = serde_json::Deserializer::new(SliceRead::new(json));
        loop {
            let walk = Walk { texts: self, path: 0, text_path: 0, place: WalkPlace::Whole };
            if walk.deserialize(&mut reader).is_err() {
                return;
            }
        }
    }

    fn add(&mut self, path: u64, text: &str, is_label: bool) {
        let next = self.texts.len();
        let place = *self.by_path.entry(path).or_insert(next);
        match self.texts.get_mut(place) {
            Some(_) if is_label => {}
            Some(known) => known.push_str(text),
            None => self.texts.push(text.to_owned()),
        }
    }

    fn joined(self) -> Option<Vec<u8>> {
        (!self.texts.is_empty()).then(|| self.texts.join("\n").into_bytes())
    }
}

/// A value on the way through a document.
struct Walk<'t> {
    texts: &'t mut Texts,
    /// Of what is in it.
    path: u64,
    /// Of the value, if it is a text.
    text_path: u64,
    place: WalkPlace,
}

#[derive(Clone, Copy, PartialEq)]
enum WalkPlace {
    /// The whole document.
    Whole,
    /// The value of a member that says nothing.
    Label,
    Within,
}

fn below(path: u64, step: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    (path, step).hash(&mut hasher);
    hasher.finish()
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = Option<u64>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// The value is the number that it is, if it is one.
impl<'de> Visitor<'de> for Walk<'_> {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        self.texts.add(self.text_path, text, self.place == WalkPlace::Label);
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        for nth in 0_usize.. {
            let text_path = below(self.path, nth);
            // Objects of a list that is the whole document are events of a stream.
            let path = if self.place == WalkPlace::Whole { below(0, "event") } else { text_path };
            let walk = Walk { texts: &mut *self.texts, path, text_path, place: WalkPlace::Within };
            if list.next_element_seed(walk)?.is_none() {
                break;
            }
        }
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        // Of several answers to one question each says which it is, before its text.
        let mut index = None;
        while let Some(name) = members.next_key::<std::borrow::Cow<'de, str>>()? {
            let path = below(self.path, (&name, index));
            let place = if LABELS.contains(&&*name) { WalkPlace::Label } else { WalkPlace::Within };
            let walk = Walk { texts: &mut *self.texts, path, text_path: path, place };
            let number = members.next_value_seed(walk)?;
            if name == "index" || name == "contentBlockIndex" || name == "output_index" {
                index = number;
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn read(content_type: &str, body: &str) -> Option<String> {
        texts(body.as_bytes(), content_type.as_bytes()).map(|texts| String::from_utf8(texts).unwrap())
    }

    #[test]
    fn what_comes_in_pieces_is_put_together() {
        let chat = |index: u32, text: &str| {
            format!(
                "{{\"id\":\"c-1\",\"choices\":[{{\"index\":{index},\"delta\":{{\"content\":\"{text}\"}}}}]}}"
            )
        };
        let pieces = [chat(0, "41"), chat(1, "no"), chat(0, "11 1"), chat(1, "ne"), chat(0, "\\u0031")];
        let events: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
        let expected = Some("c-1\n4111 11\nnone".to_owned());
        assert_eq!(read("text/event-stream; charset=utf-8", &format!("{events}data: [DONE]\n\n")), expected);
        assert_eq!(read("text/event-stream", &events.replace('\n', "\r\n")), expected);
        assert_eq!(read("text/event-stream", events.trim_end()), expected, "without its last line end");
        assert_eq!(read("application/x-ndjson", &pieces.join("\n")), expected);
        let list = |items: &str| format!("[{}]", items);
        assert_eq!(read("application/json", &list(&pieces.join(",\n"))), expected);
        let cut = format!("{events}data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"22");
        assert_eq!(
            read("text/event-stream", &cut),
            expected,
            "what is cut off is left to who reads the bytes"
        );
    }

    #[test]
    fn frames_of_bedrock_are_read() {
        let converse = |text: &str| format!("{{\"contentBlockIndex\":0,\"delta\":{{\"text\":\"{text}\"}}}}");
        let inner = |text: &str| format!("{{\"bytes\":\"{}\"}}", STANDARD.encode(converse(text)));
        let stream = |form: &dyn Fn(&str) -> String| {
            let frames = ["41", "11"].map(|text| event_stream::frame(form(text).as_bytes())).concat();
            texts(&frames, b"application/vnd.amazon.eventstream")
        };
        assert_eq!((stream(&converse), stream(&inner)), (Some(b"4111".to_vec()), Some(b"4111".to_vec())));
    }

    #[test]
    fn documents_are_read_if_they_hide_something() {
        assert_eq!(read("application/json", r#"{"a":"4111"}"#), None, "it stands there");
        assert_eq!(
            read("application/json", r#"{"a":"\u0034111","b":["x","y"]}"#).as_deref(),
            Some("4111\nx\ny")
        );
        assert_eq!(read("", r#"["41","11"]"#).as_deref(), Some("41\n11"), "a list of texts is no stream");
        assert_eq!(read("text/plain", r"C:\x"), None);
        assert_eq!(
            read("application/json", r#"{"a":"\u0034" "#).as_deref(),
            Some("4"),
            "as far as it can be read"
        );
        let deep = format!("{}\"\\u0034\"{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(read("application/json", &deep), None, "deeper than anyone reads");
    }
}
