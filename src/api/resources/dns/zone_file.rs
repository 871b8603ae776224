//! Records as zone files: export and import. What zone files have no word for stands in comments: the comment of a
//! record, then `svc_tags=` with its tags and whether it is proxied.

use std::fmt::Write;

use dns::RecordType;
use dns::zone_file::{self, Entry, EntryData};
use model::{DnsRecord, RecordId};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::edits::{EditedRecords, RecordEdit, edit_records, new_record_id};
use super::records::{context, records};
use super::shapes;
use super::written::RecordContext;
use crate::api::auth::Permission;
use crate::api::envelope::{ApiReply, Item};
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{Answer, ApiCall, DRY_RUN, IfMatch, InputShape, Operation, ResultKind, Verb};

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: "/zones/{zone_id}/dns_records/export",
        summary: "Writes the records of a zone as a zone file.",
        permission: Permission::DnsRead,
        query: &[],
        input: None,
        output: ResultKind::Text("text/plain"),
        run: |call| Box::pin(export(call)),
    },
    Operation {
        verb: Verb::Post,
        path: "/zones/{zone_id}/dns_records/import",
        summary: "Makes the records of a zone file that the zone does not have.",
        permission: Permission::DnsWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Form(shapes::IMPORT_FORM)),
        output: ResultKind::One(shapes::IMPORT),
        run: |call| Box::pin(import(call)),
    },
];

/// Before the tags in a comment. The second is how files from elsewhere write it.
const TAGS: [&str; 2] = ["svc_tags=", "cf_tags="];
/// Tags that say what a record is, without the word before the first hyphen.
const PROXIED: &str = "proxied";
const FLATTENED: &str = "flatten-cname";
/// Most problems that a failed import names.
const MAX_ERRORS: usize = 50;

async fn export(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    let mut all: Vec<_> = records(&call.snapshot.resources, &zone.id).iter().cloned().collect();
    all.sort_by(|one, other| {
        let word = |record: &DnsRecord| record.rdata.record_type().word();
        word(one).cmp(word(other)).then_with(|| one.name.cmp(&other.name))
    });
    // Writing to a string does not fail.
    let mut text =
        format!(";;\n;; Domain:     {}.\n;; Exported:   {}\n;;\n$ORIGIN {0}.\n", zone.name, call.now);
    let mut last = None;
    for record in &all {
        let record_type = record.rdata.record_type();
        if last.replace(record_type) != Some(record_type) {
            let _ = write!(text, "\n;; {record_type} Records\n");
        }
        let _ = write!(text, "{}.\t{}\tIN\t{record_type}\t{}", record.name, record.ttl, record.rdata.text());
        let comment = comment(record);
        if !comment.is_empty() {
            let _ = write!(text, " ; {comment}");
        }
        text.push('\n');
    }
    Ok(ApiReply::text("text/plain; charset=utf-8", text))
}

/// What stands in the comment of a record's line.
fn comment(record: &DnsRecord) -> String {
    let mut comment = record.notes.comment.as_deref().unwrap_or("").to_owned();
    let has_marker = TAGS.iter().any(|marker| comment.contains(marker));
    let mut tags: Vec<String> = record.notes.tags.iter().map(|tag| quoted_tag(tag)).collect();
    let record_type = record.rdata.record_type();
    if record_type.is_proxiable() {
        tags.push(format!("svc-{PROXIED}:{}", record.proxied));
    }
    if let Some(flatten) = record.settings.flatten_cname {
        tags.push(format!("svc-{FLATTENED}:{flatten}"));
    }
    if !tags.is_empty() || has_marker {
        if !comment.is_empty() {
            comment.push(' ');
        }
        let _ = write!(comment, "{}{}", TAGS[0], tags.join(","));
    }
    comment
}

/// A tag whose value is a JSON string if it has characters that would end it.
fn quoted_tag(tag: &str) -> String {
    match tag.split_once(':') {
        Some((name, value)) if value.contains(['"', '=', ',', '\\', ' ']) => {
            format!("{name}:{}", json!(value))
        }
        _ => tag.to_owned(),
    }
}

