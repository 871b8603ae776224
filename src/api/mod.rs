//! The admin port: a page, `/client/v4`, `/metrics` and health, on axum.

pub mod auth;
mod deprecated;
mod envelope;
pub mod error;
mod idempotency;
mod input;
mod issuance_rate;
mod operation;
mod page;
mod request_body;
pub mod resources;
mod router;
mod service;
mod token_rates;

pub use resources::has_operation;
pub use router::State;
pub use service::AdminService;
