//! Reads a copy of an answer as it passes. Nothing here can delay or change a byte of it.

use body::decompress::{Coding, PushDecoder};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::event_stream::{self, Frames};
use super::lines::{Form, Lines};
use super::web_socket::Messages;
use super::{Usage, counts};
use crate::mcp::{self, McpFailure};
use crate::sse;

/// Most bytes of an event, a line or an answer that are held to be read.
const MAX_HELD_BYTES: usize = 1 << 20;
/// Of an answer longer than that, the end that is kept: counts stand there.
const TAIL_BYTES: usize = 64 << 10;

/// Most bytes that come out of one answer; what follows is not read.
const MAX_DECODED_BYTES: usize = 64 << 20;

/// Places where a field's name stands that are looked at.
const MAX_FIELDS: usize = 64;

/// The reader of one answer.
pub struct Tap {
    decoder: PushDecoder,
    framing: Framing,
    seen: Seen,
    undecoded_bytes: u64,
}

/// What an answer is made of.
enum Framing {
    Json(Held),
    Sse(Lines),
    NdJson(Lines),
    EventStream(Frames),
    WebSocket(Box<Messages>),
    /// Sound, pictures, pages: nothing to read.
    Opaque,
}

/// What was read so far.
#[derive(Debug, Default)]
struct Seen {
    usage: Usage,
    model: Option<String>,
    has_error: bool,
    text_bytes: u64,
    service_tier: Option<String>,
    /// Whether it is read as an answer of a server of tools.
    is_of_tools: bool,
    failure: Option<McpFailure>,
}

/// What an answer said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub usage: Usage,
    pub model: Option<String>,
    /// An error within an answer that began well.
    pub has_error: bool,
    /// Bytes of the texts in it, and of all that could not be read.
    pub text_bytes: u64,
    pub service_tier: Option<String>,
    /// What went wrong in an answer of a server of tools.
    pub failure: Option<McpFailure>,
}

impl std::fmt::Debug for Tap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tap({:?})", self.seen)
    }
}

impl Tap {
    /// For an answer with these fields.
    pub fn new(content_type: &[u8], content_encoding: &[u8]) -> Self {
        let media_type = body::media_type(content_type);
        let framing = match Form::of(media_type) {
            Some(Form::Events) => Framing::Sse(Lines::holding(MAX_HELD_BYTES)),
            Some(Form::Lines) => Framing::NdJson(Lines::holding(MAX_HELD_BYTES)),
            None if event_stream::is_its_type(media_type) => Framing::EventStream(Frames::default()),
            None if body::is_json(media_type) => Framing::Json(Held::default()),
            None => Framing::Opaque,
        };
        Self::reading(framing, Coding::of(content_encoding))
    }

    /// For an answer of a server of tools. What tools say of models and counts is about others: only what went wrong is
    /// read.
    pub fn of_tools(content_type: &[u8], content_encoding: &[u8]) -> Self {
        let mut tap = Self::new(content_type, content_encoding);
        tap.seen.is_of_tools = true;
        tap
    }

    /// For a connection that has become a WebSocket with these extensions.
    pub fn web_socket(extensions: &[u8]) -> Self {
        let framing = Framing::WebSocket(Box::new(Messages::new(extensions)));
        Self::reading(framing, Some(Coding::Identity))
    }

    fn reading(framing: Framing, coding: Option<Coding>) -> Self {
        let decoder = PushDecoder::new(coding, MAX_DECODED_BYTES);
        Self { decoder, framing, seen: Seen::default(), undecoded_bytes: 0 }
    }

    /// Whether the answer comes event by event.
    pub fn is_stream(&self) -> bool {
        !matches!(self.framing, Framing::Json(_) | Framing::Opaque)
    }

