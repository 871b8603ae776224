//! Records of a zone: listed, made, shown, changed, replaced, deleted.

use std::sync::Arc;

use dns::Name;
use model::{Declared, DnsRecord, RecordId, Resources, Zone, ZoneId, ZoneRecords};
use parking_lot::Mutex;
use serde_json::Value;
use store::Change;

use super::written::{self, RecordContext, Writing};
use super::{checks, filters, hints, shapes, shown};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, IfMatch, InputShape, Operation, QueryParameter, ResultKind, Running, Verb,
    new_id,
};
use crate::api::resources::accounts::Deleted;
use crate::api::resources::rulesets_read::revision;

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
    Ok(RecordContext {
        zone: Arc::new(Zone::clone(&zone)),
        origin,
        settings: call.snapshot.dns.clone(),
        now: call.now.as_str().into(),
    })
}

/// The records of a zone; none if it has none.
pub(super) fn records(resources: &Resources, zone: &ZoneId) -> ZoneRecords {
    resources.records.get(zone).cloned().unwrap_or_default()
}

/// What is asked of one record.
#[derive(Clone, Debug)]
pub(super) enum RecordEdit {
    Delete(RecordId),
    Change(RecordId, Value),
    Replace(RecordId, Value),
    /// With the id that the new record gets.
    Make(RecordId, Value),
}

/// Records of a zone while they are edited.
pub(super) struct RecordEdits<'c> {
    pub(super) records: ZoneRecords,
    pub(super) changes: Vec<Change>,
    context: &'c RecordContext,
    /// Pointers of fields that were passed over.
    pub(super) unknown: Vec<String>,
}

impl<'c> RecordEdits<'c> {
    pub(super) fn new(records: ZoneRecords, context: &'c RecordContext) -> Self {
        Self { records, changes: Vec::new(), context, unknown: Vec::new() }
    }

    /// Does what is asked; the body of it stands at `pointer`. Returns the record, of a deletion as it was.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(super) fn edit(
        &mut self,
        edit: &RecordEdit,
        pointer: &str,
        precondition: &IfMatch,
    ) -> Result<Arc<Declared<DnsRecord>>, ApiErrors> {
        let (record, unknown) = match edit {
            RecordEdit::Delete(id) => {
                let known = self.known(id, precondition)?;
                self.changes.push(Change::DeleteRecord { zone: known.zone.clone(), id: id.clone() });
                self.records.remove(id, 0);
                return Ok(known);
            }
            RecordEdit::Make(id, body) => written::record(body, pointer, Writing::New(id), self.context)?,
            RecordEdit::Change(id, body) => {
                let known = self.known(id, precondition)?;
                written::record(body, pointer, Writing::Change(&known), self.context)?
            }
            RecordEdit::Replace(id, body) => {
                let known = self.known(id, precondition)?;
                written::record(body, pointer, Writing::Replace(&known), self.context)?
            }
        };
        self.unknown.extend(unknown);
        if let Some(known) = self.records.get(&record.id).filter(|known| known.value == record) {
            return Ok(Arc::clone(known));
        }
        checks::fits(&record, &self.records, self.context, pointer)?;
        self.changes.push(Change::PutRecord { record: Box::new(record.clone()) });
        let declared = Arc::new(Declared::at_revision(record, 0));
        self.records.put(Arc::clone(&declared), 0);
        Ok(declared)
    }

    fn known(&self, id: &RecordId, precondition: &IfMatch) -> Result<Arc<Declared<DnsRecord>>, ApiErrors> {
        let known = self.records.get(id).ok_or_else(|| unknown_record(id))?;
        precondition.check(revision(known))?;
        Ok(Arc::clone(known))
    }
}

fn unknown_record(id: &RecordId) -> ApiErrors {
    ApiError::new(error::NO_RECORD, format!("Record does not exist: the zone has no record `{id:.60}`."))
        .into()
}

async fn list(call: ApiCall) -> Answer {
    let paging = call.paging(PER_PAGE, MOST_PER_PAGE)?;
    let zone = call.zone()?;
    let settings = &call.snapshot.dns;
    let records = records(&call.snapshot.resources, &zone.id);
    let found = filters::found(&call, &zone.name, &records)?;
    let (found, info) = paging.of(found);
    ApiReply::page(&found.iter().map(|record| shown::shown(record, settings)).collect::<Vec<_>>(), info)
}

async fn find(call: ApiCall) -> Answer {
    let (zone, id) = (call.zone()?, RecordId::new(call.parameter("dns_record_id")));
    let records = records(&call.snapshot.resources, &zone.id);
    let record = records.get(&id).ok_or_else(|| unknown_record(&id))?;
    Ok(ApiReply::of(&shown::shown(record, &call.snapshot.dns))?.tagged(revision(record)))
}

async fn create(call: ApiCall) -> Answer {
    let edit = RecordEdit::Make(RecordId::new(new_id()?), call.body.clone());
    one(call, edit).await
}

async fn write(call: ApiCall, is_whole: bool) -> Answer {
    let (id, body) = (RecordId::new(call.parameter("dns_record_id")), call.body.clone());
    let edit = if is_whole { RecordEdit::Replace(id, body) } else { RecordEdit::Change(id, body) };
    one(call, edit).await
}

async fn delete(call: ApiCall) -> Answer {
    let id = RecordId::new(call.parameter("dns_record_id"));
    let context = context(&call)?;
    let (edit, precondition) = (RecordEdit::Delete(id.clone()), call.precondition());
    call.write(move |resources| {
        let mut edits = RecordEdits::new(records(resources, &context.zone.id), &context);
        edits.edit(&edit, "", &precondition)?;
        Ok(edits.changes)
    })
    .await?;
    ApiReply::of(&Deleted { id: id.as_str() })
}

/// Does one edit, and shows the record that it leaves.
async fn one(call: ApiCall, edit: RecordEdit) -> Answer {
    let (context, precondition) = (context(&call)?, call.precondition());
    let (zone, settings, origin) =
        (context.zone.id.clone(), context.settings.clone(), context.origin.clone());
    let left = Arc::new(Mutex::new((None, Vec::new())));
    let leave = Arc::clone(&left);
    let applied = call
        .write(move |resources| {
            let mut edits = RecordEdits::new(records(resources, &context.zone.id), &context);
            let record = edits.edit(&edit, "", &precondition)?;
            *leave.lock() = (Some(record.id.clone()), edits.unknown);
            Ok(edits.changes)
        })
        .await?;
    let (id, unknown) = std::mem::take(&mut *left.lock());
    let all = records(&applied.resources, &zone);
    let record = id.as_ref().and_then(|id| all.get(id)).ok_or_else(|| ApiError::unknown(&call.path))?;
    let mut reply =
        ApiReply::of(&shown::shown(record, &settings))?.tagged(revision(record)).passing_over(unknown);
    reply.messages.extend(hints::hints(record, &all, &origin, &call.body));
    Ok(reply)
}
