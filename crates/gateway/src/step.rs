//! Calls that the gateway puts together itself: the steps of a universal request, and the provider that a
//! compatible request names in its model.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::options::Options;
use super::provider;
use model::Backoff;
use std::time::Duration;

/// Steps of one request.
const MAX_STEPS: usize = 16;

/// One call to be tried.
#[derive(Clone, Debug)]
pub struct Step {
    pub slug: String,
    /// Behind the provider: with its first slash, and its query.
    pub path: String,
    pub query: String,
    /// Fields of this step alone.
    pub headers: HeaderMap,
    pub body: Bytes,
    pub options: Options,
}

#[derive(Deserialize)]
struct Entry<'e> {
    provider: String,
    endpoint: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(borrow)]
    query: &'e RawValue,
    #[serde(default)]
    config: Config,
}

/// Settings of one entry; they win over fields of the request.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    request_timeout: Option<u64>,
    max_attempts: Option<u32>,
    retry_delay: Option<u64>,
    backoff: Option<Backoff>,
    cache_ttl: Option<u64>,
    skip_cache: Option<bool>,
}

/// The steps of a universal request: an array of `{provider, endpoint, headers, query, config}`.
///
/// # Errors
/// One sentence if the body is not of that form.
pub fn universal(body: &Bytes, outer: &Options) -> Result<Vec<Step>, String> {
    let entries: Vec<Entry<'_>> =
        serde_json::from_slice(body).map_err(|error| format!("expected an array of calls: {error}"))?;
    if entries.is_empty() || entries.len() > MAX_STEPS {
        return Err(format!("expected 1 to {MAX_STEPS} calls, found {}", entries.len()));
    }
    entries.into_iter().map(|entry| entry.step(body, outer)).collect()
}

impl Entry<'_> {
    fn step(self, whole: &Bytes, outer: &Options) -> Result<Step, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let name =
                HeaderName::try_from(name.as_str()).map_err(|_| format!("`{name}` is no header name"))?;
            let value = HeaderValue::try_from(value.as_str())
                .map_err(|_| format!("the value of the header `{name}` is none"))?;
            headers.append(name, value);
        }
        let mut options = Options::of(&headers).over(outer);
        let milliseconds = |value: Option<u64>| value.map(Duration::from_millis);
        options.request_timeout = milliseconds(self.config.request_timeout).or(options.request_timeout);
        options.max_attempts = self.config.max_attempts.map(|n| n.clamp(1, 5)).or(options.max_attempts);
        options.retry_delay =
            milliseconds(self.config.retry_delay.map(|ms| ms.min(5000))).or(options.retry_delay);
        options.backoff = self.config.backoff.or(options.backoff);
        options.cache_ttl = self.config.cache_ttl.map(Duration::from_secs).or(options.cache_ttl);
        options.skip_cache = self.config.skip_cache.unwrap_or(options.skip_cache);
        let (path, query) = self.endpoint.split_at(self.endpoint.find('?').unwrap_or(self.endpoint.len()));
        if !self.endpoint.bytes().all(|byte| (0x21..0x7f).contains(&byte)) {
            return Err("an endpoint has signs that no URL has".to_owned());
        }
        let body = whole.slice_ref(self.query.get().as_bytes());
        let path = format!("/{}", path.trim_start_matches('/'));
        Ok(Step { slug: self.provider, path, query: query.to_owned(), headers, body, options })
    }
}

