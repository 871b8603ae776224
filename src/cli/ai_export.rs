//! `portcullis ai export`: rows of AI calls, for spreadsheets and data warehouses.

mod parquet_file;

use std::collections::HashSet;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use jiff::Timestamp;

use self::parquet_file::ParquetFile;
use super::Failure;
use crate::conf;
use model::AiLog;
use parquet::errors::ParquetError;
use store::{LogQuery, RecordReader, RecordStore};

/// Rows that are read at once.
const PAGE: u32 = 1_000;
/// Rows of a group of a Parquet file, which is in memory while it is made.
const GROUP: usize = 20_000;

/// What rows are written as.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ExportFormat {
    /// A line of JSON for each.
    Jsonl,
    /// An Apache Parquet file.
    Parquet,
}

/// Print the rows of a gateway's calls, the oldest first: as lines of JSON, or as a Parquet file.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  portcullis ai export acme/main --conf portcullis.toml > calls.jsonl\n  portcullis ai export acme/main --since 2026-11-01T00:00:00Z --format parquet > calls.parquet"
)]
pub(super) struct AiExport {
    /// The account and the id of the gateway: `ACCOUNT/ID`.
    gateway: String,
    /// The configuration that the edge runs with; its state is read, also while it runs.
    #[arg(long, value_name = "FILE", default_value = "portcullis.toml")]
    conf: PathBuf,
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "jsonl")]
    format: ExportFormat,
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
        let written = match self.format {
            ExportFormat::Jsonl => write_lines(&rows, query),
            ExportFormat::Parquet if std::io::stdout().is_terminal() => {
                let message = "a Parquet file is not for a terminal: lead the output into a file with `>`";
                return Err(Failure::Input(message.to_owned()));
            }
            ExportFormat::Parquet => write_parquet(&rows, query),
        };
        match written {
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

impl From<ParquetError> for Failed {
    fn from(error: ParquetError) -> Self {
        Self::Write(std::io::Error::other(error))
    }
}

fn write_lines(rows: &impl RecordReader, query: LogQuery) -> Result<(), Failed> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    each_page(rows, query, |page| {
        for row in &page {
            serde_json::to_writer(&mut out, row).map_err(std::io::Error::from)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })?;
    Ok(out.flush()?)
}

fn write_parquet(rows: &impl RecordReader, query: LogQuery) -> Result<(), Failed> {
    let mut file = ParquetFile::new(std::io::stdout())?;
    let mut group: Vec<AiLog> = Vec::new();
    each_page(rows, query, |page| {
        group.extend(page);
        if group.len() >= GROUP {
            file.group(&std::mem::take(&mut group))?;
        }
        Ok(())
    })?;
    file.group(&group)?;
    Ok(file.finish()?)
}

/// Hands over the rows of a query, each once, the oldest first.
fn each_page(
    rows: &impl RecordReader,
    mut query: LogQuery,
    mut take: impl FnMut(Vec<AiLog>) -> Result<(), Failed>,
) -> Result<(), Failed> {
    // Those of the moment that the next page begins with.
    let mut written: HashSet<String> = HashSet::new();
    loop {
        query.skip = written.len() as u64;
        let (mut page, _) = rows.page(&query).map_err(Failed::Read)?;
        let last = page.last().filter(|_| page.len() == PAGE as usize).map(|row| row.created_at.clone());
        page.retain(|row| !written.contains(&row.id));
        if query.start_date != last {
            written.clear();
        }
        let of_last = |row: &&AiLog| last.as_ref() == Some(&row.created_at);
        written.extend(page.iter().filter(of_last).map(|row| row.id.clone()));
        take(page)?;
        let Some(last) = last else { return Ok(()) };
        query.start_date = Some(last);
    }
}
