//! `portcullis ai try`: whether a gateway works, seen from where its clients are.

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use http::{HeaderName, HeaderValue, header};
use serde_json::{Value, json};

use super::{Failure, print, printable};
use crate::clock::{Clock, milliseconds};
use crate::upstream::json_post::{JsonPost, PostAnswer};
use model::origin_url::place_and_target;

/// How long one call may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// How much is shown of an answer that is no good, in characters.
const SHOWN_CHARS: usize = 300;

/// Make two small calls through a gateway, one of them as a stream, and say what is wrong if they fail. The gateway's token comes
/// from PORTCULLIS_GATEWAY_TOKEN, the provider's key, if the gateway keeps none, from PORTCULLIS_PROVIDER_KEY.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  portcullis ai try https://gw.example.com/v1/acme/main --model openai/gpt-4o-mini\n  portcullis ai try http://127.0.0.1:8080/v1/acme/main --host gw.example.com --model dynamic/support"
)]
pub(super) struct AiTry {
    /// Where the gateway is: `http(s)://HOST[:PORT]/v1/ACCOUNT/ID`.
    url: String,
    /// The provider and the model, as `PROVIDER/MODEL`, or `dynamic/ROUTE`.
    #[arg(long)]
    model: String,
    /// The host to ask for, if it is not that of the URL.
    #[arg(long)]
    host: Option<String>,
    /// Metadata of the calls, as a JSON object.
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
}

/// The gateway, and what each call to it has.
struct TriedGateway {
    calls: JsonPost,
    fields: Vec<(HeaderName, HeaderValue)>,
    host: String,
}

impl AiTry {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("the calls cannot be made: {error}"))?;
        runtime.block_on(self.calls())
    }

    async fn calls(self) -> Result<(), Failure> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let (token, key) = (variable("PORTCULLIS_GATEWAY_TOKEN"), variable("PORTCULLIS_PROVIDER_KEY"));
        let client = TriedGateway::new(&self)?;
        let bare = client.ask("{}", None, None).await?;
        match (bare.status, error(&bare)) {
            (401, Some("2009")) => print("ok      it asks for a token\n")?,
            (_, Some("2000")) => print("note    it takes calls without a token\n")?,
            (_, Some("2001")) => return Err(format!("there is no gateway at `{}`", self.url).into()),
            (404, None) => {
                let message = format!(
                    "nothing of a gateway is served at the host `{}`; `gateway_hosts` of the edge has to name it",
                    client.host
                );
                return Err(message.into());
            }
            _ => return Err(told(&bare, "without a token", &self.url).into()),
        }
        let ask = |stream: bool| {
            json!({"model": self.model, "stream": stream, "messages": [{"role": "user", "content": "Say hello."}]})
                .to_string()
        };
        let (token, key) = (token.as_deref(), key.as_deref());
        let one = client.ask(&ask(false), token, key).await?;
        if error(&one) == Some("2009") {
            let message = match token {
                Some(_) => {
                    "the gateway does not know the token in PORTCULLIS_GATEWAY_TOKEN, or it has ended; `portcullis token create` makes one"
                }
                None => {
                    "set PORTCULLIS_GATEWAY_TOKEN to a token of the gateway; `portcullis token create` makes one"
                }
            };
            return Err(message.to_owned().into());
        }
        if one.status != 200 {
            return Err(told(&one, "a call", &self.model).into());
        }
        print(&shown(&one, &self.model))?;
        let stream = client.ask(&ask(true), token, key).await?;
        let media = body::media_type(field(&stream, header::CONTENT_TYPE.as_str()).unwrap_or("").as_bytes());
        if stream.status != 200 || !media.eq_ignore_ascii_case(b"text/event-stream") {
            return Err(told(&stream, "a stream", &self.model).into());
        }
        let events = memchr::memmem::find_iter(&stream.body, b"data:").count();
        print(&format!(
            "ok      its stream began after {:.0} ms: {events} events in {:.0} ms\n",
            milliseconds(stream.first_byte),
            milliseconds(stream.whole)
        ))
    }
}

impl TriedGateway {
    fn new(asked: &AiTry) -> Result<Self, String> {
        let (url, target) = place_and_target(&asked.url)?;
        let target = format!("{}/compat/chat/completions", target.trim_end_matches('/'));
        let calls = JsonPost::to(&url, target, Clock::real())?;
        let host = asked.host.clone().unwrap_or_else(|| calls.authority());
        let mut fields = vec![(header::HOST, value(&host)?)];
        if let Some(metadata) = &asked.metadata {
            fields.push((HeaderName::from_static("svc-aig-metadata"), value(metadata)?));
        }
        Ok(Self { calls, fields, host })
    }

    /// Sends a chat completion.
    ///
    /// # Errors
    /// One sentence if no answer came.
    async fn ask(&self, body: &str, token: Option<&str>, key: Option<&str>) -> Result<PostAnswer, String> {
        let mut fields = self.fields.clone();
        let gateway_field = HeaderName::from_static("svc-aig-authorization");
        for (name, secret) in [(gateway_field, token), (header::AUTHORIZATION, key)] {
            if let Some(secret) = secret {
                fields.push((name, value(&format!("Bearer {secret}"))?));
            }
        }
        self.calls.send(body.to_owned(), fields, PATIENCE).await
    }
}

/// A text as the value of a field.
fn value(text: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_str(text)
        .map_err(|_| format!("`{}` cannot stand in a field of a request", printable(text)))
}

fn field<'a>(answer: &'a PostAnswer, name: &str) -> Option<&'a str> {
    answer.fields.get(name)?.to_str().ok()
}

/// The code of an answer that the gateway makes itself.
fn error(answer: &PostAnswer) -> Option<&str> {
    field(answer, "svc-aig-error")
}

/// Why it is no good.
fn told(answer: &PostAnswer, what: &str, of: &str) -> String {
    let text = String::from_utf8_lossy(&answer.body);
    let own = error(answer).and_then(|_| serde_json::from_str::<Value>(&text).ok());
    let (who, text) = match own.as_ref().and_then(|own| own["message"].as_str()) {
        Some(message) => ("the gateway", message),
        None => ("the provider", &*text),
    };
    let text: String = text.chars().take(SHOWN_CHARS).collect();
    let mut told = format!("{what} of `{of}`: {who} answered {}: {}", answer.status, printable(&text));
    if let Some(warning) = field(answer, "svc-aig-warning") {
        let _ = write!(told, "\n        {}", printable(warning));
    }
    told
}

/// What a good one says.
fn shown(answer: &PostAnswer, model: &str) -> String {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
    let tokens = |name: &str| body["usage"][name].as_u64().map_or("?".to_owned(), |count| count.to_string());
    let mut shown = format!(
        "ok      `{model}` answered in {:.0} ms: {} tokens in, {} out\n",
        milliseconds(answer.whole),
        tokens("prompt_tokens"),
        tokens("completion_tokens")
    );
    let fields = [
        ("provider", "svc-aig-provider"),
        ("model", "svc-aig-model"),
        ("row", "svc-aig-log-id"),
        ("kept", "svc-aig-cache-status"),
        ("requests left", "svc-aig-requests-remaining"),
        ("tokens left", "svc-aig-tokens-remaining"),
        ("dollars left", "svc-aig-budget-remaining"),
        ("warning", "svc-aig-warning"),
    ];
    for (word, name) in fields {
        if let Some(value) = field(answer, name) {
            let _ = writeln!(shown, "        {word}: {}", printable(value));
        }
    }
    shown
}