    /// Takes a piece of the answer as it goes over the wire.
    pub fn push(&mut self, chunk: &[u8]) {
        let (framing, seen) = (&mut self.framing, &mut self.seen);
        if matches!(framing, Framing::Opaque) {
            return;
        }
        let is_read = self.decoder.push(chunk, |bytes| match framing {
            Framing::Json(held) => held.push(bytes),
            // What is too long to be held is not read.
            Framing::Sse(lines) => {
                lines.push(bytes, |line, event| seen.sse_line(line, event));
            }
            Framing::NdJson(lines) => {
                lines.push(bytes, |line, _| seen.object(line));
            }
            Framing::EventStream(frames) => frames.push(bytes, |payload| seen.frame(payload)),
            Framing::WebSocket(messages) => messages.push(bytes, |message| seen.message(message)),
            Framing::Opaque => {}
        });
        if !is_read {
            self.undecoded_bytes += chunk.len() as u64;
        }
    }

    /// What the answer said, however far it came.
    pub fn finish(mut self) -> Report {
        let unread_bytes = self.undecoded_bytes + self.framing.unread_bytes();
        match &mut self.framing {
            Framing::Json(held) => self.seen.answer(held),
            Framing::Sse(lines) => {
                let seen = &mut self.seen;
                lines.end(|line, event| seen.sse_line(line, event));
                let event = std::mem::take(&mut lines.event);
                seen.object(&event);
            }
            Framing::NdJson(lines) => {
                let seen = &mut self.seen;
                lines.end(|line, _| seen.object(line));
            }
            Framing::EventStream(_) | Framing::WebSocket(_) | Framing::Opaque => {}
        }
        let Seen { usage, model, has_error, text_bytes, service_tier, failure, is_of_tools: _ } = self.seen;
        let text_bytes = text_bytes + unread_bytes;
        Report { usage, model, has_error, text_bytes, service_tier, failure }
    }
}

impl Framing {
    fn unread_bytes(&self) -> u64 {
        match self {
            Self::Json(held) => held.unread_bytes,
            Self::Sse(lines) | Self::NdJson(lines) => lines.unread_bytes(),
            Self::EventStream(frames) => frames.unread_bytes(),
            Self::WebSocket(messages) => messages.unread_bytes(),
            Self::Opaque => 0,
        }
    }
}

impl Seen {
    /// A line of an event stream (WHATWG HTML, section "Server-sent events"); `event` gathers its data.
    fn sse_line(&mut self, line: &[u8], event: &mut Vec<u8>) {
        if line.is_empty() {
            self.object(event);
            event.clear();
        } else if let Some(data) = sse::data(line) {
            // What does not fit is not read.
            if !sse::gather(event, data, MAX_HELD_BYTES - 1) {
                self.text_bytes += data.len() as u64;
            }
        } else if matches!(sse::field(line), (b"event", name) if name.trim_ascii() == b"error") {
            self.has_error = true;
        }
    }

    /// A frame of Bedrock: JSON, or a model's own JSON in Base64.
    fn frame(&mut self, payload: &[u8]) {
        match event_stream::inner(payload) {
            Some(inner) => self.object(&inner),
            None => self.object(payload),
        }
    }

