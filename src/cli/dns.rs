//! `portcullis dns`: zone files checked, answers explained.

use std::fmt::Write;
use std::path::PathBuf;

use ::dns::explain::{ExplainedFind, explain};
use ::dns::zone_check::check;
use ::dns::{Name, RecordType, zone_file};
use clap::{Args, Subcommand};

use super::{Failure, print, printable};
use crate::conf;
use crate::control::{self, ConfSource};
use crate::named_file::read_text;
use crate::snapshot::Snapshot;
use store::SqliteStore;

/// Work with DNS records without a server.
#[derive(Debug, Subcommand)]
pub(super) enum DnsCommand {
    Check(CheckZone),
    Explain(ExplainAnswer),
}

/// Say what is wrong with a zone file.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portcullis dns check example.com.zone")]
pub(super) struct CheckZone {
    /// The zone file.
    file: PathBuf,
    /// The name of the zone; that of the file, without its last part, if it is not given.
    #[arg(long, value_name = "NAME")]
    zone: Option<String>,
}

impl CheckZone {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let shown = self.file.display().to_string();
        let stem = || self.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let zone = self.zone.clone().or_else(stem).unwrap_or_default();
        let apex = Name::parse(&zone, None)
            .ok()
            .filter(|apex| apex.count() > 0)
            .ok_or_else(|| format!("`{zone}` is no name of a zone; give it with `--zone`"))?;
        let text = read_text(&self.file).map_err(|error| format!("cannot read `{shown}`: {error}"))?;
        let entries = zone_file::parse(&text, &apex).map_err(|errors| {
            let lines =
                errors.iter().map(|error| format!("{shown}:{}: {}\n", error.line, printable(&error.message)));
            format!("{}{} found", lines.collect::<String>(), mistakes(errors.len()))
        })?;
        let findings = check(&entries, &apex);
        let mut text = String::new();
        for finding in &findings {
            let (line, word) = (finding.line.max(1), if finding.is_error { "error" } else { "warning" });
            // Writing to a string does not fail.
            let _ = writeln!(text, "{shown}:{line}: {word}: {}", printable(&finding.message));
        }
        let errors = findings.iter().filter(|finding| finding.is_error).count();
        if errors > 0 {
            return Err(Failure::Input(format!("{text}{} found", mistakes(errors))));
        }
        let _ = writeln!(text, "{}: {} records", apex, entries.len());
        print(&text)
    }
}

fn mistakes(count: usize) -> String {
    if count == 1 { "1 mistake".to_owned() } else { format!("{count} mistakes") }
}

/// Show why a name has the answer that it has: zone, record, wildcard, alias, delegation, proxied.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portcullis dns explain www.example.com A --conf portcullis.toml")]
pub(super) struct ExplainAnswer {
    /// The name that is asked for.
    name: String,
    /// The type that is asked for.
    record_type: String,
    /// The configuration of the edge, whose state has the records.
    #[arg(long, value_name = "FILE")]
    conf: PathBuf,
}

impl ExplainAnswer {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let name = Name::parse(&self.name, None)?;
        let record_type = RecordType::parse(&self.record_type).ok_or_else(|| {
            format!("unknown type `{}`; expected one such as `A`", printable(&self.record_type))
        })?;
        let (settings, _) = conf::load(&self.conf)?;
        let store = SqliteStore::open(&settings.state_dir)?;
        let start = control::start(&ConfSource::File(self.conf), &store)?;
        if !settings.answers_queries() {
            return Err(Failure::Input(
                "the configuration answers no queries; set `dns.listeners`".to_owned(),
            ));
        }
        print(&described(&start.snapshot, &name, record_type))
    }
}

// INVARIANT: writing to a `String` cannot fail.
fn described(snapshot: &Snapshot, name: &Name, record_type: RecordType) -> String {
    let mut text = String::new();
    let by = |by_wildcard| if by_wildcard { ", by a wildcard" } else { "" };
    for step in explain(&snapshot.names.catalog, name, record_type) {
        let name = &step.name;
        let _ = match &step.found {
            ExplainedFind::NoZone => {
                writeln!(text, "{name}: no zone here has it; it is for who asks to follow")
            }
            ExplainedFind::Zone(apex) => writeln!(text, "{name}: in the zone {apex}"),
            ExplainedFind::Records { by_wildcard } => {
                writeln!(text, "{name}: has {record_type} records{}", by(*by_wildcard))
            }
            ExplainedFind::Alias { target, by_wildcard } => {
                writeln!(text, "{name}: an alias of {target}{}", by(*by_wildcard))
            }
            ExplainedFind::NoData { by_wildcard } => {
                writeln!(text, "{name}: exists, without {record_type} records{}", by(*by_wildcard))
            }
            ExplainedFind::Delegated(cut) => writeln!(text, "{name}: delegated with {cut}"),
            ExplainedFind::Nothing => writeln!(text, "{name}: does not exist"),
        };
        if !matches!(step.found, ExplainedFind::Zone(_)) {
            describe_records(&mut text, snapshot, name);
        }
    }
    text
}

/// The records of a name as they were written, and why others are served.
fn describe_records(text: &mut String, snapshot: &Snapshot, name: &Name) {
    let zones = snapshot.names.served.values().filter(|zone| name.is_within(zone.zone.apex()));
    let Some(zone) = zones.max_by_key(|zone| zone.zone.apex().count()) else { return };
    for record in zone.records.standing_for(name) {
        let why = match (
            record.proxied && !zone.is_dns_only,
            zone.followers.iter().any(|known| known.name == record.name),
        ) {
            (true, _) => "; proxied: the edge's addresses are served",
            (false, true) => "; flattened: the addresses that it leads to are served",
            (false, false) => "",
        };
        let rdata = &record.rdata;
        let _ = writeln!(
            text,
            "  {} {} {rdata:?} (record {}){why}",
            record.name,
            record.effective_ttl(),
            record.id
        );
    }
}
