//! A thread that sleeps until there is something to do, and is woken without a lock.
//!
//! Threads that write logs and rows have less of a processor than those that serve. Whoever hands work to
//! one must not wait for it, so nothing between them may be held.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

/// The bed of one thread.
#[derive(Debug, Default)]
pub struct Sleeper {
    thread: OnceLock<Thread>,
    sleeps: AtomicBool,
}

impl Sleeper {
    /// Wakes the thread if it sleeps. What it is to see must be done before.
    pub fn wake(&self) {
        // Most calls find it awake, and leave its line of the cache alone.
        if self.sleeps.load(Ordering::SeqCst)
            && self.sleeps.swap(false, Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Sleeps until it is woken, at most for so long, and not at all if something is to be done. Always
    /// called by the same thread, which may also wake for nothing.
    pub fn sleep(&self, patience: Duration, is_due: impl FnOnce() -> bool) {
        self.thread.get_or_init(std::thread::current);
        // INVARIANT: said before the look, so whoever adds something after the look sees a sleeper.
        self.sleeps.store(true, Ordering::SeqCst);
        if !is_due() {
            std::thread::park_timeout(patience);
        }
        self.sleeps.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn no_call_is_slept_through() {
        const CALLS: usize = 20_000;
        let (sleeper, added) = (Arc::new(Sleeper::default()), Arc::new(AtomicUsize::new(0)));
        let (theirs, seen) = (Arc::clone(&sleeper), Arc::clone(&added));
        let thread = std::thread::spawn(move || {
            let mut taken = 0;
            while taken < CALLS {
                // Would be waited out if a call were missed.
                theirs.sleep(Duration::MAX, || seen.load(Ordering::SeqCst) > taken);
                taken = seen.load(Ordering::SeqCst);
            }
        });
        for _ in 0..CALLS {
            added.fetch_add(1, Ordering::SeqCst);
            sleeper.wake();
        }
        thread.join().unwrap();
    }
}
