//! `portcullis cert list|show|renew`: certificates of the state folder, with a server or without.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::token::{commit, resources};
use super::{Failure, print, printable};
use crate::clock::{Clock, rfc3339};
use model::{CertificatePack, Declared, PackKind, Resources};
use std::sync::Arc;
use std::time::Duration;
use store::{Change, Changeset, SqliteStore};

/// Certificates that zones and custom hostnames have.
#[derive(Debug, Subcommand)]
pub(super) enum CertCommand {
    List(List),
    Show(Show),
    Renew(Renew),
}

/// List certificates: names, status, who made them, when they end.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portcullis cert list --conf conf/portcullis.toml")]
pub(super) struct List {
    /// The configuration whose state folder is meant.
    #[arg(long, value_name = "FILE", default_value = "conf/portcullis.toml")]
    conf: PathBuf,
}

/// Show one certificate: its order, what its CA waits for, why there is none.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portcullis cert show shop.example --conf conf/portcullis.toml")]
pub(super) struct Show {
    /// A name in it, or the identifier of its pack.
    #[arg(value_name = "NAME")]
    name: String,
    /// The configuration whose state folder is meant.
    #[arg(long, value_name = "FILE", default_value = "conf/portcullis.toml")]
    conf: PathBuf,
}

/// Renew one certificate now. A running edge does it.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portcullis cert renew shop.example --conf conf/portcullis.toml")]
pub(super) struct Renew {
    /// A name in it, or the identifier of its pack.
    #[arg(value_name = "NAME")]
    name: String,
    /// The configuration whose state folder is meant.
    #[arg(long, value_name = "FILE", default_value = "conf/portcullis.toml")]
    conf: PathBuf,
}

impl CertCommand {
    pub(super) fn execute(self) -> Result<(), Failure> {
        match self {
            Self::List(list) => list.execute(),
            Self::Show(show) => show.execute(),
            Self::Renew(renew) => renew.execute(),
        }
    }
}

fn declared(conf: &Path) -> Result<(crate::conf::Conf, Resources), Failure> {
    let (conf, _) = crate::conf::load(conf)?;
    let resources = resources(&conf)?;
    Ok((conf, resources))
}

fn time(seconds: u64) -> String {
    rfc3339(std::time::UNIX_EPOCH + Duration::from_secs(seconds))
}

/// The pack of a name.
fn find<'r>(resources: &'r Resources, name: &str) -> Result<&'r Arc<Declared<CertificatePack>>, Failure> {
    let name = name.to_ascii_lowercase();
    let is_it =
        |pack: &&Arc<Declared<CertificatePack>>| pack.id.to_string() == name || pack.hosts.contains(&name);
    resources.packs.values().find(is_it).ok_or_else(|| {
        let message =
            format!("there is no certificate for `{}`; `portcullis cert list` shows them", printable(&name));
        Failure::Input(message)
    })
}

impl List {
    fn execute(self) -> Result<(), Failure> {
        let (_, resources) = declared(&self.conf)?;
        let mut lines: Vec<String> = resources
            .packs
            .values()
            .map(|pack| {
                let newest = pack.certificates.first();
                let ends = newest.map_or("-".to_owned(), |newest| time(newest.expires));
                let issuer = newest.map_or("-", |newest| newest.issuer.as_str());
                let hosts = pack.hosts.join(",");
                format!("{hosts}\t{}\t{ends}\t{}\t{}\n", pack.status.word(), printable(issuer), pack.id)
            })
            .collect();
        lines.sort();
        print(&lines.concat())
    }
}

impl Show {
    fn execute(self) -> Result<(), Failure> {
        let (_, resources) = declared(&self.conf)?;
        print(&described(find(&resources, &self.name)?))
    }
}

// INVARIANT: writing to a `String` cannot fail.
fn described(pack: &CertificatePack) -> String {
    let kind = match pack.kind {
        PackKind::Universal => "of a zone, automatic".to_owned(),
        PackKind::Advanced => "ordered".to_owned(),
        PackKind::Custom(custom) => format!("uploaded, {}", custom.r#type.word()),
        PackKind::CustomHostname(id) => format!("of the custom hostname {id}"),
    };
    let mut text = format!("pack {} ({kind})\nnames {}\n", pack.id, pack.hosts.join(" "));
    let _ = writeln!(text, "status {} since {}", pack.status.word(), time(pack.since));
    let _ =
        writeln!(text, "next step {}, {} attempts", time(pack.next_step.min(253_402_300_799)), pack.attempts);
    for issued in &pack.certificates {
        let _ = writeln!(
            text,
            "certificate {} by {}, from {} to {}",
            issued.serial,
            printable(&issued.issuer),
            time(issued.not_before),
            time(issued.expires)
        );
    }
    if let Some(order) = &pack.order {
        let url = order.url.as_deref().unwrap_or("not made yet");
        let _ = writeln!(text, "order at {}: {}", order.authority, printable(url));
        for challenge in &order.challenges {
            let _ =
                writeln!(text, "  {:?} for {}, told: {}", challenge.kind, challenge.host, challenge.is_told);
        }
    }
    for error in &pack.errors {
        let _ = writeln!(text, "error {}", printable(error));
    }
    text
}

impl Renew {
    fn execute(self) -> Result<(), Failure> {
        let (conf, resources) = declared(&self.conf)?;
        let pack = find(&resources, &self.name)?;
        if pack.certificates.first().is_some_and(|newest| newest.is_uploaded) {
            return Err(Failure::Input(
                "this certificate was uploaded; upload the next one over the API".to_owned(),
            ));
        }
        let mut pack = pack.value.clone();
        pack.renew(Clock::real().unix().as_secs());
        let hosts = pack.hosts.join(" ");
        let changeset = Changeset::new("command line", vec![Change::PutPack { pack: Box::new(pack) }]);
        let mut store = SqliteStore::open(&conf.state_dir)?;
        commit(&mut store, &changeset)?;
        print(&format!("the certificate for {hosts} is due; a running edge renews it now\n"))
    }
}
