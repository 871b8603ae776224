//! The texts of a body as its reader sees them: without JSON escapes, and with the pieces of a stream joined.
//!
//! A model answers in pieces, each in an event of its own: a number that a client shows as one stands in several events.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher, Hash};

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::de::SliceRead;

use crate::sse;
use crate::usage::event_stream::{self, Frames};
use crate::usage::lines::{Form, Lines};

/// Members that each event of a stream has with the same text, or with one that is no part of what is said.
const LABELS: &[&str] =
    &["id", "item_id", "model", "obfuscation", "object", "response_id", "role", "system_fingerprint", "type"];

/// Members that say which of several answers the others of their object are part of.
const INDEXES: &[&str] = &["contentBlockIndex", "index", "output_index"];

/// Longest event or line that is read, in bytes.
const MAX_OBJECT_BYTES: usize = 1 << 20;

/// The texts of a body, each on a line of its own; `None` if there are none, or none but those that stand in it as they are.
///
/// A body that is an event stream or JSON is read as such whatever its media type says: clients of providers do the same.
pub fn texts(body: &[u8], content_type: &[u8]) -> Option<Vec<u8>> {
    let media_type = body::media_type(content_type);
    let mut found = Texts::default();
    if event_stream::is_its_type(media_type) {
        Frames::default().push(body, |payload| match event_stream::inner(payload) {
            Some(inner) => drop(found.objects(&inner)),
            None => drop(found.objects(payload)),
        });
    } else if !is_json(body) && (Form::of(media_type) == Some(Form::Events) || is_event_stream(body)) {
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
    } else {
        let count = found.objects(start(body));
        // What stands in one document as it is need not be read twice.
        if count < 2 && !start(body).starts_with(b"[") && memchr::memchr(b'\\', body).is_none() {
            return None;
        }
    }
    found.joined()
}

/// A body without what clients pass over at its start.
fn start(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start()
}

fn is_json(body: &[u8]) -> bool {
    start(body).first().is_some_and(|byte| matches!(byte, b'{' | b'['))
}

/// Whether a body begins with a line that only an event stream has.
fn is_event_stream(body: &[u8]) -> bool {
    [&b"data:"[..], b"event:", b"id:", b"retry:", b":"].iter().any(|line| start(body).starts_with(line))
}

/// Texts by where they stand.
#[derive(Default)]
struct Texts {
    texts: Vec<String>,
    /// The place of each in `texts`, by the names that lead to it.
    by_path: HashMap<u64, usize>,
}

/// A value within others.
struct Place {
    /// What it is in: a place before it.
    parent: usize,
    /// The name or the number that leads to it from there.
    step: u64,
    is_label: bool,
    /// Which of several answers it is part of, as one of its members says, before its texts or behind them.
    index: Option<u64>,
}

/// The places and texts of one object.
#[derive(Default)]
struct ObjectTexts {
    places: Vec<Place>,
    texts: Vec<(usize, String)>,
}

impl Texts {
    /// Takes JSON values, one behind another, as far as they can be read, and says how many. A list of objects is a stream of
    /// them.
    fn objects(&mut self, json: &[u8]) -> usize {
        let mut reader = serde_json::Deserializer::new(SliceRead::new(json));
        for count in 0.. {
            let mut object = ObjectTexts::default();
            let place = object.below(0, 0, false);
            let end = Walk { object: &mut object, place, text_place: place, is_whole: true }
                .deserialize(&mut reader);
            self.take(object);
            if end.is_err() {
                return count;
            }
        }
        0
    }

    /// Adds the texts of an object to those of the objects before it.
    fn take(&mut self, object: ObjectTexts) {
        let mut paths: Vec<u64> = Vec::with_capacity(object.places.len());
        for place in &object.places {
            let parent = object.places.get(place.parent).and_then(|parent| parent.index);
            paths.push(hash((paths.get(place.parent), parent, place.step)));
        }
        for (place, text) in object.texts {
            let path = paths.get(place).copied().unwrap_or_default();
            let is_label = object.places.get(place).is_some_and(|place| place.is_label);
            let next = self.texts.len();
            match self.texts.get_mut(*self.by_path.entry(path).or_insert(next)) {
                Some(_) if is_label => {}
                Some(known) => known.push_str(&text),
                None => self.texts.push(text),
            }
        }
    }

    fn joined(self) -> Option<Vec<u8>> {
        (!self.texts.is_empty()).then(|| self.texts.join("\n").into_bytes())
    }
}

impl ObjectTexts {
    /// A new place within another.
    fn below(&mut self, parent: usize, step: u64, is_label: bool) -> usize {
        self.places.push(Place { parent, step, is_label, index: None });
        self.places.len() - 1
    }
}

fn hash(value: impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

/// A value on the way through an object.
struct Walk<'o> {
    object: &'o mut ObjectTexts,
    /// Of what is in it.
    place: usize,
    /// Of the value, if it is a text.
    text_place: usize,
    /// Whether it is the whole document.
    is_whole: bool,
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
        self.object.texts.push((self.text_place, text.to_owned()));
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        for nth in 1_u64.. {
            let text_place = self.object.below(self.place, nth, false);
            // Objects of a list that is the whole document are events of a stream; its own texts are not.
            let place = if self.is_whole { self.object.below(self.place, 0, false) } else { text_place };
            let walk = Walk { object: &mut *self.object, place, text_place, is_whole: false };
            if list.next_element_seed(walk)?.is_none() {
                break;
            }
        }
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            let place = self.object.below(self.place, hash(&*name), LABELS.contains(&&*name));
            let walk = Walk { object: &mut *self.object, place, text_place: place, is_whole: false };
            let number = members.next_value_seed(walk)?;
            if INDEXES.contains(&&*name)
                && let Some(place) = self.object.places.get_mut(self.place)
            {
                place.index = number;
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
        for wrong in ["", "application/json", "text/plain", "application/octet-stream"] {
            assert_eq!(read(wrong, &events), expected, "{wrong}: clients read it as what it is");
            assert_eq!(read(wrong, &format!("\u{feff}: hello\n\n{events}")), expected, "{wrong}");
            assert_eq!(read(wrong, &pieces.join("\n")), expected, "{wrong}");
        }
        assert_eq!(read("text/event-stream", &pieces.join("")), expected);
        // Some say only behind a text which answer it is part of.
        let behind = |index: u32, text: &str| {
            format!(
                "{{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"{text}\"}}]}},\"index\":{index}}}]}}"
            )
        };
        let pieces = [behind(0, "41"), behind(1, "no"), behind(0, "11"), behind(1, "ne")];
        let expected_behind = Some("4111\nnone".to_owned());
        assert_eq!(read("application/json", &list(&pieces.join(","))), expected_behind);
        let both: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
        assert_eq!(read("text/event-stream", &both), expected_behind);
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
