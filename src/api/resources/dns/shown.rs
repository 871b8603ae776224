//! Records as answers show them. The order of fields is fixed: shell clients search the text.

use dns::{FieldValue, RecordType, rdata};
use model::{DnsRecord, RecordId, RecordSettings, RecordTime, ZoneId};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::shadows::ShadowMetadata;
use crate::api::operation::ApiCall;
use crate::conf::{DnsSettings, TxtContent};

/// The name ends or labels by which services verify who has a domain. What such a name leads to is read by them, not
/// asked over HTTP.
const VERIFICATION_TARGETS: &[&str] = &["acm-validations.aws", "onmicrosoft.com"];
/// A label of names that mail is verified by.
const MAIL_LABEL: &[u8] = b"dkim";

#[derive(Debug, Serialize)]
pub(super) struct ShownRecord<'a> {
    id: RecordId,
    #[serde(flatten)]
    old: OldRecordFields<'a>,
    name: String,
    r#type: RecordType,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<u16>,
    proxiable: bool,
    proxied: bool,
    ttl: u32,
    settings: RecordSettings,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<ShownData>,
    meta: RecordMeta,
    comment: Option<&'a str>,
    tags: &'a [Box<str>],
    created_on: RecordTime,
    modified_on: RecordTime,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment_modified_on: Option<RecordTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags_modified_on: Option<RecordTime>,
}

/// What records showed until it ended: each is there if it is still served.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct OldRecordFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    zone_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    locked: Option<bool>,
    /// Whether the data of SRV records has the parts of the name.
    #[serde(skip)]
    has_srv_names: bool,
}

impl<'a> OldRecordFields<'a> {
    pub(super) fn of(call: &ApiCall, zone: &'a ZoneId, zone_name: &'a str) -> Self {
        let has_zone = call.shows_old("dns-record-zone-fields");
        Self {
            zone_id: has_zone.then_some(zone.as_str()),
            zone_name: has_zone.then_some(zone_name),
            locked: call.shows_old("dns-record-locked").then_some(false),
            has_srv_names: call.shows_old(SRV_RECORD_DATA),
        }
    }
}

/// The row about the parts of names in the data of SRV records, and these parts.
pub(super) const SRV_RECORD_DATA: &str = "srv-record-data";
pub(super) const SRV_NAMES: [&str; 3] = ["service", "proto", "name"];

/// The data of a record as fields, in their order.
#[derive(Debug)]
struct ShownData(Vec<(&'static str, FieldValue)>);

impl Serialize for ShownData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = |value: &FieldValue| match value {
            FieldValue::Number(number) if number.fract() == 0.0 => Value::from(*number as i64),
            FieldValue::Number(number) => Value::from(*number),
            FieldValue::Text(text) => Value::from(text.as_str()),
        };
        serializer.collect_map(self.0.iter().map(|(name, found)| (name, value(found))))
    }
}

/// Where a record comes from (spec, "DNS record").
#[derive(Clone, Debug, Serialize)]
struct RecordMeta {
    auto_added: bool,
    managed_by_apps: bool,
    managed_by_svc_tunnel: bool,
    source: &'static str,
    #[serde(flatten)]
    shadows: ShadowMetadata,
}

pub(super) fn shown<'a>(record: &'a DnsRecord, settings: &DnsSettings) -> ShownRecord<'a> {
    let record_type = record.rdata.record_type();
    ShownRecord {
        id: record.id,
        old: OldRecordFields::default(),
        name: record.name.to_string(),
        r#type: record_type,
        content: content(record, settings.txt_content),
        priority: record.rdata.priority(),
        proxiable: why_not_proxied(record, settings).is_none(),
        proxied: record.proxied,
        ttl: record.ttl,
        settings: record.settings,
        data: rdata::is_structured(record_type).then(|| ShownData(record.rdata.fields())),
        meta: RecordMeta {
            auto_added: false,
            managed_by_apps: false,
            managed_by_svc_tunnel: false,
            source: "primary",
            shadows: ShadowMetadata::default(),
        },
        // Clients that are generated from the interface take no null for this type, and do for all others.
        comment: record.notes.comment.as_deref().or((record_type == RecordType::Openpgpkey).then_some("")),
        tags: &record.notes.tags,
        created_on: record.created_on,
        modified_on: record.modified_on,
        comment_modified_on: record.notes.comment_modified_on,
        tags_modified_on: record.notes.tags_modified_on,
    }
}

impl<'a> ShownRecord<'a> {
    /// With what it showed before that ended, as far as it is still served.
    pub(super) fn with_old(mut self, old: &OldRecordFields<'a>) -> Self {
        self.old = *old;
        if let (RecordType::Srv, true, Some(data)) = (self.r#type, old.has_srv_names, &mut self.data) {
            let mut parts = self.name.splitn(3, '.');
            let parts = SRV_NAMES
                .into_iter()
                .map_while(|name| parts.next().map(|part| (name, FieldValue::Text(part.to_owned()))));
            data.0 = parts.chain(std::mem::take(&mut data.0)).collect();
        }
        self
    }

    /// With what delegations do to it.
    pub(super) fn with_shadows(mut self, shadows: ShadowMetadata) -> Self {
        self.meta.shadows = shadows;
        self
    }
}

/// The content of a record: of a TXT record with quotes, or as it was sent.
pub(super) fn content(record: &DnsRecord, txt_content: TxtContent) -> String {
    match txt_content {
        TxtContent::AsSent if record.is_unquoted => record.rdata.joined_text().into_owned(),
        TxtContent::AsSent | TxtContent::Quoted => record.rdata.content(),
    }
}

/// Why the edge cannot stand in front of what a record names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotProxied {
    /// Its type names nothing that answers requests.
    Type,
    /// It is an address that the edge may not ask.
    Address,
    /// Its name or target is read by services that verify a domain.
    Verification,
}

pub(super) fn why_not_proxied(record: &DnsRecord, settings: &DnsSettings) -> Option<NotProxied> {
    let record_type = record.rdata.record_type();
    if !record_type.is_proxiable() {
        return Some(NotProxied::Type);
    }
    if let Some(address) = record.rdata.address() {
        return (!settings.may_be_origin(address)).then_some(NotProxied::Address);
    }
    let target = record.rdata.target().map(|target| target.to_string()).unwrap_or_default();
    let is_verified = VERIFICATION_TARGETS
        .iter()
        .any(|end| target.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('.')));
    let has_mail_label = |name: &dns::Name| name.labels().any(|label| label == MAIL_LABEL);
    let is_mail = record.rdata.target().as_ref().is_some_and(has_mail_label);
    (is_verified || is_mail).then_some(NotProxied::Verification)
}
