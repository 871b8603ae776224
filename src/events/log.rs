//! Log lines: a queue bounded in bytes and one thread that writes it out.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Most bytes of lines that wait to be written; more are dropped and counted.
pub const MAX_QUEUED_BYTES: usize = 16 << 20;

/// From so many lines at once on more are gathered before they are written: waking a thread for each
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
pub struct LogWriter {
    lines: Sender<Vec<u8>>,
    queued: Arc<AtomicUsize>,
}

impl LogWriter {
    /// Starts the writing thread; it ends when the last clone is gone.
    pub fn new(out: impl Write + Send + 'static) -> Self {
        let (lines, waiting) = channel();
        let queued = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&queued);
        std::thread::spawn(move || drain(&waiting, &counted, out));
        Self { lines, queued }
    }

    /// Queues a line; false where the queue is full.
    pub fn write_line(&self, line: Vec<u8>) -> bool {
        let size = line.len();
        if self.queued.fetch_add(size, Ordering::Relaxed) + size > MAX_QUEUED_BYTES {
            self.queued.fetch_sub(size, Ordering::Relaxed);
            return false;
        }
        self.lines.send(line).is_ok()
    }
}

fn drain(lines: &Receiver<Vec<u8>>, queued: &AtomicUsize, mut out: impl Write) {
    let mut batch = Vec::new();
    let mut count = 0;
    while let Ok(line) = lines.recv() {
        if count >= BUSY_BATCH {
            std::thread::sleep(GATHER);
        }
        batch.clear();
        batch.extend_from_slice(&line);
        count = 1;
        while let Ok(line) = lines.try_recv() {
            batch.extend_from_slice(&line);
            count += 1;
        }
        // A log that nobody reads must not end the process.
        let _ = out.write_all(&batch).and_then(|()| out.flush());
        queued.fetch_sub(batch.len(), Ordering::Relaxed);
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
}
