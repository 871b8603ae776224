//! Rays: the ids of requests.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::Clock;

/// Makes the ids of this process's requests.
pub(super) struct Rays {
    next: AtomicU64,
    node: String,
}

impl Rays {
    pub(super) fn new(clock: Clock, node: String) -> Self {
        // Ids of two runs of a process must not meet.
        let mut seed = [0; 8];
        if getrandom::fill(&mut seed).is_err() {
            seed = clock.unix().as_secs().to_le_bytes();
        }
        Self { next: AtomicU64::new(u64::from_le_bytes(seed)), node }
    }

    /// A number that no other request of this process has.
    pub(super) fn unique(&self) -> u64 {
        // An odd factor spreads a counter over all 64 bits without repeating one.
        self.next.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// The ray of a new request: 16 hexadecimal digits and the node.
    pub(super) fn next(&self) -> String {
        let number = self.unique();
        let mut ray = String::with_capacity(17 + self.node.len());
        ray.extend(
            (0..16).rev().filter_map(|digit| char::from_digit((number >> (4 * digit)) as u32 & 15, 16)),
        );
        ray.push('-');
        ray.push_str(&self.node);
        ray
    }
}
