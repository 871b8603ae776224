//! The control plane's loop: configuration, rules, certificates and store to snapshots.
//!
//! A snapshot is compiled beside the one in use and published whole; a configuration that does not
//! compile is refused with its diagnostics and changes nothing.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::certificates::{self, Certificates};
use crate::clock::Clock;
use crate::compile::{self, Inputs};
use crate::conf::{self, Conf, resolve};
use crate::events::Events;
use crate::events::kinds::{OriginChanged, SnapshotPublished, SnapshotRefused};
use crate::memory;
use crate::rules::{self, Rules};
use crate::snapshot::{Snapshot, SnapshotHandle};
use diagnostic::{Code, Diagnostic, Diagnostics, render};
use model::Resources;
use store::{Revision, Store};

/// Where the configuration comes from.
#[derive(Clone, Debug)]
pub enum ConfSource {
    File(PathBuf),
    /// Made by the process itself; it never changes.
    Fixed(Box<Conf>),
}

/// Makes and publishes snapshots.
pub struct Control {
    source: ConfSource,
    store: Box<dyn Store>,
    seen_revision: Revision,
    conf: Conf,
    events: Events,
    clock: Clock,
    handle: SnapshotHandle,
    /// The rules in use: those that take their place go on with what they remember.
    rules: Rules,
}

/// Everything the first snapshot needs, with the snapshot.
pub struct Start {
    pub conf: Conf,
    pub snapshot: Snapshot,
    pub warnings: Diagnostics,
    pub rules: Rules,
    revision: Revision,
}

/// Reads and compiles everything once.
///
/// # Errors
/// Every mistake found, each with its place.
pub fn start(source: &ConfSource, store: &dyn Store) -> Result<Start, Diagnostics> {
    let (conf, warnings) = read(source)?;
    let (revision, stored) = load(store)?;
    let (snapshot, rules, found) = build(&conf, &stored, None, None, 1)?;
    let mut all = warnings;
    all.append(found);
    Ok(Start { conf, snapshot, warnings: all, rules, revision })
}

fn load(store: &dyn Store) -> Result<(Revision, Resources), Diagnostics> {
    store.load().map_err(|error| Diagnostic::error(Code::StoreUnreadable, error.to_string()).into())
}

fn read(source: &ConfSource) -> Result<(Conf, Diagnostics), Diagnostics> {
    let (conf, mut found) = match source {
        ConfSource::File(path) => conf::load_leniently(path),
        ConfSource::Fixed(conf) => (Some((**conf).clone()), Diagnostics::default()),
    };
    match conf {
        Some(conf) if !found.has_errors() => Ok((conf, found)),
        Some(conf) => {
            // Mistakes in the files it names too, so that one look shows all.
            let rules = rules::reload(conf.owasp.as_deref(), conf.sensitive_data.as_deref(), None);
            found.append(rules.err().unwrap_or_default());
            found.append(load_certificates(&conf).err().unwrap_or_default());
            Err(found)
        }
        None => Err(found),
    }
}

