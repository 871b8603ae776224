//! Many edits of records as one: all of them, or none.

use serde::Serialize;
use serde_json::Value;

use super::edits::{EditedRecords, RecordEdit, edit_records, new_record_id, record_id};
use super::records::context;
use super::shapes;
use super::shown::{ShownRecord, shown};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::{Fields, Findings};
use crate::api::operation::{Answer, ApiCall, DRY_RUN, InputShape, Operation, ResultKind, Verb};

/// Most edits of one request.
const MAX_EDITS: usize = 3_500;

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[Operation {
    verb: Verb::Post,
    path: "/zones/{zone_id}/dns_records/batch",
    summary: "Deletes, changes, replaces and makes records, in this order, as one change.",
    permission: Permission::DnsWrite,
    query: &[DRY_RUN],
    input: Some(InputShape::Object(shapes::BATCH)),
    output: ResultKind::One(shapes::BATCH),
    run: |call| Box::pin(batch(call)),
}];

#[derive(Debug, Serialize)]
struct ShownBatch<'a> {
    deletes: Vec<ShownRecord<'a>>,
    patches: Vec<ShownRecord<'a>>,
    puts: Vec<ShownRecord<'a>>,
    posts: Vec<ShownRecord<'a>>,
}

/// The parts of a batch, in their order.
const PARTS: [&str; 4] = ["deletes", "patches", "puts", "posts"];

/// An edit with the part it is of and its place in the body.
struct PlacedEdit {
    part: &'static str,
    pointer: String,
    edit: RecordEdit,
}

fn edits(body: &Value) -> Result<Vec<PlacedEdit>, ApiErrors> {
    let findings = Findings::default();
    let mut edits = Vec::new();
    if let Some(fields) = Fields::root(body, &findings) {
        for part in PARTS {
            for (nth, body) in fields.list(part).unwrap_or_default().iter().enumerate() {
                let pointer = format!("/{part}/{nth}");
                let id = body.get("id").and_then(Value::as_str).filter(|_| part != "posts");
                let id = match id.map(record_id).transpose() {
                    Ok(id) => id,
                    Err(errors) => {
                        errors.iter().for_each(|error| findings.push(error.clone()));
                        continue;
                    }
                };
                let edit = match (part, id) {
                    ("posts", _) => RecordEdit::Make(new_record_id()?, body.clone()),
                    ("deletes", Some(id)) => RecordEdit::Delete(id),
                    ("patches", Some(id)) => RecordEdit::Change(id, body.clone()),
                    (_, Some(id)) => RecordEdit::Replace(id, body.clone()),
                    (_, None) => {
                        let message = "`id` is required: that of the record";
                        findings.push(ApiError::at(error::BAD_FIELD, format!("{pointer}/id"), message));
                        continue;
                    }
                };
                edits.push(PlacedEdit { part, pointer, edit });
            }
        }
    }
    if edits.len() > MAX_EDITS {
        let message = format!("a batch has at most {MAX_EDITS} edits, found {}; send several", edits.len());
        findings.push(ApiError::new(error::BAD_BODY, message));
    }
    Ok(findings.into_result(edits)?.0)
}

async fn batch(call: ApiCall) -> Answer {
    let (context, edits) = (context(&call)?, edits(&call.body)?);
    let precondition = call.precondition();
    let EditedRecords { left, unknown, records } = edit_records(&call, &context, move |all| {
        let record = |PlacedEdit { part, pointer, edit }: &PlacedEdit| {
            Ok((*part, all.edit(edit, pointer, &precondition)?))
        };
        edits.iter().map(record).collect::<Result<Vec<_>, ApiErrors>>()
    })
    .await?;
    // As it is served: what a write returns is what is read later.
    let left: Vec<_> = left
        .into_iter()
        .map(|(part, record)| {
            let served = records.get(&record.id).filter(|_| part != "deletes").cloned();
            (part, served.unwrap_or(record))
        })
        .collect();
    let of = |wanted: &str| {
        let of_part = left.iter().filter(|(part, _)| *part == wanted);
        of_part.map(|(_, record)| shown(record, context.settings())).collect()
    };
    let shown =
        ShownBatch { deletes: of("deletes"), patches: of("patches"), puts: of("puts"), posts: of("posts") };
    Ok(ApiReply::of(&shown)?.passing_over(unknown))
}
