//! The Model Context Protocol (MCP) over HTTP: what a client asks of a server, which tools it may use, and what it is
//! answered instead.
//!
//! A message is JSON-RPC 2.0, posted as `application/json` to one endpoint; an answer is JSON or an event stream
//! (modelcontextprotocol.io, "Transports", section "Streamable HTTP", revisions 2025-03-26 to 2026-07-28).

mod failure;
mod listing;
mod message;
mod server;
mod tool_filter;

pub use failure::{McpFailure, failure};
pub use listing::without_hidden_tools;
pub use message::{McpBody, McpMessage};
pub use server::faults;
pub use tool_filter::ToolFilter;

/// What stands in place of a provider in paths: `/v1/{account}/{gateway}/mcp/{name}`.
pub const PATH_WORD: &str = "mcp";
/// The operation of a call of a tool in telemetry (`gen_ai.operation.name`).
pub const EXECUTE_TOOL: &str = "execute_tool";
