//! Records of a zone: listed, made, shown, changed, replaced, deleted.

use std::sync::Arc;

use dns::Name;
use model::{DnsRecord, RecordTime, Resources, ZoneId, ZoneRecords};

use super::edits::{EditedRecords, RecordEdit, edit_records, new_record_id, record_id, unknown_record};
use super::shadows::Shadows;
use super::shown::{OldRecordFields, ShownRecord};
use super::written::RecordContext;
use super::{filters, hints, shapes, shown};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Operation, QueryParameter, ResultKind, Running, Verb,
};
use crate::api::resources::accounts::Deleted;
use crate::api::resources::rulesets_read::revision;
use crate::conf::DnsSettings;

/// Records that a page has, and may have.
const PER_PAGE: u64 = 100;
const MOST_PER_PAGE: u64 = 5_000_000;

const RECORDS: &str = "/zones/{zone_id}/dns_records";
const RECORD: &str = "/zones/{zone_id}/dns_records/{dns_record_id}";

const fn operation(
    verb: Verb,
    path: &'static str,
    summary: &'static str,
    query: &'static [QueryParameter],
    run: fn(ApiCall) -> Running,
) -> Operation {
    let permission = match verb {
        Verb::Get => Permission::DnsRead,
        _ => Permission::DnsWrite,
    };
    let input = match verb {
        Verb::Get | Verb::Delete => None,
        _ => Some(InputShape::Object(shapes::RECORD)),
    };
    Operation { verb, path, summary, permission, query, input, output: ResultKind::One(shapes::RECORD), run }
}

const SHADOWS: &[QueryParameter] = &[filters::INCLUDE_SHADOWS];
const WRITE: &[QueryParameter] = &[DRY_RUN, filters::INCLUDE_SHADOWS];

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    Operation {
        output: ResultKind::List(shapes::RECORD),
        ..operation(Verb::Get, RECORDS, "Lists the records of a zone.", filters::LIST, |call| {
            Box::pin(list(call))
        })
    },
    operation(Verb::Post, RECORDS, "Makes a record, which is served at once.", WRITE, |call| {
        Box::pin(create(call))
    }),
    operation(Verb::Get, RECORD, "Shows a record.", SHADOWS, |call| Box::pin(find(call))),
    operation(Verb::Patch, RECORD, "Changes the fields of a record that the body names.", WRITE, |call| {
        Box::pin(write(call, false))
    }),
    operation(Verb::Put, RECORD, "Replaces a record.", WRITE, |call| Box::pin(write(call, true))),
    Operation {
        output: ResultKind::One(crate::api::resources::shapes::DELETED),
        ..operation(Verb::Delete, RECORD, "Deletes a record.", &[DRY_RUN], |call| Box::pin(delete(call)))
    },
];

/// What the records of the zone of a call are read by.
///
/// # Errors
/// If there is no such zone.
pub(super) fn context(call: &ApiCall) -> Result<RecordContext, ApiErrors> {
    let zone = call.zone()?;
    let origin =
        Name::parse(&zone.name, None).map_err(|message| ApiError::new(error::INVALID_ZONE_NAME, message))?;
    let (zone, snapshot) = (zone.id.clone(), Arc::clone(&call.snapshot));
    // INVARIANT: a call has its time in RFC 3339.
    let now = RecordTime::parse(&call.now).unwrap_or_default();
    Ok(RecordContext { zone, origin, snapshot, now, old: call.old.clone() })
}

/// The records of a zone; none if it has none.
pub(super) fn records(resources: &Resources, zone: &ZoneId) -> ZoneRecords {
    resources.records.get(zone).cloned().unwrap_or_default()
}

async fn list(call: ApiCall) -> Answer {
    let paging = call.paging(PER_PAGE, MOST_PER_PAGE)?;
    let zone = call.zone()?;
    let settings = &call.snapshot.dns;
    let records = records(&call.snapshot.resources, &zone.id);
    let found = filters::found(&call, &zone.name, &records)?;
    let (found, info) = paging.of(found);
    let origin = context(&call)?.origin;
    let shadows = Shadows::asked(&call, &records, &origin, found.len())?;
    let old = OldRecordFields::of(&call, &zone.id, &zone.name);
    let shown = found.iter().map(|record| shown_with(record, settings, shadows.as_ref()).with_old(&old));
    ApiReply::page(&shown.collect::<Vec<_>>(), info)
}

fn shown_with<'a>(
    record: &'a DnsRecord,
    settings: &DnsSettings,
    shadows: Option<&Shadows<'_>>,
) -> ShownRecord<'a> {
    let shown = shown::shown(record, settings);
    match shadows {
        Some(shadows) => shown.with_shadows(shadows.of(record)),
        None => shown,
    }
}

async fn find(call: ApiCall) -> Answer {
    let (context, id) = (context(&call)?, record_id(call.parameter("dns_record_id"))?);
    let records = records(&call.snapshot.resources, &context.zone);
    let record = records.get(&id).ok_or_else(|| unknown_record(id))?;
    let shadows = Shadows::asked(&call, &records, &context.origin, 1)?;
    let zone = call.zone()?;
    let old = OldRecordFields::of(&call, &zone.id, &zone.name);
    let shown = shown_with(record, &call.snapshot.dns, shadows.as_ref()).with_old(&old);
    Ok(ApiReply::of(&shown)?.tagged(revision(record)))
}

async fn create(call: ApiCall) -> Answer {
    let edit = RecordEdit::Make(new_record_id()?, call.body.clone());
    one(call, edit).await
}

async fn write(call: ApiCall, is_whole: bool) -> Answer {
    let (id, body) = (record_id(call.parameter("dns_record_id"))?, call.body.clone());
    let edit = if is_whole { RecordEdit::Replace(id, body) } else { RecordEdit::Change(id, body) };
    one(call, edit).await
}

async fn delete(call: ApiCall) -> Answer {
    let id = record_id(call.parameter("dns_record_id"))?;
    let (edit, precondition) = (RecordEdit::Delete(id), call.precondition());
    edit_records(&call, &context(&call)?, move |edits| edits.edit(&edit, "", &precondition)).await?;
    ApiReply::of(&Deleted { id: &id.to_string() })
}

/// Does one edit, and shows the record that it leaves.
async fn one(call: ApiCall, edit: RecordEdit) -> Answer {
    let (context, precondition) = (context(&call)?, call.precondition());
    let EditedRecords { left, unknown, records } = edit_records(&call, &context, move |edits| {
        edits.edit(&edit, "", &precondition).map(|record| record.id)
    })
    .await?;
    let record = records.get(&left).ok_or_else(|| unknown_record(left))?;
    let shadows = Shadows::asked(&call, &records, &context.origin, 1)?;
    let zone = call.zone()?;
    let old = OldRecordFields::of(&call, &zone.id, &zone.name);
    let shown = shown_with(record, context.settings(), shadows.as_ref()).with_old(&old);
    let mut reply = ApiReply::of(&shown)?.tagged(revision(record)).passing_over(unknown);
    reply.messages.extend(hints::hints(record, &records, &context.origin, &call.body));
    Ok(reply)
}
