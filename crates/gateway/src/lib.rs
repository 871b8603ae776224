//! Calls of AI providers: what a request asks of the gateway, what a call may use, what it used and costs, what the
//! gateway answers itself, which tools it may use, and how keys and tokens are kept. Pure: no sockets, no clock, no files.

pub mod answer;
pub mod aws;
pub mod body_copy;
pub mod cache;
pub mod dynamic_route;
pub mod include_usage;
pub mod limit;
pub mod mcp;
pub mod metadata;
pub mod operation;
pub mod options;
pub mod price;
pub mod provider;
pub mod sse;
pub mod step;
mod texts;
pub mod token;
mod unique_json;
pub mod universal_socket;
pub mod usage;
pub mod vault;

pub use operation::operation;
pub use texts::texts;
pub use unique_json::unique_json;
