//! What a server behind a gateway may be.

use model::McpServer;
use model::origin_url::OriginUrl;

use super::ToolFilter;

/// Longest name, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// What is wrong with a server: members, each with a sentence.
pub fn faults(server: &McpServer) -> Vec<(&'static str, String)> {
    let mut faults = Vec::new();
    let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let name = &server.name;
    if !(1..=MAX_NAME_BYTES).contains(&name.len()) || !name.bytes().all(is_sound) {
        let message = format!("expected 1 to {MAX_NAME_BYTES} letters, digits, `-` and `_`, found `{name}`");
        faults.push(("name", message));
    }
    match OriginUrl::of_endpoint(&server.url) {
        Ok(url) if !server.allow_private && (!url.tls || url.is_private()) => {
            let message = "expected `https` and a public address; `allow_private` in a file allows others";
            faults.push(("url", message.to_owned()));
        }
        Ok(_) => {}
        Err(message) => faults.push(("url", message)),
    }
    if let Some(Err(message)) = server.tools.as_deref().map(ToolFilter::of_server) {
        faults.push(("tools", message));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_named_by_member() {
        let server = |name: &str, url: &str, allow_private, tools: &[&str]| McpServer {
            name: name.into(),
            url: url.into(),
            allow_private,
            tools: Some(tools.iter().map(|tool| (*tool).to_owned()).collect()),
        };
        let named = |server: &McpServer| faults(server).iter().map(|fault| fault.0).collect::<Vec<_>>();
        assert_eq!(named(&server("tickets", "https://mcp.example.com/mcp", false, &["get_*"])), [""; 0]);
        assert_eq!(named(&server("tickets", "http://127.0.0.1:1/mcp/?project=7", true, &[])), [""; 0]);
        assert_eq!(named(&server("tickets", "http://mcp.example.com/mcp", false, &[])), ["url"]);
        assert_eq!(named(&server("tickets", "https://127.0.0.1/mcp", false, &[])), ["url"]);
        assert_eq!(named(&server("a/b", "x", false, &["["])), ["name", "url", "tools"]);
        assert_eq!(named(&server("", "https://mcp.example.com", false, &[])), ["name"]);
    }
}
