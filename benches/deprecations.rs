//! What the calendar of what ends costs a call of the API: one without rows, and one that rows are about.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use deprecations::{DeprecationSchedule, OperationName, Precedence, SHIPPED};
use model::{CalendarDate, DeprecationMode};

/// How many rows about an operation are served.
fn served(schedule: &DeprecationSchedule, operation: OperationName<'_>, today: CalendarDate) -> usize {
    let precedence = Precedence { request: None, settings: [None; 3], today };
    let rows = schedule.about(operation);
    rows.filter(|row| precedence.mode(row) == DeprecationMode::Warn).count()
}

fn calls(criterion: &mut Criterion) {
    let today = CalendarDate::of_unix(1_795_000_000);
    for (name, path) in
        [("without_rows", "/zones/{zone_id}"), ("with_seven_rows", "/zones/{zone_id}/dns_records")]
    {
        let operation = OperationName { method: "GET", path };
        criterion.bench_function(&format!("deprecations/{name}"), |bencher| {
            bencher.iter(|| served(&SHIPPED, black_box(operation), today));
        });
    }
}

criterion_group!(benches, calls);
criterion_main!(benches);