    /// A message of a realtime connection: each response in it has counts of its own.
    fn message(&mut self, message: &[u8]) {
        #[derive(serde::Deserialize)]
        struct Message<'m> {
            r#type: &'m str,
        }
        const DONE: &str = "response.done";
        let may_be_done = memchr::memmem::find(message, DONE.as_bytes()).is_some();
        let parsed = may_be_done.then(|| serde_json::from_slice::<Message<'_>>(message));
        if !parsed.is_some_and(|message| message.is_ok_and(|message| message.r#type == DONE)) {
            self.object(message);
            return;
        }
        let before = std::mem::take(&mut self.usage);
        self.object(message);
        let one = std::mem::replace(&mut self.usage, before);
        self.usage.add(one);
    }

    /// One JSON object of a stream: most have no counts, and are not parsed.
    fn object(&mut self, object: &[u8]) {
        if object.is_empty() {
            return;
        }
        if self.is_of_tools {
            self.failure = self.failure.or_else(|| mcp::failure(object));
            return;
        }
        self.text_bytes += text_bytes(object);
        for name in ["usage", "usageMetadata", "amazon-bedrock-invocationMetrics"] {
            if let Some(usage) = field::<Value>(object, name).as_ref().and_then(counts::read) {
                self.usage.merge(usage);
            }
        }
        // Ollama has its counts among the fields of the last line.
        if memchr::memmem::find(object, b"\"eval_count\"").is_some()
            && let Some(usage) = serde_json::from_slice(object).ok().as_ref().and_then(counts::read)
        {
            self.usage.merge(usage);
        }
        if self.model.is_none() {
            self.model = field(object, "model").or_else(|| field(object, "modelVersion"));
        }
        if self.service_tier.is_none() {
            self.service_tier = field(object, "service_tier");
        }
        if object.starts_with(b"{\"error\"") || object.starts_with(b"{\"type\":\"error\"") {
            self.has_error = true;
        }
    }

    /// An answer in one piece.
    fn answer(&mut self, held: &Held) {
        if held.is_cut || self.is_of_tools {
            self.object(&held.bytes);
            return;
        }
        self.text_bytes = text_bytes(&held.bytes);
        let Ok(top) = serde_json::from_slice::<Top>(&held.bytes) else {
            // Cut off, or an array of what would be events.
            self.object(&held.bytes);
            return;
        };
        for usage in [top.usage, top.usage_metadata, top.meta].into_iter().flatten() {
            if let Some(usage) = counts::read(&usage) {
                self.usage.merge(usage);
            }
        }
        if let Some(usage) = top.result.as_ref().and_then(|result| result.get("usage")).and_then(counts::read)
        {
            self.usage.merge(usage);
        }
        if top.eval_count.is_some() {
            self.usage.merge(Usage {
                input: top.prompt_eval_count,
                output: top.eval_count,
                ..Usage::default()
            });
        }
        self.model = top.model.or(top.model_version);
        self.service_tier = top.service_tier;
    }
}

/// The fields of an answer that are read, wherever they stand in it.
#[derive(serde::Deserialize)]
struct Top {
    model: Option<String>,
    #[serde(rename = "modelVersion")]
    model_version: Option<String>,
    usage: Option<Value>,
    #[serde(rename = "usageMetadata")]
    usage_metadata: Option<Value>,
    /// Cohere's rerank and embed.
    meta: Option<Value>,
    result: Option<Value>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    service_tier: Option<String>,
}

/// The last field of this name, if its value has the type. Within a text its quotes would be
/// escaped, so what is found is a field.
pub(super) fn field<T: DeserializeOwned>(object: &[u8], name: &str) -> Option<T> {
    let (mut end, mut fields) = (object.len(), 0);
    while fields < MAX_FIELDS {
        let at = memchr::memmem::rfind(object.get(..end)?, name.as_bytes())?;
        end = at;
        let is_quoted = at.checked_sub(1).and_then(|before| object.get(before)) == Some(&b'"')
            && object.get(at + name.len()) == Some(&b'"');
        let Some(rest) = object.get(at + name.len() + 1..).filter(|_| is_quoted) else { continue };
        fields += 1;
        let Some(value) = rest.trim_ascii_start().strip_prefix(b":") else { continue };
        let mut values = serde_json::Deserializer::from_slice(value).into_iter::<T>();
        if let Some(Ok(value)) = values.next() {
            return Some(value);
        }
    }
    None
}

/// Bytes of the texts that a model wrote, for an estimate.
fn text_bytes(object: &[u8]) -> u64 {
    const NAMES: [&[u8]; 4] = [b"\"content\"", b"\"text\"", b"\"delta\"", b"\"response\""];
    let texts = NAMES.iter().flat_map(|name| {
        memchr::memmem::find_iter(object, name).filter_map(|at| {
            let value = object.get(at + name.len()..)?.trim_ascii_start().strip_prefix(b":")?;
            let text = value.trim_ascii_start().strip_prefix(b"\"")?;
            Some(body::json::end_of_string(text, 0) as u64)
        })
    });
    texts.sum()
}

/// An answer as far as it is held.
#[derive(Debug, Default)]
struct Held {
    bytes: Vec<u8>,
    is_cut: bool,
    unread_bytes: u64,
}

impl Held {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > MAX_HELD_BYTES {
            self.is_cut = true;
            let cut = self.bytes.len() - TAIL_BYTES;
            self.unread_bytes += cut as u64;
            self.bytes.drain(..cut);
        }
    }
}
