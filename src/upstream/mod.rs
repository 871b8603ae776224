//! Towards origins and providers: which one, at what address, over what, and whether it is well.
//!
//! An [`Origin`] outlives the snapshots that name it, so that health and open connections are not
//! forgotten when rules change.

mod connections;
pub mod health;
pub mod json_post;
pub mod mail;
mod origin;
pub mod peer;
mod pool;
pub mod proxy_header;
mod record_origins;
pub mod webhook;

pub use connections::kept_connections;
pub use origin::{InFlight, Origin, OriginKey};
pub use pool::Pool;
pub use record_origins::RecordOrigins;
