//! Custom hostnames and certificates without sockets or clock: which names are taken, what follows from what was seen of a
//! name, how long attempts wait, and which CA may make a certificate.
//!
//! What is seen, and when, is given; what follows is returned.

pub mod backoff;
pub mod caa;
pub mod fallback;
pub mod name;
pub mod renewal;
pub mod verification;

pub use caa::{Authority, CaaRecord};
pub use name::{NameMistake, NamePolicy};
pub use verification::{FallbackState, Seen};
