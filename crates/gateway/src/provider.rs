//! Providers known by name: where their paths are added to and how they are told who calls.
//!
//! A configured provider of the same slug replaces the address. The wire form is the provider's own
//! throughout. `compat` is no provider but a way to name one (`ai::compat`).

use super::{dynamic_route, mcp};
use model::gateway::Provider;
use model::origin_url::OriginUrl;

/// How a provider is told who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// `Authorization: Bearer KEY`
    Bearer,
    /// `Authorization: WORD KEY`
    Scheme(&'static str),
    /// A field with the key alone.
    Header(&'static str),
    /// AWS Signature Version 4, or a bearer key.
    Aws,
}

/// Where a provider's requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The base, and the client's path behind it.
    Base(&'static str),
    /// The same, if clients may leave out the `/v1` that all paths begin with.
    OptionalV1(&'static str),
    /// Nowhere, until the operator declares where.
    Declared,
    /// `/{resource}/{deployment}/{rest}`
    Azure,
    /// `/bedrock-runtime/{region}/{rest}`, `/bedrock-mantle/{region}/{rest}`
    Bedrock,
    /// `/v1/projects/{project}/locations/{region}/{rest}`
    Vertex,
    /// `/{model}/environments/{environment}/{rest}`, `/model/{model}/{rest}`, or an API path.
    Baseten,
}

/// A provider that is known by its slug.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub slug: &'static str,
    pub place: Place,
    pub credential: Credential,
    /// `gen_ai.provider.name` of the telemetry conventions.
    pub telemetry_name: &'static str,
    /// Whether chat completions have OpenAI's shape, and where: the path behind the base.
    pub compatible_chat: Option<&'static str>,
}

const fn known(
    slug: &'static str,
    place: Place,
    credential: Credential,
    telemetry_name: &'static str,
    compatible_chat: Option<&'static str>,
) -> Known {
    Known { slug, place, credential, telemetry_name, compatible_chat }
}

/// By slug.
#[rustfmt::skip]
pub const KNOWN: &[Known] = {
    use Credential::{Aws, Bearer, Header, Scheme};
    use Place::{Azure, Base, Declared, OptionalV1, Vertex};
    &[
        known("anthropic", Base("https://api.anthropic.com"), Header("x-api-key"), "anthropic", Some("/v1/chat/completions")),
        known("aws-bedrock", Place::Bedrock, Aws, "aws.bedrock", None),
        known("azure-openai", Azure, Header("api-key"), "azure.ai.openai", None),
        known("baseten", Place::Baseten, Scheme("Api-Key"), "baseten", Some("/v1/chat/completions")),
        known("cartesia", Base("https://api.cartesia.ai"), Header("x-api-key"), "cartesia", None),
        known("cerebras", OptionalV1("https://api.cerebras.ai"), Bearer, "cerebras", Some("/v1/chat/completions")),
        known("cohere", Base("https://api.cohere.com"), Bearer, "cohere", Some("/compatibility/v1/chat/completions")),
        known("deepgram", Base("https://api.deepgram.com"), Scheme("Token"), "deepgram", None),
        known("deepseek", Base("https://api.deepseek.com"), Bearer, "deepseek", Some("/chat/completions")),
        known("elevenlabs", Base("https://api.elevenlabs.io"), Header("xi-api-key"), "elevenlabs", None),
        known("fal", Base("https://fal.run"), Scheme("Key"), "fal", None),
        known("fireworks", Base("https://api.fireworks.ai/inference/v1"), Bearer, "fireworks", Some("/chat/completions")),
        known("google-ai-studio", Base("https://generativelanguage.googleapis.com"), Header("x-goog-api-key"), "gcp.gemini", Some("/v1beta/openai/chat/completions")),
        known("google-vertex-ai", Vertex, Bearer, "gcp.vertex_ai", None),
        known("grok", OptionalV1("https://api.x.ai"), Bearer, "x_ai", Some("/v1/chat/completions")),
        known("groq", Base("https://api.groq.com/openai/v1"), Bearer, "groq", Some("/chat/completions")),
        known("huggingface", Base("https://api-inference.huggingface.co/models"), Bearer, "huggingface", None),
        known("ideogram", Base("https://api.ideogram.ai"), Header("api-key"), "ideogram", None),
        known("mistral", OptionalV1("https://api.mistral.ai"), Bearer, "mistral_ai", Some("/v1/chat/completions")),
        known("openai", OptionalV1("https://api.openai.com"), Bearer, "openai", Some("/v1/chat/completions")),
        known("openrouter", Base("https://openrouter.ai/api"), Bearer, "openrouter", Some("/v1/chat/completions")),
        known("parallel", Base("https://api.parallel.ai"), Header("x-api-key"), "parallel", Some("/chat/completions")),
        known("perplexity-ai", Base("https://api.perplexity.ai"), Bearer, "perplexity", Some("/chat/completions")),
        known("replicate", Base("https://api.replicate.com"), Bearer, "replicate", None),
        known("workers-ai", Declared, Bearer, "workers_ai", None),
    ]
};

/// The slug that stands for whatever provider the model in the body names.
pub const COMPAT: &str = "compat";
/// Whether a slug stands for something else than a provider.
pub fn is_reserved(slug: &str) -> bool {
    slug == COMPAT || slug == dynamic_route::PREFIX || slug == mcp::PATH_WORD
}

/// What slugs of an operator's own providers begin with in paths.
pub const CUSTOM_PREFIX: &str = "custom-";

/// The provider of a slug.
pub fn find(slug: &str) -> Option<&'static Known> {
    KNOWN.binary_search_by(|known| known.slug.cmp(slug)).ok().and_then(|at| KNOWN.get(at))
}

