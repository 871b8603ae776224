//! Records as requests write them.

use std::cell::Cell;
use std::sync::Arc;

use dns::{Name, RecordType};
use model::{DnsRecord, NoteFields, RecordId, RecordSettings, RecordTime, ZoneId};
use serde_json::Value;

use super::names::name_in_zone;
use super::shown::{NotProxied, why_not_proxied};
use crate::api::deprecated::CallRows;
use crate::api::error::{self, ApiErrors, ErrorCode};
use crate::api::input::{Fields, Findings};
use crate::conf::DnsSettings;
use crate::snapshot::Snapshot;

/// Seconds that a TTL may be.
const TTL: std::ops::RangeInclusive<i64> = 60..=86_400;
/// Longest comment, in characters.
const MAX_COMMENT: usize = 500;
/// Most tags, and their parts in characters.
const MAX_TAGS: usize = 20;
const MAX_TAG_NAME: usize = 32;
const MAX_TAG_VALUE: usize = 100;

/// What records of a zone are read by.
#[derive(Clone, Debug)]
pub(super) struct RecordContext {
    pub(super) zone: ZoneId,
    pub(super) origin: Name,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) now: RecordTime,
    /// What ends of what the call may use.
    pub(super) old: Option<Arc<CallRows>>,
}

impl RecordContext {
    pub(super) fn settings(&self) -> &DnsSettings {
        &self.snapshot.dns
    }
}

