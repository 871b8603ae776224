//! The state of the control plane, and what each message does to it.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use diagnostic::{Diagnostics, render};
use model::Resources;
use store::{Changeset, Revision, Store, StoreError};

use super::load::{self, ConfSource, Start};
use super::{Applied, ApplyError};
use crate::clock::Clock;
use crate::conf::{Conf, resolve};
use crate::events::Events;
use crate::events::kinds::{SnapshotPublished, SnapshotRefused};
use crate::memory;
use crate::rules::Rules;
use crate::snapshot::{Snapshot, SnapshotHandle};

/// Makes and publishes snapshots. Owned by one thread.
pub(super) struct Plane {
    source: ConfSource,
    store: Box<dyn Store>,
    /// What the store holds at `revision`, which is served.
    stored: Resources,
    revision: Revision,
    /// A later revision that does not compile. It is reported once, and tried again when the files change.
    refused: Option<Revision>,
    conf: Conf,
    events: Events,
    clock: Clock,
    handle: SnapshotHandle,
    /// The rules in use: those that take their place go on with what they remember.
    rules: Rules,
}

impl Plane {
    pub(super) fn new(
        source: ConfSource,
        store: Box<dyn Store>,
        start: Start,
        events: Events,
        clock: Clock,
    ) -> Self {
        let plane = Self {
            source,
            store,
            stored: start.stored,
            revision: start.revision,
            refused: None,
            conf: start.conf,
            events,
            clock,
            handle: SnapshotHandle::new(start.snapshot),
            rules: start.rules,
        };
        plane.announce(0.0, Vec::new());
        plane
    }

    pub(super) fn handle(&self) -> &SnapshotHandle {
        &self.handle
    }

    pub(super) fn events(&self) -> &Events {
        &self.events
    }

    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    pub(super) fn state_dir(&self) -> &std::path::Path {
        &self.conf.state_dir
    }

    /// Reads everything again and publishes it. An error is an event, and leaves the snapshot in use.
    pub(super) fn reload(&mut self) {
        let started = self.clock.start();
        match self.try_reload() {
            Ok(needs_restart) => self.announce(started.elapsed().as_secs_f64() * 1000.0, needs_restart),
            Err(diagnostics) => self.refuse(&diagnostics),
        }
    }

    fn try_reload(&mut self) -> Result<Vec<&'static str>, Diagnostics> {
        let (conf, _) = load::read(&self.source)?;
        let (revision, stored) = load::load(self.store.as_ref())?;
        let current = self.handle.load();
        let next = current.revision + 1;
        let (snapshot, rules, _) = load::build(&conf, &stored, Some(&current), Some(&self.rules), next)?;
        let needs_restart = resolve::needs_restart(&self.conf, &conf);
        self.handle.publish(snapshot);
        self.serve(revision, stored);
        self.conf = conf;
        let has_new_program = !Arc::ptr_eq(&self.rules.program, &rules.program);
        self.rules = rules;
        if has_new_program {
            memory::give_back();
        }
        Ok(needs_restart)
    }

    /// Publishes what another process wrote to the store, if it did.
    pub(super) fn store_changed(&mut self) {
        let known = [Some(self.revision), self.refused];
        if self.store.revision().is_ok_and(|revision| known.contains(&Some(revision))) {
            return;
        }
        let started = self.clock.start();
        let published = load::load(self.store.as_ref()).and_then(|(revision, stored)| {
            self.refused = Some(revision);
            self.handle.publish(self.compile(&stored)?);
            self.serve(revision, stored);
            Ok(())
        });
        match published {
            Ok(()) => self.announce(started.elapsed().as_secs_f64() * 1000.0, Vec::new()),
            Err(diagnostics) => self.refuse(&diagnostics),
        }
    }

    /// Commits a changeset and publishes it. Nothing is written unless it compiles.
    pub(super) fn apply(
        &mut self,
        changeset: &Changeset,
        expected: Option<Revision>,
    ) -> Result<Applied, ApplyError> {
        let started = self.clock.start();
        let failed = |error: StoreError| ApplyError::Failed(error.to_string());
        // Not always what is served: a changeset may mend what another process wrote.
        let (found, mut stored) = match self.store.revision().map_err(failed)? {
            revision if revision == self.revision => (revision, self.stored.clone()),
            _ => self.store.load().map_err(failed)?,
        };
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            return Err(ApplyError::Conflict { expected, found });
        }
        changeset.apply(&mut stored, found + 1);
        let snapshot = self.compile(&stored).map_err(ApplyError::Refused)?;
        let revision = self.store.commit(found, changeset).map_err(|error| match error {
            StoreError::Conflict { expected, found } => ApplyError::Conflict { expected, found },
            error @ StoreError::Failed(_) => failed(error),
        })?;
        self.handle.publish(snapshot);
        self.serve(revision, stored);
        self.announce(started.elapsed().as_secs_f64() * 1000.0, Vec::new());
        Ok(Applied { revision, snapshot: self.handle.load().revision })
    }

    /// From now on this is what is served.
    fn serve(&mut self, revision: Revision, stored: Resources) {
        (self.revision, self.stored, self.refused) = (revision, stored, None);
    }

    fn compile(&self, stored: &Resources) -> Result<Snapshot, Diagnostics> {
        let current = self.handle.load();
        let next = current.revision + 1;
        load::snapshot(&self.conf, stored, &self.rules, &current.certificates, Some(&current), next)
    }

    fn refuse(&self, diagnostics: &Diagnostics) {
        let texts =
            diagnostics.iter().map(|d| render::terminal(&d.clone().into()).trim_end().to_owned()).collect();
        self.events.emit(&SnapshotRefused { diagnostics: texts });
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
        let names = snapshot.zone_names();
        self.events.metrics().keep_zones(|zone| names.contains(zone));
        for zone in snapshot.zones() {
            for origin in &zone.pool.origins {
                let up = i64::from(origin.is_up(self.clock.unix()));
                self.events.metrics().origin_up.with_label_values(&[&zone.name, &origin.key.url]).set(up);
            }
        }
    }

    /// Files and folders whose change asks for a reload: the configuration and all that it names.
    pub(super) fn watched(&self) -> BTreeSet<PathBuf> {
        let file = match &self.source {
            ConfSource::File(path) => Some(path.clone()),
            ConfSource::Fixed(_) => None,
        };
        // Changes are reported by absolute path.
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        file.into_iter().chain(self.conf.files.iter().cloned()).map(absolute).collect()
    }
}
