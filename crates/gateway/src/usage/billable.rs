//! What a request can be billed for at most, read before it goes out.
//!
//! Limits of tokens and money depend on it, so the whole body is read, and strictly: a member that decides and
//! stands twice, in whatever spelling, or is of another type, is refused, because a provider may take the other
//! one. What cannot be read is not billable by what it says, and the gateway's setting decides.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::request::model_of_path;

/// Nested objects that are looked into.
const MAX_DEPTH: u8 = 4;
/// Objects within which providers keep the members that decide.
const CONTAINERS: &[&str] = &[
    "generationconfig",
    "inferenceconfig",
    "parameters",
    "options",
    "textgenerationconfig",
    "input",
    "params",
    "config",
    "request",
    "body",
];
/// Members that hold several requests. Each of those is billed.
const BATCHES: &[&str] = &["requests"];
/// Bounds of an answer.
const BOUNDS: &[&str] = &[
    "maxtokens",
    "maxcompletiontokens",
    "maxoutputtokens",
    "maxnewtokens",
    "maxtokenstosample",
    "maxtokencount",
    "maxgenlen",
    "maxlength",
    "numpredict",
];
/// How many answers there are to be.
const COUNTS: &[&str] = &["n", "bestof", "candidatecount", "numgenerations", "numresults", "numcompletions"];
/// Words that point to input outside the body, and the tokens that each mention is taken for.
const ELSEWHERE: &[(&[u8], u64)] = &[
    (b"\"image_url\"", 4_000),
    (b"\"file_id\"", 200_000),
    (b"\"file_url\"", 200_000),
    (b"\"file_uri\"", 200_000),
    (b"\"fileUri\"", 200_000),
    (b"\"previous_response_id\"", 200_000),
    (b"\"conversation\"", 200_000),
    (b"\"cachedContent\"", 200_000),
    (b"\"cached_content\"", 200_000),
];

/// What a request says of its price.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Billable {
    /// `None` if it names none, or several.
    pub model: Option<String>,
    pub service_tier: Option<String>,
    /// Most tokens of all answers together; `None` if nothing bounds them.
    pub output_tokens: Option<u64>,
    /// Tokens that input outside the body is taken for.
    pub input_elsewhere_tokens: u64,
    /// Whether the body could be read. If not, its price is unknown.
    pub is_read: bool,
}

/// Reads a request.
///
/// # Errors
/// One sentence if a member that decides is ambiguous.
pub fn billable(path: &str, body: &[u8]) -> Result<Billable, String> {
    let of_path = model_of_path(path);
    let mut reader = serde_json::Deserializer::from_slice(body);
    let mut object = Object { depth: 0, model: Model::None, ..Object::default() };
    let read = Reading { object: &mut object }.deserialize(&mut reader).and_then(|()| reader.end());
    if let Some(problem) = object.problem {
        return Err(problem);
    }
    if read.is_err() {
        return Ok(Billable { model: of_path, ..Billable::default() });
    }
    let model = match object.model {
        Model::One(name) if of_path.as_ref().is_none_or(|path| *path == name) => Some(name),
        Model::None => of_path,
        Model::One(_) | Model::Several => None,
    };
    let count = |sign: &[u8]| memchr::memmem::find_iter(body, sign).count() as u64;
    let elsewhere = ELSEWHERE.iter().map(|(sign, tokens)| count(sign).saturating_mul(*tokens));
    Ok(Billable {
        model,
        service_tier: object.service_tier,
        output_tokens: object.answers.total(object.bound, object.count),
        input_elsewhere_tokens: elsewhere.fold(0, u64::saturating_add),
        is_read: true,
    })
}

#[derive(Default)]
enum Model {
    #[default]
    None,
    One(String),
    Several,
}

impl Model {
    fn add(&mut self, name: String) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(name),
            Self::One(known) if known == name => Self::One(known),
            Self::One(_) | Self::Several => Self::Several,
        };
    }
}

/// Answers of the requests of a batch.
#[derive(Default)]
enum Answers {
    #[default]
    NoBatch,
    Bounded(u64),
    Unbounded,
}

impl Answers {
    fn add(&mut self, tokens: Option<u64>) {
        *self = match (std::mem::take(self), tokens) {
            (Self::NoBatch, Some(tokens)) => Self::Bounded(tokens),
            (Self::Bounded(before), Some(tokens)) => Self::Bounded(before.saturating_add(tokens)),
            (_, _) => Self::Unbounded,
        };
    }

    fn total(self, bound: Option<u64>, count: Option<u64>) -> Option<u64> {
        match self {
            Self::NoBatch => Some(bound?.saturating_mul(count.unwrap_or(1).max(1))),
            Self::Bounded(tokens) => Some(tokens),
            Self::Unbounded => None,
        }
    }
}

