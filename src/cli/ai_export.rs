//! `portcullis ai export`: rows of AI calls, for spreadsheets and data warehouses.

use std::collections::HashSet;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;

use super::Failure;
use crate::conf;
use store::{LogQuery, RecordReader, RecordStore};

/// Rows that are read at once.
const PAGE: u32 = 1_000;

/// Print the rows of a gateway's calls as lines of JSON, the oldest first.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  portcullis ai export acme/main --conf portcullis.toml > calls.jsonl\n  portcullis ai export acme/main --since 2026-11-01T00:00:00Z | duckdb -c \"COPY (FROM read_json('/dev/stdin')) TO 'calls.parquet'\""
)]
pub(super) struct AiExport {
    /// The account and the id of the gateway: `ACCOUNT/ID`.
    gateway: String,
    /// The configuration that the edge runs with; its state is read, also while it runs.
    #[arg(long, value_name = "FILE", default_value = "portcullis.toml")]
    conf: PathBuf,
    /// From this time on (RFC 3339).
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// Up to this time, which is not included.
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
}

impl AiExport {
    pub(super) fn execute(self) -> Result<(), Failure> {
        if !self.gateway.contains('/') {
            return Err(Failure::Input(format!("`{}` is no gateway; expected `ACCOUNT/ID`", self.gateway)));
        }
        let conf = conf::load(&self.conf)?.0;
        if !conf.state_dir.is_dir() {
            let message =
                format!("there is no state in `{}`; expected that of an edge", conf.state_dir.display());
            return Err(Failure::Input(message));
        }
        let rows = RecordStore::open(&conf.state_dir, conf.ai_log_size.0 as u64)?;
        let time = |time: Option<Timestamp>| time.map(|time| format!("{time:.6}"));
        let query = LogQuery {
            gateway: self.gateway,
            limit: PAGE,
            ascending: true,
            start_date: time(self.since),
            end_date: time(self.until),
            ..LogQuery::default()
        };
        let mut out = BufWriter::new(std::io::stdout().lock());
        match write_rows(&rows, query, &mut out).and_then(|()| Ok(out.flush()?)) {
            // Who reads has seen enough.
            Err(Failed::Write(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Err(Failed::Write(error)) => Err(Failure::Input(format!("the rows cannot be written: {error}"))),
            Err(Failed::Read(error)) => Err(Failure::Input(format!("the rows cannot be read: {error}"))),
            Ok(()) => Ok(()),
        }
    }
}

/// Why not all rows were written.
enum Failed {
    Read(String),
    Write(std::io::Error),
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self::Write(error)
    }
}

fn write_rows(rows: &impl RecordReader, mut query: LogQuery, out: &mut impl Write) -> Result<(), Failed> {
    // Those of the moment that the next page begins with.
    let mut written: HashSet<String> = HashSet::new();
    loop {
        query.skip = written.len() as u64;
        let (page, _) = rows.page(&query).map_err(Failed::Read)?;
        for row in page.iter().filter(|row| !written.contains(&row.id)) {
            serde_json::to_writer(&mut *out, row).map_err(std::io::Error::from)?;
            out.write_all(b"\n")?;
        }
        let Some(last) = page.last().filter(|_| page.len() == PAGE as usize) else { return Ok(()) };
        let last = last.created_at.clone();
        if query.start_date.as_ref() != Some(&last) {
            written.clear();
        }
        written.extend(page.into_iter().filter(|row| row.created_at == last).map(|row| row.id));
        query.start_date = Some(last);
    }
}
