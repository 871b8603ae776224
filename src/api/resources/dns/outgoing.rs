//! Zones that name servers of others have from here.

use dns::Name;
use model::{OutgoingTransfer, Zone};
use serde::Serialize;
use store::Change;

use super::partners::partners_of;
use super::shapes;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Operation, QueryParameter, ResultKind, Running, Verb, new_id,
};
use crate::api::resources::accounts::Deleted;
use crate::api::resources::rule_input;

const PATH: &str = "/zones/{zone_id}/secondary_dns/outgoing";
const SHOWN: ResultKind = ResultKind::One(shapes::OUTGOING);

/// An operation of transfers of zones.
pub(super) const fn operation(
    verb: Verb,
    path: &'static str,
    summary: &'static str,
    input: Option<InputShape>,
    output: ResultKind,
    run: fn(ApiCall) -> Running,
) -> Operation {
    let (permission, query) = match verb {
        Verb::Get => (Permission::DnsRead, &[] as &[QueryParameter]),
        _ => (Permission::DnsWrite, &[DRY_RUN] as &[QueryParameter]),
    };
    Operation { verb, path, summary, permission, query, input, output, run }
}

const INPUT: Option<InputShape> = Some(InputShape::Object(shapes::OUTGOING));

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    operation(Verb::Get, PATH, "Shows who has a zone from here.", None, SHOWN, |call| Box::pin(find(call))),
    operation(Verb::Post, PATH, "Lets peers have a zone, and tells them of changes.", INPUT, SHOWN, |call| {
        Box::pin(put(call, false))
    }),
    operation(Verb::Put, PATH, "Changes which peers have a zone.", INPUT, SHOWN, |call| {
        Box::pin(put(call, true))
    }),
    operation(
        Verb::Delete,
        PATH,
        "Lets nobody have a zone.",
        None,
        ResultKind::One(crate::api::resources::shapes::DELETED),
        |call| Box::pin(delete(call)),
    ),
    operation(
        Verb::Post,
        "/zones/{zone_id}/secondary_dns/outgoing/enable",
        "Lets the peers of a zone have it.",
        None,
        ResultKind::Value,
        |call| Box::pin(enable(call, true)),
    ),
    operation(
        Verb::Post,
        "/zones/{zone_id}/secondary_dns/outgoing/disable",
        "Lets nobody have a zone, and keeps its peers.",
        None,
        ResultKind::Value,
        |call| Box::pin(enable(call, false)),
    ),
    operation(
        Verb::Get,
        "/zones/{zone_id}/secondary_dns/outgoing/status",
        "Shows whether peers may have a zone.",
        None,
        ResultKind::Value,
        |call| Box::pin(async move { ApiReply::of(&word(outgoing(&call.zone()?.value)?.is_enabled)) }),
    ),
    operation(
        Verb::Post,
        "/zones/{zone_id}/secondary_dns/outgoing/force_notify",
        "Tells the peers of a zone that it has changed.",
        None,
        ResultKind::Value,
        |call| Box::pin(notify(call)),
    ),
];

#[derive(Debug, Serialize)]
struct ShownOutgoing<'z> {
    id: &'z str,
    name: &'z str,
    peers: &'z [String],
    soa_serial: Option<u32>,
    checked_time: Option<String>,
    created_time: &'z str,
    last_transferred_time: Option<String>,
}

/// `Enabled` or `Disabled`, as clients expect it.
fn word(is_enabled: bool) -> &'static str {
    if is_enabled { "Enabled" } else { "Disabled" }
}

fn shown<'z>(zone: &'z Zone, outgoing: &'z OutgoingTransfer, call: &ApiCall) -> ShownOutgoing<'z> {
    let snapshot = call.shared.snapshots.load();
    let served = snapshot.names.served.get(&zone.id);
    let transferred =
        served.and_then(|served| call.shared.elsewhere.transfers.last_handed_over(served.zone.apex()));
    ShownOutgoing {
        id: &outgoing.id,
        name: &zone.name,
        peers: &outgoing.peers,
        soa_serial: served.map(|served| served.zone.serial()),
        checked_time: transferred.clone(),
        created_time: &outgoing.created_on,
        last_transferred_time: transferred,
    }
}

fn outgoing(zone: &Zone) -> Result<&OutgoingTransfer, ApiErrors> {
    let message = || format!("nobody has the zone `{}` from here; name its peers first", zone.name);
    zone.outgoing.as_deref().ok_or_else(|| ApiError::new(error::NOT_FOUND, message()).into())
}

async fn find(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    ApiReply::of(&shown(&zone, outgoing(&zone)?, &call))
}