/// One object, with what was found in those within it.
#[derive(Default)]
struct Object {
    depth: u8,
    model: Model,
    service_tier: Option<String>,
    bound: Option<u64>,
    count: Option<u64>,
    answers: Answers,
    problem: Option<String>,
}

impl Object {
    fn refuse(&mut self, name: &str, problem: &str) {
        self.problem.get_or_insert_with(|| {
            let name: String = name.chars().filter(char::is_ascii_graphic).take(40).collect();
            format!("`{name}` {problem}: a limit depends on it")
        });
    }
}

/// A body or an element of a batch: an object; anything else is passed over.
struct Reading<'o> {
    object: &'o mut Object,
}

impl<'de> DeserializeSeed<'de> for Reading<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Reading<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen: Vec<String> = Vec::new();
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let name = plain(&key);
            let name = name.as_str();
            let decides = matches!(name, "model" | "modelid" | "servicetier")
                || [BOUNDS, COUNTS, BATCHES, CONTAINERS].iter().any(|names| names.contains(&name));
            if !decides {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if seen.iter().any(|known| known == name) {
                self.object.refuse(&key, "stands twice");
            }
            seen.push(name.to_owned());
            match name {
                _ if BATCHES.contains(&name) => map.next_value_seed(Batch { object: &mut *self.object })?,
                _ if CONTAINERS.contains(&name) => {
                    map.next_value_seed(Within { object: &mut *self.object })?
                }
                _ => {
                    let value = map.next_value::<Value>()?;
                    self.object.decide(&key, name, value);
                }
            }
        }
        Ok(())
    }
}

impl Object {
    fn decide(&mut self, key: &str, name: &str, value: Value) {
        // Objects within others have members of these names that mean something else.
        let is_strict = self.depth == 0;
        match (name, value) {
            (_, Value::Null) => {}
            ("model" | "modelid", Value::Text(model)) => self.model.add(model),
            ("servicetier", Value::Text(tier)) => self.service_tier = Some(tier),
            ("model" | "modelid" | "servicetier", _) if is_strict => self.refuse(key, "is not a text"),
            (_, Value::Number(number)) if BOUNDS.contains(&name) => {
                self.bound = Some(self.bound.map_or(number, |bound| bound.max(number)));
            }
            (_, Value::Number(number)) if COUNTS.contains(&name) => {
                self.count = Some(self.count.map_or(number, |count| count.max(number)));
            }
            (_, _) if is_strict && name != "model" => self.refuse(key, "is not a whole number from 0"),
            (_, _) => {}
        }
    }
}

/// An object within another.
struct Within<'o> {
    object: &'o mut Object,
}

impl<'de> DeserializeSeed<'de> for Within<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Within<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        if self.object.depth == MAX_DEPTH {
            self.object.refuse("config", "is nested too deeply");
        }
        self.object.depth = self.object.depth.saturating_add(1);
        let read = Reading { object: &mut *self.object }.visit_map(map);
        self.object.depth = self.object.depth.saturating_sub(1);
        read
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// An array of requests.
struct Batch<'o> {
    object: &'o mut Object,
}

impl<'de> DeserializeSeed<'de> for Batch<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Batch<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of requests")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        loop {
            let mut one = Object { depth: self.object.depth.saturating_add(1), ..Object::default() };
            if one.depth > MAX_DEPTH {
                self.object.refuse("requests", "is nested too deeply");
            }
            if seq.next_element_seed(Reading { object: &mut one })?.is_none() {
                return Ok(());
            }
            match one.model {
                Model::None => {}
                Model::One(name) => self.object.model.add(name),
                Model::Several => self.object.model = Model::Several,
            }
            if self.object.problem.is_none() {
                self.object.problem = one.problem;
            }
            self.object.service_tier = one.service_tier.or(self.object.service_tier.take());
            self.object.answers.add(one.answers.total(one.bound, one.count));
        }
    }
}

/// A value of a member that decides.
enum Value {
    Null,
    Text(String),
    Number(u64),
    Other,
}

impl<'de> serde::Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::String(text) => Self::Text(text),
            serde_json::Value::Number(number) => match (number.as_u64(), number.as_f64()) {
                (Some(number), _) => Self::Number(number),
                // A float that is a whole number; what is out of range saturates.
                (None, Some(number)) if number >= 0.0 && number.fract() == 0.0 => Self::Number(number as u64),
                (None, _) => Self::Other,
            },
            _ => Self::Other,
        })
    }
}

/// A name without its case and its underscores: providers read some in any spelling.
fn plain(key: &str) -> String {
    key.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests;
