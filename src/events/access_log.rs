//! A log of requests in a file of its own, for tools that read such files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

use serde_json::value::RawValue;

use super::log::LogWriter;

/// How a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessFormat {
    /// As the event `request` in the log.
    Json,
    /// The Common Log Format of web servers.
    Common,
    /// The same, with `Referer` and `User-Agent`.
    Combined,
}

/// Where the lines go and which there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLogSettings {
    pub path: PathBuf,
    pub format: AccessFormat,
    /// One in this many requests has a line.
    pub sample_every: u64,
    /// Which fields of the JSON, in this order; all that the event has if there are none.
    pub fields: Vec<String>,
}

/// What a line says of a request. Everything but the numbers is what a client sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccessEntry<'a> {
    pub client: &'a str,
    pub user: &'a str,
    pub method: &'a str,
    /// Path and query.
    pub target: (&'a str, &'a str),
    pub protocol: &'a str,
    pub status: u16,
    pub bytes: usize,
    pub referer: &'a [u8],
    pub user_agent: &'a [u8],
}

/// The open file.
pub struct AccessLog {
    writer: LogWriter,
    format: AccessFormat,
    sample_every: u64,
    fields: Vec<String>,
    requests: AtomicU64,
    is_stale: Arc<AtomicBool>,
}

impl AccessLog {
    /// Opens the file, or makes it, for its owner and group to read.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(settings: &AccessLogSettings) -> io::Result<Self> {
        let is_stale = Arc::new(AtomicBool::new(false));
        let file = Reopened {
            path: settings.path.clone(),
            file: open(&settings.path)?,
            is_stale: Arc::clone(&is_stale),
        };
        Ok(Self {
            writer: LogWriter::new(file),
            format: settings.format,
            sample_every: settings.sample_every.max(1),
            fields: settings.fields.clone(),
            requests: AtomicU64::new(0),
            is_stale,
        })
    }

    /// Opens the file anew before the next line, because another took its name.
    pub fn reopen(&self) {
        self.is_stale.store(true, Ordering::Relaxed);
    }

    /// Writes the line of a request; `json` is its event. False if the line was lost.
    pub(super) fn write(
        &self,
        entry: &AccessEntry<'_>,
        now: SystemTime,
        json: impl FnOnce() -> Vec<u8>,
    ) -> bool {
        if !self.requests.fetch_add(1, Ordering::Relaxed).is_multiple_of(self.sample_every) {
            return true;
        }
        self.writer.write_line(match self.format {
            AccessFormat::Json if self.fields.is_empty() => json(),
            AccessFormat::Json => chosen(&json(), &self.fields, entry),
            AccessFormat::Common => line(entry, now, false),
            AccessFormat::Combined => line(entry, now, true),
        })
    }

    /// Lines that could not be written since this was last asked.
    pub(super) fn take_lost(&self) -> u64 {
        self.writer.take_lost()
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o640).open(path)
}

/// A file that is opened anew when somebody has moved it away.
struct Reopened {
    path: PathBuf,
    file: File,
    is_stale: Arc<AtomicBool>,
}

impl Write for Reopened {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_stale.swap(false, Ordering::Relaxed) {
            // Without a new one the old one goes on: a line in the wrong file is better than none.
            if let Ok(file) = open(&self.path) {
                self.file = file;
            }
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The chosen fields of an event, with those that only an access log has; `null` for what this request has not.
fn chosen(whole: &[u8], fields: &[String], entry: &AccessEntry<'_>) -> Vec<u8> {
    let whole: BTreeMap<&str, &RawValue> = serde_json::from_slice(whole).unwrap_or_default();
    let mut line = Vec::with_capacity(256);
    for field in fields {
        line.push(if line.is_empty() { b'{' } else { b',' });
        // INVARIANT: a name is one of `RequestFinished::FIELDS`, with nothing to be escaped.
        line.extend_from_slice(format!("\"{field}\":").as_bytes());
        let text = |value: &[u8]| serde_json::to_vec(&String::from_utf8_lossy(value)).unwrap_or_default();
        let (path, query) = entry.target;
        let value = match field.as_str() {
            "ClientRequestURI" if query.is_empty() => text(path.as_bytes()),
            "ClientRequestURI" => text(format!("{path}?{query}").as_bytes()),
            "ClientRequestReferer" => text(entry.referer),
            "ClientRequestUserAgent" => text(entry.user_agent),
            "ClientUser" => text(entry.user.as_bytes()),
            name => whole.get(name).map_or(&b"null"[..], |value| value.get().as_bytes()).to_vec(),
        };
        line.extend_from_slice(&value);
    }
    line.extend_from_slice(b"}\n");
    line
}

/// A line of the Common Log Format, or of the combined one.
fn line(entry: &AccessEntry<'_>, now: SystemTime, is_combined: bool) -> Vec<u8> {
    let AccessEntry {
        client,
        user,
        method,
        target: (path, query),
        protocol,
        status,
        bytes,
        referer,
        user_agent,
    } = *entry;
    let time =
        jiff::Timestamp::try_from(now).unwrap_or_default().strftime("%d/%b/%Y:%H:%M:%S +0000").to_string();
    let mut text = String::with_capacity(128);
    let or_hyphen = |text: &mut String, value: &[u8]| match value {
        [] => text.push('-'),
        value => push_escaped(text, value),
    };
    or_hyphen(&mut text, client.as_bytes());
    text.push_str(" - ");
    or_hyphen(&mut text, user.as_bytes());
    // INVARIANT: writing to a `String` cannot fail.
    let _ = write!(text, " [{time}] \"");
    push_escaped(&mut text, method.as_bytes());
    text.push(' ');
    push_escaped(&mut text, path.as_bytes());
    if !query.is_empty() {
        text.push('?');
        push_escaped(&mut text, query.as_bytes());
    }
    let _ = write!(text, " {protocol}\" {status} {bytes}");
    if is_combined {
        for value in [referer, user_agent] {
            text.push_str(" \"");
            or_hyphen(&mut text, value);
            text.push('"');
        }
    }
    text.push('\n');
    text.into_bytes()
}

/// Adds what a client sent: nothing of it ends a field or a line, or reaches a terminal as a control character.
fn push_escaped(text: &mut String, value: &[u8]) {
    for byte in value {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_whatever_a_client_sends() {
        let entry = AccessEntry {
            client: "192.0.2.1",
            method: "GET",
            target: ("/a\"b", "q=1\n2"),
            protocol: "HTTP/1.1",
            status: 200,
            bytes: 5,
            user_agent: b"x\" \\ \x1b[31m \xff",
            ..AccessEntry::default()
        };
        let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(971_186_136);
        let text = |combined| String::from_utf8(line(&entry, at, combined)).unwrap();
        let common = r#"192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a\"b?q=1\x0a2 HTTP/1.1" 200 5"#;
        assert_eq!(text(false), format!("{common}\n"));
        assert_eq!(text(true), format!("{common} \"-\" \"x\\\" \\\\ \\x1b[31m \\xff\"\n"));
    }
}
