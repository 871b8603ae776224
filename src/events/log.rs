//! Log lines: a queue bounded in bytes and one thread that writes it out.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_queue::SegQueue;

use super::sleeper::Sleeper;

/// Most bytes of lines that wait to be written; more are dropped and counted.
pub const MAX_QUEUED_BYTES: usize = 16 << 20;

/// From this many lines at once, more are gathered before they are written: waking a thread for each
/// costs who writes it more than the line.
const BUSY_BATCH: usize = 8;
const GATHER: Duration = Duration::from_millis(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Written at every level: who starts a process looks for it.
    Notice,
    Error,
    Warn,
    Info,
    Debug,
}

impl Level {
    pub fn word(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// Where lines go; clones share one queue.
#[derive(Clone)]
pub struct LogWriter(Arc<Open>);

struct Lines {
    waiting: SegQueue<Vec<u8>>,
    bytes: AtomicUsize,
    is_closed: AtomicBool,
    /// Lines that could not be written.
    lost: AtomicU64,
    thread: Sleeper,
}

/// Lines may still come.
struct Open(Arc<Lines>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.is_closed.store(true, Ordering::SeqCst);
        self.0.thread.wake();
    }
}

impl LogWriter {
    /// Starts the writing thread; it ends when the last clone is gone.
    pub fn new(out: impl Write + Send + 'static) -> Self {
        let lines = Arc::new(Lines {
            waiting: SegQueue::new(),
            bytes: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            thread: Sleeper::default(),
        });
        let open = Open(Arc::clone(&lines));
        std::thread::spawn(move || lines.drain(out));
        Self(Arc::new(open))
    }

    /// Lines that could not be written since this was last asked.
    pub fn take_lost(&self) -> u64 {
        self.0.0.lost.swap(0, Ordering::Relaxed)
    }

    /// Queues a line; false if the queue is full.
    pub fn write_line(&self, line: Vec<u8>) -> bool {
        let lines = &self.0.0;
        let size = line.len();
        if lines.bytes.fetch_add(size, Ordering::Relaxed) + size > MAX_QUEUED_BYTES {
            lines.bytes.fetch_sub(size, Ordering::Relaxed);
            return false;
        }
        lines.waiting.push(line);
        lines.thread.wake();
        true
    }
}

impl Lines {
    fn drain(&self, mut out: impl Write) {
        let mut batch = Vec::new();
        loop {
            let is_closed = self.is_closed.load(Ordering::SeqCst);
            batch.clear();
            let mut count: u64 = 0;
            while let Some(line) = self.waiting.pop() {
                batch.extend_from_slice(&line);
                count += 1;
            }
            if count == 0 {
                if is_closed {
                    return;
                }
                let is_due = || !self.waiting.is_empty() || self.is_closed.load(Ordering::SeqCst);
                self.thread.sleep(Duration::MAX, is_due);
                continue;
            }
            // A log that nobody reads must not end the process.
            if out.write_all(&batch).and_then(|()| out.flush()).is_err() {
                self.lost.fetch_add(count, Ordering::Relaxed);
            }
            self.bytes.fetch_sub(batch.len(), Ordering::Relaxed);
            if count >= BUSY_BATCH as u64 {
                std::thread::sleep(GATHER);
            }
        }
    }
}

/// For lines of libraries that log through `tracing`.
impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        self.write_line(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    #[test]
    fn a_full_queue_refuses_and_never_waits() {
        struct Stuck(Receiver<()>);
        impl Write for Stuck {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                let _ = self.0.recv();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let (release, stuck) = channel();
        let writer = LogWriter::new(Stuck(stuck));
        assert!(writer.write_line(vec![0; MAX_QUEUED_BYTES]));
        assert!(!writer.write_line(vec![0; 1]));
        drop(release);
    }

    #[test]
    fn every_line_is_written_before_the_thread_ends() {
        struct Out(Sender<Vec<u8>>);
        impl Write for Out {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                let _ = self.0.send(bytes.to_vec());
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let (written, out) = channel();
        let writer = LogWriter::new(Out(written));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let writer = writer.clone();
                scope.spawn(move || (0..1000).for_each(|_| assert!(writer.write_line(b"line\n".to_vec()))));
            }
        });
        drop(writer);
        // The other end goes with the thread.
        assert_eq!(out.iter().map(|bytes| bytes.len()).sum::<usize>(), 4 * 1000 * 5);
    }
}
