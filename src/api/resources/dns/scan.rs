//! Records that a zone had at its name servers of before: looked for, then reviewed.

use dns::Name;
use model::{DnsRecord, RecordId, RecordNotes, RecordSettings, ZoneId, ZoneRecords};
use serde::Serialize;
use serde_json::Value;

use super::edits::{EditedRecords, RecordEdit, edit_records, new_record_id};
use super::records::{context, records};
use super::shapes;
use super::shown::{ShownRecord, shown};
use super::written::RecordContext;
use crate::api::auth::Permission;
use crate::api::envelope::{ApiReply, Item};
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::{Fields, Findings};
use crate::api::operation::{Answer, ApiCall, DRY_RUN, IfMatch, InputShape, Operation, ResultKind, Verb};
use crate::names::record_scan::FoundRecord;

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Post,
        path: "/zones/{zone_id}/dns_records/scan",
        summary: "Looks for records of a zone elsewhere, and takes those that it lacks.",
        permission: Permission::DnsWrite,
        query: &[DRY_RUN],
        input: None,
        output: ResultKind::One(shapes::SCAN),
        run: |call| Box::pin(take_found(call)),
    },
    Operation {
        verb: Verb::Post,
        path: "/zones/{zone_id}/dns_records/scan/trigger",
        summary: "Begins to look for records of a zone elsewhere.",
        permission: Permission::DnsWrite,
        query: &[],
        input: None,
        output: ResultKind::Value,
        run: |call| Box::pin(trigger(call)),
    },
    Operation {
        verb: Verb::Get,
        path: "/zones/{zone_id}/dns_records/scan/review",
        summary: "Lists the records that were found and wait for review.",
        permission: Permission::DnsRead,
        query: &[],
        input: None,
        output: ResultKind::List(shapes::RECORD),
        run: |call| Box::pin(waiting(call)),
    },
    Operation {
        verb: Verb::Post,
        path: "/zones/{zone_id}/dns_records/scan/review",
        summary: "Takes records that were found, as they are sent, and forgets others.",
        permission: Permission::DnsWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::REVIEW)),
        output: ResultKind::One(shapes::REVIEW),
        run: |call| Box::pin(review(call)),
    },
];

#[derive(Debug, Serialize)]
struct ShownFinds {
    recs_added: usize,
    total_records_parsed: usize,
}

/// A record that was found, as one of the zone.
fn record(id: RecordId, found: FoundRecord, context: &RecordContext) -> DnsRecord {
    DnsRecord {
        id,
        zone: context.zone.clone(),
        name: found.name,
        rdata: found.rdata,
        ttl: found.ttl.clamp(60, 86_400),
        proxied: false,
        is_unquoted: false,
        settings: RecordSettings::default(),
        notes: RecordNotes::default(),
        created_on: context.now,
        modified_on: context.now,
    }
}

fn is_there(records: &ZoneRecords, found: &FoundRecord) -> bool {
    records.at(&found.name).any(|known| known.rdata.wire() == found.rdata.wire())
}

/// Looks for what the zone lacks, each record with an id. While that lasts no other scan of the zone begins.
async fn lacking(
    call: &ApiCall,
    zone: ZoneId,
    apex: Name,
) -> Result<(usize, Vec<(RecordId, FoundRecord)>), ApiErrors> {
    let found = call.shared.elsewhere.scans.scan(apex, &call.snapshot.dns.resolvers).await;
    let found = found.map_err(|reason| ApiError::new(error::NO_RESOLVER, reason))?;
    let total = found.len();
    let known = records(&call.shared.snapshots.load().resources, &zone);
    let lacking = found.into_iter().filter(|found| !is_there(&known, found));
    Ok((total, lacking.map(|found| Ok((new_record_id()?, found))).collect::<Result<_, ApiErrors>>()?))
}

fn busy(zone: &Name) -> ApiErrors {
    ApiError::new(
        error::CONFLICT,
        format!("a scan of `{zone}` is running; read its results when it has ended"),
    )
    .into()
}

async fn trigger(call: ApiCall) -> Answer {
    let RecordContext { zone, origin, .. } = context(&call)?;
    let scans = call.shared.elsewhere.scans.clone();
    if !scans.begin(&zone) {
        return Err(busy(&origin));
    }
    tokio::spawn(async move {
        let found = lacking(&call, zone.clone(), origin).await;
        scans.end(&zone, found.map(|(_, found)| found).map_err(|errors| errors.to_string()));
    });
    ApiReply::of(&Value::Null)
}

