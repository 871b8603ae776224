//! Filters and order of lists of records. Texts are compared without case.

use std::cmp::Ordering;
use std::sync::Arc;

use dns::{Name, Rdata, RecordType};
use model::{Declared, DnsRecord, ZoneRecords};

use super::shadows::{self, RecordFilter};
use super::{names, shown};
use crate::api::deprecated;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{ApiCall, Kind, PAGE, PER_PAGE, QueryParameter};
use crate::conf::TxtContent;

const fn text(name: &'static str, doc: &'static str) -> QueryParameter {
    QueryParameter { name, kind: Kind::Text, doc }
}

pub(super) const INCLUDE_SHADOWS: QueryParameter = QueryParameter {
    name: "include_shadow_metadata",
    kind: Kind::Flag,
    doc: "Whether `meta` says which delegations hide a record; not for pages of more than 1,000 records.",
};

/// Whether all filters must hold, or one.
const MATCH: &[&str] = &["all", "any"];

pub(super) const LIST: &[QueryParameter] = &[
    PAGE,
    PER_PAGE,
    text("name", "The whole name; repeated with `match=any`."),
    text("name.exact", "The whole name."),
    text("name.contains", "A part of the name."),
    text("name.startswith", "The start of the name."),
    text("name.endswith", "The end of the name."),
    text("content", "The whole content, of TXT records with or without quotes; repeated with `match=any`."),
    text("content.exact", "The whole content."),
    text("content.contains", "A part of the content."),
    text("content.startswith", "The start of the content."),
    text("content.endswith", "The end of the content."),
    text("comment", "The whole comment."),
    text("comment.exact", "The whole comment."),
    text("comment.contains", "A part of the comment."),
    text("comment.startswith", "The start of the comment."),
    text("comment.endswith", "The end of the comment."),
    text("comment.present", "Only records with a comment."),
    text("comment.absent", "Only records without one."),
    text("tag", "A tag: `name:value`, or a name."),
    text("tag.exact", "A tag: `name:value`."),
    text("tag.contains", "The name of a tag, `:`, and a part of its value."),
    text("tag.startswith", "The name of a tag, `:`, and the start of its value."),
    text("tag.endswith", "The name of a tag, `:`, and the end of its value."),
    text("tag.present", "The name of a tag that must be there."),
    text("tag.absent", "The name of a tag that must not be there."),
    text("type", "The type."),
    QueryParameter { name: "proxied", kind: Kind::Flag, doc: "Whether they are proxied." },
    text("search", "A text in name, content, comment or tags."),
    QueryParameter { name: "match", kind: Kind::Words(MATCH), doc: "Whether all filters must hold, or one." },
    QueryParameter { name: "tag_match", kind: Kind::Words(MATCH), doc: "The same for the filters of tags." },
    QueryParameter { name: "tag-match", kind: Kind::Words(MATCH), doc: "As `tag_match`." },
    QueryParameter {
        name: "order",
        kind: Kind::Words(&["type", "name", "content", "ttl", "proxied"]),
        doc: "By what the list is sorted; what is equal, the newest first.",
    },
    QueryParameter { name: "direction", kind: Kind::Words(&["asc", "desc"]), doc: "Which end is first." },
    INCLUDE_SHADOWS,
    text("shadowed_by_name", "Only what the delegation of this name hides; with `include_shadow_metadata`."),
    text("shadowing_name", "Only NS records of delegations that hide this name."),
];

/// What a text is compared by.
#[derive(Clone, Copy, Debug)]
enum TextComparison {
    Exact,
    Contains,
    StartsWith,
    EndsWith,
}

impl TextComparison {
    fn of_word(word: &str) -> Option<Self> {
        match word {
            "" | "exact" => Some(Self::Exact),
            "contains" => Some(Self::Contains),
            "startswith" => Some(Self::StartsWith),
            "endswith" => Some(Self::EndsWith),
            _ => None,
        }
    }

