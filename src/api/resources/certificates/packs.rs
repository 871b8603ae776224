//! `/zones/{zone_id}/ssl/certificate_packs` and `/ssl/verification`: certificates of a zone's names, ordered and followed.

use std::sync::Arc;

use hostnames::{fallback, name};
use model::certificate_pack::{CertificatePack, ValidationMethod};
use model::{Declared, PackId, PackKind, Resources, Zone};
use serde::Serialize;
use store::Change;
use uuid::Uuid;

use super::hosts::host_list;
use super::shown::{self, shown};
use super::{operation, shapes};
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Kind, Operation, PAGE, PER_PAGE, QueryParameter, ResultKind, Verb,
    new_uuid,
};
use crate::api::resources::accounts::Deleted;
use crate::api::resources::hostnames::certificate_authority;
use crate::api::resources::rule_input;
use crate::api::resources::rulesets_read::revision;

const LIST_PATH: &str = "/zones/{zone_id}/ssl/certificate_packs";
const ORDER_PATH: &str = "/zones/{zone_id}/ssl/certificate_packs/order";
const PATH: &str = "/zones/{zone_id}/ssl/certificate_packs/{certificate_pack_id}";
const VERIFICATION_PATH: &str = "/zones/{zone_id}/ssl/verification";
/// Most names of a pack.
const MAX_HOSTS: usize = 50;
/// What `validity_days` may be.
pub(super) const VALIDITY_DAYS: [u64; 4] = [14, 30, 90, 365];
/// What is shown as the quota, because there is none.
const NO_END: u64 = 1_000_000_000;

const ONE: ResultKind = ResultKind::One(shapes::PACK);

const LIST: &[QueryParameter] = &[
    PAGE,
    PER_PAGE,
    QueryParameter {
        name: "status",
        kind: Kind::Words(&["all"]),
        doc: "`all` for those without a certificate, too.",
    },
    QueryParameter {
        name: "deploy",
        kind: Kind::Text,
        doc: "Taken and without effect: there is one deployment.",
    },
    QueryParameter { name: "host", kind: Kind::Text, doc: "Only packs whose certificate is for this name." },
];

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    operation(
        Verb::Get,
        LIST_PATH,
        "Lists the certificate packs of a zone.",
        LIST,
        (None, ResultKind::List(shapes::PACK)),
        |call| Box::pin(list(call)),
    ),
    operation(
        Verb::Post,
        ORDER_PATH,
        "Orders a certificate.",
        &[DRY_RUN],
        (Some(InputShape::Object(shapes::PACK)), ONE),
        |call| Box::pin(order(call)),
    ),
    operation(
        Verb::Get,
        "/zones/{zone_id}/ssl/certificate_packs/quota",
        "Counts certificate packs.",
        &[],
        (None, ResultKind::One(shapes::PACK_QUOTA)),
        |call| Box::pin(async move { quota(&call) }),
    ),
    operation(Verb::Get, PATH, "Shows a certificate pack.", &[], (None, ONE), |call| {
        Box::pin(async move {
            let zone = call.zone()?;
            let pack = of_path(&call, &call.snapshot.resources, &zone)?;
            Ok(ApiReply::of(&shown(pack))?.tagged(revision(pack)))
        })
    }),
    operation(
        Verb::Patch,
        PATH,
        "Begins the validation of a certificate pack again.",
        &[DRY_RUN],
        (Some(InputShape::Object(shapes::PACK)), ONE),
        |call| Box::pin(restart(call)),
    ),
    operation(
        Verb::Post,
        "/zones/{zone_id}/ssl/certificate_packs/{certificate_pack_id}/renew",
        "Renews the certificate of a pack now.",
        &[DRY_RUN],
        (None, ONE),
        |call| Box::pin(renew(call)),
    ),
    operation(
        Verb::Post,
        "/zones/{zone_id}/ssl/certificate_packs/{certificate_pack_id}/revoke",
        "Revokes the certificates of a pack, and orders another one with another key.",
        &[DRY_RUN],
        (None, ONE),
        |call| Box::pin(revoke(call)),
    ),
    operation(
        Verb::Get,
        "/zones/{zone_id}/dcv_delegation/uuid",
        "Shows the name below the zone to which validation can be delegated.",
        &[],
        (None, ResultKind::One(shapes::DELEGATION)),
        |call| Box::pin(async move { delegation(&call) }),
    ),
    operation(
        Verb::Delete,
        PATH,
        "Deletes a certificate pack and its certificates.",
        &[DRY_RUN],
        (None, ResultKind::One(crate::api::resources::shapes::DELETED)),
        |call| Box::pin(delete(call)),
    ),
    operation(
        Verb::Get,
        VERIFICATION_PATH,
        "Shows how far the validation of each certificate pack is.",
        &[],
        (None, ResultKind::List(shapes::VERIFICATION)),
        |call| Box::pin(async move { verification(&call) }),
    ),
];

