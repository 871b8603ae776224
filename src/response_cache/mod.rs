//! Responses that are kept in memory and served again.
//!
//! [`policy`] says which and how long (RFC 9111), [`ResponseCache`] keeps them within a budget, [`Purge`] names those that
//! are dropped. What a request is asked under, and what a client is told, is the proxy's (`proxy/caching.rs`).

mod kept;
pub mod policy;
mod purge;
mod store;

pub use kept::{CacheLimits, KeyDetails, ResponseName};
pub use purge::Purge;
pub use store::ResponseCache;
