//! The universal endpoint over a WebSocket: messages that ask, and messages that answer.
//!
//! `{"type":"universal.create","request":{"eventId","provider","endpoint","headers","query"}}` asks, as many at
//! a time as the client likes. `universal.created` answers each with what is known of the answer and with its
//! body; of a stream each event follows in a `universal.stream`, and `universal.done` is its end. What cannot be
//! asked, or breaks off, is a `universal.error`. `eventId` says which question a message belongs to.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::answer::GatewayError;
use super::sse;
use super::usage::lines::{Form, Lines};

/// Most bytes of one event of a stream.
pub const MAX_EVENT_BYTES: usize = 16 << 20;
/// What ends a stream of the OpenAI API: `universal.done` says the same.
const DONE: &[u8] = b"[DONE]";

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub event_id: Option<String>,
    /// The body of the same question to the universal endpoint: an array of calls.
    pub body: Bytes,
}

#[derive(Deserialize)]
struct Message<'m> {
    r#type: String,
    #[serde(borrow)]
    request: Option<&'m RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    event_id: Option<String>,
}

impl Ask {
    /// Reads a message.
    ///
    /// # Errors
    /// One sentence if it is no question.
    pub fn parse(text: &str) -> Result<Self, String> {
        let message: Message<'_> = serde_json::from_str(text)
            .map_err(|error| format!("expected a message with `type` and `request`: {error}"))?;
        if message.r#type != "universal.create" {
            return Err(format!("expected the type `universal.create`, found `{}`", message.r#type));
        }
        let request = message.request.ok_or("expected `request`, the call that is to be made")?.get();
        let event_id = serde_json::from_str::<Request>(request)
            .map_err(|error| format!("expected `request` to be an object: {error}"))?
            .event_id;
        Ok(Self { event_id, body: format!("[{request}]").into() })
    }
}

/// What is known of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The status that the answer would have over HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<u16>,
}

#[derive(Serialize)]
struct Reply<'r> {
    r#type: &'static str,
    metadata: &'r Metadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Box<RawValue>>,
}

impl Metadata {
    fn of_event(event_id: Option<String>) -> Self {
        Self { event_id, ..Self::default() }
    }

    /// That an answer has come: with its body, unless that follows event by event.
    pub fn created(&self, body: Option<&[u8]>) -> String {
        self.reply("universal.created", body.map(content), None)
    }

    /// That a stream is at its end.
    pub fn done(&self) -> String {
        self.reply("universal.done", None, None)
    }

    fn event(&self, data: &[u8]) -> String {
        self.reply("universal.stream", Some(content(data)), None)
    }

    fn reply(
        &self,
        r#type: &'static str,
        response: Option<Box<RawValue>>,
        error: Option<Box<RawValue>>,
    ) -> String {
        // INVARIANT: texts and JSON that was read always serialise.
        serde_json::to_string(&Reply { r#type, metadata: self, response, error }).unwrap_or_default()
    }
}

/// That a question has no answer, or that its answer broke off.
pub fn failed(event_id: Option<&str>, error: GatewayError, reason: Option<&str>) -> String {
    #[derive(Serialize)]
    struct Error<'e> {
        code: u16,
        message: &'e str,
    }
    let error = Error { code: error.code(), message: reason.unwrap_or(error.message()) };
    let metadata = Metadata::of_event(event_id.map(str::to_owned));
    metadata.reply("universal.error", None, serde_json::value::to_raw_value(&error).ok())
}

/// A body within a message: JSON as it is, texts as a string, all else in Base64.
fn content(body: &[u8]) -> Box<RawValue> {
    // INVARIANT: a string always serialises.
    let string = |text: &str| serde_json::value::to_raw_value(text).unwrap_or_default();
    let Ok(text) = str::from_utf8(body) else { return string(&STANDARD.encode(body)) };
    serde_json::from_str(text).unwrap_or_else(|_| string(text))
}

/// A stream on its way into messages.
#[derive(Debug)]
pub struct Stream {
    lines: Lines,
    form: Form,
    /// Of each message.
    metadata: Metadata,
}

impl Stream {
    /// `None` for an answer that is no stream.
    pub fn of(media_type: &[u8], event_id: Option<String>) -> Option<Self> {
        let form = Form::of(media_type)?;
        Some(Self { lines: Lines::holding(MAX_EVENT_BYTES), form, metadata: Metadata::of_event(event_id) })
    }