fn build(
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
    let (rules, warnings) = match rules {
        Ok(loaded) => loaded,
        Err(more) => {
            mistakes.append(more);
            return Err(mistakes);
        }
    };
    let inputs = Inputs { conf, stored, rules: &rules, certificates: &certificates, previous, revision };
    match compile::compile(inputs) {
        Ok(snapshot) => mistakes.into_result((snapshot, rules, warnings)),
        Err(more) => {
            mistakes.append(more);
            Err(mistakes)
        }
    }
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

impl Control {
    pub fn new(
        source: ConfSource,
        store: Box<dyn Store>,
        start: Start,
        events: Events,
        clock: Clock,
    ) -> Self {
        let control = Self {
            source,
            store,
            seen_revision: start.revision,
            conf: start.conf,
            events,
            clock,
            handle: SnapshotHandle::new(start.snapshot),
            rules: start.rules,
        };
        control.announce(0.0, Vec::new());
        control
    }

    pub fn handle(&self) -> &SnapshotHandle {
        &self.handle
    }

    /// Compiles what is there now and publishes it; a mistake leaves the snapshot in use.
    ///
    /// # Errors
    /// Every mistake found; they are reported as an event too.
    pub fn reload(&mut self) -> Result<u64, Diagnostics> {
        let started = self.clock.start();
        match self.try_reload() {
            Ok(needs_restart) => {
                self.announce(started.elapsed().as_secs_f64() * 1000.0, needs_restart);
                Ok(self.handle.load().revision)
            }
            Err(diagnostics) => {
                let texts = diagnostics
                    .iter()
                    .map(|d| render::terminal(&d.clone().into()).trim_end().to_owned())
                    .collect();
                self.events.emit(&SnapshotRefused { diagnostics: texts });
                Err(diagnostics)
            }
        }
    }

    fn try_reload(&mut self) -> Result<Vec<&'static str>, Diagnostics> {
        let (conf, _) = read(&self.source)?;
        let (store_revision, stored) = load(self.store.as_ref())?;
        let current = self.handle.load();
        let revision = current.revision + 1;
        let (snapshot, rules, _) = build(&conf, &stored, Some(&current), Some(&self.rules), revision)?;
        let needs_restart = resolve::needs_restart(&self.conf, &conf);
        self.handle.publish(snapshot);
        self.seen_revision = store_revision;
        self.conf = conf;
        let has_new_program = !Arc::ptr_eq(&self.rules.program, &rules.program);
        self.rules = rules;
        if has_new_program {
            memory::give_back();
        }
        Ok(needs_restart)
    }

    fn announce(&self, duration_ms: f64, needs_restart: Vec<&'static str>) {
        let snapshot = self.handle.load();
        self.events.emit(&SnapshotPublished {
            revision: snapshot.revision,
            zones: snapshot.zones().count(),
            gateways: snapshot.gateways.by_account.values().map(HashMap::len).sum(),
            rules: snapshot.rules,
            duration_ms,
            needs_restart,
            unix_seconds: i64::try_from(self.clock.unix().as_secs()).unwrap_or(i64::MAX),
        });
        let names: BTreeSet<&str> = snapshot.zones().map(|zone| zone.name.as_str()).collect();
        self.events.metrics().keep_zones(|zone| names.contains(zone));
        for zone in snapshot.zones() {
            for origin in &zone.pool.origins {
                let up = i64::from(origin.is_up(self.clock.unix()));
                self.events.metrics().origin_up.with_label_values(&[&zone.name, &origin.key.url]).set(up);
            }
        }
    }

    /// Whether another process changed the store since the last snapshot.
    pub fn has_store_changed(&self) -> bool {
        self.store.changes(self.seen_revision).is_ok_and(|changes| !changes.is_empty())
    }

    /// Files whose change asks for a reload: the configuration, rules, certificates.
    pub fn watched(&self) -> BTreeSet<PathBuf> {
        let file = match &self.source {
            ConfSource::File(path) => Some(path.clone()),
            ConfSource::Fixed(_) => None,
        };
        let rules = self.conf.owasp.iter().chain(&self.conf.sensitive_data).flatten().map(PathBuf::from);
        let certificates = self.conf.listeners.iter().flat_map(|listener| &listener.certificates);
        let certificates = certificates.flat_map(|(chain, key)| [chain.clone(), key.clone()]);
        // Changes are reported by absolute path.
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        file.into_iter().chain(rules).chain(certificates).map(absolute).collect()
    }

    /// Whether a changed path is one of the watched ones, or in a watched folder.
    pub fn concerns(watched: &BTreeSet<PathBuf>, changed: &Path) -> bool {
        watched.iter().any(|path| changed == path || changed.parent() == Some(path))
    }
}

/// Checks the origins of a snapshot that ask for it, once.
pub async fn check_origins(
    handle: &SnapshotHandle,
    events: &Events,
    clock: Clock,
    due: &mut HashMap<String, std::time::Duration>,
) {
    let snapshot = handle.load();
    let now = clock.unix();
    for zone in snapshot.zones() {
        let Some(check) = &zone.pool.health_check else { continue };
        let next = due.entry(zone.name.clone()).or_default();
        if *next > now {
            continue;
        }
        *next = now + check.interval;
        for origin in &zone.pool.origins {
            let up = crate::upstream::health::check(origin, &check.path, &snapshot.upstream, now).await;
            if origin.checked(up) {
                events.emit(&OriginChanged {
                    zone: &zone.name,
                    origin: &origin.key.url,
                    up,
                    reason: "health check",
                });
            }
        }
    }
}
