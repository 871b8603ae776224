//! The state of the control plane, and what each message does to it.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use diagnostic::{Code, Diagnostic, Diagnostics, render};
use dns::Name;
use model::{Resources, ZoneId};
use store::{Change, Changeset, Revision, Store, StoreError};

use super::load::{self, ConfSource, Start};
use super::metrics_sweep::MetricsSweep;
use super::{Applied, ApplyError, Queued, Write};
use crate::clock::{Clock, milliseconds};
use crate::compile::{self, Inputs};
use crate::conf::{Conf, resolve};
use crate::events::Events;
use crate::events::kinds::{SnapshotPublished, SnapshotRefused};
use crate::memory;
use crate::rules::Rules;
use crate::snapshot::{CompiledZone, FlattenedTarget, ServedZone, Site, Snapshot, SnapshotHandle};

/// Makes and publishes snapshots. Owned by one thread.
pub(super) struct Plane {
    source: ConfSource,
    store: Box<dyn Store>,
    /// The revision of the store that is served.
    revision: Revision,
    /// A later revision that does not compile. It is reported once, and tried again when the files change.
    refused: Option<Revision>,
    conf: Conf,
    events: Events,
    metrics_sweep: MetricsSweep,
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
        let handle = SnapshotHandle::new(start.snapshot);
        let mut plane = Self {
            source,
            store,
            revision: start.revision,
            refused: None,
            conf: start.conf,
            metrics_sweep: MetricsSweep::start(events.clone(), handle.clone()),
            events,
            clock,
            handle,
            rules: start.rules,
        };
        plane.announce(0.0, Vec::new());
        plane.note_name_service();
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
            Ok(needs_restart) => {
                self.announce(milliseconds(started.elapsed()), needs_restart);
                self.note_name_service();
            }
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
        self.serve(revision);
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
            self.handle.publish(self.compile(self.conf.resources.clone().merged(stored)?, None)?);
            self.serve(revision);
            Ok(())
        });
        match published {
            Ok(()) => self.announce(milliseconds(started.elapsed()), Vec::new()),
            Err(diagnostics) => self.refuse(&diagnostics),
        }
    }

    pub(super) fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// Commits writes in order and publishes them at once. If they do not compile together, each is tried by itself, so
    /// that none fails for another.
    pub(super) fn write(&mut self, writes: Vec<Queued>) {
        let (dry, wet): (Vec<_>, Vec<_>) = writes.into_iter().partition(|queued| queued.write.is_dry_run);
        if !wet.is_empty() {
            self.commit(wet);
        }
        for queued in dry {
            let outcome = self.dry_run(&queued.write);
            // Who asked may have stopped waiting; what was committed is served all the same. So everywhere here.
            let _ = queued.reply.send(outcome);
        }
    }

    fn dry_run(&self, write: &Write) -> Result<Applied, ApplyError> {
        let mut pending = Pending::new(self.base()?);
        pending.add(write)?;
        let (found, changed) = (pending.found, pending.changed());
        let is_served = found == self.revision;
        let snapshot =
            self.compile(pending.resources, is_served.then_some(&changed)).map_err(ApplyError::Refused)?;
        Ok(Applied {
            revision: found,
            snapshot: snapshot.revision,
            resources: Arc::clone(&snapshot.resources),
        })
    }

    fn commit(&mut self, writes: Vec<Queued>) {
        let started = self.clock.start();
        let mut pending = match self.base() {
            Ok(base) => Pending::new(base),
            Err(error) => return reply_all(writes, &error),
        };
        let mut accepted = Vec::new();
        for queued in writes {
            match pending.add(&queued.write) {
                Ok(()) => accepted.push((queued, pending.revision())),
                Err(error) => drop(queued.reply.send(Err(error))),
            }
        }
        if accepted.is_empty() {
            return;
        }
        if pending.changesets.is_empty() && pending.found == self.revision {
            let snapshot = self.handle.load();
            return reply_applied(accepted, &snapshot);
        }
        let changed = pending.changed();
        let is_served = pending.found == self.revision;
        let resources = std::mem::take(&mut pending.resources);
        let snapshot = match self.compile(resources, is_served.then_some(&changed)) {
            Ok(snapshot) => snapshot,
            Err(diagnostics) => {
                if accepted.len() > 1 {
                    return accepted.into_iter().for_each(|(queued, _)| self.commit(vec![queued]));
                }
                let refused = ApplyError::Refused(diagnostics);
                return reply_all(accepted.into_iter().map(|(queued, _)| queued).collect(), &refused);
            }
        };
        let committed = self.store.commit_all(pending.found, &pending.changesets);
        let revision = match committed {
            Ok(revision) => revision,
            // Another process was first: what it wrote is read, and the writes are asked again.
            Err(StoreError::Conflict { .. }) => {
                return self.commit(accepted.into_iter().map(|(queued, _)| queued).collect());
            }
            Err(error) => {
                let failed = ApplyError::Failed(error.to_string());
                return reply_all(accepted.into_iter().map(|(queued, _)| queued).collect(), &failed);
            }
        };
        self.handle.publish(snapshot);
        self.serve(revision);
        let changed = is_served.then_some(&changed);
        self.announce_changed(milliseconds(started.elapsed()), Vec::new(), changed);
        reply_applied(accepted, &self.handle.load());
    }

    /// Everything that is declared, and the revision of the store that it is at. Not always what is served: a write may
    /// mend what another process wrote.
    fn base(&self) -> Result<(Revision, Resources), ApplyError> {
        let failed = |error: StoreError| ApplyError::Failed(error.to_string());
        match self.store.revision().map_err(failed)? {
            revision if revision == self.revision => {
                Ok((revision, Resources::clone(&self.handle.load().resources)))
            }
            _ => {
                let (revision, stored) = self.store.load().map_err(failed)?;
                let merged = self.conf.resources.clone().merged(stored);
                Ok((revision, merged.map_err(ApplyError::Refused)?))
            }
        }
    }

    /// From now on this is what is served.
    fn serve(&mut self, revision: Revision) {
        (self.revision, self.refused) = (revision, None);
    }

    /// A snapshot of everything that is declared.
    fn compile(
        &self,
        resources: Resources,
        changed: Option<&BTreeSet<ZoneId>>,
    ) -> Result<Snapshot, Diagnostics> {
        self.compile_found(resources, changed, &[])
    }

    fn compile_found(
        &self,
        resources: Resources,
        changed: Option<&BTreeSet<ZoneId>>,
        found: &[(Name, FlattenedTarget)],
    ) -> Result<Snapshot, Diagnostics> {
        let current = self.handle.load();
        compile::compile(Inputs {
            conf: &self.conf,
            resources: &Arc::new(resources),
            rules: &self.rules,
            certificates: &current.certificates,
            previous: Some(&current),
            changed,
            found,
            revision: current.revision + 1,
        })
    }

    /// Publishes what a resolver found for names that zones lead to.
    pub(super) fn found(&mut self, found: &[(Name, FlattenedTarget)]) {
        let started = self.clock.start();
        let current = self.handle.load();
        let leads_there = |zone: &ServedZone| {
            let mut externals = zone.followers.iter().filter_map(|follower| follower.external.as_ref());
            externals.any(|external| found.iter().any(|(name, _)| name == external))
        };
        let zones = current.names.served.iter().filter(|(_, zone)| leads_there(zone));
        let changed: BTreeSet<ZoneId> = zones.map(|(id, _)| id.clone()).collect();
        match self.compile_found(Resources::clone(&current.resources), Some(&changed), found) {
            Ok(snapshot) => {
                self.handle.publish(snapshot);
                let duration_ms = milliseconds(started.elapsed());
                self.announce_changed(duration_ms, Vec::new(), Some(&changed));
            }
            Err(diagnostics) => self.refuse(&diagnostics),
        }
    }

    fn refuse(&self, diagnostics: &Diagnostics) {
        let texts =
            diagnostics.iter().map(|d| render::terminal(&d.clone().into()).trim_end().to_owned()).collect();
        self.events.emit(&SnapshotRefused { diagnostics: texts });
    }

    fn announce(&self, duration_ms: f64, needs_restart: Vec<&'static str>) {
        self.announce_changed(duration_ms, needs_restart, None);
    }

    /// `changed` are the zones that are not as before; all may be if it is `None`.
    fn announce_changed(
        &self,
        duration_ms: f64,
        needs_restart: Vec<&'static str>,
        changed: Option<&BTreeSet<ZoneId>>,
    ) {
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
        let metrics = self.events.metrics();
        let show = |zone: &CompiledZone| {
            for origin in &zone.pool.origins {
                let up = i64::from(origin.is_up(self.clock.unix()));
                metrics.origin_up.with_label_values(&[&zone.name, &origin.key.url]).set(up);
            }
        };
        let zones = &snapshot.resources.zones;
        let Some(changed) = changed else {
            self.metrics_sweep.ask();
            return snapshot.zones().for_each(|zone| show(zone));
        };
        if changed.iter().any(|id| !zones.contains_key(id)) {
            self.metrics_sweep.ask();
        }
        for zone in changed.iter().filter_map(|id| zones.get(id)) {
            if let Some(Site::Zone(zone)) = snapshot.sites.get(&zone.name) {
                show(zone);
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

/// Writes that were asked what they change, and what everything is with them.
struct Pending {
    /// The revision of the store before them.
    found: Revision,
    resources: Resources,
    changesets: Vec<Changeset>,
}

impl Pending {
    fn new((found, resources): (Revision, Resources)) -> Self {
        Self { found, resources, changesets: Vec::new() }
    }

    /// The zones that they change.
    fn changed(&self) -> BTreeSet<ZoneId> {
        let changes = || self.changesets.iter().flat_map(|changeset| &changeset.changes);
        let mut changed: BTreeSet<ZoneId> = changes().filter_map(Change::zone).cloned().collect();
        for account in changes().filter_map(Change::account_of_zones) {
            let zones = self.resources.zones.values().filter(|zone| zone.account == *account);
            changed.extend(zones.map(|zone| zone.id.clone()));
        }
        if changes().any(|change| matches!(change, Change::PutNameService { .. })) {
            let zones = self.resources.zones.values().filter(|zone| zone.is_handed_over());
            changed.extend(zones.map(|zone| zone.id.clone()));
        }
        changed
    }

    /// The revision of the store with them.
    fn revision(&self) -> Revision {
        self.found + self.changesets.len() as Revision
    }

    /// Asks a write what it changes.
    fn add(&mut self, write: &Write) -> Result<(), ApplyError> {
        let found = self.revision();
        if let Some(expected) = write.expected.filter(|expected| *expected != found) {
            return Err(ApplyError::Conflict { expected, found });
        }
        let changes = (write.edit)(&self.resources).map_err(ApplyError::Declined)?;
        if changes.is_empty() {
            return Ok(());
        }
        for change in &changes {
            if let Some(place) = change.place(&self.resources) {
                let message = format!("it is declared at {}; change it there", place.label());
                let diagnostic = Diagnostic::error(Code::ConfConflict, message).at(place.clone());
                return Err(ApplyError::Refused(diagnostic.into()));
            }
        }
        let changeset = Changeset { actor: write.actor.clone(), changes, request: write.request.clone() };
        changeset.apply(&mut self.resources, found + 1);
        self.changesets.push(changeset);
        Ok(())
    }
}

fn reply_all(writes: Vec<Queued>, error: &ApplyError) {
    for queued in writes {
        let error = match error {
            ApplyError::Refused(diagnostics) => ApplyError::Refused(diagnostics.clone()),
            other => ApplyError::Failed(other.to_string()),
        };
        let _ = queued.reply.send(Err(error));
    }
}

fn reply_applied(writes: Vec<(Queued, Revision)>, snapshot: &Snapshot) {
    for (queued, revision) in writes {
        let resources = Arc::clone(&snapshot.resources);
        let _ = queued.reply.send(Ok(Applied { revision, snapshot: snapshot.revision, resources }));
    }
}
