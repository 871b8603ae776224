//! Which records may share a name.

use dns::RecordType;
use model::{DnsRecord, ZoneRecords};

use super::written::RecordContext;
use crate::api::error::{self, ApiError, ErrorCode};

/// Most bytes of the TXT records of a name together.
const MAX_TEXTS_BYTES: usize = 8_192;

/// Refuses a record that cannot stand beside the others of its name.
///
/// # Errors
/// The first rule that it breaks.
pub(super) fn fits(
    record: &DnsRecord,
    records: &ZoneRecords,
    context: &RecordContext,
    pointer: &str,
) -> Result<(), ApiError> {
    let refused = |code: &'static ErrorCode, field: &str, message: &str| {
        Err(ApiError::at(code, format!("{pointer}/{field}"), message))
    };
    let others = || records.at(&record.name).filter(|other| other.id != record.id);
    let has = |wanted: &dyn Fn(RecordType) -> bool| others().any(|other| wanted(other.rdata.record_type()));
    let of = record.rdata.record_type();
    if others().any(|other| other.rdata.record_type() == of && other.rdata.wire() == record.rdata.wire()) {
        return refused(error::SAME_RECORD, "content", "An identical record already exists.");
    }
    let is_apex = record.name == context.origin;
    match of {
        RecordType::Cname if has(&RecordType::is_proxiable) => {
            let message = "An A, AAAA, or CNAME record with that host already exists.";
            return refused(error::CNAME_BESIDE_ADDRESS, "name", message);
        }
        RecordType::A | RecordType::Aaaa if has(&|other| other == RecordType::Cname) => {
            return refused(
                error::ADDRESS_BESIDE_CNAME,
                "name",
                "A CNAME record with that host already exists.",
            );
        }
        RecordType::Ns if !is_apex && has(&|other| !matches!(other, RecordType::Ns | RecordType::Ds)) => {
            return refused(error::NS_BESIDE_OTHERS, "name", "Non-NS records with that host already exist.");
        }
        RecordType::Ds if is_apex || !has(&|other| other == RecordType::Ns) => {
            let message = "A DS record needs NS records with that host, which delegate it, first.";
            return refused(error::DS_WITHOUT_NS, "name", message);
        }
        RecordType::Ns | RecordType::Ds => {}
        _ if !is_apex && has(&|other| other == RecordType::Ns) => {
            return refused(error::OTHER_BESIDE_NS, "name", "NS records with that host already exist.");
        }
        _ => {}
    }
    if of == RecordType::Txt {
        let texts = others().filter(|other| other.rdata.record_type() == RecordType::Txt);
        let bytes: usize = texts.map(|other| other.rdata.wire().len()).sum();
        if bytes + record.rdata.wire().len() > MAX_TEXTS_BYTES {
            let message = "Combined content length of records with this name and type exceeds the limit.";
            return refused(error::TEXTS_TOO_LONG, "content", message);
        }
    }
    Ok(())
}
