//! Calls that wait for a thread, and which of the two it is that takes them.
//!
//! No lock: the quiet thread may be kept from its processor at any point, and neither those that add calls
//! nor its helper may wait for it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use crossbeam_queue::SegQueue;

use super::Finished;
use crate::sleeper::Sleeper;

/// So much that waits asks for help: the quiet thread has less than a tenth of it where it keeps up. Where it
/// does not there is nothing to be quiet for, and whoever serves loses less to one long turn than to many.
const PRESSING_CALLS: usize = 512;
const PRESSING_BYTES: usize = 16 << 20;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// For whoever is in charge.
    calls: SegQueue<Box<Finished>>,
    /// For the helper alone.
    slow: SegQueue<Box<Finished>>,
    /// Of calls that are not written yet, those in the hands of a thread too.
    bytes: AtomicUsize,
    unwritten: AtomicUsize,
    flushes: SegQueue<Sender<()>>,
    is_closed: AtomicBool,
    /// Whether the helper is in charge.
    is_helped: AtomicBool,
    /// Whether the helper looks now and then whether the quiet thread keeps up.
    is_watched: AtomicBool,
    /// Calls ever taken, apart from the slow ones.
    taken: AtomicUsize,
    /// Whether rows were written since the file was last put in order.
    is_untidy: AtomicBool,
    pub(super) quiet: Sleeper,
    pub(super) helper: Sleeper,
    pub(super) tidier: Sleeper,
}

/// Whether so much waits that help is needed.
fn presses(calls: usize, bytes: usize) -> bool {
    calls > PRESSING_CALLS || bytes > PRESSING_BYTES
}

impl Backlog {
    /// Adds a call and wakes who takes it. The call comes back where it would be more than `max_bytes`.
    pub(super) fn add(&self, call: Box<Finished>, max_bytes: usize) -> Result<(), Box<Finished>> {
        let size = call.size();
        let bytes = self.bytes.fetch_add(size, Ordering::Relaxed) + size;
        if bytes > max_bytes {
            self.bytes.fetch_sub(size, Ordering::Relaxed);
            return Err(call);
        }
        let calls = self.unwritten.fetch_add(1, Ordering::SeqCst);
        if call.is_slow() {
            self.slow.push(call);
            self.helper.wake();
            return Ok(());
        }
        self.calls.push(call);
        if self.is_helped() {
            self.helper.wake();
        } else {
            self.quiet.wake();
            if presses(calls, bytes) || !self.is_watched.load(Ordering::SeqCst) {
                self.helper.wake();
            }
        }
        Ok(())
    }

    /// The next call for the quiet thread; none while the helper is in charge.
    pub(super) fn next_quiet(&self) -> Option<Box<Finished>> {
        if self.is_helped() { None } else { self.next() }
    }

    /// The next call for the helper.
    pub(super) fn next_for_helper(&self) -> Option<Box<Finished>> {
        self.slow.pop().or_else(|| self.next())
    }

    fn next(&self) -> Option<Box<Finished>> {
        let call = self.calls.pop()?;
        self.taken.fetch_add(1, Ordering::SeqCst);
        Some(call)
    }

    /// Calls of so many bytes are done with.
    pub(super) fn done(&self, calls: usize, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.unwritten.fetch_sub(calls, Ordering::SeqCst);
    }

    /// Whether there is something to do, or to end, for the quiet thread.
    pub(super) fn calls_quiet(&self) -> bool {
        self.is_closed() || !self.is_helped() && !self.calls.is_empty()
    }

    /// Whether there is something to do, or to end, for a helper that is in charge.
    pub(super) fn calls_helper(&self) -> bool {
        self.is_closed() || !self.slow.is_empty() || !self.calls.is_empty() || !self.flushes.is_empty()
    }

    /// Whether a helper has to take charge at once.
    pub(super) fn is_pressing(&self) -> bool {
        self.is_closed()
            || !self.slow.is_empty()
            || !self.flushes.is_empty()
            || presses(self.unwritten.load(Ordering::SeqCst), self.bytes.load(Ordering::Relaxed))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.unwritten.load(Ordering::SeqCst) == 0
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    pub(super) fn is_helped(&self) -> bool {
        self.is_helped.load(Ordering::SeqCst)
    }

    /// Puts the helper in charge, or the quiet thread.
    pub(super) fn set_helped(&self, is_helped: bool) {
        self.is_helped.store(is_helped, Ordering::SeqCst);
        self.quiet.wake();
    }

    pub(super) fn set_watched(&self, is_watched: bool) {
        self.is_watched.store(is_watched, Ordering::SeqCst);
    }

    pub(super) fn is_untidy(&self) -> bool {
        self.is_untidy.load(Ordering::SeqCst)
    }

    /// Rows were written.
    pub(super) fn set_untidy(&self) {
        // Once a turn: it lets rows gather from the first on.
        if !self.is_untidy.swap(true, Ordering::SeqCst) {
            self.tidier.wake();
        }
    }

    /// Whether rows were written; from now on only later ones count.
    pub(super) fn take_untidy(&self) -> bool {
        self.is_untidy.swap(false, Ordering::SeqCst)
    }

    /// Calls that were ever added for the quiet thread; see [`Self::is_late`].
    pub(super) fn added(&self) -> usize {
        // In this order: one that is taken meanwhile is missed, not counted twice and waited for in vain.
        self.taken.load(Ordering::SeqCst).wrapping_add(self.calls.len())
    }

    /// Whether some of the first `added` calls still wait.
    pub(super) fn is_late(&self, added: usize) -> bool {
        // Both wrap, and are never far apart.
        added.wrapping_sub(self.taken.load(Ordering::SeqCst)).cast_signed() > 0
    }

    /// Tells those that wait for the end of all calls, where it is reached.
    pub(super) fn tell_flushed(&self) {
        while self.is_empty() {
            let Some(flush) = self.flushes.pop() else { return };
            // Who asked may have stopped waiting.
            let _ = flush.send(());
        }
    }

    /// Waits until every call is done with, at most for so long. How many are not.
    pub(super) fn flush(&self, patience: Duration) -> usize {
        let (done, waiting) = channel();
        self.flushes.push(done);
        self.helper.wake();
        match waiting.recv_timeout(patience) {
            Ok(()) => 0,
            Err(_) => self.unwritten.load(Ordering::SeqCst),
        }
    }

    /// No more calls come.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.quiet.wake();
        self.helper.wake();
        self.tidier.wake();
    }
}
