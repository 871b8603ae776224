//! Ten thousand hostnames through the whole machine, under a clock of the test, against a small model of it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use model::zone::ZoneHold;
use model::{AccountId, FallbackOrigin, HostnameStatus, Zone, ZoneId};
use store::MemoryStore;
use uuid::Uuid;

use super::*;
use crate::control::{ConfSource, start};

const HOSTNAMES: u64 = 10_000;
const BEGIN: u64 = 1_800_000_000;
const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;
const NEVER: u64 = u64::MAX;

/// What a customer does, in seconds from the begin.
#[derive(Clone, Copy, Debug)]
struct Customer {
    points_from: u64,
    points_until: u64,
    /// When the token can be read.
    text_from: u64,
    /// Until when nobody can say anything.
    dark_until: u64,
    is_in_held_zone: bool,
}

/// When the hold of the zone above some of them is released.
const RELEASED: u64 = 30 * HOUR;

impl Customer {
    /// One of many, by its number.
    fn of(nth: u64) -> Self {
        let pick = |of: &[u64], salt: u64| {
            let mixed = (nth + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(salt as u32 * 7 + 5);
            of[(mixed % of.len() as u64) as usize]
        };
        Self {
            points_from: pick(&[0, 0, 40, HOUR, 9 * HOUR, 3 * DAY, NEVER], 1),
            points_until: pick(&[NEVER, NEVER, 2 * DAY, 5 * DAY], 2),
            text_from: pick(&[NEVER, NEVER, NEVER, 0, 5 * HOUR], 3),
            dark_until: pick(&[0, 0, 0, 3 * HOUR], 4),
            is_in_held_zone: pick(&[0, 0, 0, 0, 0, 0, 1], 5) == 1,
        }
    }

    fn points_here(self, at: u64) -> bool {
        (self.points_from..self.points_until).contains(&at)
    }
}

/// Customers by their hostnames, at a moment.
struct Simulated {
    now: u64,
}

fn name(nth: u64) -> String {
    let zone = if Customer::of(nth).is_in_held_zone { "held.dev" } else { "customers.dev" };
    format!("h{nth}.{zone}")
}

#[async_trait::async_trait]
impl Looker for Simulated {
    async fn look(&self, question: &Question) -> Looked {
        let nth: u64 = question.host[1..].split('.').next().unwrap().parse().unwrap();
        let (customer, at) = (Customer::of(nth), self.now - BEGIN);
        if at < customer.dark_until {
            return Looked::default();
        }
        let points_here = customer.points_here(at);
        let token = Uuid::from_u128(u128::from(nth)).to_string();
        Looked {
            aliases: Some(points_here.then(|| "to.saas.dev".to_owned()).into_iter().collect()),
            addresses: Some(vec![Ipv4Addr::new(192, 0, 2, 1).into()]),
            texts: Some((at >= customer.text_from).then_some(token).into_iter().collect()),
            page: None,
        }
    }
}

/// What the notes say of one hostname, written as short as can be: its status at each moment that it is looked at.
fn model(customer: Customer, until: u64) -> Vec<(u64, &'static str)> {
    let wait = |n: u32| {
        let base: f64 = if n < 10 { 1.05 } else { 1.15 };
        ((60.0 * base.powi(n as i32)).floor() as u64).min(14_400)
    };
    let (mut at, mut attempts, mut status, mut has_pointed) = (0, 0, "pending", false);
    let mut seen = Vec::new();
    while at <= until {
        let points = at >= customer.dark_until && customer.points_here(at);
        let known = at >= customer.dark_until;
        let text = known && at >= customer.text_from && !customer.is_in_held_zone;
        let mut next = 14_400;
        match status {
            "moved" => status = "deleted",
            "active" if known && !points && has_pointed => (status, next) = ("moved", 7 * DAY),
            "active" => has_pointed |= points,
            _ if customer.is_in_held_zone && at < RELEASED => {
                status = "blocked";
                next = wait(attempts);
                attempts = (attempts + 1).min(74);
            }
            _ => {
                if status == "blocked" {
                    attempts = 0;
                }
                status = "pending";
                if points || text {
                    (status, has_pointed, attempts) = ("active", points, 0);
                } else {
                    next = wait(attempts);
                    attempts += 1;
                    if attempts == 75 {
                        (status, next, has_pointed) = ("moved", 7 * DAY, false);
                    }
                }
            }
        }
        seen.push((at, status));
        if status == "deleted" {
            break;
        }
        at += next;
    }
    seen
}

fn status_at(way: &[(u64, &'static str)], at: u64) -> &'static str {
    way.iter().rev().find(|(then, _)| *then <= at).map_or("pending", |(_, status)| status)
}

fn zone(id: &str, name: &str, account: &str) -> Zone {
    Zone {
        origins: vec!["http://127.0.0.1:9".to_owned()],
        ..Zone::new(ZoneId::new(id), AccountId::new(account), name)
    }
}

fn hostname(nth: u64) -> CustomHostname {
    CustomHostname {
        id: HostnameId(Uuid::from_u128(u128::from(nth))),
        zone: ZoneId::new("saas"),
        hostname: name(nth).into(),
        is_wildcard: false,
        status: HostnameStatus::Pending,
        since: BEGIN,
        attempts: 0,
        next_check: BEGIN,
        has_pointed_here: false,
        verification_errors: Box::default(),
        ownership_token: Uuid::from_u128(u128::from(nth)),
        origin: None,
        metadata: None,
        pack: None,
        created_on: "2027-01-15T08:00:00.000000Z".into(),
    }
}

async fn put(control: &Control, changes: Vec<Change>) {
    control.apply(store::Changeset::new("test", changes), None).await.unwrap();
}

fn counts(control: &Control) -> BTreeMap<&'static str, u64> {
    let snapshot = control.handle().load();
    let mut counts = BTreeMap::new();
    for hostname in snapshot.resources.hostnames.values() {
        *counts.entry(hostname.status.word()).or_default() += 1;
        let served = snapshot.hostnames.exact(&hostname.hostname).unwrap();
        assert_eq!(served.hostname.status, hostname.status, "what is routed by is what is declared");
    }
    let all: u64 = counts.values().sum();
    if all < HOSTNAMES {
        counts.insert("deleted", HOSTNAMES - all);
    }
    counts
}

#[tokio::test]
async fn ten_thousand_hostnames_go_as_the_model_goes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edge.toml");
    std::fs::write(&path, "[dns]\naddresses = [\"198.51.100.1\"]\n").unwrap();
    let (source, store) = (ConfSource::File(path), Box::new(MemoryStore::default()));
    let first = start(&source, store.as_ref()).unwrap_or_else(|found| panic!("{found}"));
    let control = Control::start(source, store, first, Events::silent(), Clock::real()).unwrap();
    let origin = FallbackOrigin {
        origin: "saas.dev".to_owned(),
        created_at: String::new(),
        updated_at: String::new(),
    };
    let saas = Zone { fallback_origin: Some(Box::new(origin)), ..zone("saas", "saas.dev", "a") };
    let hold = ZoneHold { include_subdomains: true, hold_after: String::new() };
    let held = Zone { hold: Some(hold), ..zone("held", "held.dev", "b") };
    put(
        &control,
        vec![Change::PutZone { zone: Box::new(saas) }, Change::PutZone { zone: Box::new(held.clone()) }],
    )
    .await;
    let all = (0..HOSTNAMES).map(|nth| Change::PutHostname { hostname: Box::new(hostname(nth)) });
    put(&control, all.collect()).await;
    let until = 17 * DAY;
    let ways: Vec<_> = (0..HOSTNAMES).map(|nth| model(Customer::of(nth), until)).collect();
    let mut verifying = Verifying::new(control.clone(), LastLooks::default(), Events::silent());
    let (mut released, mut compared) = (false, 0);
    for step in (0..=until).step_by(12 * HOUR as usize) {
        loop {
            // The next moment at which something is due, up to this step.
            let due = control.handle().load().resources.hostnames.values().map(|one| one.next_check).min();
            let Some(now) = due.filter(|due| *due <= BEGIN + step) else { break };
            if !released && now >= BEGIN + RELEASED {
                put(&control, vec![Change::PutZone { zone: Box::new(Zone { hold: None, ..held.clone() }) }])
                    .await;
                released = true;
            }
            let looker = Simulated { now };
            let mut found = Vec::new();
            for hostname in verifying.take(now, usize::MAX) {
                let looked = looker.look(&question(&hostname)).await;
                found.push(Found { hostname, looked });
            }
            let at = rfc3339(std::time::UNIX_EPOCH + Duration::from_secs(now));
            verifying.settle(found, (now, at)).await;
        }
        let mut expected = BTreeMap::new();
        for way in &ways {
            *expected.entry(status_at(way, step)).or_default() += 1;
        }
        assert_eq!(counts(&control), expected, "after {} hours", step / HOUR);
        compared += 1;
    }
    assert!(compared == 35 && released);
    let last = counts(&control);
    assert!(last["active"] > 1_000 && last["deleted"] > 1_000, "{last:?}");
}