    /// Compares with a text in lower case.
    fn holds(self, value: &str, wanted: &str) -> bool {
        let value = value.to_lowercase();
        match self {
            Self::Exact => value == wanted,
            Self::Contains => value.contains(wanted),
            Self::StartsWith => value.starts_with(wanted),
            Self::EndsWith => value.ends_with(wanted),
        }
    }
}

/// The records that a call asks for, in its order.
///
/// # Errors
/// If a parameter has no such value.
pub(super) fn found(
    call: &ApiCall,
    zone: &str,
    records: &ZoneRecords,
) -> Result<Vec<Arc<Declared<DnsRecord>>>, ApiErrors> {
    let mut filters = Filters::read(call, zone)?;
    // INVARIANT: names of zones are names.
    let origin =
        Name::parse(zone, None).map_err(|message| ApiError::new(error::INVALID_ZONE_NAME, message))?;
    filters.filters.extend(shadows::filter(call, &origin)?);
    let mut found: Vec<Arc<Declared<DnsRecord>>> = match &filters.only_name {
        Some(name) => records.at(name).filter(|record| filters.hold(record)).cloned().collect(),
        None => records.iter().filter(|record| filters.hold(record)).cloned().collect(),
    };
    let is_descending = match call.asked("direction") {
        None | Some("asc") => false,
        Some("desc") => true,
        Some(other) => return Err(bad("direction", "`asc` or `desc`", other)),
    };
    let by = by_key(call.asked("order").unwrap_or("type"))?;
    found.sort_by(|one, other| {
        let order = by(one, other);
        let order = if is_descending { order.reverse() } else { order };
        order.then_with(|| other.created_on.cmp(&one.created_on)).then_with(|| other.id.cmp(&one.id))
    });
    Ok(found)
}

fn by_key(order: &str) -> Result<fn(&DnsRecord, &DnsRecord) -> Ordering, ApiErrors> {
    Ok(match order {
        "type" => |one, other| one.rdata.record_type().word().cmp(other.rdata.record_type().word()),
        "name" => |one, other| one.name.to_string().cmp(&other.name.to_string()),
        "content" => |one, other| one.rdata.text().cmp(other.rdata.text()),
        "ttl" => |one, other| one.ttl.cmp(&other.ttl),
        "proxied" => |one, other| one.proxied.cmp(&other.proxied),
        other => return Err(bad("order", "`type`, `name`, `content`, `ttl` or `proxied`", other)),
    })
}

fn bad(name: &str, expected: &str, found: &str) -> ApiErrors {
    let message = format!("expected {expected} for `{name}`, found `{found:.60}`");
    ApiError::new(error::BAD_QUERY, message).into()
}

struct Filters {
    filters: Vec<RecordFilter>,
    tags: Vec<RecordFilter>,
    is_any: bool,
    is_any_tag: bool,
    /// The one name that all found records have.
    only_name: Option<Name>,
}

impl Filters {
    fn hold(&self, record: &DnsRecord) -> bool {
        let hold = |filters: &[RecordFilter], is_any: bool| {
            filters.is_empty()
                || if is_any {
                    filters.iter().any(|filter| filter(record))
                } else {
                    filters.iter().all(|filter| filter(record))
                }
        };
        match (self.is_any, self.filters.is_empty(), self.tags.is_empty()) {
            (true, false, false) => hold(&self.filters, true) || hold(&self.tags, self.is_any_tag),
            (is_any, ..) => hold(&self.filters, is_any) && hold(&self.tags, self.is_any_tag),
        }
    }

