//! Calls that the gateway puts together itself: the steps of a universal request, and the provider that a
//! compatible request names in its model.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::dynamic_route;
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
    /// The name of the dynamic route that finds its model.
    pub route: Option<String>,
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
        if self.provider == provider::COMPAT {
            return Ok(Step { headers, ..compatible(&body, &options)? });
        }
        let path = format!("/{}", path.trim_start_matches('/'));
        let (slug, query) = (self.provider, query.to_owned());
        Ok(Step { slug, path, query, headers, body, options, route: None })
    }
}

/// A compatible request: `model` is `{provider}/{model}`. The body is the same but for that prefix.
///
/// # Errors
/// One sentence if no provider is named, or one without this form.
pub fn compatible(body: &Bytes, options: &Options) -> Result<Step, String> {
    let chat = Chat::read(body)?;
    let (slug, model) = chat.model.split_once('/').ok_or("`model` takes the form `provider/model`")?;
    if slug == dynamic_route::PREFIX {
        return Ok(Step { route: Some(model.to_owned()), ..Step::new(slug, body.clone(), options) });
    }
    chat.step(slug, model, options)
}

/// A compatible request as it goes to a model that a route found.
///
/// # Errors
/// One sentence if the provider does not take this form.
pub fn routed(body: &Bytes, slug: &str, model: &str, options: &Options) -> Result<Step, String> {
    Chat::read(body)?.step(slug, model, options)
}

/// A chat completion.
struct Chat<'b> {
    /// As it is named, without its quotes. A name has nothing to escape; what is escaped is found nowhere.
    model: &'b str,
    /// What stands around the model with its quotes.
    before: &'b [u8],
    after: &'b [u8],
}

impl<'b> Chat<'b> {
    fn read(body: &'b Bytes) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Named<'c> {
            #[serde(borrow)]
            model: &'c RawValue,
        }
        let named: Named<'_> = serde_json::from_slice(body)
            .map_err(|error| format!("expected a chat completion with `model`: {error}"))?;
        let text = named.model.get();
        let at = text.as_ptr() as usize - body.as_ptr() as usize;
        let (before, after) = (body.get(..at), body.get(at + text.len()..));
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        Ok(Self { model: text.trim_matches('"'), before, after })
    }

    fn step(&self, slug: &str, model: &str, options: &Options) -> Result<Step, String> {
        let path = match provider::find(slug) {
            Some(known) => {
                known.compatible_chat.ok_or_else(|| format!("`{slug}` does not speak this form"))?
            }
            None => "/chat/completions",
        };
        let quoted = match model == self.model.split_once('/').map_or("", |(_, model)| model) {
            // As the client wrote it.
            true => format!("\"{model}\""),
            false => serde_json::Value::from(model).to_string(),
        };
        let body = [self.before, quoted.as_bytes(), self.after].concat().into();
        Ok(Step { path: path.to_owned(), ..Step::new(slug, body, options) })
    }
}

impl Step {
    fn new(slug: &str, body: Bytes, options: &Options) -> Self {
        Self {
            slug: slug.to_owned(),
            path: String::new(),
            query: String::new(),
            headers: HeaderMap::new(),
            body,
            options: options.clone(),
            route: None,
        }
    }
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
        for bad in [
            "",
            "{}",
            r#"{"model":5}"#,
            r#"{"model":"gpt"}"#,
            r#"{"model":"replicate/x"}"#,
            r#"{"model":"groq/x","model":"groq/y"}"#,
        ] {
            assert!(step(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_route_is_named_and_its_models_take_its_place() {
        let body = Bytes::from_static(br#"{"model":"dynamic/support", "messages":[]}"#);
        let step = compatible(&body, &Options::default()).unwrap();
        assert_eq!((step.route.as_deref(), &step.body[..]), (Some("support"), &body[..]));
        let step = routed(&body, "openai", "gpt \"4\"", &Options::default()).unwrap();
        assert_eq!((step.slug.as_str(), step.path.as_str()), ("openai", "/v1/chat/completions"));
        assert_eq!(&step.body[..], br#"{"model":"gpt \"4\"", "messages":[]}"#);
        assert!(routed(&body, "replicate", "m", &Options::default()).is_err());
    }

    #[test]
    fn a_step_may_name_its_provider_in_its_model() {
        let text = r#"[{"provider":"compat","endpoint":"chat/completions","headers":{"authorization":"Bearer k"},
            "query":{"model":"groq/llama","messages":[]}},{"provider":"compat","endpoint":"chat/completions","query":{"model":"dynamic/a"}}]"#;
        let steps = universal(&Bytes::from_static(text.as_bytes()), &Options::default()).unwrap();
        assert_eq!((steps[0].slug.as_str(), steps[0].path.as_str()), ("groq", "/chat/completions"));
        assert_eq!(&steps[0].body[..], br#"{"model":"llama","messages":[]}"#);
        assert!(steps[0].headers.contains_key("authorization"));
        assert_eq!(steps[1].route.as_deref(), Some("a"));
    }
}