fn not_found() -> ApiErrors {
    ApiError::new(error::NO_PACK, "The certificate pack was not found.").into()
}

fn of_path<'r>(
    call: &ApiCall,
    resources: &'r Resources,
    zone: &Zone,
) -> Result<&'r Arc<Declared<CertificatePack>>, ApiErrors> {
    let id: Uuid = call.parameter("certificate_pack_id").parse().map_err(|_| not_found())?;
    resources.packs.get(&PackId(id)).filter(|pack| pack.zone == zone.id).ok_or_else(not_found)
}

/// The packs of a zone, the oldest first.
fn of_zone<'r>(resources: &'r Resources, zone: &Zone) -> Vec<&'r Arc<Declared<CertificatePack>>> {
    let mut packs: Vec<_> = resources.packs.values().filter(|pack| pack.zone == zone.id).collect();
    packs.sort_by(|one, other| (&one.created_on, one.id).cmp(&(&other.created_on, other.id)));
    packs
}

async fn list(call: ApiCall) -> Answer {
    let (zone, resources) = (call.zone()?, Arc::clone(&call.snapshot.resources));
    let paging = call.paging(50, 1_000)?;
    let has_all = match call.asked("status") {
        None => false,
        Some("all") => true,
        Some(other) => {
            let message = format!("expected `all` for `status`, found `{other:.40}`");
            return Err(ApiError::new(error::BAD_QUERY, message).into());
        }
    };
    let mut packs = of_zone(&resources, &zone);
    match call.asked("host").map(str::to_ascii_lowercase) {
        Some(host) => {
            packs.retain(|pack| pack.hosts.iter().any(|known| name::covers(known, &host)));
        }
        None if !has_all => {
            packs.retain(|pack| !pack.certificates.is_empty() || pack.kind != PackKind::Universal)
        }
        None => {}
    }
    let (found, info) = paging.of(packs);
    ApiReply::page(&found.iter().map(|pack| shown(pack)).collect::<Vec<_>>(), info)
}

/// Says why a name is not one that a zone orders a certificate for.
fn check_host(zone: &Zone, host: &str) -> Result<(), String> {
    let name = name::without_wildcard(host);
    match fallback::is_in_zone(zone, name) {
        true => Ok(()),
        false => Err(format!("`{name}` is not in the zone `{}`", zone.name)),
    }
}

async fn order(call: ApiCall) -> Answer {
    let (zone, snapshot) = (call.zone()?, Arc::clone(&call.snapshot));
    let id = PackId(new_uuid()?);
    let (pack, unknown) = rule_input::read(&call.body, |fields| {
        if fields.text("type").is_none_or(|kind| kind != "advanced") {
            fields.refuse(error::BAD_PACK, "type", "expected `advanced`");
        }
        if fields
            .whole("validity_days")
            .is_some_and(|days| !VALIDITY_DAYS.contains(&u64::try_from(days).unwrap_or(0)))
        {
            fields.refuse(error::BAD_PACK, "validity_days", "expected 14, 30, 90 or 365");
        }
        let hosts = host_list(fields, "hosts", MAX_HOSTS, error::BAD_PACK, |host| check_host(&zone, host));
        let method: ValidationMethod =
            fields.word("validation_method", error::BAD_VALIDATION_METHOD).unwrap_or(ValidationMethod::Txt);
        if method == ValidationMethod::Email {
            let message = "no CA that this server asks sends mail; use `http` or `txt`";
            fields.refuse(error::BAD_VALIDATION_METHOD, "validation_method", message);
        }
        if method == ValidationMethod::Http && hosts.iter().any(|host| host.starts_with("*.")) {
            let message = "a CA makes certificates for wildcards by `txt` alone";
            fields.refuse(error::WILDCARD_NEEDS_TXT, "validation_method", message);
        }
        let has_branding = fields.bool("svc_branding").unwrap_or(false);
        if !hosts.is_empty() && hosts.iter().all(|host| name::needs_branding(host)) && !has_branding {
            let message = "Since no host is 64 characters or fewer, svc Branding is required. Please check your input \
                           and try again.";
            fields.refuse(error::BRANDING_REQUIRED, "hosts", message);
        }
        let at = (call.unix, call.now.clone());
        Some(CertificatePack {
            certificate_authority: certificate_authority(fields, &snapshot.certificate_settings),
            has_branding,
            ..CertificatePack::new(id, zone.id.clone(), PackKind::Advanced, (hosts, method), at)
        })
    })?;
    let reservation = match call.is_dry_run()? {
        true => None,
        false => {
            let limit = snapshot.certificate_settings.issuance_rate;
            Some(call.shared.issuances.reserve(&zone.account, limit, call.unix)?)
        }
    };
    let applied = call.write(move |_| Ok(vec![Change::PutPack { pack: Box::new(pack.clone()) }])).await?;
    if let Some(reservation) = reservation {
        reservation.keep();
    }
    let pack = applied.resources.packs.get(&id).ok_or_else(not_found)?;
    Ok(ApiReply::of(&shown(pack))?.tagged(revision(pack)).passing_over(unknown))
}