/// A comment without its tags, and these.
fn split_comment(comment: &str) -> Result<(&str, Vec<String>), String> {
    let found = TAGS.iter().filter_map(|marker| Some((comment.rfind(marker)?, marker.len()))).max();
    let Some((at, length)) =
        found.filter(|(at, _)| *at == 0 || comment.get(..*at).is_some_and(|t| t.ends_with(' ')))
    else {
        return Ok((comment, Vec::new()));
    };
    let (note, mut rest) =
        (comment.get(..at).unwrap_or("").trim_end(), comment.get(at + length..).unwrap_or(""));
    let mut tags = Vec::new();
    while !rest.is_empty() {
        let is_quoted =
            rest.split_once(':').is_some_and(|(name, value)| !name.contains(',') && value.starts_with('"'));
        if is_quoted && let Some((name, value)) = rest.split_once(':') {
            let mut values = serde_json::Deserializer::from_str(value).into_iter::<String>();
            let text = values
                .next()
                .and_then(Result::ok)
                .ok_or_else(|| format!("the tag `{name}` has a quote without end"))?;
            tags.push(format!("{name}:{text}"));
            rest = value.get(values.byte_offset()..).unwrap_or("").trim_start().trim_start_matches(',');
        } else {
            let (tag, behind) = rest.split_once(',').unwrap_or((rest, ""));
            tags.push(tag.trim().to_owned());
            rest = behind;
        }
    }
    tags.retain(|tag| !tag.is_empty());
    Ok((note, tags))
}

#[derive(Debug, Serialize)]
struct Imported {
    recs_added: usize,
    total_records_parsed: usize,
}

async fn import(call: ApiCall) -> Answer {
    let context = context(&call)?;
    let field = |name: &str| call.body.get(name).and_then(Value::as_str);
    let file = field("file").ok_or_else(|| {
        ApiError::at(
            error::BAD_FIELD,
            "/file",
            "`file` is required: a part of the form with the text of a zone file",
        )
    })?;
    let is_proxied = match field("proxied") {
        None | Some("false" | "") => false,
        Some("true") => true,
        Some(other) => {
            let message = format!("expected `true` or `false` for `proxied`, found `{other:.20}`");
            return Err(ApiError::at(error::BAD_FIELD, "/proxied", message).into());
        }
    };
    let entries = zone_file::parse(file, &context.origin).map_err(|errors| {
        let errors = errors.iter().take(MAX_ERRORS);
        all_errors(errors.map(|error| ApiError::at(error::DNS_CONTENT, "/file", error.to_string())).collect())
    })?;
    let parsed = entries.len();
    let (bodies, passed_over) = bodies(&entries, is_proxied, &context)?;
    let total = bodies.len();
    let any = IfMatch::none();
    let EditedRecords { left: recs_added, .. } = edit_records(&call, &context, move |edits| {
        let mut errors = Vec::new();
        for (line, id, body) in &bodies {
            let edit = RecordEdit::Make(*id, body.clone());
            let Err(refused) = edits.edit(&edit, "", &any) else { continue };
            for error in refused.iter().filter(|error| error.code != error::SAME_RECORD) {
                let message = format!("line {line}: {}", error.message);
                errors.push(ApiError::at(error.code, "/file", message));
            }
            if errors.len() > MAX_ERRORS {
                break;
            }
        }
        ApiErrors::of(errors).map_or(Ok(edits.changes.len()), Err)
    })
    .await?;
    let mut reply = ApiReply::of(&Imported { recs_added, total_records_parsed: parsed })?;
    reply.messages.extend(passed_over);
    if recs_added < total {
        let message = format!("{} records were there already", total - recs_added);
        reply.messages.push(Item::new(error::SAME_RECORD.code, message));
    }
    Ok(reply)
}

fn all_errors(errors: Vec<ApiError>) -> ApiErrors {
    ApiErrors::of(errors)
        .unwrap_or_else(|| ApiError::new(error::DNS_CONTENT, "the zone file is not understood").into())
}

/// A record of a file as a request would make it, with its line and the id that it gets.
type FileRecord = (usize, RecordId, Value);

