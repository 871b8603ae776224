//! Work on long bodies, away from the workers.

use tokio::sync::Semaphore;

/// Bodies up to here are judged in milliseconds.
const SHORT_BYTES: usize = 128 << 10;

/// Short bodies at once for each processor: some wait for a thread while others run, so that none idles.
const SHORT_FOR_PROCESSOR: usize = 4;

/// Turns at work that would keep a worker from its other requests. Of long bodies only as many are worked on at once
/// as there are processors, because more would keep the workers from running. Short bodies have turns of their own,
/// so that none waits for seconds behind long ones.
pub(super) struct Offload {
    short: Semaphore,
    long: Semaphore,
}

impl Offload {
    pub(super) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { short: Semaphore::new(SHORT_FOR_PROCESSOR * processors), long: Semaphore::new(processors) }
    }

    /// Waits for a turn, then does `work` on another thread. `bytes` is the length of the body it reads.
    /// Returns `None` if `work` panicked.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let turns = if bytes <= SHORT_BYTES { &self.short } else { &self.long };
        let _turn = turns.acquire().await.ok()?;
        tokio::task::spawn_blocking(work).await.ok()
    }
}
