//! Names that clients asked for and nobody has a certificate for.

use std::sync::Arc;

use crossbeam_queue::ArrayQueue;

/// Most names that wait. Past it the oldest are forgotten: who wants one asks again.
const MAX_NAMES: usize = 1_024;

/// A queue that a handshake never waits for. Clones share it.
#[derive(Clone, Debug)]
pub struct WantedNames(Arc<ArrayQueue<String>>);

impl Default for WantedNames {
    fn default() -> Self {
        Self(Arc::new(ArrayQueue::new(MAX_NAMES)))
    }
}

impl WantedNames {
    /// Notes a name, given in lower case.
    pub fn want(&self, name: &str) {
        drop(self.0.force_push(name.to_owned()));
    }

    /// Takes all that wait.
    pub fn take(&self) -> Vec<String> {
        std::iter::from_fn(|| self.0.pop()).collect()
    }
}
