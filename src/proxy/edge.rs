//! What the proxy is made of.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::basic_auth::Passwords;
use super::block_lists::BlockLists;
use super::caching::Caching;
use super::challenges::Challenges;
use super::forward_auth::AuthServices;
use super::guardrail::Guardrails;
use super::held_bodies::HeldBodies;
use super::inspect::Inspection;
use super::loops::LoopName;
use super::offload::Offload;
use super::prescan::Prescan;
use super::ray::Rays;
use super::response_copy::ResponseCopies;
use super::{Door, steps};
use crate::clock::Clock;
use crate::events::{AuditLog, Events};
use crate::names::NameContext;
use crate::records::Recorder;
use crate::response_cache::ResponseCache;
use crate::scanning::ScanQueue;
use crate::snapshot::SnapshotHandle;
use crate::upstream::RecordOrigins;
use ::challenge::ChallengeKeys;

/// The proxy of all listeners.
pub struct Edge {
    pub snapshots: SnapshotHandle,
    pub events: Events,
    pub clock: Clock,
    pub recorder: Recorder,
    pub(super) audit: AuditLog,
    pub(super) rays: Rays,
    pub(super) loop_name: LoopName,
    pub(super) caller: steps::ProviderClient,
    pub(super) door: Door,
    /// Moves with each call that takes a stored key.
    pub(super) turns: AtomicU64,
    pub(super) held_bodies: HeldBodies,
    pub(super) offload: Arc<Offload>,
    pub(super) inspection: Inspection,
    pub(super) prescan: Prescan,
    pub(super) copies: ResponseCopies,
    pub(super) caching: Caching,
    pub(super) challenges: Challenges,
    pub(super) passwords: Passwords,
    pub(super) auth_services: AuthServices,
    pub(super) guardrails: Guardrails,
    pub(super) record_origins: RecordOrigins,
    pub(super) names: NameContext,
}

/// What an edge is made of.
pub struct EdgeParts {
    pub snapshots: SnapshotHandle,
    pub events: Events,
    pub clock: Clock,
    pub scans: ScanQueue,
    pub recorder: Recorder,
    /// As in the configuration.
    pub node: String,
    pub door: Door,
    /// What challenges are signed with if the configuration names no keys.
    pub challenge_keys: ChallengeKeys,
    pub names: NameContext,
    pub response_cache: &'static ResponseCache,
}

impl Edge {
    pub fn new(parts: EdgeParts) -> Self {
        let EdgeParts {
            snapshots, events, clock, scans, recorder, node, door, challenge_keys, names, ..
        } = parts;
        let store = parts.response_cache;
        let held_bodies = HeldBodies::new(events.clone());
        let offload = Arc::new(Offload::new());
        let rays = Rays::new(clock, node);
        Self {
            audit: AuditLog::new(events.clone()),
            snapshots,
            clock,
            recorder,
            loop_name: LoopName::new(rays.unique()),
            rays,
            caller: steps::ProviderClient::new(),
            door,
            turns: AtomicU64::new(0),
            inspection: Inspection {
                events: events.clone(),
                clock,
                held_bodies: held_bodies.clone(),
                offload: Arc::clone(&offload),
                block_lists: BlockLists::new(events.clone(), clock),
                judged: AtomicU64::new(0),
            },
            prescan: Prescan::new(events.clone(), Arc::clone(&offload)),
            copies: ResponseCopies::new(scans, clock),
            caching: Caching { store, events: events.clone(), clock },
            passwords: Passwords::new(clock),
            auth_services: AuthServices::new(clock),
            guardrails: Guardrails::new(clock),
            record_origins: RecordOrigins::default(),
            names,
            challenges: Challenges::new(challenge_keys, events.clone(), clock, held_bodies.clone()),
            held_bodies,
            offload,
            events,
        }
    }
}