async fn edit(
    call: &ApiCall,
    change: impl Fn(&CertificatePack) -> Result<CertificatePack, ApiErrors> + Send + 'static,
) -> Answer {
    let zone = call.zone()?;
    let id = of_path(call, &call.snapshot.resources, &zone)?.id;
    let precondition = call.precondition();
    let applied = call
        .write(move |resources| {
            let known = resources.packs.get(&id).ok_or_else(not_found)?;
            precondition.check(revision(known))?;
            Ok(vec![Change::PutPack { pack: Box::new(change(known)?) }])
        })
        .await?;
    let pack = applied.resources.packs.get(&id).ok_or_else(not_found)?;
    Ok(ApiReply::of(&shown(pack))?.tagged(revision(pack)))
}

async fn restart(call: ApiCall) -> Answer {
    let ((branding, method), unknown) = rule_input::read(&call.body, |fields| {
        let method: Option<ValidationMethod> = fields.word("validation_method", error::BAD_VALIDATION_METHOD);
        Some((fields.bool("svc_branding"), method))
    })?;
    let now = call.unix;
    let reply = edit(&call, move |known| {
        let mut pack = known.clone();
        pack.has_branding = branding.unwrap_or(pack.has_branding);
        pack.method = method.unwrap_or(pack.method);
        if pack.method != known.method || pack.has_branding != known.has_branding {
            pack.order = None;
        }
        pack.begin_again(now);
        Ok(pack)
    });
    Ok(reply.await?.passing_over(unknown))
}

async fn renew(call: ApiCall) -> Answer {
    let now = call.unix;
    edit(&call, move |known| {
        if known.certificates.first().is_some_and(|newest| newest.is_uploaded) {
            let message = "the certificate was uploaded; upload the next one in the same way";
            return Err(ApiError::new(error::BAD_PACK, message).into());
        }
        let mut pack = known.clone();
        pack.renew(now);
        Ok(pack)
    })
    .await
}

async fn revoke(call: ApiCall) -> Answer {
    let now = call.unix;
    edit(&call, move |known| {
        if known.certificates.iter().all(|issued| issued.is_uploaded) {
            let message = "the pack has no certificate that a CA made here; there is nothing to revoke";
            return Err(ApiError::new(error::BAD_PACK, message).into());
        }
        Ok(CertificatePack { is_revoking: true, order: None, attempts: 0, next_step: now, ..known.clone() })
    })
    .await
}

#[derive(Debug, Serialize)]
struct Delegation {
    uuid: String,
}

fn delegation(call: &ApiCall) -> Answer {
    ApiReply::of(&Delegation { uuid: crate::certificates::delegation_label(&call.zone()?.id) })
}

async fn delete(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    let known = of_path(&call, &call.snapshot.resources, &zone)?;
    let (id, precondition) = (known.id, call.precondition());
    call.write(move |resources| {
        let known = resources.packs.get(&id).ok_or_else(not_found)?;
        precondition.check(revision(known))?;
        match known.kind {
            PackKind::Advanced | PackKind::Custom(_) => Ok(crate::certificates::deletion(resources, known)),
            PackKind::Universal => {
                let message =
                    "the zone gets this pack automatically; end it with PATCH of `ssl/universal/settings`";
                Err(ApiError::new(error::CONFLICT, message).into())
            }
            PackKind::CustomHostname(_) => {
                let message = "the pack is of a custom hostname; delete that";
                Err(ApiError::new(error::CONFLICT, message).into())
            }
        }
    })
    .await?;
    ApiReply::of(&Deleted { id: &id.to_string() })
}

#[derive(Debug, Serialize)]
struct PackQuota {
    advanced: Allocation,
}

#[derive(Debug, Serialize)]
struct Allocation {
    allocated: u64,
    used: u64,
}

fn quota(call: &ApiCall) -> Answer {
    let zone = call.zone()?;
    let packs = of_zone(&call.snapshot.resources, &zone);
    let used = packs.iter().filter(|pack| pack.kind == PackKind::Advanced).count() as u64;
    ApiReply::of(&PackQuota { advanced: Allocation { allocated: NO_END, used } })
}

fn verification(call: &ApiCall) -> Answer {
    let zone = call.zone()?;
    let packs = of_zone(&call.snapshot.resources, &zone);
    ApiReply::of(&packs.into_iter().map(|pack| shown::verification(pack)).collect::<Vec<_>>())
}
