//! TXT records that CAs look for, in zones that this server answers.

use dns::{Name, Rdata, RecordType};
use model::certificate_pack::PendingChallenge;
use model::{
    AccountId, CertificatePack, DnsRecord, NoteFields, RecordId, RecordSettings, RecordTime, Zone, ZoneId,
};

use super::look::NetworkLooker;
use crate::certificates::{dns_value, record_comment};
use crate::clock::Clock;
use crate::snapshot::{Site, Snapshot};

/// How long resolvers keep such a record, in seconds.
const TTL: u32 = 60;

/// The record for a challenge, at its name or where that leads; `None` if no zone of ours has it.
pub(super) async fn record(
    snapshot: &Snapshot,
    looker: Option<&NetworkLooker>,
    pack: &CertificatePack,
    challenge: &PendingChallenge,
    clock: Clock,
) -> Option<DnsRecord> {
    let name = format!("_acme-challenge.{}", challenge.host);
    let aliases = match looker {
        Some(looker) => looker.aliases(&name).await.unwrap_or_default(),
        None => Vec::new(),
    };
    let name = aliases.last().map_or(name, Clone::clone);
    let account = &snapshot.resources.zones.get(&pack.zone)?.account;
    let zone = zone_of(snapshot, &name, account)?;
    let text = format!("\"{}\"", dns_value(&challenge.key_authorization));
    let now = RecordTime::from(clock.now());
    Some(DnsRecord {
        id: RecordId::random().ok()?,
        zone,
        name: Name::parse(&name, None).ok()?,
        rdata: Rdata::parse(RecordType::Txt, &text, None).ok()?,
        ttl: TTL,
        proxied: false,
        is_unquoted: false,
        settings: RecordSettings::default(),
        notes: NoteFields { comment: Some(record_comment(pack).into()), ..NoteFields::default() }.into(),
        created_on: now,
        modified_on: now,
    })
}

/// The zone of an account that resolvers get a name from here. An alias that leads into the zone of another account would
/// have records made there.
fn zone_of(snapshot: &Snapshot, name: &str, account: &AccountId) -> Option<ZoneId> {
    let mut above = name;
    loop {
        if let Some(Site::Zone(zone)) = snapshot.sites.get(above) {
            let is_ours = zone.source.account == *account && is_answered(snapshot, &zone.source);
            return is_ours.then(|| zone.id.clone());
        }
        above = above.split_once('.')?.1;
    }
}

/// Whether resolvers get a zone from here, by records that can be written.
pub fn is_answered(snapshot: &Snapshot, zone: &Zone) -> bool {
    let has_records = snapshot.resources.records.get(&zone.id).is_some_and(|records| !records.is_empty());
    zone.incoming.is_none() && has_records && snapshot.names.served.contains_key(&zone.id)
}
