//! Zones that come from name servers of others.

use dns::Name;
use model::{IncomingTransfer, Zone};
use serde::Serialize;
use store::Change;

use super::outgoing::{names_of_peers, operation, refuse_other_name};
use super::shapes;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{Answer, ApiCall, InputShape, Operation, ResultKind, Verb, new_id};
use crate::api::resources::accounts::Deleted;
use crate::api::resources::rule_input;
use crate::names::ReceiveWish;

const PATH: &str = "/zones/{zone_id}/secondary_dns/incoming";
const SHOWN: ResultKind = ResultKind::One(shapes::INCOMING);
const INPUT: Option<InputShape> = Some(InputShape::Object(shapes::INCOMING));

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    operation(Verb::Get, PATH, "Shows who a zone comes from.", None, SHOWN, |call| Box::pin(find(call))),
    operation(Verb::Post, PATH, "Has a zone come from peers; its own records go.", INPUT, SHOWN, |call| {
        Box::pin(put(call, false))
    }),
    operation(Verb::Put, PATH, "Changes which peers a zone comes from.", INPUT, SHOWN, |call| {
        Box::pin(put(call, true))
    }),
    operation(
        Verb::Delete,
        PATH,
        "Has a zone come from nobody; its records stay, and are changed here.",
        None,
        ResultKind::One(crate::api::resources::shapes::DELETED),
        |call| Box::pin(delete(call)),
    ),
    operation(
        Verb::Post,
        "/zones/{zone_id}/secondary_dns/force_axfr",
        "Asks the peers of a zone for all of it at once.",
        None,
        ResultKind::Value,
        |call| Box::pin(ask(call)),
    ),
];

#[derive(Debug, Serialize)]
struct ShownIncoming<'z> {
    id: &'z str,
    name: &'z str,
    peers: &'z [String],
    auto_refresh_seconds: u32,
    soa_serial: Option<u32>,
    checked_time: Option<String>,
    created_time: &'z str,
    modified_time: &'z str,
}

fn shown<'z>(zone: &'z Zone, incoming: &'z IncomingTransfer, call: &ApiCall) -> ShownIncoming<'z> {
    let checked = Name::parse(&zone.name, None).ok();
    ShownIncoming {
        id: &incoming.id,
        name: &zone.name,
        peers: &incoming.peers,
        auto_refresh_seconds: incoming.auto_refresh_seconds,
        soa_serial: incoming.received.as_ref().map(|received| received.soa.serial),
        checked_time: checked.and_then(|apex| call.shared.elsewhere.transfers.last_checked(&apex)),
        created_time: &incoming.created_on,
        modified_time: &incoming.modified_on,
    }
}

fn incoming(zone: &Zone) -> Result<&IncomingTransfer, ApiErrors> {
    let message = || format!("the zone `{}` comes from nobody; name its peers first", zone.name);
    zone.incoming.as_deref().ok_or_else(|| ApiError::new(error::NOT_FOUND, message()).into())
}

async fn find(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    ApiReply::of(&shown(&zone, incoming(&zone)?, &call))
}

async fn put(call: ApiCall, must_be_there: bool) -> Answer {
    let zone = call.zone()?;
    if must_be_there {
        incoming(&zone)?;
    } else if zone.incoming.as_ref().is_some_and(|incoming| !incoming.peers.is_empty()) {
        let message = format!("the zone `{}` has its peers already; change them by PUT", zone.name);
        return Err(ApiError::new(error::CONFLICT, message).into());
    }
    let ((peers, seconds), unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["id", "soa_serial", "checked_time", "created_time", "modified_time"]);
        refuse_other_name(fields, &zone);
        let seconds = fields.within("auto_refresh_seconds", 0..=2_419_200);
        let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or(0);
        Some((names_of_peers(fields, &zone, &call)?, seconds))
    })?;
    let fresh = IncomingTransfer::new(new_id()?, &call.now);
    let now = call.now.clone();
    let zone = change(&call, move |known| {
        let before = known.incoming.as_deref().unwrap_or(&fresh);
        Some(IncomingTransfer {
            peers: peers.clone(),
            auto_refresh_seconds: seconds,
            modified_on: now.clone(),
            ..before.clone()
        })
    })
    .await?;
    if let (Ok(apex), false) = (Name::parse(&zone.name, None), call.is_dry_run()?) {
        call.shared.elsewhere.transfers.ask_to_receive(apex, ReceiveWish::Newer);
    }
    Ok(ApiReply::of(&shown(&zone, incoming(&zone)?, &call))?.passing_over(unknown))
}

/// Changes who a zone comes from, and returns it as it is then.
async fn change(
    call: &ApiCall,
    edit: impl Fn(&Zone) -> Option<IncomingTransfer> + Send + 'static,
) -> Result<Zone, ApiErrors> {
    let (id, path, now) = (call.zone()?.id.clone(), call.path.clone(), call.now.clone());
    let of = id.clone();
    let applied = call
        .write(move |resources| {
            let known = resources.zones.get(&of).ok_or_else(|| ApiError::unknown(&path))?;
            let incoming = edit(&known.value).map(Box::new);
            let zone = Zone { incoming, modified_on: now.clone(), ..known.value.clone() };
            Ok(vec![Change::PutZone { zone: Box::new(zone) }])
        })
        .await?;
    let zone = applied.resources.zones.get(&id).ok_or_else(|| ApiError::unknown(&call.path))?;
    Ok(zone.value.clone())
}

async fn delete(call: ApiCall) -> Answer {
    let id = incoming(&call.zone()?.value)?.id.clone();
    change(&call, |_| None).await?;
    ApiReply::of(&Deleted { id: &id })
}

async fn ask(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    incoming(&zone)?;
    // INVARIANT: names of zones are names.
    if let (Ok(apex), false) = (Name::parse(&zone.name, None), call.is_dry_run()?) {
        call.shared.elsewhere.transfers.ask_to_receive(apex, ReceiveWish::Whole);
    }
    ApiReply::of(&"OK")
}
