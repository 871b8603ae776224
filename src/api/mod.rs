//! The admin port: `/client/v4`, `/metrics` and health, on axum.

pub mod auth;
pub mod envelope;
mod resources;
mod router;
mod service;

pub use router::State;
pub use service::AdminService;
