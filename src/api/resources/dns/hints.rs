//! What is likely not meant by a record that was written: messages beside the answer.

use dns::zone_check::too_many_spf_look_ups;
use dns::{Name, RecordType};
use model::{DnsRecord, ZoneRecords};
use serde_json::Value;

use crate::api::envelope::Item;
use crate::api::error;

/// Hints about a record among the others of its zone, and about the name as the body wrote it.
pub(super) fn hints(record: &DnsRecord, records: &ZoneRecords, origin: &Name, body: &Value) -> Vec<Item> {
    let hint = |message: String| Item::new(error::DNS_CONTENT.code, message);
    let mut hints: Vec<Item> = foreign_name(body, origin).into_iter().collect();
    hints.extend(dangling(record, records, origin).map(hint));
    hints.extend(shadowed(record, records, origin).map(hint));
    if record.rdata.record_type() == RecordType::Txt {
        let look_ups = too_many_spf_look_ups(&record.rdata.joined_text());
        hints.extend(
            look_ups
                .map(|count| hint(format!("this SPF record causes {count} look-ups; mail servers make 10"))),
        );
    }
    hints
}

/// A name that looks like one of another domain is taken as one below the zone's.
fn foreign_name(body: &Value, origin: &Name) -> Option<Item> {
    let name = body.get("name")?.as_str()?.trim_end_matches('.').to_ascii_lowercase();
    let zone = origin.to_string();
    let last = zone.rsplit('.').next()?;
    let is_foreign = name.contains('.') && name.rsplit('.').next()? == last && !name.ends_with(&zone);
    is_foreign.then(|| {
        let message =
            format!("`{name:.80}` looks like a name outside the zone; the record is at `{name:.80}.{zone}`");
        Item::new(error::DNS_NAME.code, message)
    })
}

/// A target in the zone that has no records.
fn dangling(record: &DnsRecord, records: &ZoneRecords, origin: &Name) -> Option<String> {
    let target = record.rdata.target().filter(|target| target.is_within(origin) && target != origin)?;
    let mut asked = Some(target.clone());
    while let Some(name) = asked.filter(|name| name.is_within(origin)) {
        let is_there = records.at(&name).next().is_some()
            || name
                .below(b"*")
                .is_some_and(|wildcard| name != target && records.at(&wildcard).next().is_some());
        if is_there {
            return None;
        }
        asked = name.parent().filter(|parent| parent != origin);
    }
    let wildcard = origin.below(b"*")?;
    records.at(&wildcard).next().is_none().then(|| format!("`{target}` has no records in the zone"))
}

/// A delegation above the name, by which it is not served.
fn shadowed(record: &DnsRecord, records: &ZoneRecords, origin: &Name) -> Option<String> {
    let is_glue = matches!(record.rdata.record_type(), RecordType::A | RecordType::Aaaa);
    let mut above = record.name.parent().filter(|_| !is_glue);
    while let Some(name) = above.filter(|name| name.is_within(origin) && name != origin) {
        if records.at(&name).any(|other| other.rdata.record_type() == RecordType::Ns) {
            return Some(format!("`{name}` is delegated by NS records, so that this record is not served"));
        }
        above = name.parent();
    }
    None
}
