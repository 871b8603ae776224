//! `/zones/{zone_id}/custom_hostnames`: make, list, show, change, delete, count.

use std::sync::Arc;

use hostnames::{name, verification};
use model::certificate_pack::{CertificatePack, PackKind, TlsSettings, ValidationMethod};
use model::custom_hostname::HostnameOrigin;
use model::{CustomHostname, Declared, HostnameId, HostnameStatus, PackId, Resources, Zone};
use serde::Serialize;
use store::Change;
use uuid::Uuid;

use super::shown::{pack_of, shown};
use super::written::{WrittenHostname, WrittenSsl, hostname};
use super::{filters, shapes};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Operation, QueryParameter, ResultKind, Running, Verb, new_uuid,
};
use crate::api::resources::accounts::Deleted;
use crate::api::resources::certificates::{self, upload};
use crate::api::resources::rule_input;
use crate::api::resources::rulesets_read::revision;
use crate::snapshot::Site;

const LIST_PATH: &str = "/zones/{zone_id}/custom_hostnames";
const PATH: &str = "/zones/{zone_id}/custom_hostnames/{custom_hostname_id}";
const INPUT: Option<InputShape> = Some(InputShape::Object(shapes::HOSTNAME));
const ONE: ResultKind = ResultKind::One(shapes::HOSTNAME);
const WRITE: &[QueryParameter] = &[DRY_RUN];

/// An operation of custom hostnames.
pub(super) const fn operation(
    verb: Verb,
    path: &'static str,
    summary: &'static str,
    shapes: (Option<InputShape>, ResultKind),
    run: fn(ApiCall) -> Running,
) -> Operation {
    let query: &[QueryParameter] = if matches!(verb, Verb::Get) { &[] } else { WRITE };
    certificates::operation(verb, path, summary, query, shapes, run)
}

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: LIST_PATH,
        summary: "Lists custom hostnames.",
        permission: Permission::CertificatesRead,
        query: filters::LIST,
        input: None,
        output: ResultKind::List(shapes::HOSTNAME),
        run: |call| Box::pin(list(call)),
    },
    operation(Verb::Post, LIST_PATH, "Makes a custom hostname.", (INPUT, ONE), |call| Box::pin(create(call))),
    operation(
        Verb::Get,
        "/zones/{zone_id}/custom_hostnames/quota",
        "Counts custom hostnames.",
        (None, ResultKind::One(shapes::QUOTA)),
        |call| Box::pin(quota(call)),
    ),
    operation(Verb::Get, PATH, "Shows a custom hostname.", (None, ONE), |call| Box::pin(find(call))),
    operation(
        Verb::Patch,
        PATH,
        "Changes a custom hostname, and begins its verification again.",
        (INPUT, ONE),
        |call| Box::pin(change(call)),
    ),
    operation(
        Verb::Delete,
        PATH,
        "Deletes a custom hostname and its certificates.",
        (None, ResultKind::One(crate::api::resources::shapes::DELETED)),
        |call| Box::pin(delete(call)),
    ),
];

fn not_found() -> ApiErrors {
    ApiError::new(error::NO_HOSTNAME, "The custom hostname was not found.").into()
}

/// The custom hostname of a path.
///
/// # Errors
/// If the zone has none of this id.
pub(super) fn of_path<'r>(
    call: &ApiCall,
    resources: &'r Resources,
    zone: &Zone,
) -> Result<&'r Arc<Declared<CustomHostname>>, ApiErrors> {
    let text = call.parameter("custom_hostname_id");
    let id: Uuid = text.parse().map_err(|_| {
        let message = format!("expected the identifier of a custom hostname, found `{text:.60}`");
        ApiErrors::from(ApiError::new(error::BAD_HOSTNAME_ID, message))
    })?;
    let found = resources.hostnames.get(&HostnameId(id)).filter(|hostname| hostname.zone == zone.id);
    found.ok_or_else(not_found)
}

async fn list(call: ApiCall) -> Answer {
    let (zone, resources) = (call.zone()?, Arc::clone(&call.snapshot.resources));
    let paging = call.paging(20, 1_000)?;
    let (found, info) = paging.of(filters::found(&call, &resources, &zone.id)?);
    ApiReply::page(&found.iter().map(|hostname| shown(hostname, &resources)).collect::<Vec<_>>(), info)
}

async fn find(call: ApiCall) -> Answer {
    let (zone, resources) = (call.zone()?, Arc::clone(&call.snapshot.resources));
    let hostname = of_path(&call, &resources, &zone)?;
    Ok(ApiReply::of(&shown(hostname, &resources))?.tagged(revision(hostname)))
}