/// The records of a file as requests would make them, and messages about what is passed over.
fn bodies(
    entries: &[Entry],
    is_proxied: bool,
    context: &RecordContext,
) -> Result<(Vec<FileRecord>, Vec<Item>), ApiErrors> {
    let (mut bodies, mut messages, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries {
        let EntryData::Record(rdata) = &entry.data else {
            if let EntryData::Other(word) = &entry.data {
                let message = format!("line {}: records of the type `{word}` are passed over", entry.line);
                messages.push(Item::new(error::DNS_TYPE.code, message));
            }
            continue;
        };
        // Those are the server's, as is the SOA record.
        if rdata.record_type() == RecordType::Ns && entry.owner == context.origin {
            continue;
        }
        let is_proxiable = rdata.record_type().is_proxiable();
        if !entry.owner.is_within(&context.origin) {
            let message =
                format!("line {}: `{}` is not in the zone `{}`", entry.line, entry.owner, context.origin);
            errors.push(ApiError::at(error::DNS_NAME, "/file", message));
            continue;
        }
        let mut body = Map::new();
        body.insert("name".to_owned(), json!(format!("{}.", entry.owner)));
        body.insert("type".to_owned(), json!(rdata.record_type()));
        let content = rdata.content();
        body.insert("content".to_owned(), json!(content));
        if let Some(priority) = rdata.priority() {
            body.insert("priority".to_owned(), json!(priority));
        }
        // What resolvers may keep for longer or shorter than the API takes is brought within its bounds.
        let ttl = entry
            .ttl
            .map_or(DnsRecord::AUTOMATIC_TTL, |ttl| if ttl <= 1 { 1 } else { ttl.clamp(60, 86_400) });
        body.insert("ttl".to_owned(), json!(ttl));
        body.insert("proxied".to_owned(), json!(is_proxied && is_proxiable));
        match split_comment(entry.comment.as_deref().unwrap_or("")) {
            Ok((note, tags)) => add_comment(&mut body, note, tags),
            Err(message) => {
                errors.push(ApiError::at(
                    error::BAD_FIELD,
                    "/file",
                    format!("line {}: {message}", entry.line),
                ));
            }
        }
        bodies.push((entry.line, new_record_id()?, Value::Object(body)));
    }
    // They need the NS records of their name.
    bodies.sort_by_key(|(.., body)| body.get("type") == Some(&json!(RecordType::Ds)));
    ApiErrors::of(errors).map_or(Ok((bodies, messages)), Err)
}

/// Adds comment and tags; those that say what the record is become its fields.
fn add_comment(body: &mut Map<String, Value>, note: &str, tags: Vec<String>) {
    let mut kept = Vec::new();
    for tag in tags {
        let reserved = tag.split_once(':').and_then(|(name, value)| {
            let word = name.strip_prefix("svc-").or_else(|| name.strip_prefix("cf-"))?;
            Some((word, value.parse::<bool>().ok()?))
        });
        match reserved {
            Some((PROXIED, value)) => {
                body.insert("proxied".to_owned(), json!(value));
            }
            Some((FLATTENED, value)) => {
                body.insert("settings".to_owned(), json!({"flatten_cname": value}));
            }
            _ => kept.push(tag),
        }
    }
    if !note.is_empty() {
        body.insert("comment".to_owned(), json!(note));
    }
    body.insert("tags".to_owned(), json!(kept));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_as_they_are_written() {
        for (comment, note, tags) in [
            ("a note", "a note", &[][..]),
            ("a note svc_tags=a,b:c", "a note", &["a", "b:c"]),
            ("cf_tags=cf-proxied:true", "", &["cf-proxied:true"]),
            (r#"x svc_tags=a:"b,c\"=",d"#, "x", &["a:b,c\"=", "d"]),
            ("says cf_tags=x svc_tags=", "says cf_tags=x", &[]),
            ("notcf_tags=x", "notcf_tags=x", &[]),
        ] {
            let (found, found_tags) = split_comment(comment).unwrap();
            assert_eq!(
                (found, found_tags.as_slice()),
                (note, tags.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>().as_slice())
            );
        }
        assert!(split_comment("svc_tags=a:\"b").is_err());
    }
}
