//! Responses that are kept in memory and served again.
//!
//! [`policy`] says which and how long (RFC 9111), [`ResponseCache`] keeps them within a budget, [`Purge`] names those that
//! are dropped. `proxy/caching.rs` makes the keys, and adds the field that says where an answer comes from.

mod kept;
pub mod policy;
mod purge;
mod store;

pub use kept::{CacheLimits, KeyDetails, ResponseName};
pub use purge::Purge;
pub use store::ResponseCache;