    /// The messages of a piece. False if an event is longer than [`MAX_EVENT_BYTES`].
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<String>) -> bool {
        let Self { lines, form, metadata } = self;
        let mut is_short = true;
        let take = |line: &[u8], gathered: &mut Vec<u8>| match form {
            Form::Lines if line.trim_ascii().is_empty() => {}
            Form::Lines => out.push(metadata.event(line)),
            Form::Events if line.is_empty() => {
                if !gathered.is_empty() && gathered != DONE {
                    out.push(metadata.event(gathered));
                }
                gathered.clear();
            }
            Form::Events => {
                let data = sse::data(line);
                is_short &= data.is_none_or(|data| sse::gather(gathered, data, MAX_EVENT_BYTES));
            }
        };
        lines.push(piece, take) && is_short
    }

    /// The messages of what came last. An event without its empty line is none (WHATWG HTML), a line without its
    /// end is one.
    pub fn finish(mut self, out: &mut Vec<String>) {
        if self.form == Form::Lines {
            self.push(b"\n", out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_keep_their_bytes() {
        let call = r#"{"eventId":"e","provider":"p","endpoint":"x","query":{ "a" : 1.0 }}"#;
        let ask = Ask::parse(&format!(r#"{{"request":{call},"type":"universal.create"}}"#)).unwrap();
        assert_eq!((ask.event_id.as_deref(), &ask.body[..]), (Some("e"), format!("[{call}]").as_bytes()));
        assert_eq!(Ask::parse(r#"{"type":"universal.create","request":{}}"#).unwrap().event_id, None);
        for bad in [
            "",
            "5",
            r#"{"request":{}}"#,
            r#"{"type":"universal.create"}"#,
            r#"{"type":"universal.create","request":null}"#,
            r#"{"type":"universal.create","request":[]}"#,
            r#"{"type":"universal.create","request":{"eventId":5}}"#,
            r#"{"type":"universal.done","request":{}}"#,
        ] {
            assert!(Ask::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn answers_are_json_text_or_base64() {
        let metadata =
            Metadata { event_id: Some("e".to_owned()), step: Some("0".to_owned()), ..Metadata::default() };
        for (body, expected) in [
            (&b"{ \"a\" : 1.0 }"[..], "{ \"a\" : 1.0 }"),
            (b"plain \"text\"", r#""plain \"text\"""#),
            (b"", r#""""#),
            (b"\xff\xfe", r#""//4=""#),
        ] {
            let head = r#"{"type":"universal.created","metadata":{"eventId":"e","step":"0"},"response":"#;
            assert_eq!(metadata.created(Some(body)), format!("{head}{expected}}}"));
        }
        assert_eq!(metadata.done(), r#"{"type":"universal.done","metadata":{"eventId":"e","step":"0"}}"#);
        assert_eq!(
            failed(None, GatewayError::BadRequest, Some("no")),
            r#"{"type":"universal.error","metadata":{},"error":{"code":2000,"message":"no"}}"#
        );
    }

    #[test]
    fn events_are_the_same_however_they_are_split() {
        let text = "event: a\r\ndata: {\"n\":1}\r\n\r\n: comment\n\ndata: two\ndata:lines \u{e9}\n\ndata: [DONE]\n\ndata: cut";
        let event = |id: Option<&str>, data: &[u8]| Metadata::of_event(id.map(str::to_owned)).event(data);
        let expected = [event(Some("e"), b"{\"n\":1}"), event(Some("e"), "two\nlines \u{e9}".as_bytes())];
        for size in 1..text.len() {
            let mut stream = Stream::of(b"text/event-stream", Some("e".to_owned())).unwrap();
            let mut out = Vec::new();
            assert!(text.as_bytes().chunks(size).all(|piece| stream.push(piece, &mut out)));
            stream.finish(&mut out);
            assert_eq!(out, expected, "pieces of {size}");
        }
        let mut lines = Stream::of(b"application/x-ndjson", None).unwrap();
        let mut out = Vec::new();
        assert!(lines.push(b"{\"n\":1}\n\n{\"n\":", &mut out) && lines.push(b"2}", &mut out));
        lines.finish(&mut out);
        assert_eq!(out, [event(None, b"{\"n\":1}"), event(None, b"{\"n\":2}")]);
        assert!(Stream::of(b"application/json", None).is_none());
    }

    #[test]
    fn an_endless_event_is_refused() {
        let long = vec![b'x'; MAX_EVENT_BYTES / 2];
        let refused_after = |pieces: &[&[u8]]| {
            let mut stream = Stream::of(b"text/event-stream", None).unwrap();
            pieces.iter().position(|piece| !stream.push(piece, &mut Vec::new()))
        };
        assert_eq!(refused_after(&[b"data:", &long, &long]), Some(2));
        assert_eq!(refused_after(&[b"data:", &long, b"\ndata:", &long, b"\ndata:x\n"]), Some(4));
        assert_eq!(refused_after(&[&long, &long, b"x\n"]), Some(2));
        assert_eq!(refused_after(&[b"data:", &long, b"\n\ndata:", &long]), None);
    }
}