#[derive(Debug, Serialize)]
struct Quota {
    allocated: u64,
    used: u64,
    exceeded: bool,
    hard_cap: bool,
}

/// What `allocated` says if there is no end.
const NO_END: u64 = 1_000_000_000;

fn used(resources: &Resources, zone: &Zone) -> u64 {
    resources.hostnames.values().filter(|hostname| hostname.zone == zone.id).count() as u64
}

async fn quota(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    let limit = call.snapshot.certificate_settings.hostname_quota;
    let used = used(&call.snapshot.resources, &zone);
    let exceeded = limit > 0 && used >= limit;
    let allocated = if limit == 0 { NO_END } else { limit };
    ApiReply::of(&Quota { allocated, used, exceeded, hard_cap: limit > 0 })
}

/// Refuses a certificate that no CA can make.
fn check_ssl(
    name: &str,
    method: ValidationMethod,
    is_wildcard: bool,
    has_branding: bool,
    is_uploaded: bool,
) -> Result<(), ApiErrors> {
    if is_uploaded {
        return Ok(());
    }
    if is_wildcard && method != ValidationMethod::Txt {
        let message = "a CA makes certificates for wildcards by `txt` alone; set `ssl.method` to it";
        return Err(ApiError::at(error::WILDCARD_NEEDS_TXT, "/ssl/wildcard", message).into());
    }
    if name::needs_branding(name) && !has_branding {
        let message = "Since no host is 64 characters or fewer, svc Branding is required. Please check your input \
                       and try again.";
        return Err(ApiError::at(error::BRANDING_REQUIRED, "/hostname", message).into());
    }
    Ok(())
}

/// What a new hostname asks for.
struct NewHostname {
    hostname: CustomHostname,
    pack: Option<CertificatePack>,
}

fn new_hostname(call: &ApiCall, zone: &Zone, written: WrittenHostname) -> Result<NewHostname, ApiErrors> {
    let name = written.hostname.unwrap_or_default();
    if name == zone.name {
        let message = format!("`{name}` is the zone itself; expected a name of a customer");
        return Err(ApiError::at(error::HOSTNAME_IS_ZONE, "/hostname", message).into());
    }
    if let Some(Site::Gateway | Site::Names) = call.snapshot.sites.get(&name) {
        let message = format!("`{name}` is a host of this server; expected a name of a customer");
        return Err(ApiError::at(error::HOSTNAME_IS_ZONE, "/hostname", message).into());
    }
    let id = HostnameId(new_uuid()?);
    let is_wildcard = written.ssl.as_ref().and_then(|ssl| ssl.is_wildcard) == Some(true);
    let pack = match &written.ssl {
        Some(ssl) => Some(new_pack(call, zone, (id, &name), ssl)?),
        None => None,
    };
    let origin = HostnameOrigin { server: written.server.flatten(), sni: written.sni.flatten() };
    let hostname = CustomHostname {
        id,
        zone: zone.id.clone(),
        hostname: name.into(),
        is_wildcard,
        status: HostnameStatus::Pending,
        since: call.unix,
        attempts: 0,
        next_check: call.unix,
        has_pointed_here: false,
        verification_errors: Box::default(),
        ownership_token: new_uuid()?,
        origin: (origin != HostnameOrigin::default()).then(|| Box::new(origin)),
        metadata: written.metadata.flatten().map(Into::into),
        pack: pack.as_ref().map(|pack| pack.id),
        created_on: call.now.as_str().into(),
    };
    Ok(NewHostname { hostname, pack })
}

fn new_pack(
    call: &ApiCall,
    zone: &Zone,
    (id, name): (HostnameId, &str),
    ssl: &WrittenSsl,
) -> Result<CertificatePack, ApiErrors> {
    let is_wildcard = ssl.is_wildcard == Some(true);
    let (method, has_branding) = (ssl.method.unwrap_or_default(), ssl.has_branding == Some(true));
    check_ssl(name, method, is_wildcard, has_branding, !ssl.uploaded.is_empty())?;
    let pack = PackId(new_uuid()?);
    let names = (CertificatePack::hosts_of(name, is_wildcard), method);
    let at = (call.unix, call.now.clone());
    let pack = CertificatePack {
        certificate_authority: ssl.certificate_authority.clone(),
        has_branding,
        bundle_method: ssl.bundle_method.unwrap_or_default(),
        settings: ssl.settings.clone().unwrap_or_default(),
        ..CertificatePack::new(pack, zone.id.clone(), PackKind::CustomHostname(id), names, at)
    };
    with_uploaded(call, (&call.snapshot.resources, zone), pack, ssl)
}

