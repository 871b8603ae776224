//! `portcullis migrate`: our configuration for one of another server, with what has no equivalent as comments.

mod apache;
mod nginx;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::{Failure, print};
use crate::rules;

/// Print a configuration that does what one of another server does; what has no equivalent is a comment.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  portcullis migrate --nginx /etc/nginx/nginx.conf > portcullis.toml\n  portcullis migrate --modsecurity /etc/modsecurity/modsecurity.conf\n  \
                  portcullis migrate --apache /etc/apache2/sites-enabled/shop.conf"
)]
#[group(required = true, multiple = false)]
pub(super) struct Migrate {
    /// A configuration of nginx: servers, upstreams, certificates and the directives of its `ModSecurity` module.
    #[arg(long, value_name = "FILE")]
    nginx: Option<PathBuf>,
    /// A configuration of `ModSecurity` or Coraza: it is kept as a rule file, and what it sets here is said.
    #[arg(long, value_name = "FILE")]
    modsecurity: Option<PathBuf>,
    /// A configuration of Apache: virtual hosts, what they pass on, and the security directives.
    #[arg(long, value_name = "FILE")]
    apache: Option<PathBuf>,
}

/// What of another configuration has an equivalent here.
#[derive(Debug, Default)]
struct Migrated {
    listeners: Vec<Listener>,
    zones: Vec<Zone>,
    /// Rule files.
    rules: Vec<String>,
    /// Keys of `[limits]` with their values as TOML.
    limits: Vec<(&'static str, String)>,
    /// What has no equivalent, one line each.
    notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Listener {
    address: String,
    /// Chain and key.
    certificates: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
struct Zone {
    name: String,
    origins: Vec<String>,
    protection: Protection,
}

/// What rules do in a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Protection {
    #[default]
    None,
    Log,
    Block,
}

impl Migrate {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let migrated = match (&self.nginx, &self.apache, &self.modsecurity) {
            (Some(path), ..) => nginx::migrate(&read(path)?)?,
            (_, Some(path), _) => apache::migrate(&read(path)?),
            (.., Some(path)) => modsecurity(path)?,
            (None, None, None) => Migrated::default(),
        };
        print(&migrated.to_string())
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::Input(format!("cannot read `{}`: {error}", path.display())))
}

/// The file is kept as a rule file; what of it has no effect is what `check` says.
fn modsecurity(path: &Path) -> Result<Migrated, Failure> {
    let name = path.display().to_string();
    let (_, diagnostics) = rules::seclang(Some(std::slice::from_ref(&name)));
    let said = diagnostics.to_string();
    if diagnostics.has_errors() {
        return Err(Failure::Input(said));
    }
    let mut migrated = Migrated { rules: vec![name], ..Migrated::default() };
    migrated.note("rule files keep their directives; of these some have no effect here:");
    migrated.notes.extend(said.lines().map(str::to_owned));
    migrated.note("set what the rules protect in `[[listeners]]` and `[[zones]]`");
    Ok(migrated)
}

impl Migrated {
    fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Adds a listener, or its certificates to one with the same address.
    fn listen(&mut self, listener: Listener) {
        match self.listeners.iter_mut().find(|known| known.address == listener.address) {
            Some(known) => {
                let new = listener.certificates.into_iter().filter(|pair| !known.certificates.contains(pair));
                let new: Vec<_> = new.collect();
                known.certificates.extend(new);
            }
            None => self.listeners.push(listener),
        }
    }
}

/// As TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

impl std::fmt::Display for Migrated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        for listener in &self.listeners {
            writeln!(text, "[[listeners]]\naddress = {}", quoted(&listener.address))?;
            for (chain, key) in &listener.certificates {
                writeln!(
                    text,
                    "[[listeners.certificates]]\nchain = {}\nkey = {}",
                    quoted(chain),
                    quoted(key)
                )?;
            }
            text.push('\n');
        }
        if !self.limits.is_empty() {
            text.push_str("[limits]\n");
            for (key, value) in &self.limits {
                writeln!(text, "{key} = {value}")?;
            }
            text.push('\n');
        }
        if !self.rules.is_empty() {
            writeln!(text, "[rules]\nowasp = {}\n", list(&self.rules))?;
        }
        for zone in &self.zones {
            writeln!(text, "[[zones]]\nname = {}\norigins = {}", quoted(&zone.name), list(&zone.origins))?;
            match zone.protection {
                Protection::None => {}
                Protection::Log => text.push_str("[zones.waf]\naction = \"log\"\n"),
                Protection::Block => text.push_str("[zones.waf]\n"),
            }
            text.push('\n');
        }
        for note in &self.notes {
            writeln!(text, "# {note}")?;
        }
        f.write_str(&text)
    }
}