/// Base URL and path of a request, for providers that have a host for each customer or region. The
/// parts that make the host are words of letters, digits and `-`, so no client names another host.
pub fn regional<'p>(place: Place, rest: &'p str) -> Option<(String, std::borrow::Cow<'p, str>)> {
    let after = rest.strip_prefix('/')?;
    match place {
        Place::Base(_) | Place::OptionalV1(_) | Place::Declared => None,
        Place::Azure => {
            let (resource, rest) = after.split_once('/')?;
            let base = format!("https://{}.openai.azure.com", host_word(resource)?);
            Some((base, format!("/openai/deployments/{rest}").into()))
        }
        Place::Bedrock => {
            let (service, rest) = after.split_once('/')?;
            let (region, path) = rest.split_at_checked(rest.find('/').unwrap_or(rest.len()))?;
            let region = host_word(region)?;
            match service {
                "bedrock-runtime" => {
                    Some((format!("https://bedrock-runtime.{region}.amazonaws.com"), path.into()))
                }
                "bedrock-mantle" => Some((format!("https://bedrock-mantle.{region}.api.aws"), path.into())),
                "bedrock" | "bedrock-agent-runtime" => {
                    Some((format!("https://{service}.{region}.amazonaws.com"), path.into()))
                }
                _ => None,
            }
        }
        Place::Vertex => {
            let region = after.split('/').skip_while(|part| *part != "locations").nth(1).unwrap_or("global");
            let host = match host_word(region)? {
                "global" => "aiplatform.googleapis.com".to_owned(),
                region => format!("{region}-aiplatform.googleapis.com"),
            };
            Some((format!("https://{host}"), rest.into()))
        }
        Place::Baseten => match after.strip_prefix("model/").and_then(|rest| rest.split_once('/')) {
            Some((model, path)) => Some((
                format!("https://model-{}.api.baseten.co", host_word(model)?),
                format!("/{path}").into(),
            )),
            None => Some(("https://inference.baseten.co".to_owned(), rest.into())),
        },
    }
}

/// A word that may stand in a host.
fn host_word(text: &str) -> Option<&str> {
    let fits = (1..=63).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-');
    fits.then_some(text)
}

/// The path towards a provider: `base` and what the client sent after the slug. Nothing is decoded
/// or normalised.
pub fn path(slug: &str, base: &str, rest: &str) -> String {
    let has_optional_v1 = find(slug).is_some_and(|known| matches!(known.place, Place::OptionalV1(_)));
    let versioned = rest.strip_prefix("/v1").is_some_and(|after| after.is_empty() || after.starts_with('/'));
    let doubled = versioned && base.ends_with("/v1") && has_optional_v1;
    let base = if doubled { base.strip_suffix("/v1").unwrap_or(base) } else { base };
    let version = if has_optional_v1 && !versioned && !base.ends_with("/v1") { "/v1" } else { "" };
    let path = format!("{base}{version}{rest}");
    if path.is_empty() { "/".to_owned() } else { path }
}