/// The pack with the certificates that the body uploads, if it does.
fn with_uploaded(
    call: &ApiCall,
    (resources, zone): (&Resources, &Zone),
    mut pack: CertificatePack,
    ssl: &WrittenSsl,
) -> Result<CertificatePack, ApiErrors> {
    if ssl.uploaded.is_empty() {
        return Ok(pack);
    }
    let mut all = Vec::new();
    for certificate in &ssl.uploaded {
        let read = certificate.read(pack.id, call, (resources, zone))?;
        certificate.check_hosts(&read.issued, &pack.hosts)?;
        all.push(read);
    }
    upload(&mut pack, all)?;
    Ok(pack)
}

async fn create(call: ApiCall) -> Answer {
    let (zone, snapshot) = (call.zone()?, Arc::clone(&call.snapshot));
    let (written, unknown) = rule_input::read(&call.body, |fields| {
        fields.required_text("hostname");
        Some(hostname(fields, &snapshot, &zone))
    })?;
    let NewHostname { hostname, pack } = new_hostname(&call, &zone, written)?;
    let orders = pack.as_ref().is_some_and(|pack| pack.certificates.is_empty());
    let reservation = match orders && !call.is_dry_run()? {
        true => {
            let limit = snapshot.certificate_settings.issuance_rate;
            Some(call.shared.issuances.reserve(&zone.account, limit, call.unix)?)
        }
        false => None,
    };
    let (id, limit) = (hostname.id, snapshot.certificate_settings.hostname_quota);
    let applied = call
        .write(move |resources| {
            // Those of all zones are counted already.
            let may_be_full = limit > 0 && resources.hostnames.len() as u64 >= limit;
            if may_be_full && used(resources, &zone) >= limit {
                let message = format!("the zone has {limit} custom hostnames, which is all that it may have");
                return Err(ApiError::new(error::HOSTNAME_QUOTA, message).into());
            }
            if snapshot.has_hostname(resources, &hostname.zone, &hostname.hostname) {
                let message = "Duplicate custom hostname found.";
                return Err(ApiError::at(error::HOSTNAME_EXISTS, "/hostname", message).into());
            }
            let mut changes = vec![Change::PutHostname { hostname: Box::new(hostname.clone()) }];
            changes.extend(pack.clone().map(|pack| Change::PutPack { pack: Box::new(pack) }));
            Ok(changes)
        })
        .await?;
    if let Some(reservation) = reservation {
        reservation.keep();
    }
    reply(&applied.resources, id, unknown)
}

/// The answer to a write of a hostname.
pub(super) fn reply(resources: &Resources, id: HostnameId, unknown: Vec<String>) -> Answer {
    let hostname = resources.hostnames.get(&id).ok_or_else(not_found)?;
    Ok(ApiReply::of(&shown(hostname, resources))?.tagged(revision(hostname)).passing_over(unknown))
}

/// A pack as a body changes it: what it asks of the CA begins again if it is not as before, or if there is none yet.
fn changed_pack(
    call: &ApiCall,
    (resources, zone): (&Resources, &Zone),
    known: &CertificatePack,
    name: &str,
    ssl: &WrittenSsl,
) -> Result<CertificatePack, ApiErrors> {
    let mut pack = known.clone();
    if let Some(authority) = &ssl.certificate_authority {
        pack.certificate_authority = Some(authority.clone());
    }
    let is_other_ca = pack.named_authority() != known.named_authority();
    if is_other_ca && (!ssl.has_type || ssl.method.is_none()) {
        let message = "a change of `certificate_authority` goes with `ssl.type` and `ssl.method`";
        return Err(ApiError::at(error::TYPE_AND_METHOD, "/ssl", message).into());
    }
    pack.method = ssl.method.unwrap_or(pack.method);
    pack.bundle_method = ssl.bundle_method.unwrap_or(pack.bundle_method);
    pack.has_branding = ssl.has_branding.unwrap_or(pack.has_branding);
    if let Some(settings) = &ssl.settings {
        merge(&mut pack.settings, settings);
    }
    let is_wildcard = ssl.is_wildcard.unwrap_or_else(|| known.has_wildcard());
    pack.hosts = CertificatePack::hosts_of(name, is_wildcard);
    let is_uploaded =
        !ssl.uploaded.is_empty() || pack.certificates.first().is_some_and(|newest| newest.is_uploaded);
    check_ssl(name, pack.method, is_wildcard, pack.has_branding, is_uploaded)?;
    let is_other_order = pack.hosts != known.hosts
        || pack.method != known.method
        || pack.has_branding != known.has_branding
        || is_other_ca;
    if is_other_order {
        pack.order = None;
    }
    if is_other_order || pack.certificates.is_empty() {
        pack.begin_again(call.unix);
    }
    with_uploaded(call, (resources, zone), pack, ssl)
}

