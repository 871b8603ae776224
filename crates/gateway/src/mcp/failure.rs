//! Whether what was asked went wrong, by the answer of a server that came with 200.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpFailure {
    /// The tool ran and failed: `isError` in its result.
    Tool,
    /// The server did not do what it was asked: a JSON-RPC error.
    Request,
}

impl McpFailure {
    /// The word in rows and in metrics (`error.type`); `tool_error` is OpenTelemetry's.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool_error",
            Self::Request => "provider_error",
        }
    }
}

#[derive(Deserialize)]
struct AnswerMessage {
    error: Option<IgnoredAny>,
    result: Option<CallResult>,
}

#[derive(Deserialize)]
struct CallResult {
    #[serde(rename = "isError")]
    is_error: Option<bool>,
}

/// What went wrong by a message of a server, or a list of them; nothing if all went well, or it is
/// no such message.
pub fn failure(text: &[u8]) -> Option<McpFailure> {
    let messages = match text.trim_ascii_start().first() {
        Some(b'[') => serde_json::from_slice(text).ok()?,
        _ => vec![serde_json::from_slice::<AnswerMessage>(text).ok()?],
    };
    messages.into_iter().find_map(|message| match message {
        AnswerMessage { error: Some(_), .. } => Some(McpFailure::Request),
        AnswerMessage { result: Some(CallResult { is_error: Some(true) }), .. } => Some(McpFailure::Tool),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_server_says_itself_is_a_failure() {
        let (tool, request) = (Some(McpFailure::Tool), Some(McpFailure::Request));
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}"#, tool),
            (r#" {"id":1,"result":{"isError" : true,"content":[{"type":"text","text":"x"}]}}"#, tool),
            (r#"{"id":1,"error":{"code":-32602,"message":"no such tool"}}"#, request),
            (r#"[{"id":1,"result":{}},{"id":2,"error":{"code":1}}]"#, request),
            (r#"{"id":1,"result":{"content":[],"isError":false}}"#, None),
            (r#"{"id":1,"result":{"content":[]}}"#, None),
            // What a tool found is not what became of it.
            (r#"{"id":1,"result":{"structuredContent":{"isError":true,"error":{}}}}"#, None),
            (r#"{"id":1,"result":{"content":[{"text":"\"isError\":true"}]}}"#, None),
            (r#"{"id":1,"error":null,"result":{}}"#, None),
            (r#"{"id":1,"result":{"isError":"true"}}"#, None),
            (r#"{"id":1,"result":"isError"}"#, None),
            (r#"{"method":"notifications/progress","params":{"error":1,"isError":true}}"#, None),
            ("[]", None),
            ("{", None),
            ("", None),
        ] {
            assert_eq!(failure(text.as_bytes()), expected, "{text}");
        }
    }
}
