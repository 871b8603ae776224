//! Writes the records of the audit log: a queue bounded in bytes, and one thread that knows the files.
//!
//! Serial logs have a line for each record. In a concurrent log each record has a file of its own in the folder, as
//! `20261124/20261124-1642/20261124-164205-<request id>`, and the log says where. A log that was moved away, as by
//! logrotate, is made again. Files are for their owner alone.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Result, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;

use super::Events;
use super::kinds::ServiceFailed;
use seclang::audit::AuditRecord;

/// Most bytes of records that wait to be written; more are dropped and counted.
const MAX_QUEUED_BYTES: usize = 64 << 20;

/// How long records that wait may keep the process from its end: a pipe that nobody reads takes none.
const LAST_WRITES: Duration = Duration::from_secs(3);

/// Takes records, and writes them as long as it lives; those that wait at its end have three seconds.
pub struct AuditLog {
    events: Events,
    bytes: Arc<AtomicUsize>,
    /// `None` only at its end.
    sender: Option<Sender<AuditRecord>>,
    /// Disconnected when the thread has ended. Nobody waits for the lock: it only makes a receiver one to share.
    ended: Mutex<Receiver<()>>,
}

impl AuditLog {
    pub fn new(events: Events) -> Self {
        let (sender, receiver) = channel();
        let bytes = Arc::new(AtomicUsize::new(0));
        let writer = Writer {
            events: events.clone(),
            bytes: Arc::clone(&bytes),
            open: HashMap::new(),
            failed: HashSet::new(),
        };
        let (end, ended) = channel();
        std::thread::spawn(move || {
            let _end: Sender<()> = end;
            writer.run(&receiver);
        });
        Self { events, bytes, sender: Some(sender), ended: Mutex::new(ended) }
    }

    /// Queues a record, or counts that it is lost.
    pub fn write(&self, record: AuditRecord) {
        let size = record.bytes();
        let has_room = self.bytes.fetch_add(size, Ordering::Relaxed) + size <= MAX_QUEUED_BYTES;
        let sent = self.sender.as_ref().filter(|_| has_room).is_some_and(|to| to.send(record).is_ok());
        if !sent {
            self.bytes.fetch_sub(size, Ordering::Relaxed);
            self.events.metrics().audit_records_lost.inc();
        }
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.sender = None;
        // An error says that the thread has ended, or that its time is over.
        let _ = self.ended.get_mut().recv_timeout(LAST_WRITES);
    }
}

struct Writer {
    events: Events,
    bytes: Arc<AtomicUsize>,
    open: HashMap<PathBuf, File>,
    /// Logs that cannot be written: that is said once, until they can be again.
    failed: HashSet<PathBuf>,
}

impl Writer {
    fn run(mut self, records: &Receiver<AuditRecord>) {
        for record in records {
            let written = self.write(&record);
            self.bytes.fetch_sub(record.bytes(), Ordering::Relaxed);
            let log = &record.files.log;
            let Err(error) = written else {
                self.failed.remove(log);
                continue;
            };
            self.events.metrics().audit_records_lost.inc();
            if self.failed.insert(log.clone()) {
                let error = format!("`{}` of `SecAuditLog` cannot be written: {error}", log.display());
                self.events.emit(&ServiceFailed { service: "audit log", error });
            }
        }
    }

    fn write(&mut self, record: &AuditRecord) -> Result<()> {
        let mut json = serde_json::to_vec(&record.entry)?;
        json.push(b'\n');
        let line = match &record.files.storage {
            None => json,
            Some(storage) => {
                let name = name(record);
                write_new(&storage.join(&name), &json)?;
                let id = &record.entry.transaction.unique_id;
                let summary = record.summary.as_deref().unwrap_or_default();
                format!("{summary} {id} - /{name} 0 {}\n", json.len()).into_bytes()
            }
        };
        self.log(&record.files.log)?.write_all(&line)
    }

    /// The log of a path, open.
    fn log(&mut self, path: &Path) -> Result<&File> {
        let is_same = |file: &File| {
            let (there, open) = (fs::metadata(path), file.metadata());
            there.is_ok_and(|there| {
                open.is_ok_and(|open| (there.dev(), there.ino()) == (open.dev(), open.ino()))
            })
        };
        let kept = self.open.remove(path).filter(is_same);
        let file = match kept {
            Some(file) => file,
            None => OpenOptions::new().append(true).create(true).mode(0o600).open(path)?,
        };
        Ok(self.open.entry(path.to_owned()).or_insert(file))
    }
}

/// The path of a record in its folder.
fn name(record: &AuditRecord) -> String {
    let seconds = i64::try_from(record.received.as_secs()).unwrap_or(0);
    let received = Timestamp::from_second(seconds).unwrap_or_default();
    // An id is ours, but the name of a node is a setting.
    let id: String = record
        .entry
        .transaction
        .unique_id
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    format!("{}-{id}", received.strftime("%Y%m%d/%Y%m%d-%H%M/%Y%m%d-%H%M%S"))
}

fn write_new(path: &Path, json: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    // Two rule sets may have a record of one request.
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    file.write_all(json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use seclang::audit::{AuditEntry, AuditFiles};

    fn record(folder: &Path, is_concurrent: bool) -> AuditRecord {
        let storage = is_concurrent.then(|| folder.join("records"));
        let mut entry = AuditEntry::default();
        entry.transaction.unique_id = "0a/../b".to_owned();
        AuditRecord {
            files: Arc::new(AuditFiles { log: folder.join("audit.log"), storage }),
            entry,
            received: Duration::from_secs(1_750_000_000),
            summary: Some("app.example 192.0.2.1".to_owned()),
        }
    }

    #[test]
    fn records_are_lines_or_files() {
        let folder = tempfile::tempdir().unwrap();
        let log = AuditLog::new(Events::silent());
        log.write(record(folder.path(), false));
        log.write(record(folder.path(), true));
        drop(log);
        let name = "20250615/20250615-1506/20250615-150640-0a----b";
        let lines = fs::read_to_string(folder.path().join("audit.log")).unwrap();
        let (json, line) = lines.split_once('\n').unwrap();
        assert!(json.starts_with("{\"transaction\":{"), "{json}");
        assert_eq!(line, format!("app.example 192.0.2.1 0a/../b - /{name} 0 {}\n", json.len() + 1));
        let own = fs::read_to_string(folder.path().join("records").join(name)).unwrap();
        assert_eq!(own, format!("{json}\n"));
    }

    #[test]
    fn a_log_that_was_moved_is_made_anew_and_one_that_cannot_be_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let events = Events::silent();
        let bytes = Arc::new(AtomicUsize::new(0));
        let mut writer =
            Writer { events: events.clone(), bytes, open: HashMap::new(), failed: HashSet::new() };
        let (path, moved) = (folder.path().join("audit.log"), folder.path().join("audit.log.1"));
        writer.write(&record(folder.path(), false)).unwrap();
        fs::rename(&path, &moved).unwrap();
        writer.write(&record(folder.path(), false)).unwrap();
        let lines = [path, moved].map(|path| fs::read_to_string(path).unwrap().lines().count());
        assert_eq!(lines, [1, 1]);
        let log = AuditLog::new(events.clone());
        log.write(record(&folder.path().join("missing"), false));
        drop(log);
        assert_eq!(events.metrics().audit_records_lost.get(), 1);
    }
}
