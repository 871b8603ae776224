//! The usage of a streamed chat completion, asked for if the client did not, and the event that answers
//! it kept from the client: `stream_options.include_usage` of the OpenAI API.
//!
//! The request is edited where the wish goes in and nowhere else; the stream loses one event and nothing else.

use bytes::Bytes;
use memchr::memmem;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::sse;

/// A longer event goes on as it is: the one that is withheld has some hundred bytes.
const MAX_EVENT_BYTES: usize = 64 << 10;

/// Whether requests to a provider's path may ask for the usage of a stream.
pub fn may_ask(path: &str) -> bool {
    path.split('?').next().is_some_and(|path| path == "completions" || path.ends_with("/completions"))
}

#[derive(Deserialize)]
struct Request<'b> {
    stream: Option<bool>,
    #[serde(borrow)]
    stream_options: Option<&'b RawValue>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<IgnoredAny>,
}

/// The body with the wish for usage; `None` if it asks for no stream, says itself whether it wants the
/// usage, or is no JSON object.
pub fn asked(body: &[u8]) -> Option<Bytes> {
    let open = body.iter().position(|byte| !byte.is_ascii_whitespace())?;
    if body.get(open) != Some(&b'{') {
        return None;
    }
    let request: Request<'_> = serde_json::from_slice(body).ok()?;
    if request.stream != Some(true) {
        return None;
    }
    let Some(options) = request.stream_options else {
        return inserted(body, open + 1, "\"stream_options\":{\"include_usage\":true},");
    };
    let text = options.get();
    let said: StreamOptions = serde_json::from_str(text).ok()?;
    let inner = text.strip_prefix('{')?;
    let is_empty = inner.trim_ascii_start().starts_with('}');
    let at = (text.as_ptr() as usize).checked_sub(body.as_ptr() as usize)?;
    let is_there = body.get(at..).is_some_and(|rest| rest.starts_with(text.as_bytes()));
    let wish = if is_empty { "\"include_usage\":true" } else { "\"include_usage\":true," };
    if said.include_usage.is_none() && is_there { inserted(body, at + 1, wish) } else { None }
}

fn inserted(body: &[u8], at: usize, text: &str) -> Option<Bytes> {
    let (head, tail) = body.split_at_checked(at)?;
    Some([head, text.as_bytes(), tail].concat().into())
}

/// A stream without the event that carries the usage alone. An event is held until it is whole.
#[derive(Debug, Default)]
pub struct Withheld {
    pending: Vec<u8>,
    /// The last byte was the CR that ended an event that is withheld: an LF now belongs to it.
    drops_lf: bool,
}

impl Withheld {
    /// What goes on when `piece` has come; may be nothing.
    pub fn push(&mut self, piece: &Bytes) -> Bytes {
        let mut position = sse::Position::default();
        position.push(piece);
        let is_plain = !self.drops_lf && self.pending.is_empty() && position.is_between_events();
        if is_plain && memmem::find(piece, b"\"usage\"").is_none() {
            return piece.clone();
        }
        let is_lf_of_dropped = self.drops_lf && piece.first() == Some(&b'\n');
        self.drops_lf &= piece.is_empty();
        self.pending.extend_from_slice(piece.get(usize::from(is_lf_of_dropped)..).unwrap_or(&[]));
        let mut out = Vec::new();
        let mut from = 0;
        while let Some(end) = self.pending.get(from..).and_then(sse::event_bytes) {
            let event = self.pending.get(from..from + end).unwrap_or(&[]);
            if is_usage_alone(event) {
                self.drops_lf = event.ends_with(b"\r") && self.pending.len() == from + end;
            } else {
                out.extend_from_slice(event);
            }
            from += end;
        }
        self.pending.drain(..from);
        if self.pending.len() > MAX_EVENT_BYTES {
            out.append(&mut self.pending);
        }
        out.into()
    }

    /// What is left when the stream has ended.
    pub fn finish(self) -> Bytes {
        self.pending.into()
    }
}

#[derive(Deserialize)]
struct Chunk<'e> {
    #[serde(borrow)]
    choices: Option<Vec<&'e RawValue>>,
    #[serde(borrow)]
    usage: Option<&'e RawValue>,
}

