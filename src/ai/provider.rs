//! Providers known by name, with the base their paths are added to.
//!
//! A configured provider of the same slug wins. The wire form is the provider's own throughout.

/// Slug and base URL.
pub const KNOWN: &[(&str, &str)] = &[
    ("anthropic", "https://api.anthropic.com"),
    ("cerebras", "https://api.cerebras.ai"),
    ("cohere", "https://api.cohere.com"),
    ("deepseek", "https://api.deepseek.com"),
    ("google-ai-studio", "https://generativelanguage.googleapis.com"),
    ("grok", "https://api.x.ai"),
    ("groq", "https://api.groq.com/openai/v1"),
    ("mistral", "https://api.mistral.ai"),
    ("openai", "https://api.openai.com"),
    ("openrouter", "https://openrouter.ai/api"),
    ("perplexity-ai", "https://api.perplexity.ai"),
];

/// Providers whose API stands under `/v1`, which clients may leave out.
const OPTIONAL_V1: &[&str] = &["cerebras", "grok", "mistral", "openai"];

/// The path towards a provider: `base` and what the client sent after the slug. Nothing is decoded
/// or normalised.
pub fn path(slug: &str, base: &str, rest: &str) -> String {
    let versioned = rest.strip_prefix("/v1").is_some_and(|after| after.is_empty() || after.starts_with('/'));
    let doubled = versioned && base.ends_with("/v1") && OPTIONAL_V1.contains(&slug);
    let base = if doubled { base.strip_suffix("/v1").unwrap_or(base) } else { base };
    let version =
        if OPTIONAL_V1.contains(&slug) && !versioned && !base.ends_with("/v1") { "/v1" } else { "" };
    let path = format!("{base}{version}{rest}");
    if path.is_empty() { "/".to_owned() } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_versioned_path_are_taken() {
        assert_eq!(path("openai", "", "/v1/chat/completions"), "/v1/chat/completions");
        assert_eq!(path("openai", "", "/chat/completions"), "/v1/chat/completions");
        assert_eq!(path("openai", "/v1", "/chat/completions"), "/v1/chat/completions");
        assert_eq!(path("openai", "/v1", "/v1/chat/completions"), "/v1/chat/completions");
        assert_eq!(path("anthropic", "", "/v1/messages"), "/v1/messages");
        assert_eq!(path("groq", "/openai/v1", "/chat"), "/openai/v1/chat");
        assert_eq!(path("custom", "", ""), "/");
    }

    #[test]
    fn bases_are_urls_and_slugs_sorted() {
        assert!(KNOWN.is_sorted_by_key(|(slug, _)| *slug));
        for (_, base) in KNOWN {
            assert!(crate::upstream::url::OriginUrl::parse(base).is_ok_and(|url| url.tls));
        }
    }
}
