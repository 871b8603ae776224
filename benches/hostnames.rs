//! A million custom hostnames, and a hundred thousand certificates: what they take, how long one is looked for, how long
//! a change takes until it is served.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a bench that cannot be set up ends"
)]

use std::alloc::System;
use std::collections::{BTreeSet, HashMap};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use diagnostic::Source;
use model::certificate_pack::{
    BundleMethod, CertificatePack, IssuedCertificate, KeptKey, PackKind, PackStatus, TlsSettings,
    ValidationMethod,
};
use model::{CustomHostname, Declared, HostnameId, HostnameStatus, PackId, Resources, ZoneId};
use portcullis::compile::{self, Inputs};
use portcullis::conf::{self, Conf};
use portcullis::rules::{self, Rules};
use portcullis::snapshot::Snapshot;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use uuid::Uuid;

const HOSTNAMES: u128 = 1_000_000;
const CERTIFICATES: u128 = 100_000;
const CONF: &str = "[[zones]]\nname = \"saas.example\"\norigins = [\"http://192.0.2.1:9000\"]\n";

fn hostname(nth: u128, zone: &ZoneId, created_on: &Arc<str>) -> Arc<Declared<CustomHostname>> {
    let hostname = CustomHostname {
        id: HostnameId(Uuid::from_u128(nth.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))),
        zone: zone.clone(),
        hostname: format!("shop-{nth}.customer{}.dev", nth % 1_000).into(),
        is_wildcard: nth.is_multiple_of(100),
        status: HostnameStatus::Active,
        since: 1,
        attempts: 0,
        next_check: 2,
        has_pointed_here: true,
        verification_errors: Box::default(),
        ownership_token: Uuid::from_u128(nth),
        origin: None,
        metadata: None,
        pack: None,
        created_on: Arc::clone(created_on),
    };
    Arc::new(Declared::at_revision(hostname, 1))
}

fn pack(nth: u128, zone: &ZoneId, chain: &str, key: &str) -> Arc<Declared<CertificatePack>> {
    let host = format!("shop-{nth}.customer{}.dev", nth % 1_000);
    let issued = IssuedCertificate {
        id: Uuid::from_u128(nth),
        hosts: vec![host.clone()],
        chain: chain.to_owned(),
        key: KeptKey { text: key.to_owned(), is_sealed: false },
        issuer: "A CA".to_owned(),
        serial: nth.to_string(),
        signature: "ECDSAWithSHA256".to_owned(),
        uploaded_on: "2026-11-26T00:00:00.000000Z".to_owned(),
        not_before: 1,
        expires: u64::MAX,
        authority: "a".to_owned(),
        is_uploaded: false,
        signing_request: None,
    };
    let pack = CertificatePack {
        id: PackId(Uuid::from_u128(nth)),
        zone: zone.clone(),
        kind: PackKind::Advanced,
        hosts: vec![host],
        method: ValidationMethod::Http,
        certificate_authority: None,
        has_branding: false,
        bundle_method: BundleMethod::default(),
        settings: TlsSettings::default(),
        status: PackStatus::Active,
        since: 1,
        attempts: 0,
        next_step: u64::MAX,
        errors: Vec::new(),
        is_forbidden_by_caa: false,
        is_revoking: false,
        order: None,
        certificates: vec![Arc::new(issued)],
        created_on: "2026-11-26T00:00:00.000000Z".to_owned(),
    };
    Arc::new(Declared::at_revision(pack, 1))
}

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Memory in use, in bytes, without what the allocator keeps.
fn in_use() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// What a number of things took, for each of them.
fn tell(what: &str, before: usize, count: u128) {
    let taken = (in_use() - before) as u128;
    eprintln!("{what}: {} MB in all, {} bytes for each", taken / 1_000_000, taken / count);
}

/// What snapshots are made with.
struct Setup {
    conf: Conf,
    rules: Rules,
    zone: ZoneId,
}

impl Setup {
    fn new() -> Self {
        let source = Source::new("saas.toml", CONF);
        let (conf, _) = conf::parse(&source, Path::new("/")).unwrap_or_else(|found| panic!("{found}"));
        let (rules, _) = rules::load(None, None).unwrap_or_else(|found| panic!("{found}"));
        let zone = conf.resources.zones.keys().next().unwrap().clone();
        Self { conf, rules, zone }
    }