/// Whether an event has usage and no part of the answer.
fn is_usage_alone(event: &[u8]) -> bool {
    let lines = event.split(|byte| matches!(byte, b'\n' | b'\r')).filter(|line| !line.is_empty());
    let mut data = lines.filter_map(sse::data);
    let (Some(line), None) = (data.next(), data.next()) else { return false };
    let Ok(chunk) = serde_json::from_slice::<Chunk<'_>>(line) else { return false };
    chunk.choices.is_some_and(|choices| choices.is_empty())
        && chunk.usage.is_some_and(|usage| usage.get().starts_with('{'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wish_goes_in_and_nothing_else_changes() {
        let wish = r#""stream_options":{"include_usage":true},"#;
        let cases = [
            (r#"{"stream":true}"#, format!(r#"{{{wish}"stream":true}}"#)),
            (
                "\n { \"model\" : \"m\",\"stream\":true }",
                format!("\n {{{wish} \"model\" : \"m\",\"stream\":true }}"),
            ),
            (
                r#"{"stream":true,"stream_options":{}}"#,
                r#"{"stream":true,"stream_options":{"include_usage":true}}"#.to_owned(),
            ),
            (
                r#"{"stream_options": { "a":1 },"stream":true}"#,
                r#"{"stream_options": {"include_usage":true, "a":1 },"stream":true}"#.to_owned(),
            ),
        ];
        for (body, expected) in cases {
            let asked = asked(body.as_bytes()).unwrap();
            assert_eq!(asked, expected);
            let seen: serde_json::Value = serde_json::from_slice(&asked).unwrap();
            assert_eq!(seen["stream_options"]["include_usage"], true, "{body}");
        }
        for body in [
            "",
            "[]",
            "[true,{}]",
            "{",
            "{}",
            r#"{"stream":false}"#,
            r#"{"stream":null}"#,
            r#"{"stream":"true"}"#,
            r#"{"stream":true,"stream":true}"#,
            r#"{"messages":[{"stream":true}]}"#,
            r#"{"stream":true,"stream_options":{"include_usage":false}}"#,
            r#"{"stream":true,"stream_options":{"include_usage":true}}"#,
            r#"{"stream":true,"stream_options":1}"#,
            r#"{"stream":true} x"#,
        ] {
            assert!(asked(body.as_bytes()).is_none(), "{body}");
        }
        assert!(may_ask("v1/chat/completions") && may_ask("chat/completions?a=b") && may_ask("completions"));
        assert!(!may_ask("v1/messages") && !may_ask("v1/chat/completions/1"));
    }

    #[test]
    fn one_event_is_withheld_however_the_stream_is_split() {
        let first = "data: {\"choices\":[],\"prompt_filter_results\":[],\"usage\":null}\n\n";
        let rest = ": beat\n\nevent: x\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"é\\\"usage\\\"\"}}],\"usage\":{}}\r\n\r\ndata: no json \"usage\"\n\n";
        let usage = "data: {\"id\":1,\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n";
        let end = "data: [DONE]\n\nhalf an event";
        let expected = format!("{first}{rest}{end}");
        let streams = ["\n", "\r\n", "\r"].map(|line_end| {
            let usage = usage.replace('\n', line_end);
            format!("{first}{rest}{usage}{end}")
        });
        for (stream, split) in
            streams.iter().flat_map(|stream| (0..=stream.len()).map(move |split| (stream, split)))
        {
            let (mut withheld, mut out) = (Withheld::default(), Vec::new());
            for piece in [&stream.as_bytes()[..split], &stream.as_bytes()[split..]] {
                out.extend_from_slice(&withheld.push(&Bytes::copy_from_slice(piece)));
            }
            out.extend_from_slice(&withheld.finish());
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{split}");
        }
    }

    #[test]
    fn what_never_ends_is_not_held() {
        let mut withheld = Withheld::default();
        let sent: usize = (0..100).map(|_| withheld.push(&Bytes::from(vec![b'x'; 4096])).len()).sum();
        assert!(sent > 0 && withheld.pending.len() <= MAX_EVENT_BYTES);
        assert_eq!(sent + withheld.finish().len(), 100 * 4096);
    }
}