    fn read(call: &ApiCall, zone: &str) -> Result<Self, ApiErrors> {
        let is_any = |name: &str| match call.asked(name) {
            None | Some("all") => Ok(false),
            Some("any") => Ok(true),
            Some(other) => Err(bad(name, "`all` or `any`", other)),
        };
        let mut read = Self {
            filters: Vec::new(),
            tags: Vec::new(),
            is_any: is_any("match")?,
            is_any_tag: is_any("tag_match")? || is_any("tag-match")?,
            only_name: None,
        };
        for (name, value) in &call.query {
            let (field, comparison) = name.split_once('.').unwrap_or((name, ""));
            let is_presence = matches!(comparison, "present" | "absent");
            if value.is_empty() && !(is_presence && field == "comment") {
                continue;
            }
            match field {
                "name" | "content" | "type" if comparison.is_empty() => match old_form(call, field, value) {
                    Some(old) => read.add_old(field, &old, zone, call)?,
                    None => read.add(field, TextComparison::Exact, value, zone, call)?,
                },
                "comment" if is_presence => {
                    let is_wanted = comparison == "present";
                    read.filters.push(Box::new(move |record| record.notes.comment.is_some() == is_wanted));
                }
                "tag" if is_presence => {
                    let (wanted, is_wanted) = (value.to_lowercase(), comparison == "present");
                    let has = move |record: &DnsRecord| {
                        record.notes.tags.iter().any(|tag| tag_parts(tag).0.eq_ignore_ascii_case(&wanted))
                    };
                    read.tags.push(Box::new(move |record| has(record) == is_wanted));
                }
                _ => {
                    if let Some(comparison) = TextComparison::of_word(comparison) {
                        read.add(field, comparison, value, zone, call)?;
                    }
                }
            }
        }
        Ok(read)
    }

    /// Adds a filter in one of its old forms. Several values are alternatives, whatever `match` says.
    fn add_old(
        &mut self,
        field: &str,
        (comparison, values): &(TextComparison, Vec<&str>),
        zone: &str,
        call: &ApiCall,
    ) -> Result<(), ApiErrors> {
        if let ("type", [part]) = (field, values.as_slice()) {
            let part = part.to_ascii_uppercase();
            self.filters.push(Box::new(move |record| record.rdata.record_type().word().contains(&part)));
            return Ok(());
        }
        let mut alternatives =
            Self { filters: Vec::new(), tags: Vec::new(), is_any: true, is_any_tag: true, only_name: None };
        for value in values {
            alternatives.add(field, *comparison, value, zone, call)?;
        }
        self.filters.push(Box::new(move |record| alternatives.hold(record)));
        Ok(())
    }

    fn add(
        &mut self,
        field: &str,
        comparison: TextComparison,
        value: &str,
        zone: &str,
        call: &ApiCall,
    ) -> Result<(), ApiErrors> {
        let wanted = value.to_lowercase();
        match field {
            "name" => {
                let wanted = wanted.trim_end_matches('.').to_owned();
                let Some(wanted) = whole_name(&wanted, comparison, zone) else {
                    self.filters.push(Box::new(|_| false));
                    return Ok(());
                };
                if matches!(comparison, TextComparison::Exact) && !self.is_any {
                    self.only_name = Name::parse(&wanted, None).ok();
                }
                self.filters
                    .push(Box::new(move |record| comparison.holds(&record.name.to_string(), &wanted)));
            }
            "content" => {
                let txt_content = call.snapshot.dns.txt_content;
                // Strings in quotes as records have them, with one space between.
                let strings =
                    wanted.starts_with('"').then(|| Rdata::parse(RecordType::Txt, &wanted, None).ok());
                let wanted = strings.flatten().map_or(wanted, |strings| strings.text().to_owned());
                self.filters
                    .push(Box::new(move |record| has_content(record, comparison, &wanted, txt_content)));
            }
            "comment" => self.filters.push(Box::new(move |record| {
                record.notes.comment.as_deref().is_some_and(|comment| comparison.holds(comment, &wanted))
            })),
            "tag" => self.tags.push(Box::new(move |record| {
                record.notes.tags.iter().any(|tag| has_tag(tag, comparison, &wanted))
            })),
            "type" => {
                let Some(wanted) = RecordType::parse(value) else {
                    return if value.eq_ignore_ascii_case("SOA") {
                        self.filters.push(Box::new(|_| false));
                        Ok(())
                    } else {
                        Err(bad("type", "the name of a type, such as `A`", value))
                    };
                };
                self.filters.push(Box::new(move |record| record.rdata.record_type() == wanted));
            }
            "proxied" => {
                let wanted = match value {
                    "true" => true,
                    "false" => false,
                    other => return Err(bad("proxied", "`true` or `false`", other)),
                };
                self.filters.push(Box::new(move |record| record.proxied == wanted));
            }
            "search" => {
                let txt_content = call.snapshot.dns.txt_content;
                self.filters.push(Box::new(move |record| {
                    let has = |text: &str| TextComparison::Contains.holds(text, &wanted);
                    has(&record.name.to_string())
                        || has_content(record, TextComparison::Contains, &wanted, txt_content)
                        || record.notes.comment.as_deref().is_some_and(has)
                        || record.notes.tags.iter().any(|tag| has(tag))
                }));
            }
            _ => {}
        }
        Ok(())
    }
}

