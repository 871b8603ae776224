//! Which records delegations hide: those below NS records that are not at the zone's own name are for other name servers
//! to answer.

use std::collections::{BTreeMap, BTreeSet};

use dns::{Name, RecordType};
use model::{DnsRecord, RecordId, ZoneRecords};
use serde::Serialize;

use super::filters::INCLUDE_SHADOWS;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::ApiCall;

/// Most records for which it is looked.
const MAX_RECORDS: usize = 1_000;
/// Most hidden records that are counted of a delegation.
const MAX_COUNTED: usize = 10_000;

/// What delegations do to a record.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct ShadowMetadata {
    /// The NS records that hide it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shadowed_by: Vec<RecordId>,
    /// Whether it is the address of a name server below its own delegation.
    #[serde(skip_serializing_if = "is_false")]
    is_glue: bool,
    /// Whether it is that for a delegation which is hidden itself.
    #[serde(skip_serializing_if = "is_false")]
    dead_glue: bool,
    /// Of an NS record: how many records it hides.
    #[serde(skip_serializing_if = "Option::is_none")]
    shadowed_records_count: Option<usize>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The delegations of a zone.
pub(super) struct Shadows<'r> {
    records: &'r ZoneRecords,
    origin: &'r Name,
    /// How many records each delegation hides.
    counts: BTreeMap<Name, usize>,
}

impl<'r> Shadows<'r> {
    /// What a call asks for: `None` if it asks for nothing, or for too many records.
    ///
    /// # Errors
    /// If the parameter is neither `true` nor `false`.
    pub(super) fn asked(
        call: &ApiCall,
        records: &'r ZoneRecords,
        origin: &'r Name,
        of: usize,
    ) -> Result<Option<Self>, ApiErrors> {
        if !is_asked(call)? || of > MAX_RECORDS {
            return Ok(None);
        }
        let cuts: BTreeSet<&Name> =
            records.iter().filter(|record| is_cut(record, origin)).map(|record| &record.name).collect();
        let mut counts = BTreeMap::new();
        for record in records.iter().filter(|_| !cuts.is_empty()) {
            for cut in names_above(&record.name, origin).filter(|name| cuts.contains(name)) {
                let is_own = record.name == cut && is_of_delegation(record);
                let count: &mut usize = counts.entry(cut).or_default();
                *count = (*count + usize::from(!is_own)).min(MAX_COUNTED);
            }
        }
        Ok(Some(Self { records, origin, counts }))
    }

    pub(super) fn of(&self, record: &DnsRecord) -> ShadowMetadata {
        let mut cuts: Vec<Name> =
            names_above(&record.name, self.origin).filter(|name| self.counts.contains_key(name)).collect();
        let shadowed_records_count = match is_cut(record, self.origin) {
            true => self.counts.get(&record.name).copied(),
            false => None,
        };
        if is_of_delegation(record) && cuts.first() == Some(&record.name) {
            cuts.remove(0);
        }
        // The topmost is the one that resolvers meet.
        let top = cuts.last();
        let is_address = matches!(record.rdata.record_type(), RecordType::A | RecordType::Aaaa);
        let serves = cuts.iter().filter(|_| is_address).find(|cut| {
            let mut servers = self.servers(cut);
            servers.any(|server| server.rdata.target().as_ref() == Some(&record.name))
        });
        let is_reachable = serves.is_some() && serves == top;
        let hiding = top.filter(|_| !is_reachable);
        ShadowMetadata {
            shadowed_by: hiding
                .into_iter()
                .flat_map(|cut| self.servers(cut))
                .map(|server| server.id)
                .collect(),
            is_glue: serves.is_some(),
            dead_glue: serves.is_some() && !is_reachable,
            shadowed_records_count,
        }
    }

    /// The NS records of a delegation.
    fn servers<'n>(&self, cut: &'n Name) -> impl Iterator<Item = &'r DnsRecord> + use<'r, 'n> {
        let records = self.records.at(cut).map(|record| &record.value);
        records.filter(|record| record.rdata.record_type() == RecordType::Ns)
    }
}

/// Whether a call asks for what delegations do.
fn is_asked(call: &ApiCall) -> Result<bool, ApiErrors> {
    Ok(call.flag(INCLUDE_SHADOWS.name)? == Some(true))
}

/// Whether a record is one of a delegation: an NS record below the zone's own name.
fn is_cut(record: &DnsRecord, origin: &Name) -> bool {
    record.rdata.record_type() == RecordType::Ns && record.name != *origin
}

/// Whether a record at the name of a delegation is answered by this zone.
fn is_of_delegation(record: &DnsRecord) -> bool {
    matches!(record.rdata.record_type(), RecordType::Ns | RecordType::Ds)
}

/// A name and those above it, below the zone's own.
fn names_above(name: &Name, origin: &Name) -> impl Iterator<Item = Name> {
    let names = std::iter::successors(Some(name.clone()), Name::parent);
    let is_below = move |name: &Name| name.is_within(origin) && name != origin;
    names.take_while(is_below)
}

/// Whether a list has a record.
pub(super) type RecordFilter = Box<dyn Fn(&DnsRecord) -> bool>;

/// Whether a list has a record: that of a delegation that hides a name, or one that a delegation hides.
pub(super) fn filter(call: &ApiCall, origin: &Name) -> Result<Option<RecordFilter>, ApiErrors> {
    let bad = |message: String| ApiErrors::from(ApiError::new(error::BAD_QUERY, message));
    let name = |parameter: &str| {
        let Some(text) = call.asked(parameter) else { return Ok(None) };
        let text = text.trim_end_matches('.');
        let name = Name::parse(text, None).ok().filter(|name| name.is_within(origin) && name != origin);
        name.map(Some).ok_or_else(|| {
            bad(format!("expected a name below `{origin}` for `{parameter}`, found `{text:.80}`"))
        })
    };
    let (by, of) = (name("shadowed_by_name")?, name("shadowing_name")?);
    if by.is_some() && !is_asked(call)? {
        return Err(bad("`shadowed_by_name` needs `include_shadow_metadata=true`".to_owned()));
    }
    if by.is_none() && of.is_none() {
        return Ok(None);
    }
    let origin = origin.clone();
    Ok(Some(Box::new(move |record| {
        let is_hidden = by.as_ref().is_none_or(|cut| {
            record.name.is_within(cut)
                && !(record.name == *cut && record.rdata.record_type() == RecordType::Ns)
        });
        let hides = of.as_ref().is_none_or(|name| is_cut(record, &origin) && name.is_within(&record.name));
        is_hidden && hides
    })))
}
