//! Counters of limits by key and window: reserved before, settled after.
//!
//! Whatever is limited makes a [`Claim`] on a counter: how much must be left for it to pass, and how much it may
//! use at most. All claims of a request are met at once or not at all, under one lock, so requests at the same
//! moment cannot overspend together. What is reserved is replaced by what was used. If the most does not fit but
//! the least does, all that is left is reserved: then no other request passes, so a limit is overspent by one
//! request at the most.
//!
//! A counter lasts as long as its window matters. Of one limit there are at most [`MAX_COUNTERS_OF_LIMIT`]; further
//! values, which clients may have invented, share one counter.
//!
//! Rules that limit rates use [`RateCounters`] instead: one rule may have many more counters there, and a counter keeps a
//! hash of its key, not the key.

mod ledger;
mod rate;
mod rate_table;
mod table;
mod window;

pub use ledger::{Claim, Ledger, Reserved, Unmet};
pub use rate::{MAX_RATE_COUNTERS, Rate, RateCounters, RateExceeded, RateHold, RateKey};
pub use table::{Key, MAX_COUNTERS_OF_LIMIT};
pub use window::Window;
