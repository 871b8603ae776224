//! All records of a zone as they are to be: what is missing is made, what differs changed, what is too much deleted, as one
//! change.

use std::collections::BTreeMap;
use std::sync::Arc;

use dns::{Name, RecordType};
use model::{Declared, DnsRecord, RecordId, ZoneRecords};
use serde::Serialize;
use serde_json::Value;

use super::edits::{EditedRecords, RecordEdit, RecordEdits, edit_records, new_record_id};
use super::records::context;
use super::shapes;
use super::shown::{ShownRecord, shown};
use super::written::{self, RecordContext, Writing};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, IfMatch, InputShape, Kind, Operation, QueryParameter, ResultKind, Verb,
};
use crate::conf::DnsSettings;

const IF_SERIAL: QueryParameter = QueryParameter {
    name: "if_serial",
    kind: Kind::Whole,
    doc: "The serial that the records must be at; `If-Match` takes it too.",
};

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[Operation {
    verb: Verb::Put,
    path: "/zones/{zone_id}/dns_records",
    summary: "Makes the records of a zone those that are listed; with `dry_run` it is a plan.",
    permission: Permission::DnsWrite,
    query: &[DRY_RUN, IF_SERIAL],
    input: Some(InputShape::Object(shapes::DESIRED)),
    output: ResultKind::One(shapes::PLAN),
    run: |call| Box::pin(apply(call)),
}];

/// What was done, or would be.
#[derive(Debug, Default)]
pub(super) struct RecordPlan {
    pub(super) deletes: Vec<Arc<Declared<DnsRecord>>>,
    pub(super) puts: Vec<RecordId>,
    pub(super) posts: Vec<RecordId>,
    pub(super) unchanged: usize,
}

#[derive(Debug, Serialize)]
struct ShownPlan<'a> {
    serial: u64,
    unchanged: usize,
    deletes: Vec<ShownRecord<'a>>,
    puts: Vec<ShownRecord<'a>>,
    posts: Vec<ShownRecord<'a>>,
}

/// A wanted record with its body and its place among all.
struct Wanted {
    record: DnsRecord,
    body: Value,
    nth: usize,
}

fn wanted(bodies: &[Value], context: &RecordContext) -> Result<Vec<Wanted>, ApiErrors> {
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    for (nth, body) in bodies.iter().enumerate() {
        let id = new_record_id()?;
        match written::record(body, &format!("/records/{nth}"), Writing::New(id), context) {
            Ok((record, _)) => all.push(Wanted { record, body: body.clone(), nth }),
            Err(found) => errors.extend(found.iter().cloned()),
        }
    }
    ApiErrors::of(errors).map_or(Ok(all), Err)
}

/// Edits records until they are those that are wanted.
fn reach(edits: &mut RecordEdits<'_>, all: Vec<Wanted>) -> Result<RecordPlan, ApiErrors> {
    type Group = (Vec<Arc<Declared<DnsRecord>>>, Vec<Wanted>);
    let mut groups: BTreeMap<(Name, RecordType), Group> = BTreeMap::new();
    for record in edits.records.iter() {
        let key = (record.name.clone(), record.rdata.record_type());
        groups.entry(key).or_default().0.push(Arc::clone(record));
    }
    for wanted in all {
        let key = (wanted.record.name.clone(), wanted.record.rdata.record_type());
        groups.entry(key).or_default().1.push(wanted);
    }
    let (mut deletes, mut puts, mut posts) = (Vec::new(), Vec::new(), Vec::new());
    for (mut there, wanted) in groups.into_values() {
        // Those with the same data first, then whatever is left is changed to what is missing.
        let mut others = Vec::new();
        for wanted in wanted {
            let same = there.iter().position(|record| record.rdata.wire() == wanted.record.rdata.wire());
            match same {
                Some(at) => puts.push((there.swap_remove(at), wanted)),
                None => others.push(wanted),
            }
        }
        for wanted in others {
            match there.pop() {
                Some(record) => puts.push((record, wanted)),
                None => posts.push(wanted),
            }
        }
        deletes.append(&mut there);
    }
    // A DS record stands at the name of NS records, which are there first.
    posts.sort_by_key(|wanted| (wanted.record.rdata.record_type() == RecordType::Ds, wanted.nth));
    let mut plan = RecordPlan::default();
    let any = IfMatch::none();
    for record in deletes {
        edits.edit(&RecordEdit::Delete(record.id), "", &any)?;
        plan.deletes.push(record);
    }
    for (record, Wanted { body, nth, .. }) in puts {
        let before = edits.changes.len();
        let id = record.id;
        edits.edit(&RecordEdit::Replace(id, body), &format!("/records/{nth}"), &any)?;
        if edits.changes.len() > before {
            plan.puts.push(id);
        } else {
            plan.unchanged += 1;
        }
    }
    for Wanted { record, nth, .. } in posts {
        plan.posts.push(edits.put(record, &format!("/records/{nth}"))?.id);
    }
    Ok(plan)
}

async fn apply(call: ApiCall) -> Answer {
    let context = context(&call)?;
    let bodies = call.body.get("records").and_then(Value::as_array).cloned().ok_or_else(|| {
        ApiError::at(error::BAD_FIELD, "/records", "`records` is required: a list of all records of the zone")
    })?;
    let serial = call.asked("if_serial").map(|text| {
        text.parse::<u64>().map_err(|_| {
            ApiError::new(error::BAD_QUERY, format!("expected a serial for `if_serial`, found `{text:.40}`"))
        })
    });
    let (serial, precondition) = (serial.transpose()?, call.precondition());
    let EditedRecords { left: plan, records, .. } = edit_records(&call, &context, move |edits| {
        let known = edits.records.revision();
        precondition.check(Some(known))?;
        if let Some(serial) = serial.filter(|serial| *serial != known) {
            let message = format!("the records are at serial {known}, not {serial}; read them again");
            return Err(ApiError::new(error::CHANGED, message).into());
        }
        let all = wanted(&bodies, edits.context)?;
        reach(edits, all)
    })
    .await?;
    shown_plan(&plan, &records, context.settings())
}

/// A plan with the records that it leaves.
pub(super) fn shown_plan(plan: &RecordPlan, records: &ZoneRecords, settings: &DnsSettings) -> Answer {
    let of = |ids: &[RecordId]| -> Vec<_> { ids.iter().filter_map(|id| records.get(id).cloned()).collect() };
    let (puts, posts) = (of(&plan.puts), of(&plan.posts));
    ApiReply::of(&ShownPlan {
        serial: records.revision(),
        unchanged: plan.unchanged,
        deletes: shown_all(&plan.deletes, settings),
        puts: shown_all(&puts, settings),
        posts: shown_all(&posts, settings),
    })
}

fn shown_all<'a>(records: &'a [Arc<Declared<DnsRecord>>], settings: &DnsSettings) -> Vec<ShownRecord<'a>> {
    records.iter().map(|record| shown(record, settings)).collect()
}