/// A name as records have it: `@`, and letters beyond ASCII, are taken too.
fn whole_name(wanted: &str, comparison: TextComparison, zone: &str) -> Option<String> {
    if !matches!(comparison, TextComparison::Exact) {
        return Some(wanted.to_owned());
    }
    let origin = Name::parse(zone, None).ok()?;
    let is_whole = wanted == "@" || wanted == zone || wanted.ends_with(&format!(".{zone}"));
    if !is_whole && wanted.is_ascii() {
        // Names are whole in filters.
        return None;
    }
    names::name_in_zone(wanted, &origin, false).ok().map(|name| name.to_string())
}

fn has_content(
    record: &DnsRecord,
    comparison: TextComparison,
    wanted: &str,
    txt_content: TxtContent,
) -> bool {
    if comparison.holds(&shown::content(record, txt_content), wanted) {
        return true;
    }
    match record.rdata.record_type() {
        // With quotes and without them.
        RecordType::Txt => {
            let bare = wanted.strip_prefix('"').and_then(|wanted| wanted.strip_suffix('"')).unwrap_or(wanted);
            comparison.holds(&record.rdata.joined_text(), bare)
                || comparison.holds(record.rdata.text(), wanted)
        }
        _ => wanted.strip_suffix('.').is_some_and(|wanted| comparison.holds(&record.rdata.content(), wanted)),
    }
}

fn tag_parts(tag: &str) -> (&str, &str) {
    tag.split_once(':').unwrap_or((tag, ""))
}

/// Whether a tag is the one that is wanted: the name is compared whole, the value as is asked.
fn has_tag(tag: &str, comparison: TextComparison, wanted: &str) -> bool {
    let (name, value) = tag_parts(tag);
    match wanted.split_once(':') {
        Some((wanted_name, wanted)) => {
            name.eq_ignore_ascii_case(wanted_name) && comparison.holds(value, wanted)
        }
        None => comparison.holds(name, wanted),
    }
}

/// A filter in a form that ended on 2025-02-21 or, of lists with commas, on 2025-05-23, if it is still served (spec,
/// "Versioning"): how it compares, and with what.
fn old_form<'v>(call: &ApiCall, name: &str, value: &'v str) -> Option<(TextComparison, Vec<&'v str>)> {
    let row = if name == "type" { "dns-record-filter-type" } else { "dns-record-filter-operators" };
    let operators: [(&str, TextComparison); 3] = [
        ("contains:", TextComparison::Contains),
        ("starts_with:", TextComparison::StartsWith),
        ("ends_with:", TextComparison::EndsWith),
    ];
    let operator = operators.into_iter().find_map(|(operator, comparison)| {
        let is_known = name != "type" || operator == "contains:";
        Some((comparison, vec![value.strip_prefix(operator).filter(|_| is_known)?]))
    });
    if let Some(operator) = operator.filter(|_| call.serves(row)) {
        return Some(operator);
    }
    let is_list =
        name != "type" && call.serves("dns-record-filter-lists") && deprecated::is_list(name, value, ",");
    is_list.then(|| (TextComparison::Exact, value.split(',').map(str::trim).collect()))
}
