//! What a request asks for: the model and how much it may answer.

use serde::Deserialize;

/// A body up to this length is read as JSON; of a longer one, this much of both ends is looked through.
const WHOLE_BYTES: usize = 256 << 10;
const EDGE_BYTES: usize = 16 << 10;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestFacts {
    pub model: Option<String>,
    pub is_stream: bool,
    /// The most tokens that the answer may have.
    pub max_tokens: Option<u64>,
    pub service_tier: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
struct Body {
    model: Option<Lenient<String>>,
    stream: Option<Lenient<bool>>,
    max_tokens: Option<Lenient<u64>>,
    max_completion_tokens: Option<Lenient<u64>>,
    max_output_tokens: Option<Lenient<u64>>,
    service_tier: Option<Lenient<String>>,
    #[serde(rename = "generationConfig")]
    generation: Option<Lenient<Generation>>,
    #[serde(rename = "inferenceConfig")]
    inference: Option<Lenient<Inference>>,
}

#[derive(Deserialize)]
struct Generation {
    #[serde(rename = "maxOutputTokens")]
    max_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Inference {
    #[serde(rename = "maxTokens")]
    max_tokens: Option<u64>,
}

/// A value, or something of another type that is of no interest.
#[derive(Deserialize)]
#[serde(untagged)]
enum Lenient<T> {
    Is(T),
    Other(serde::de::IgnoredAny),
}

impl<T> Lenient<T> {
    fn value(self) -> Option<T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Other(_) => None,
        }
    }
}

/// Reads a request: its body if it is JSON, and the model if paths name it.
pub fn facts(path: &str, body: &[u8]) -> RequestFacts {
    let mut facts = if body.len() <= WHOLE_BYTES { whole(body) } else { edges(body) };
    facts.model = facts.model.or_else(|| model_of_path(path));
    facts.is_stream |= path.contains(":streamGenerateContent")
        || path.ends_with("/converse-stream")
        || path.ends_with("/invoke-with-response-stream");
    facts
}

fn whole(body: &[u8]) -> RequestFacts {
    let Ok(body) = serde_json::from_slice::<Body>(body) else { return RequestFacts::default() };
    fn value<T>(field: Option<Lenient<T>>) -> Option<T> {
        field.and_then(Lenient::value)
    }
    let max_tokens =
        [value(body.max_tokens), value(body.max_completion_tokens), value(body.max_output_tokens)]
            .into_iter()
            .flatten()
            .max()
            .or_else(|| value(body.generation)?.max_tokens)
            .or_else(|| value(body.inference)?.max_tokens);
    RequestFacts {
        model: value(body.model),
        is_stream: value(body.stream).unwrap_or(false),
        max_tokens,
        service_tier: value(body.service_tier),
    }
}

/// Fields near either end of a long body: quotes within texts are escaped, so a field's name in
/// quotes is a field.
fn edges(body: &[u8]) -> RequestFacts {
    let head = body.get(..EDGE_BYTES).unwrap_or(body);
    let tail = body.get(body.len().saturating_sub(EDGE_BYTES)..).unwrap_or(body);
    let text = |name: &str| [head, tail].iter().find_map(|part| super::tap::field::<String>(part, name));
    let number = |name: &str| [head, tail].iter().find_map(|part| super::tap::field::<u64>(part, name));
    let is_stream = [head, tail].iter().find_map(|part| super::tap::field::<bool>(part, "stream"));
    RequestFacts {
        model: text("model"),
        is_stream: is_stream.unwrap_or(false),
        max_tokens: [
            "max_tokens",
            "max_completion_tokens",
            "max_output_tokens",
            "maxOutputTokens",
            "maxTokens",
        ]
        .iter()
        .filter_map(|name| number(name))
        .max(),
        service_tier: text("service_tier"),
    }
}

/// `…/models/{model}:generateContent`, `…/model/{model}/converse`, `…/deployments/{deployment}/…`
pub(super) fn model_of_path(path: &str) -> Option<String> {
    let mut parts = path.split('/');
    while let Some(part) = parts.next() {
        let is_before = matches!(part, "models" | "model" | "deployments");
        if let Some(model) = is_before.then(|| parts.next()).flatten() {
            let model = model.split(':').next().filter(|_| part == "models").unwrap_or(model);
            let model = percent_encoding::percent_decode_str(model).decode_utf8_lossy();
            return Some(model.into_owned()).filter(|model| !model.is_empty());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_of_every_shape() {
        let of = |body: &str| facts("/v1/x", body.as_bytes());
        let found = of(
            r#"{"messages":[{"role":"user","content":"\"model\":\"no\""}],"model":"gpt-x","stream":true,"max_completion_tokens":50,"max_tokens":null}"#,
        );
        assert_eq!(
            found,
            RequestFacts {
                model: Some("gpt-x".into()),
                is_stream: true,
                max_tokens: Some(50),
                service_tier: None
            }
        );
        assert_eq!(of(r#"{"contents":[],"generationConfig":{"maxOutputTokens":9}}"#).max_tokens, Some(9));
        assert_eq!(of(r#"{"inferenceConfig":{"maxTokens":8}}"#).max_tokens, Some(8));
        for odd in ["", "[]", "{", r#"{"model":5,"stream":"yes"}"#, "--boundary"] {
            assert_eq!(of(odd), RequestFacts::default(), "{odd}");
        }
    }

    #[test]
    fn long_bodies_are_read_at_their_ends() {
        let long = "\\\"model\\\":\\\"no\\\" ".repeat(40_000);
        for body in [
            format!(r#"{{"model":"gpt-x","stream":true,"messages":["{long}"],"max_tokens":7}}"#),
            format!(r#"{{"messages":["{long}"],"max_tokens":7,"model":"gpt-x","stream":true}}"#),
        ] {
            let found = facts("/", body.as_bytes());
            assert_eq!(
                (found.model.as_deref(), found.is_stream, found.max_tokens),
                (Some("gpt-x"), true, Some(7))
            );
        }
    }

    #[test]
    fn models_in_paths() {
        for (path, model, is_stream) in [
            ("/v1beta/models/gemini-x:streamGenerateContent", Some("gemini-x"), true),
            ("/model/us.meta%3Allama/converse", Some("us.meta:llama"), false),
            ("/openai/deployments/gpt/chat/completions", Some("gpt"), false),
            ("/v1/models", None, false),
            ("/v1/chat/completions", None, false),
        ] {
            let found = facts(path, b"");
            assert_eq!((found.model.as_deref(), found.is_stream), (model, is_stream), "{path}");
        }
    }
}