async fn waiting(call: ApiCall) -> Answer {
    let context = context(&call)?;
    let known = records(&call.snapshot.resources, &context.zone);
    let found = call
        .shared
        .elsewhere
        .scans
        .found(&context.zone)
        .into_iter()
        .filter(|(_, found)| !is_there(&known, found));
    let found: Vec<DnsRecord> = found.map(|(id, found)| record(id, found, &context)).collect();
    let mut reply =
        ApiReply::of(&found.iter().map(|found| shown(found, context.settings())).collect::<Vec<_>>())?;
    if let Some(reason) = call.shared.elsewhere.scans.failure(&context.zone) {
        reply.messages.push(Item::new(error::NO_RESOLVER.code, reason));
    }
    if call.shared.elsewhere.scans.is_running(&context.zone) {
        let message = "the scan is still running; read its results again when it has ended".to_owned();
        reply.messages.push(Item::new(error::CONFLICT.code, message));
    }
    Ok(reply)
}

#[derive(Debug, Serialize)]
struct ShownReview<'r> {
    accepts: Vec<ShownRecord<'r>>,
    rejects: Vec<String>,
}

async fn review(call: ApiCall) -> Answer {
    let context = context(&call)?;
    let findings = Findings::default();
    let (mut accepts, mut rejects) = (Vec::new(), Vec::new());
    if let Some(fields) = Fields::root(&call.body, &findings) {
        for body in fields.list("accepts").unwrap_or_default() {
            let id = body.get("id").and_then(Value::as_str).map(str::to_owned);
            accepts.push((id, RecordEdit::Make(new_record_id()?, body.clone())));
        }
        for (nth, body) in fields.list("rejects").unwrap_or_default().iter().enumerate() {
            match body.get("id").and_then(Value::as_str) {
                Some(id) => rejects.push(id.to_owned()),
                None => {
                    let message = "`id` is required: that of a record that was found";
                    findings.push(ApiError::at(error::BAD_FIELD, format!("/rejects/{nth}/id"), message));
                }
            }
        }
    }
    let ((), _) = findings.into_result(())?;
    let ids = accepts.iter().filter_map(|(id, _)| id.as_deref()).chain(rejects.iter().map(String::as_str));
    let reviewed: Vec<RecordId> = ids.filter_map(RecordId::parse).collect();
    let EditedRecords { left, unknown, records } = edit_records(&call, &context, move |edits| {
        let edit = |(nth, (_, edit)): (usize, &(Option<String>, RecordEdit))| {
            let made = edits.edit(edit, &format!("/accepts/{nth}"), &IfMatch::none())?;
            Ok(made.id)
        };
        accepts.iter().enumerate().map(edit).collect::<Result<Vec<_>, ApiErrors>>()
    })
    .await?;
    if !call.is_dry_run()? {
        call.shared.elsewhere.scans.reviewed(&context.zone, &reviewed);
    }
    let accepted: Vec<_> = left.iter().filter_map(|id| records.get(id).cloned()).collect();
    let accepts = accepted.iter().map(|record| shown(record, context.settings())).collect();
    Ok(ApiReply::of(&ShownReview { accepts, rejects })?.passing_over(unknown))
}

async fn take_found(call: ApiCall) -> Answer {
    let context = context(&call)?;
    if !call.shared.elsewhere.scans.begin(&context.zone) {
        return Err(busy(&context.origin));
    }
    let found = lacking(&call, context.zone.clone(), context.origin.clone()).await;
    call.shared.elsewhere.scans.end(&context.zone, Ok(Vec::new()));
    let (total_records_parsed, found) = found?;
    let within = context.clone();
    let EditedRecords { left: recs_added, .. } = edit_records(&call, &context, move |edits| {
        let made = found.iter().map(|(id, found)| record(*id, found.clone(), &within));
        // What cannot stand beside the others of its name is left out.
        Ok(made.filter_map(|record| edits.put(record, "").ok()).count())
    })
    .await?;
    ApiReply::of(&ShownFinds { recs_added, total_records_parsed })
}
