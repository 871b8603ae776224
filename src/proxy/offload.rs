//! Work on long bodies, away from the workers.

use tokio::sync::Semaphore;

/// Turns at work that would keep a worker from its other requests. As many run at once as there are processors:
/// with more, long bodies of a few clients would keep the workers from running.
pub(super) struct Offload {
    turns: Semaphore,
}

impl Offload {
    pub(super) fn new() -> Self {
        Self { turns: Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from)) }
    }

    /// Does some work on a thread of its own, when it is its turn; `None` if it panicked.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let _turn = self.turns.acquire().await.ok()?;
        tokio::task::spawn_blocking(work).await.ok()
    }
}