/// A compatible request: `model` is `{provider}/{model}`. The body is the same but for that prefix.
///
/// # Errors
/// One sentence if no provider is named, or one without this form.
pub fn compatible(body: &Bytes, options: &Options) -> Result<Step, String> {
    #[derive(Deserialize)]
    struct Chat<'c> {
        #[serde(borrow)]
        model: &'c RawValue,
    }
    let chat: Chat<'_> = serde_json::from_slice(body)
        .map_err(|error| format!("expected a chat completion with `model`: {error}"))?;
    let text = chat.model.get();
    // A name has nothing to escape; what is escaped is not found below.
    let model = text.trim_matches('"');
    let (slug, model) = model.split_once('/').ok_or("`model` takes the form `provider/model`")?;
    let path = match provider::find(slug) {
        Some(known) => known.compatible_chat.ok_or_else(|| format!("`{slug}` does not speak this form"))?,
        None => "/chat/completions",
    };
    let range = body.slice_ref(text.as_bytes());
    let at = range.as_ptr() as usize - body.as_ptr() as usize;
    let (before, after) =
        (body.get(..at).unwrap_or_default(), body.get(at + text.len()..).unwrap_or_default());
    let model = format!("\"{model}\"");
    let body = [before, model.as_bytes(), after].concat().into();
    Ok(Step {
        slug: slug.to_owned(),
        path: path.to_owned(),
        query: String::new(),
        headers: HeaderMap::new(),
        body,
        options: options.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_keep_their_bytes_and_settings() {
        let text = r#"[{"provider":"openai","endpoint":"chat/completions?a=b","headers":{"Authorization":"Bearer k","svc-aig-max-attempts":"2"},
            "query":{ "model":"m",  "messages":[] },"config":{"requestTimeout":1000,"retryDelay":9999,"backoff":"linear"}},
            {"provider":"anthropic","endpoint":"/v1/messages","query":{}}]"#;
        let body = Bytes::from_static(text.as_bytes());
        let outer = Options { max_attempts: Some(4), skip_cache: true, ..Options::default() };
        let steps = universal(&body, &outer).unwrap();
        let first = &steps[0];
        assert_eq!((first.path.as_str(), first.query.as_str()), ("/chat/completions", "?a=b"));
        assert_eq!(&first.body[..], br#"{ "model":"m",  "messages":[] }"#);
        assert_eq!(first.options.max_attempts, Some(2));
        assert_eq!(first.options.request_timeout, Some(Duration::from_secs(1)));
        assert_eq!(first.options.retry_delay, Some(Duration::from_millis(5000)));
        assert_eq!((steps[1].options.max_attempts, steps[1].options.skip_cache), (Some(4), true));
        assert_eq!(steps[1].path, "/v1/messages");
        for bad in [
            "",
            "{}",
            "[]",
            "[{}]",
            "[5]",
            r#"[{"provider":"openai","endpoint":"a b","query":{}}]"#,
            r#"[{"provider":"openai","endpoint":"a","headers":{"x":"a\nb"},"query":{}}]"#,
            r#"[{"provider":"openai","endpoint":"a"}]"#,
        ] {
            assert!(universal(&Bytes::from_static(bad.as_bytes()), &outer).is_err(), "{bad}");
        }
        let many = format!("[{}]", vec![r#"{"provider":"p","endpoint":"e","query":1}"#; 17].join(","));
        assert!(universal(&many.into(), &outer).is_err());
    }

    #[test]
    fn only_the_prefix_of_the_model_goes() {
        let step = |text: &'static str| compatible(&Bytes::from_static(text.as_bytes()), &Options::default());
        let found =
            step(r#"{"messages":[{"content":"groq/x"}], "model" : "groq/openai/gpt" ,"x":1}"#).unwrap();
        assert_eq!((found.slug.as_str(), found.path.as_str()), ("groq", "/chat/completions"));
        assert_eq!(&found.body[..], br#"{"messages":[{"content":"groq/x"}], "model" : "openai/gpt" ,"x":1}"#);
        assert_eq!(step(r#"{"model":"custom-own/m"}"#).unwrap().slug, "custom-own");
        for bad in ["", "{}", r#"{"model":5}"#, r#"{"model":"gpt"}"#, r#"{"model":"replicate/x"}"#] {
            assert!(step(bad).is_err(), "{bad}");
        }
    }
}