fn merge(known: &mut TlsSettings, written: &TlsSettings) {
    known.http2 = written.http2.or(known.http2);
    known.tls_1_3 = written.tls_1_3.or(known.tls_1_3);
    known.min_tls_version = written.min_tls_version.or(known.min_tls_version);
    known.early_hints = written.early_hints.or(known.early_hints);
    if !written.ciphers.is_empty() {
        known.ciphers.clone_from(&written.ciphers);
    }
}

/// The hostname as a body changes it, and its pack.
fn changed(
    call: &ApiCall,
    resources: &Resources,
    zone: &Zone,
    known: &CustomHostname,
    written: &WrittenHostname,
) -> Result<NewHostname, ApiErrors> {
    if written.hostname.as_ref().is_some_and(|name| **name != *known.hostname) {
        let message = "the name of a custom hostname cannot be changed; make another one";
        return Err(ApiError::at(error::HOSTNAME_IMMUTABLE, "/hostname", message).into());
    }
    let pack = match (&written.ssl, pack_of(resources, known)) {
        (None, _) => None,
        (Some(ssl), Some(pack)) => Some(changed_pack(call, (resources, zone), pack, &known.hostname, ssl)?),
        (Some(ssl), None) => Some(new_pack(call, zone, (known.id, &known.hostname), ssl)?),
    };
    let mut hostname = verification::restarted(known, call.unix);
    let mut origin = hostname.origin.as_deref().cloned().unwrap_or_default();
    if let Some(server) = &written.server {
        origin.server.clone_from(server);
    }
    if let Some(sni) = &written.sni {
        origin.sni.clone_from(sni);
    }
    hostname.origin = (origin != HostnameOrigin::default()).then(|| Box::new(origin));
    if let Some(metadata) = &written.metadata {
        hostname.metadata = metadata.as_deref().map(Into::into);
    }
    if let Some(pack) = &pack {
        (hostname.pack, hostname.is_wildcard) = (Some(pack.id), pack.has_wildcard());
    }
    if hostname.is_wildcard && hostname.metadata.is_some() {
        let message = "a hostname with `ssl.wildcard` has no metadata";
        return Err(ApiError::at(error::METADATA_ON_WILDCARD, "/custom_metadata", message).into());
    }
    Ok(NewHostname { hostname, pack })
}

async fn change(call: ApiCall) -> Answer {
    let (zone, snapshot) = (call.zone()?, Arc::clone(&call.snapshot));
    let id = of_path(&call, &snapshot.resources, &zone)?.id;
    let (written, unknown) = rule_input::read(&call.body, |fields| Some(hostname(fields, &snapshot, &zone)))?;
    let precondition = call.precondition();
    let call = Arc::new(call);
    let shared = Arc::clone(&call);
    let applied = call
        .write(move |resources| {
            let known = resources.hostnames.get(&id).ok_or_else(not_found)?;
            precondition.check(revision(known))?;
            let NewHostname { hostname, pack } = changed(&shared, resources, &zone, known, &written)?;
            let mut changes = vec![Change::PutHostname { hostname: Box::new(hostname) }];
            changes.extend(pack.map(|pack| Change::PutPack { pack: Box::new(pack) }));
            Ok(changes)
        })
        .await?;
    reply(&applied.resources, id, unknown)
}

async fn delete(call: ApiCall) -> Answer {
    let (zone, snapshot) = (call.zone()?, Arc::clone(&call.snapshot));
    let known = of_path(&call, &snapshot.resources, &zone)?;
    let (id, precondition) = (known.id, call.precondition());
    call.write(move |resources| {
        let known = resources.hostnames.get(&id).ok_or_else(not_found)?;
        precondition.check(revision(known))?;
        let mut changes = vec![Change::DeleteHostname { zone: known.zone.clone(), id }];
        if let Some(pack) = pack_of(resources, known) {
            changes.extend(crate::certificates::deletion(resources, pack));
        }
        Ok(changes)
    })
    .await?;
    ApiReply::of(&Deleted { id: &id.to_string() })
}
