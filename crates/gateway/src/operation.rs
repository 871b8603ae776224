//! What is asked of a provider.

/// What an API path does, as the telemetry conventions call it.
pub fn operation(path: &str) -> &'static str {
    let path = path.trim_end_matches('/');
    let ends = |ends: &[&str]| ends.iter().any(|end| path.ends_with(end));
    if ends(&["/embeddings", "/embed", ":embedContent", ":batchEmbedContents"]) {
        "embeddings"
    } else if ends(&[
        "/chat/completions",
        "/messages",
        "/responses",
        "/chat",
        "/converse",
        "/converse-stream",
    ]) || path.contains(":generateContent")
        || path.contains(":streamGenerateContent")
        || ends(&["/invoke", "/invoke-with-response-stream", "/api/generate"])
    {
        "chat"
    } else if ends(&["/completions"]) {
        "text_completion"
    } else if path.contains("/images/") {
        "image"
    } else if path.contains("/audio/") {
        "audio"
    } else if ends(&["/rerank"]) {
        "rerank"
    } else {
        "other"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_paths() {
        for (path, expected) in [
            ("/v1/chat/completions", "chat"),
            ("/v1/messages", "chat"),
            ("/v1/responses", "chat"),
            ("/v1beta/models/m:streamGenerateContent", "chat"),
            ("/model/m/converse-stream", "chat"),
            ("/v1/completions", "text_completion"),
            ("/v1/embeddings/", "embeddings"),
            ("/v1/images/generations", "image"),
            ("/v1/models", "other"),
        ] {
            assert_eq!(operation(path), expected, "{path}");
        }
    }
}
