//! Loading rules: text to program, the rules in the binary and, where it is there, the Core Rule Set
//! (`CRS_DIR`, or Debian's package).

use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use portcullis::rules;

fn rule_sets() -> Vec<(&'static str, Option<Vec<String>>)> {
    let mut sets = vec![("built-in", None)];
    if let Ok(folder) = std::env::var("CRS_DIR") {
        sets.push(("crs", Some(vec![format!("{folder}/crs-setup.conf.example"), format!("{folder}/rules")])));
    }
    let debian = ["/etc/modsecurity/crs/crs-setup.conf", "/usr/share/modsecurity-crs/rules"];
    if Path::new(debian[1]).exists() {
        sets.push(("crs-debian", Some(debian.map(str::to_owned).to_vec())));
    }
    sets
}

fn load(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("load");
    group.sample_size(10);
    for (name, paths) in rule_sets() {
        group.bench_function(name, |bencher| bencher.iter(|| rules::load(paths.as_deref(), None).is_ok()));
    }
    group.finish();
}

criterion_group!(benches, load);
criterion_main!(benches);
