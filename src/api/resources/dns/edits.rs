//! Edits of the records of a zone, as one change.

use std::fmt::Display;
use std::sync::Arc;

use model::{Declared, DnsRecord, RecordId, Resources, ZoneId, ZoneRecords};
use parking_lot::Mutex;
use serde_json::Value;
use store::Change;

use super::checks;
use super::own_name_servers;
use super::records::records;
use super::written::{self, RecordContext, Writing};
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{ApiCall, IfMatch};
use crate::api::resources::rulesets_read::revision;

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
    pub(super) context: &'c RecordContext,
    /// Pointers of fields that were passed over.
    unknown: Vec<String>,
}

impl RecordEdits<'_> {
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
                self.changes.push(Change::DeleteRecord { zone: known.zone.clone(), id: *id });
                self.records.remove(id, 0);
                return Ok(known);
            }
            RecordEdit::Make(id, body) => written::record(body, pointer, Writing::New(*id), self.context)?,
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
        self.put(record, pointer)
    }

    /// Puts a record that was read, if it is not there as it is.
    ///
    /// # Errors
    /// The rule that keeps it from standing beside the others of its name.
    pub(super) fn put(
        &mut self,
        record: DnsRecord,
        pointer: &str,
    ) -> Result<Arc<Declared<DnsRecord>>, ApiErrors> {
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

/// The id that a call names.
///
/// # Errors
/// If no record can have it.
pub(super) fn record_id(text: &str) -> Result<RecordId, ApiErrors> {
    RecordId::parse(text).ok_or_else(|| unknown_record(text))
}

/// An id that no record has.
///
/// # Errors
/// If the system has no random numbers.
pub(super) fn new_record_id() -> Result<RecordId, ApiErrors> {
    RecordId::random().map_err(|message| ApiError::new(error::UNAVAILABLE, message).into())
}

pub(super) fn unknown_record(id: impl Display) -> ApiErrors {
    let id = id.to_string();
    ApiError::new(error::NO_RECORD, format!("Record does not exist: the zone has no record `{id:.60}`."))
        .into()
}

/// What edits of records left.
pub(super) struct EditedRecords<T> {
    pub(super) left: T,
    /// Pointers of fields that were passed over.
    pub(super) unknown: Vec<String>,
    /// All records of the zone, as they are served then.
    pub(super) records: ZoneRecords,
}

/// Edits the records of the zone of a call when its turn comes, and returns when the change is served.
///
/// # Errors
/// Those of the edit, or of the write.
pub(super) async fn edit_records<T: Send + 'static>(
    call: &ApiCall,
    context: &RecordContext,
    edit: impl Fn(&mut RecordEdits<'_>) -> Result<T, ApiErrors> + Send + 'static,
) -> Result<EditedRecords<T>, ApiErrors> {
    let made = Arc::new(Mutex::new(None));
    let (leave, within) = (Arc::clone(&made), context.clone());
    let applied = call
        .write(move |resources| {
            let records = records(resources, &within.zone);
            let mut edits =
                RecordEdits { records, changes: Vec::new(), context: &within, unknown: Vec::new() };
            let left = edit(&mut edits)?;
            refuse_received(resources, &within.zone, &edits.changes)?;
            if let Some(zone) = resources.zones.get(&within.zone) {
                own_name_servers::keep_addresses(zone, &edits.records)?;
            }
            *leave.lock() = Some((left, edits.unknown));
            Ok(edits.changes)
        })
        .await?;
    // INVARIANT: a write is answered once it was asked.
    let (left, unknown) = made.lock().take().ok_or_else(|| ApiError::unknown(&call.path))?;
    Ok(EditedRecords { left, unknown, records: records(&applied.resources, &context.zone) })
}

/// Refuses to change what the primaries of a zone say of its records.
fn refuse_received(resources: &Resources, zone: &ZoneId, changes: &[Change]) -> Result<(), ApiErrors> {
    let Some(zone) = resources.zones.get(zone).filter(|zone| zone.incoming.is_some()) else { return Ok(()) };
    let known = resources.records.get(&zone.id);
    let is_kept = |change: &Change| match change {
        Change::PutRecord { record } => known.and_then(|known| known.get(&record.id)).is_some_and(|known| {
            let has_same_proxy = known.proxied == record.proxied || zone.dns.secondary_overrides;
            let has_same_ttl = known.ttl == record.ttl || known.proxied || record.proxied;
            let has_same_data = known.name == record.name && known.rdata.wire() == record.rdata.wire();
            has_same_proxy && has_same_ttl && has_same_data
        }),
        _ => false,
    };
    if changes.iter().all(is_kept) {
        return Ok(());
    }
    let message = format!(
        "the records of `{}` come from its primaries; change them there. Comments and tags are changed here, and with \
         `secondary_overrides` in its DNS settings what is proxied",
        zone.name
    );
    Err(ApiError::new(error::CONFLICT, message).into())
}
