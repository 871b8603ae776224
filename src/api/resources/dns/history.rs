//! What the records of a zone were, and their return to that.

use std::sync::Arc;

use model::{Declared, DnsRecord, RecordId};
use serde::Serialize;
use store::{StoreError, record_history, record_of_row};

use super::desired::{RecordPlan, shown_plan};
use super::edits::{EditedRecords, RecordEdit, RecordEdits, edit_records, record_id, unknown_record};
use super::records::context;
use super::shapes;
use super::shown::{ShownRecord, shown};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, IfMatch, InputShape, Operation, PAGE, PER_PAGE, ResultKind, Verb,
};
use crate::api::resources::rule_input;

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: "/zones/{zone_id}/dns_records/history",
        summary: "Lists the changes of the records of a zone, the newest first.",
        permission: Permission::DnsRead,
        query: &[PAGE, PER_PAGE],
        input: None,
        output: ResultKind::List(shapes::PAST_CHANGE),
        run: |call| Box::pin(of_zone(call)),
    },
    Operation {
        verb: Verb::Get,
        path: "/zones/{zone_id}/dns_records/{dns_record_id}/history",
        summary: "Lists what a record was, the newest first.",
        permission: Permission::DnsRead,
        query: &[],
        input: None,
        output: ResultKind::List(shapes::PAST_RECORD),
        run: |call| Box::pin(of_record(call)),
    },
    Operation {
        verb: Verb::Post,
        path: "/zones/{zone_id}/dns_records/rollback",
        summary: "Makes the records of a zone what they were at a serial; with `dry_run` it is a plan.",
        permission: Permission::DnsWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::ROLLBACK)),
        output: ResultKind::One(shapes::PLAN),
        run: |call| Box::pin(roll_back(call)),
    },
];

#[derive(Debug, Serialize)]
struct ShownChange {
    serial: u64,
    at: String,
    actor: String,
    put: u64,
    deleted: u64,
}

async fn of_zone(call: ApiCall) -> Answer {
    let (paging, zone) = (call.paging(20, 1_000)?, call.zone()?);
    let (kind, ids) = record_history(&zone.id, None);
    let (skipped, count) = (paging.skipped(), paging.per_page);
    let (past, total) =
        call.shared.control.read(move |store| store.past_changes(kind, &ids, skipped, count)).await?;
    let shown: Vec<_> = past
        .into_iter()
        .map(|past| ShownChange {
            serial: past.revision,
            at: past.at,
            actor: past.actor,
            put: past.put,
            deleted: past.deleted,
        })
        .collect();
    ApiReply::page(&shown, paging.info(shown.len(), total))
}

#[derive(Debug, Serialize)]
struct ShownPast<'r> {
    serial: u64,
    at: &'r str,
    actor: &'r str,
    /// `None` if it was deleted then.
    record: Option<ShownRecord<'r>>,
}

async fn of_record(call: ApiCall) -> Answer {
    let (zone, id) = (call.zone()?, record_id(call.parameter("dns_record_id"))?);
    let (kind, row) = record_history(&zone.id, Some(&id));
    let rows = call.shared.control.read(move |store| store.history(kind, &row)).await?;
    if rows.is_empty() {
        return Err(unknown_record(id));
    }
    let records: Result<Vec<Option<DnsRecord>>, StoreError> =
        rows.iter().map(|row| row.body.as_deref().map(record_of_row).transpose()).collect();
    let records = records.map_err(|error| ApiError::new(error::UNAVAILABLE, error.to_string()))?;
    let settings = &call.snapshot.dns;
    let past = rows.iter().zip(&records).map(|(row, record)| ShownPast {
        serial: row.revision,
        at: &row.at,
        actor: &row.actor,
        record: record.as_ref().map(|record| shown(record, settings)),
    });
    ApiReply::of(&past.collect::<Vec<_>>())
}

async fn roll_back(call: ApiCall) -> Answer {
    let (serial, unknown) = rule_input::read(&call.body, |fields| {
        if !fields.has("serial") {
            fields.refuse(error::BAD_FIELD, "serial", "`serial` is required: that to which records return");
        }
        fields.within("serial", 1..=i64::MAX).and_then(|serial| u64::try_from(serial).ok())
    })?;
    let (context, precondition) = (context(&call)?, call.precondition());
    let (kind, ids) = record_history(&context.zone, None);
    let read = move |store: &dyn store::Store| {
        let rows = store.rows_at(kind, &ids, serial)?;
        let past = rows.iter().map(|row| record_of_row(row)).collect::<Result<Vec<_>, _>>()?;
        Ok((store.revision()?, past))
    };
    let (newest, past) = call.shared.control.read(read).await?;
    if serial > newest {
        let message = format!("there is no serial {serial} yet; the newest is {newest}");
        return Err(ApiError::at(error::BAD_FIELD, "/serial", message).into());
    }
    let EditedRecords { left: plan, records, .. } = edit_records(&call, &context, move |edits| {
        precondition.check(Some(edits.records.revision()))?;
        return_to(edits, &past)
    })
    .await?;
    Ok(shown_plan(&plan, &records, context.settings())?.passing_over(unknown))
}

/// Edits records until they are what they were.
fn return_to(edits: &mut RecordEdits<'_>, past: &[DnsRecord]) -> Result<RecordPlan, ApiErrors> {
    let mut plan = RecordPlan::default();
    let is_same = |now: &DnsRecord, then: &DnsRecord| {
        *now == DnsRecord { modified_on: now.modified_on, ..then.clone() }
    };
    let before = edits.records.clone();
    let kept: std::collections::BTreeSet<RecordId> = past.iter().map(|record| record.id).collect();
    for record in before.iter().filter(|record| !kept.contains(&record.id)) {
        edits.edit(&RecordEdit::Delete(record.id), "", &IfMatch::none())?;
        plan.deletes.push(Arc::<Declared<DnsRecord>>::clone(record));
    }
    let changed: Vec<&DnsRecord> =
        past.iter().filter(|then| before.get(&then.id).is_none_or(|now| !is_same(now, then))).collect();
    plan.unchanged = past.len() - changed.len();
    // Those that change stand in nobody's way: each may have the name that another had.
    for record in &changed {
        edits.records.remove(&record.id, 0);
    }
    let (others, ds): (Vec<&DnsRecord>, Vec<&DnsRecord>) =
        changed.into_iter().partition(|record| record.rdata.record_type() != dns::RecordType::Ds);
    // A DS record stands at the name of NS records, which are there first.
    for record in others.into_iter().chain(ds) {
        let is_there = before.get(&record.id).is_some();
        let modified_on = edits.context.now;
        edits.put(DnsRecord { modified_on, ..record.clone() }, "/serial")?;
        if is_there { &mut plan.puts } else { &mut plan.posts }.push(record.id);
    }
    Ok(plan)
}