/// What a body does to a record.
#[derive(Clone, Copy, Debug)]
pub(super) enum Writing<'r> {
    /// It is all of a new record of this id.
    New(RecordId),
    /// It replaces a record: what it does not name has its default.
    Replace(&'r DnsRecord),
    /// It changes what it names.
    Change(&'r DnsRecord),
}

/// Reads a record from the body, or the part of a body, at `pointer`. Returns it with the fields that were passed over.
///
/// # Errors
/// Everything that is wrong with it, but for what other records have to do with.
pub(super) fn record(
    body: &Value,
    pointer: &str,
    writing: Writing<'_>,
    context: &RecordContext,
) -> Result<(DnsRecord, Vec<String>), ApiErrors> {
    let findings = Findings::default();
    let written = Fields::at(body, pointer.to_owned(), &findings).and_then(|fields| {
        fields.ignore(SHOWN_ONLY);
        Reading { fields: &fields, context, writing, is_unquoted: Cell::new(false) }.record()
    });
    match findings.into_result(written)? {
        (Some(record), unknown) => Ok((record, unknown)),
        // INVARIANT: what is not read has left an error.
        (None, _) => Err(error::ApiError::new(error::BAD_BODY, "no record").into()),
    }
}

/// What is shown and cannot be set.
const SHOWN_ONLY: &[&str] = &[
    "id",
    "zone_id",
    "zone_name",
    "locked",
    "meta",
    "proxiable",
    "created_on",
    "modified_on",
    "comment_modified_on",
    "tags_modified_on",
    "private_routing",
];

pub(super) struct Reading<'f, 'r> {
    pub(super) fields: &'f Fields<'f>,
    pub(super) context: &'f RecordContext,
    writing: Writing<'r>,
    /// Whether the text of a TXT record has no quotes.
    pub(super) is_unquoted: Cell<bool>,
}

impl Reading<'_, '_> {
    /// The record as it is, if this changes some of it.
    pub(super) fn kept(&self) -> Option<&DnsRecord> {
        match self.writing {
            Writing::Change(record) => Some(record),
            Writing::New(_) | Writing::Replace(_) => None,
        }
    }

    fn record(&self) -> Option<DnsRecord> {
        let record_type = self.record_type();
        let name = self.name(record_type);
        let rdata = record_type.and_then(|record_type| self.rdata(record_type));
        let ttl = self.ttl();
        let comment = self.comment();
        let tags = self.tags();
        let settings = self.settings(record_type == Some(RecordType::Cname));
        let (now, kept) = (self.context.now, self.kept());
        let is_proxied = self.fields.bool("proxied").unwrap_or_else(|| kept.is_some_and(|kept| kept.proxied));
        let (id, before) = match self.writing {
            Writing::New(id) => (id, None),
            Writing::Replace(record) | Writing::Change(record) => (record.id, Some(record)),
        };
        let since = |is_same: bool, is_empty: bool, known: Option<RecordTime>| match (is_empty, is_same) {
            (true, _) => None,
            (false, true) => known.or(Some(now)),
            (false, false) => Some(now),
        };
        let has_same_comment = before.is_some_and(|before| before.notes.comment == comment);
        let has_same_tags = before.is_some_and(|before| before.notes.tags == tags);
        let record = DnsRecord {
            id,
            zone: self.context.zone.clone(),
            name: name?,
            rdata: rdata?,
            ttl: if is_proxied { DnsRecord::AUTOMATIC_TTL } else { ttl },
            proxied: is_proxied,
            is_unquoted: self.is_unquoted.get(),
            settings,
            notes: NoteFields {
                comment_modified_on: since(
                    has_same_comment,
                    comment.is_none(),
                    before.and_then(|before| before.notes.comment_modified_on),
                ),
                tags_modified_on: since(
                    has_same_tags,
                    tags.is_empty(),
                    before.and_then(|before| before.notes.tags_modified_on),
                ),
                comment,
                tags,
            }
            .into(),
            created_on: before.map_or(now, |before| before.created_on),
            modified_on: before.map_or(now, |before| before.modified_on),
        };
        self.check_proxied(&record)?;
        self.check_own_name(&record)?;
        let is_changed = before.is_some_and(|before| *before != record);
        let modified_on = if is_changed { now } else { record.modified_on };
        Some(DnsRecord { modified_on, ..record })
    }

    pub(super) fn refuse(&self, code: &'static ErrorCode, name: &str, message: impl Into<String>) {
        self.fields.refuse(code, name, message);
    }

    fn record_type(&self) -> Option<RecordType> {
        let Some(word) = self.fields.text("type") else {
            if let Some(kept) = self.kept() {
                return Some(kept.rdata.record_type());
            }
            self.refuse(
                error::DNS_TYPE,
                "type",
                "DNS record type is invalid: `type` is required, such as `A`",
            );
            return None;
        };
        let found = RecordType::parse(word);
        if found.is_none() {
            let message = if word.eq_ignore_ascii_case("SOA") {
                "DNS record type is invalid: the SOA record is made by the server; its values are in the zone's DNS settings"
                    .to_owned()
            } else {
                let known: Vec<&str> = RecordType::ALL.iter().map(|known| known.word()).collect();
                format!(
                    "DNS record type is invalid: expected one of {}, found `{word:.20}`",
                    known.join(", ")
                )
            };
            self.refuse(error::DNS_TYPE, "type", message);
        }
        found
    }

    fn name(&self, record_type: Option<RecordType>) -> Option<Name> {
        let of_data = || (record_type == Some(RecordType::Srv)).then(|| self.srv_name()).flatten();
        let Some(text) = self.fields.text("name").map(str::to_owned).or_else(of_data) else {
            if let Some(kept) = self.kept() {
                return Some(kept.name.clone());
            }
            self.refuse(
                error::DNS_NAME,
                "name",
                "DNS name is invalid: `name` is required; `@` is the zone itself",
            );
            return None;
        };
        let is_host = record_type.is_some_and(RecordType::is_proxiable);
        let is_strict = is_host && self.context.settings().strict_names;
        match name_in_zone(&text, &self.context.origin, is_strict) {
            Ok(name) => Some(name),
            Err(message) => {
                self.refuse(error::DNS_NAME, "name", format!("DNS name is invalid: {message}"));
                None
            }
        }
    }

    fn ttl(&self) -> u32 {
        let default = self.kept().map_or(DnsRecord::AUTOMATIC_TTL, |kept| kept.ttl);
        let Some(ttl) = self.fields.whole("ttl") else { return default };
        if ttl != i64::from(DnsRecord::AUTOMATIC_TTL) && !TTL.contains(&ttl) {
            let message = format!(
                "Invalid TTL. Must be between {} and {} seconds, or 1 for Automatic.",
                TTL.start(),
                TTL.end()
            );
            self.refuse(error::DNS_TTL, "ttl", message);
        }
        u32::try_from(ttl).unwrap_or(default)
    }

    fn comment(&self) -> Option<Box<str>> {
        if !self.fields.has("comment") {
            return self.kept().and_then(|kept| kept.notes.comment.clone());
        }
        let comment = self.fields.text("comment").filter(|comment| !comment.is_empty())?;
        if comment.chars().count() > MAX_COMMENT || comment.contains(['\n', '\r']) {
            let message = format!("a comment has at most {MAX_COMMENT} characters and no line breaks");
            self.refuse(error::BAD_FIELD, "comment", message);
        }
        Some(comment.into())
    }

    fn tags(&self) -> Box<[Box<str>]> {
        if !self.fields.has("tags") {
            return self.kept().map(|kept| kept.notes.tags.clone()).unwrap_or_default();
        }
        let tags = self.fields.texts("tags").unwrap_or_default();
        if tags.len() > MAX_TAGS {
            self.refuse(error::BAD_FIELD, "tags", format!("a record has at most {MAX_TAGS} tags"));
        }
        for (nth, tag) in tags.iter().enumerate() {
            let (name, value) = tag.split_once(':').unwrap_or((tag, ""));
            let is_name = (1..=MAX_TAG_NAME).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
            if !is_name || value.chars().count() > MAX_TAG_VALUE || value.contains(char::is_control) {
                let message = format!(
                    "`{tag:.60}` is no tag: expected `name:value`, the name of up to {MAX_TAG_NAME} letters, digits, \
                     `-` and `_`, the value of up to {MAX_TAG_VALUE} characters"
                );
                self.refuse(error::BAD_FIELD, &format!("tags/{nth}"), message);
            }
        }
        tags.into_iter().map(String::into_boxed_str).collect()
    }

    fn settings(&self, is_cname: bool) -> RecordSettings {
        let kept = self.kept().map(|kept| kept.settings).unwrap_or_default();
        let fields = self.fields.object("settings");
        let flag = |name, kept: Option<bool>| fields.as_ref().and_then(|fields| fields.bool(name)).or(kept);
        let flatten_cname = flag("flatten_cname", kept.flatten_cname);
        RecordSettings {
            ipv4_only: flag("ipv4_only", kept.ipv4_only),
            ipv6_only: flag("ipv6_only", kept.ipv6_only),
            // It is shown with every CNAME record, and with no other.
            flatten_cname: is_cname.then(|| flatten_cname.unwrap_or(false)),
        }
    }

    fn check_proxied(&self, record: &DnsRecord) -> Option<()> {
        if !record.proxied {
            return Some(());
        }
        let Some(reason) = why_not_proxied(record, self.context.settings()) else { return Some(()) };
        match reason {
            NotProxied::Type => {
                self.refuse(error::DNS_PROXIED_TYPE, "proxied", "This record type cannot be proxied.");
            }
            NotProxied::Address => {
                let message = format!(
                    "Target {} is not allowed for a proxied record: it is private, or one of the edge's own addresses",
                    record.rdata.text()
                );
                self.refuse(error::DNS_PROXIED_TARGET, "content", message);
            }
            NotProxied::Verification => {
                self.refuse(error::DNS_NEVER_PROXIED, "proxied", "This DNS record cannot be proxied.");
            }
        }
        None
    }

    fn check_own_name(&self, record: &DnsRecord) -> Option<()> {
        let is_own = record.rdata.record_type() == RecordType::Cname
            && record.rdata.target().is_some_and(|target| target == record.name);
        if is_own {
            self.refuse(error::DNS_OWN_NAME, "content", "CNAME content cannot reference itself.");
            return None;
        }
        Some(())
    }
}
