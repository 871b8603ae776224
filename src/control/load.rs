//! Configuration, rules and certificates as they are now, and a snapshot of them.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use diagnostic::{Code, Diagnostic, Diagnostics};
use model::Resources;
use store::{Revision, Store};

use crate::certificates::{self, Certificates};
use crate::compile::{self, Inputs};
use crate::conf::{self, Conf};
use crate::rules::{self, Rules, protocols};
use crate::snapshot::Snapshot;

/// Where the configuration comes from.
#[derive(Clone, Debug)]
pub enum ConfSource {
    File(PathBuf),
    /// Made by the process itself; it never changes.
    Fixed(Box<Conf>),
}

/// Everything the first snapshot needs, with the snapshot.
pub struct Start {
    pub conf: Conf,
    pub snapshot: Snapshot,
    pub warnings: Diagnostics,
    pub rules: Rules,
    /// The revision that the store is at.
    pub(super) revision: Revision,
}

/// Reads and compiles everything once.
///
/// # Errors
/// Every error found, each with its place.
pub fn start(source: &ConfSource, store: &dyn Store) -> Result<Start, Diagnostics> {
    let (conf, warnings) = read(source)?;
    let (revision, stored) = load(store)?;
    let (snapshot, rules, found) = build(&conf, &stored, None, None, 1)?;
    let mut all = warnings;
    all.append(found);
    Ok(Start { conf, snapshot, warnings: all, rules, revision })
}

pub(super) fn load(store: &dyn Store) -> Result<(Revision, Resources), Diagnostics> {
    store.load().map_err(|error| Diagnostic::error(Code::StoreUnreadable, error.to_string()).into())
}

pub(super) fn read(source: &ConfSource) -> Result<(Conf, Diagnostics), Diagnostics> {
    let (conf, mut found) = match source {
        ConfSource::File(path) => conf::load_leniently(path),
        ConfSource::Fixed(conf) => (Some((**conf).clone()), Diagnostics::default()),
    };
    match conf {
        Some(conf) if !found.has_errors() => Ok((conf, found)),
        Some(conf) => {
            // Mistakes in the files it names and in what is compiled too, so that one look shows all.
            match rules::reload(conf.owasp.as_deref(), conf.sensitive_data.as_deref(), None) {
                Ok((rules, _)) => {
                    let compiled = snapshot(&conf, &Resources::default(), &rules, &HashMap::new(), None, 1);
                    found.append(compiled.err().unwrap_or_default());
                }
                Err(more) => found.append(more),
            }
            found.append(load_certificates(&conf).err().unwrap_or_default());
            Err(found)
        }
        None => Err(found),
    }
}

/// Reads the files that a configuration names, and compiles everything.
pub(super) fn build(
    conf: &Conf,
    stored: &Resources,
    previous: Option<&Snapshot>,
    current: Option<&Rules>,
    revision: u64,
) -> Result<(Snapshot, Rules, Diagnostics), Diagnostics> {
    let rules = rules::reload(conf.owasp.as_deref(), conf.sensitive_data.as_deref(), current);
    let certificates = load_certificates(conf);
    let (certificates, mut mistakes) = match certificates {
        Ok(certificates) => (certificates, Diagnostics::default()),
        Err(mistakes) => (HashMap::new(), mistakes),
    };
    let (rules, mut warnings) = match rules {
        Ok(loaded) => loaded,
        Err(more) => {
            mistakes.append(more);
            return Err(mistakes);
        }
    };
    let speaks_http3 = conf.listeners.iter().any(|listener| listener.speaks_http3);
    if let Some(warning) = speaks_http3.then(|| protocols::without_http3(&rules.program)).flatten() {
        warnings.push(warning);
    }
    match snapshot(conf, stored, &rules, &certificates, previous, revision) {
        Ok(snapshot) => mistakes.into_result((snapshot, rules, warnings)),
        Err(more) => {
            mistakes.append(more);
            Err(mistakes)
        }
    }
}

/// A snapshot of what files declare and the store holds.
pub(super) fn snapshot(
    conf: &Conf,
    stored: &Resources,
    rules: &Rules,
    certificates: &HashMap<SocketAddr, Certificates>,
    previous: Option<&Snapshot>,
    revision: u64,
) -> Result<Snapshot, Diagnostics> {
    let resources = &Arc::new(conf.resources.clone().merged(stored.clone())?);
    compile::compile(Inputs {
        conf,
        resources,
        rules,
        certificates,
        previous,
        changed: None,
        found: &[],
        revision,
    })
}

fn load_certificates(conf: &Conf) -> Result<HashMap<SocketAddr, Certificates>, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let mut all = HashMap::new();
    for listener in &conf.listeners {
        let mut certificates = Certificates::default();
        for (chain, key) in &listener.certificates {
            let added = certificates::load(chain, key).and_then(|certificate| certificates.add(certificate));
            if let Err(message) = added {
                diagnostics.push(Diagnostic::error(Code::ConfUnreadable, message));
            }
        }
        all.insert(listener.address, certificates);
    }
    diagnostics.into_result(all)
}