    fn compiled(
        &self,
        resources: &Arc<Resources>,
        previous: Option<&Snapshot>,
        changed: Option<&BTreeSet<ZoneId>>,
    ) -> Snapshot {
        let revision = previous.map_or(1, |previous| previous.revision + 1);
        let inputs = Inputs {
            conf: &self.conf,
            resources,
            rules: &self.rules,
            certificates: &HashMap::new(),
            previous,
            changed,
            found: &[],
            revision,
        };
        compile::compile(inputs).unwrap_or_else(|found| panic!("{found}"))
    }
}

fn names(criterion: &mut Criterion) {
    let setup = Setup::new();
    let zone = &setup.zone;
    let created_on: Arc<str> = "2026-11-26T00:00:00.000000Z".into();
    let mut resources = setup.conf.resources.clone();
    let before = in_use();
    for nth in 0..HOSTNAMES {
        let one = hostname(nth, zone, &created_on);
        resources.hostnames.insert(one.id, one);
    }
    let resources = Arc::new(resources);
    let snapshot = setup.compiled(&resources, None, None);
    tell("custom hostnames, declared and routed", before, HOSTNAMES);
    let mut group = criterion.benchmark_group("hostnames");
    let mut nth = 0;
    let hosts: Vec<String> =
        (0..4_096).map(|nth: u128| format!("shop-{}.customer{}.dev", nth * 244, nth * 244 % 1_000)).collect();
    group.bench_function("one of 1,000,000 is routed", |bencher| {
        bencher.iter(|| {
            nth = (nth + 1) % hosts.len();
            black_box(snapshot.route(&hosts[nth]));
        });
    });
    let mut later = Resources::clone(&snapshot.resources);
    let one = hostname(HOSTNAMES, zone, &created_on);
    later.hostnames.insert(one.id, one);
    group.bench_function("one of 1,000,000 is looked for before it is made", |bencher| {
        bencher.iter(|| {
            nth = (nth + 1) % hosts.len();
            assert!(snapshot.has_hostname(&later, zone, &hosts[nth]));
            assert!(!snapshot.has_hostname(&later, zone, "other.customer.dev"));
        });
    });
    let (mut current, mut changes) = (snapshot, 0);
    let none = BTreeSet::new();
    group.sample_size(20);
    group.bench_function("one of 1,000,000 changes", |bencher| {
        bencher.iter(|| {
            changes += 1;
            let mut resources = Resources::clone(&current.resources);
            let mut one = (*hostname(changes % HOSTNAMES, zone, &created_on)).clone();
            one.value.next_check = changes as u64;
            resources.hostnames.insert(one.id, Arc::new(one));
            current = setup.compiled(&Arc::new(resources), Some(&current), Some(&none));
        });
    });
    group.finish();
}

fn certificates(criterion: &mut Criterion) {
    let setup = Setup::new();
    let mut group = criterion.benchmark_group("certificates");
    let mut nth = 0;
    let made = rcgen::generate_simple_self_signed(vec!["shop.customer.dev".to_owned()]).unwrap();
    // As long as a chain of a public CA.
    let (chain, key) = (made.cert.pem().repeat(4), made.signing_key.serialize_pem());
    let mut resources = setup.conf.resources.clone();
    let before = in_use();
    for nth in 0..CERTIFICATES {
        let one = pack(nth, &setup.zone, &chain, &key);
        resources.packs.insert(one.id, one);
    }
    let snapshot = setup.compiled(&Arc::new(resources), None, None);
    tell("certificates", before, CERTIFICATES);
    let hosts: Vec<String> =
        (0..4_096).map(|nth: u128| format!("shop-{}.customer{}.dev", nth * 24, nth * 24 % 1_000)).collect();
    let read = |host: &String| drop(snapshot.certificate(host).and_then(|served| served.certified_key()));
    let before = portcullis::clock::Clock::real().start();
    hosts.iter().for_each(read);
    let taken = before.elapsed() / u32::try_from(hosts.len()).unwrap();
    eprintln!("a certificate is read for the first time in {taken:?}");
    group.sample_size(100);
    group.bench_function("one of 100,000 certificates is chosen", |bencher| {
        bencher.iter(|| {
            nth = (nth + 1) % hosts.len();
            black_box(snapshot.certificate(&hosts[nth]).and_then(|served| served.certified_key()));
        });
    });
    group.finish();
}

criterion_group!(benches, certificates, names);
criterion_main!(benches);