/// The host that keys of a provider may be sent to.
///
/// # Errors
/// One sentence: the provider is unknown, or has a host for each customer.
pub fn authority(slug: &str, declared: Option<&Provider>) -> Result<String, String> {
    let base = match (declared, find(slug).map(|known| known.place)) {
        (Some(provider), _) => provider.base_url.clone(),
        (None, Some(Place::Base(base) | Place::OptionalV1(base))) => base.to_owned(),
        (None, Some(_)) => {
            return Err(format!(
                "`{slug}` has a host for each customer or region; declare one under `[[providers]]`"
            ));
        }
        (None, None) => return Err(format!("there is no provider `{slug}`")),
    };
    OriginUrl::parse(&base).map(|url| url.authority())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_versioned_path_are_taken() {
        for slug in ["openai", "mistral", "grok", "cerebras"] {
            assert_eq!(path(slug, "", "/v1/chat/completions"), "/v1/chat/completions");
            assert_eq!(path(slug, "", "/chat/completions"), "/v1/chat/completions");
            assert_eq!(path(slug, "/v1", "/chat/completions"), "/v1/chat/completions");
            assert_eq!(path(slug, "/v1", "/v1/chat/completions"), "/v1/chat/completions");
        }
        assert_eq!(path("anthropic", "", "/v1/messages"), "/v1/messages");
        assert_eq!(path("groq", "/openai/v1", "/chat"), "/openai/v1/chat");
        assert_eq!(path("custom", "", ""), "/");
    }

    #[test]
    fn slugs_are_sorted_and_found() {
        assert!(KNOWN.is_sorted_by_key(|known| known.slug));
        // 26 with `compat`.
        assert_eq!(KNOWN.len(), 25);
        for known in KNOWN {
            assert_eq!(find(known.slug).map(|found| found.slug), Some(known.slug));
        }
    }

    #[test]
    fn hosts_of_customers_and_regions() {
        let place = |slug: &str| find(slug).unwrap().place;
        for (slug, rest, base, path) in [
            (
                "azure-openai",
                "/acme/gpt/chat/completions",
                "https://acme.openai.azure.com",
                "/openai/deployments/gpt/chat/completions",
            ),
            (
                "aws-bedrock",
                "/bedrock-runtime/us-east-1/model/m/converse",
                "https://bedrock-runtime.us-east-1.amazonaws.com",
                "/model/m/converse",
            ),
            (
                "aws-bedrock",
                "/bedrock-mantle/eu-west-1/anthropic/v1/messages",
                "https://bedrock-mantle.eu-west-1.api.aws",
                "/anthropic/v1/messages",
            ),
            (
                "google-vertex-ai",
                "/v1/projects/p/locations/us-east4/publishers/google/models/m:generateContent",
                "https://us-east4-aiplatform.googleapis.com",
                "/v1/projects/p/locations/us-east4/publishers/google/models/m:generateContent",
            ),
            (
                "google-vertex-ai",
                "/v1/projects/p/locations/global/x",
                "https://aiplatform.googleapis.com",
                "/v1/projects/p/locations/global/x",
            ),
            (
                "baseten",
                "/model/abc/production/predict",
                "https://model-abc.api.baseten.co",
                "/production/predict",
            ),
        ] {
            let found = regional(place(slug), rest).unwrap();
            assert_eq!((found.0.as_str(), &*found.1), (base, path));
        }
        for (slug, rest) in [
            ("azure-openai", "/a.example#/gpt/x"),
            ("azure-openai", "/acme"),
            ("aws-bedrock", "/bedrock-runtime/us@e.example/x"),
            ("aws-bedrock", "/s3/us-east-1/x"),
            ("google-vertex-ai", "/v1/projects/p/locations/e.example%2f/x"),
            ("openai", "/v1/x"),
        ] {
            assert_eq!(regional(place(slug), rest), None, "{slug} {rest}");
        }
    }
}
