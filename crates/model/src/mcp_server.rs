//! Servers of the Model Context Protocol behind a gateway: tools that models call.

use serde::{Deserialize, Serialize};

/// A server that a gateway stands in front of, at `/v1/{account}/{gateway}/mcp/{name}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    /// A word of letters, digits, `-` and `_`.
    pub name: String,
    /// Its endpoint, as its own clients have it: `https://host[:port][/path][?query]`
    pub url: String,
    /// Whether it may be on this machine or in a private network.
    pub allow_private: bool,
    /// Globs of the tools that callers may use; nothing for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

impl McpServer {
    /// What stands before the name where a provider's slug is expected; no slug has a colon.
    pub const SLUG_PREFIX: &str = "mcp:";

    /// What rows, keys, limits and metrics know it by: `mcp:NAME`.
    pub fn slug(&self) -> String {
        format!("{}{}", Self::SLUG_PREFIX, self.name)
    }
}