async fn put(call: ApiCall, must_be_there: bool) -> Answer {
    let zone = call.zone()?;
    if must_be_there {
        outgoing(&zone)?;
    } else if zone.outgoing.is_some() {
        let message = format!("the zone `{}` has its peers already; change them by PUT", zone.name);
        return Err(ApiError::new(error::CONFLICT, message).into());
    }
    let (peers, unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["id", "soa_serial", "checked_time", "created_time", "last_transferred_time"]);
        refuse_other_name(fields, &zone);
        names_of_peers(fields, &zone, &call)
    })?;
    let fresh =
        OutgoingTransfer { id: new_id()?, peers: Vec::new(), is_enabled: true, created_on: call.now.clone() };
    let zone = change(&call, move |known| {
        let before = known.outgoing.as_deref().unwrap_or(&fresh);
        let outgoing = OutgoingTransfer { peers: peers.clone(), ..before.clone() };
        if outgoing.is_enabled {
            refuse_signed(known)?;
        }
        Ok(Some(outgoing))
    })
    .await?;
    Ok(ApiReply::of(&shown(&zone, outgoing(&zone)?, &call))?.passing_over(unknown))
}

/// Refuses a name that is not the zone's.
pub(super) fn refuse_other_name(fields: &Fields<'_>, zone: &Zone) {
    let is_other = |name: &&str| name.trim_end_matches('.').to_ascii_lowercase() != zone.name;
    if let Some(name) = fields.text("name").filter(is_other) {
        fields.refuse(error::BAD_FIELD, "name", format!("expected `{}`, found `{name:.60}`", zone.name));
    }
}

/// The ids of peers of the zone's account.
pub(super) fn names_of_peers(fields: &Fields<'_>, zone: &Zone, call: &ApiCall) -> Option<Vec<String>> {
    let partners = partners_of(&call.snapshot.resources, &zone.account);
    let peers = fields.texts("peers");
    if peers.is_none() && !fields.has("peers") {
        let message = "`peers` is required: expected ids of peers of the account";
        fields.refuse(error::BAD_FIELD, "peers", message);
    }
    for peer in peers.iter().flatten().filter(|peer| partners.peer(peer).is_none()) {
        fields.refuse(error::BAD_FIELD, "peers", format!("the account has no peer `{peer:.60}`"));
    }
    peers
}

/// Signatures are made for each answer, so others could not have them.
fn refuse_signed(zone: &Zone) -> Result<(), ApiErrors> {
    if !zone.dnssec.as_deref().is_some_and(|dnssec| dnssec.is_active) {
        return Ok(());
    }
    let message = format!(
        "the zone `{}` is signed, and other name servers would answer without its signatures; disable DNSSEC first",
        zone.name
    );
    Err(ApiError::new(error::CONFLICT, message).into())
}

/// Changes who has a zone, and returns it as it is then.
async fn change(
    call: &ApiCall,
    edit: impl Fn(&Zone) -> Result<Option<OutgoingTransfer>, ApiErrors> + Send + 'static,
) -> Result<Zone, ApiErrors> {
    let (id, path, now) = (call.zone()?.id.clone(), call.path.clone(), call.now.clone());
    let of = id.clone();
    let applied = call
        .write(move |resources| {
            let known = resources.zones.get(&of).ok_or_else(|| ApiError::unknown(&path))?;
            let outgoing = edit(&known.value)?.map(Box::new);
            if outgoing == known.outgoing {
                return Ok(Vec::new());
            }
            let zone = Zone { outgoing, modified_on: now.clone(), ..known.value.clone() };
            Ok(vec![Change::PutZone { zone: Box::new(zone) }])
        })
        .await?;
    let zone = applied.resources.zones.get(&id).ok_or_else(|| ApiError::unknown(&call.path))?;
    Ok(zone.value.clone())
}

async fn enable(call: ApiCall, is_enabled: bool) -> Answer {
    outgoing(&call.zone()?.value)?;
    change(&call, move |known| {
        if is_enabled {
            refuse_signed(known)?;
        }
        Ok(Some(OutgoingTransfer { is_enabled, ..outgoing(known)?.clone() }))
    })
    .await?;
    ApiReply::of(&word(is_enabled))
}

async fn delete(call: ApiCall) -> Answer {
    let id = outgoing(&call.zone()?.value)?.id.clone();
    change(&call, |_| Ok(None)).await?;
    ApiReply::of(&Deleted { id: &id })
}

async fn notify(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    let outgoing = outgoing(&zone)?;
    if !outgoing.is_enabled {
        let message = format!("peers may not have the zone `{}`; enable that first", zone.name);
        return Err(ApiError::new(error::CONFLICT, message).into());
    }
    // INVARIANT: names of zones are names.
    if let (Ok(apex), false) = (Name::parse(&zone.name, None), call.is_dry_run()?) {
        call.shared.elsewhere.transfers.ask_to_notify(apex);
    }
    ApiReply::of(&"OK")
}
