//! How many records there are.

use serde::Serialize;

use super::records::records;
use super::shapes;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::operation::{Answer, ApiCall, Operation, ResultKind, Verb};

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: "/zones/{zone_id}/dns_records/usage",
        summary: "Counts the records of a zone.",
        permission: Permission::DnsRead,
        query: &[],
        input: None,
        output: ResultKind::One(shapes::USAGE),
        run: |call| Box::pin(of_zone(call)),
    },
    Operation {
        verb: Verb::Get,
        path: "/accounts/{account_id}/dns_records/usage",
        summary: "Counts the records of the zones of an account.",
        permission: Permission::AccountRead,
        query: &[],
        input: None,
        output: ResultKind::One(shapes::USAGE),
        run: |call| Box::pin(of_account(call)),
    },
];

#[derive(Debug, Serialize)]
struct RecordUsage {
    record_quota: Option<u64>,
    record_usage: usize,
}

async fn of_zone(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    let record_usage = records(&call.snapshot.resources, &zone.id).len();
    ApiReply::of(&RecordUsage { record_quota: None, record_usage })
}

async fn of_account(call: ApiCall) -> Answer {
    let (resources, account) = (&call.snapshot.resources, call.account());
    let mine = resources.zones.values().filter(|zone| zone.account == account);
    let record_usage =
        mine.filter_map(|zone| resources.records.get(&zone.id)).map(model::ZoneRecords::len).sum();
    ApiReply::of(&RecordUsage { record_quota: None, record_usage })
}
