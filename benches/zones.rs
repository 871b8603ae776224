//! How long a change of one zone among 10,000 takes until it is served: merge, compile, publish.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a bench that cannot be set up ends")]

use std::collections::HashMap;
use std::fmt::Write;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use diagnostic::Source;
use model::{Declared, Resources, Zone};
use portcullis::compile::{self, Inputs};
use portcullis::snapshot::{Snapshot, SnapshotHandle};
use portcullis::{conf, rules};

const ZONES: usize = 10_000;

fn change(criterion: &mut Criterion) {
    let mut text = String::new();
    for nth in 0..ZONES {
        let level = nth % 4 + 1;
        let _ = write!(
            text,
            "[[zones]]\nname = \"z{nth}.example\"\norigins = [\"http://192.0.2.1:9000\"]\n[zones.waf]\nparanoia_level = {level}\n"
        );
    }
    let parsed = conf::parse(&Source::new("zones.toml", text), Path::new("/"));
    let (conf, _) = parsed.unwrap_or_else(|found| panic!("{found}"));
    let (rules, _) = rules::load(None, None).unwrap_or_else(|found| panic!("{found}"));
    let certificates = HashMap::new();
    let compiled = |resources: &Arc<Resources>, previous: Option<&Snapshot>, revision| {
        let inputs = Inputs {
            conf: &conf,
            resources,
            rules: &rules,
            certificates: &certificates,
            previous,
            changed: None,
            found: &[],
            revision,
        };
        compile::compile(inputs).unwrap_or_else(|found| panic!("{found}"))
    };
    let handle = SnapshotHandle::new(compiled(&Arc::new(conf.resources.clone()), None, 1));
    let changed: Declared<Zone> = (**conf.resources.zones.values().nth(ZONES / 2).unwrap()).clone();
    let mut revision = 1;
    let mut group = criterion.benchmark_group("zones");
    group.sample_size(100);
    group.bench_function("one of 10,000 changes", |bencher| {
        bencher.iter(|| {
            revision += 1;
            let mut zone = changed.clone();
            zone.value.origins = vec![format!("http://192.0.2.{}:9000", revision % 200 + 1)];
            let mut declared = conf.resources.clone();
            declared.zones.insert(zone.id.clone(), Arc::new(zone));
            let resources = Arc::new(declared.merged(Resources::default()).unwrap());
            let previous = handle.load();
            handle.publish(compiled(&resources, Some(&previous), revision));
            black_box(handle.load().revision)
        });
    });
    group.finish();
}

criterion_group!(benches, change);
criterion_main!(benches);
