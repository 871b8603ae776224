//! Deadlines of HTTP/1 heads: so long idle, so long from the first byte to the last.
//!
//! The handler above us times each read, so a client that drips a byte now and then would hold its
//! connection for ever. Here the whole head is timed, by the stream it is read from.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use super::meta::Wait;
use crate::admission::HeadLimits;
use crate::snapshot::SnapshotHandle;

/// The timer of one connection.
pub(super) struct HeadDeadline {
    snapshots: SnapshotHandle,
    /// What `until` was set for.
    wait: Option<Wait>,
    until: Instant,
    /// Goes off at `until` or before it: to let it go off early now and then costs less than to
    /// move it for each request.
    timer: Pin<Box<Sleep>>,
}

impl HeadDeadline {
    pub(super) fn new(snapshots: SnapshotHandle, first: Instant) -> Self {
        Self { snapshots, wait: None, until: first, timer: Box::pin(sleep_until(first)) }
    }

    /// How long a head may be.
    pub(super) fn limits(&self) -> HeadLimits {
        HeadLimits::from(&self.snapshots.load().limits)
    }

    /// How long a client may take nothing of what it is sent.
    pub(super) fn write_timeout(&self) -> Duration {
        self.snapshots.load().limits.write_timeout
    }

    /// Ready once `wait` has lasted too long.
    pub(super) fn poll(&mut self, wait: Wait, cx: &mut Context<'_>) -> Poll<()> {
        if self.wait != Some(wait) {
            self.wait = Some(wait);
            let limits = &self.snapshots.load().limits;
            let patience = if wait.head_began { limits.header_deadline } else { limits.idle_timeout };
            self.until = Instant::now() + patience;
            if self.until < self.timer.deadline() {
                self.timer.as_mut().reset(self.until);
            }
        }
        loop {
            ready!(self.timer.as_mut().poll(cx));
            if self.timer.deadline() >= self.until {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(self.until);
        }
    }
}
