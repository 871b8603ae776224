//! Jobs of the control plane: what is due is read from the resources, each step is one write, and a process that ends
//! goes on where it was.
//!
//! ```text
//! resources ──due──► look (DNS, HTTP) ──► hostnames (what follows) ──► control (one write for all that are done)
//! ```

mod acme;
pub mod challenge_records;
pub mod issuing;
pub mod look;
mod on_demand;
mod schedule;
mod universal;
pub mod verifying;

use std::collections::HashMap;
use std::sync::Arc;

use model::HostnameId;
use parking_lot::Mutex;

use look::Looked;

/// What was last seen of custom hostnames, for those who ask why one is not active. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct LastLooks(Arc<Mutex<HashMap<HostnameId, (u64, Looked)>>>);

/// Most hostnames of which it is kept.
const MAX_LOOKS: usize = 65_536;

impl LastLooks {
    /// What was seen of a hostname, and when, in seconds since the epoch.
    pub fn of(&self, id: HostnameId) -> Option<(u64, Looked)> {
        self.0.lock().get(&id).cloned()
    }

    fn keep(&self, id: HostnameId, at: u64, looked: Looked) {
        let mut all = self.0.lock();
        if all.len() >= MAX_LOOKS && !all.contains_key(&id) {
            // Which ones are kept does not matter: the next look brings it back.
            all.clear();
        }
        all.insert(id, (at, looked));
    }
}
