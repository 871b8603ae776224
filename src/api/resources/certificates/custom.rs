//! `/zones/{zone_id}/custom_certificates`: certificates that somebody uploads for names of a zone.

use std::cmp::Reverse;
use std::sync::Arc;

use hostnames::{fallback, name};
use model::certificate_pack::{
    BundleMethod, CertificatePack, CustomCertificate, CustomCertificateType, IssuedCertificate,
    ValidationMethod,
};
use model::{Declared, PackId, PackKind, Resources, Zone};
use serde::Serialize;
use store::Change;
use uuid::Uuid;

use super::uploaded::{UploadedCertificate, upload};
use super::{operation, shapes};
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Kind, Operation, PAGE, PER_PAGE, QueryParameter, ResultKind, Verb,
    new_uuid,
};
use crate::api::resources::accounts::Deleted;
use crate::api::resources::hostnames::time;
use crate::api::resources::rule_input;
use crate::api::resources::rulesets_read::revision;

const LIST_PATH: &str = "/zones/{zone_id}/custom_certificates";
const PATH: &str = "/zones/{zone_id}/custom_certificates/{custom_certificate_id}";
const ONE: ResultKind = ResultKind::One(shapes::CUSTOM_CERTIFICATE);
const ALL: ResultKind = ResultKind::List(shapes::CUSTOM_CERTIFICATE);
const INPUT: Option<InputShape> = Some(InputShape::Object(shapes::CUSTOM_CERTIFICATE));
/// Most certificates whose priority is set at once.
const MAX_PRIORITIES: usize = 1_000;
/// The highest priority.
const MAX_PRIORITY: i64 = 1_000_000;

const WRITE: &[QueryParameter] = &[DRY_RUN];
const LIST: &[QueryParameter] = &[
    PAGE,
    PER_PAGE,
    QueryParameter {
        name: "status",
        kind: Kind::Words(&["active", "expired", "deleted", "pending", "initializing"]),
        doc: "Only certificates of this status.",
    },
    QueryParameter {
        name: "match",
        kind: Kind::Words(&["any", "all"]),
        doc: "Taken and without effect: there is one filter.",
    },
];

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    operation(
        Verb::Get,
        LIST_PATH,
        "Lists the certificates that were uploaded for a zone, in the order in which they are chosen.",
        LIST,
        (None, ALL),
        |call| Box::pin(async move { list(&call) }),
    ),
    operation(
        Verb::Post,
        LIST_PATH,
        "Uploads a certificate for names of a zone.",
        WRITE,
        (INPUT, ONE),
        |call| Box::pin(create(call)),
    ),
    operation(
        Verb::Put,
        "/zones/{zone_id}/custom_certificates/prioritize",
        "Says which certificates of a zone come first.",
        WRITE,
        (Some(InputShape::Object(shapes::PRIORITIES)), ALL),
        |call| Box::pin(prioritize(call)),
    ),
    operation(Verb::Get, PATH, "Shows a certificate that was uploaded.", &[], (None, ONE), |call| {
        Box::pin(async move { find(&call) })
    }),
    operation(Verb::Patch, PATH, "Replaces a certificate that was uploaded.", WRITE, (INPUT, ONE), |call| {
        Box::pin(change(call))
    }),
    operation(
        Verb::Delete,
        PATH,
        "Deletes a certificate that was uploaded.",
        WRITE,
        (None, ResultKind::One(crate::api::resources::shapes::DELETED)),
        |call| Box::pin(delete(call)),
    ),
];

#[derive(Debug, Serialize)]
struct ShownCustomCertificate<'a> {
    id: String,
    zone_id: &'a str,
    r#type: &'static str,
    hosts: &'a [String],
    issuer: &'a str,
    signature: &'a str,
    status: &'static str,
    bundle_method: BundleMethod,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_csr_id: Option<String>,
    uploaded_on: &'a str,
    modified_on: &'a str,
    expires_on: String,
    priority: u32,
}

/// A pack of a zone with what it was uploaded with.
type CustomPack<'r> = (&'r Arc<Declared<CertificatePack>>, CustomCertificate, &'r IssuedCertificate);

fn custom_pack(pack: &Arc<Declared<CertificatePack>>) -> Option<CustomPack<'_>> {
    let PackKind::Custom(custom) = pack.kind else { return None };
    Some((pack, custom, pack.certificates.first()?))
}

fn shown<'r>((pack, custom, issued): CustomPack<'r>) -> ShownCustomCertificate<'r> {
    ShownCustomCertificate {
        id: pack.id.to_string(),
        zone_id: pack.zone.as_str(),
        r#type: custom.r#type.word(),
        hosts: &issued.hosts,
        issuer: &issued.issuer,
        signature: &issued.signature,
        status: pack.status.word(),
        bundle_method: pack.bundle_method,
        custom_csr_id: issued.signing_request.map(|request| request.to_string()),
        uploaded_on: &pack.created_on,
        modified_on: &issued.uploaded_on,
        expires_on: time(issued.expires),
        priority: custom.priority,
    }
}

/// The certificates of a zone, in the order in which they are chosen.
fn of_zone<'r>(resources: &'r Resources, zone: &Zone) -> Vec<CustomPack<'r>> {
    let mut all: Vec<_> =
        resources.packs.values().filter(|pack| pack.zone == zone.id).filter_map(custom_pack).collect();
    all.sort_by_key(|(pack, custom, issued)| (custom.rank(), Reverse(issued.not_before), pack.id));
    all
}

fn not_found() -> ApiErrors {
    ApiError::new(error::NO_CERTIFICATE_OF_ID, "The certificate was not found.").into()
}

fn of_id<'r>(resources: &'r Resources, zone: &Zone, id: &str) -> Result<CustomPack<'r>, ApiErrors> {
    let id: Uuid = id.parse().map_err(|_| not_found())?;
    let pack = resources.packs.get(&PackId(id)).filter(|pack| pack.zone == zone.id);
    pack.and_then(custom_pack).ok_or_else(not_found)
}

fn list(call: &ApiCall) -> Answer {
    let zone = call.zone()?;
    let mut all = of_zone(&call.snapshot.resources, &zone);
    if let Some(status) = call.asked("status") {
        all.retain(|(pack, ..)| pack.status.word() == status);
    }
    let (page, info) = call.paging(20, 50)?.of(all);
    ApiReply::page(&page.into_iter().map(shown).collect::<Vec<_>>(), info)
}

fn find(call: &ApiCall) -> Answer {
    let zone = call.zone()?;
    let found = of_id(&call.snapshot.resources, &zone, call.parameter("custom_certificate_id"))?;
    Ok(ApiReply::of(&shown(found))?.tagged(revision(found.0)))
}

/// What a body says of a certificate. What is `None` was not written.
struct WrittenCustomCertificate {
    certificate: Option<UploadedCertificate>,
    bundle_method: Option<BundleMethod>,
    r#type: Option<CustomCertificateType>,
}

fn written(fields: &Fields<'_>) -> WrittenCustomCertificate {
    fields.ignore(&[
        "id",
        "zone_id",
        "hosts",
        "issuer",
        "signature",
        "status",
        "uploaded_on",
        "modified_on",
        "expires_on",
        "priority",
    ]);
    if fields.text("deploy").is_some_and(|to| to != "production") {
        fields.refuse(error::BAD_PACK, "deploy", "there is one deployment; expected `production`");
    }
    for name in ["geo_restrictions", "policy", "policy_restrictions"] {
        if fields.value(name).is_some() {
            let message = format!("each node that serves the zone has its keys; leave `{name}` out");
            fields.refuse(error::BAD_PACK, name, message);
        }
    }
    WrittenCustomCertificate {
        certificate: UploadedCertificate::of_fields(fields, ("certificate", "private_key")),
        bundle_method: fields.word("bundle_method", error::BAD_BUNDLE_METHOD),
        r#type: fields.word("type", error::BAD_PACK),
    }
}

/// The names of a zone that a certificate is for.
fn hosts(zone: &Zone, issued: &IssuedCertificate) -> Vec<String> {
    let is_of_zone = |host: &&String| fallback::is_in_zone(zone, name::without_wildcard(host));
    let mut hosts: Vec<String> = issued.hosts.iter().filter(is_of_zone).cloned().collect();
    // A wildcard may stand above the zone.
    if !hosts.contains(&zone.name) && name::is_covered(&issued.hosts, &zone.name) {
        hosts.push(zone.name.clone());
    }
    hosts
}

/// Puts a certificate into a pack, which is then for its names.
fn put(
    pack: &mut CertificatePack,
    certificate: &UploadedCertificate,
    call: &ApiCall,
    (resources, zone): (&Resources, &Zone),
) -> Result<(), ApiErrors> {
    let read = certificate.read(pack.id, call, (resources, zone))?;
    pack.hosts = hosts(zone, &read.issued);
    if pack.hosts.is_empty() {
        certificate.check_hosts(&read.issued, std::slice::from_ref(&zone.name))?;
    }
    upload(pack, vec![read])
}

fn reply(resources: &Resources, zone: &Zone, id: PackId, unknown: Vec<String>) -> Answer {
    let found = of_id(resources, zone, &id.to_string())?;
    Ok(ApiReply::of(&shown(found))?.tagged(revision(found.0)).passing_over(unknown))
}

async fn create(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    let (written, unknown) = rule_input::read(&call.body, |fields| {
        fields.required_text("certificate");
        Some(written(fields))
    })?;
    let id = PackId(new_uuid()?);
    let custom =
        CustomCertificate { r#type: written.r#type.unwrap_or(CustomCertificateType::Legacy), priority: 0 };
    let (names, at) = ((Vec::new(), ValidationMethod::default()), (call.unix, call.now.clone()));
    let pack = CertificatePack {
        bundle_method: written.bundle_method.unwrap_or_default(),
        ..CertificatePack::new(id, zone.id.clone(), PackKind::Custom(custom), names, at)
    };
    let (call, owner) = (Arc::new(call), zone.clone());
    let writer = Arc::clone(&call);
    let applied = call
        .write(move |resources| {
            let mut pack = pack.clone();
            if let Some(certificate) = &written.certificate {
                put(&mut pack, certificate, &writer, (resources, &owner.value))?;
            }
            Ok(vec![Change::PutPack { pack: Box::new(pack) }])
        })
        .await?;
    reply(&applied.resources, &zone.value, id, unknown)
}

async fn change(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    let (written, unknown) = rule_input::read(&call.body, |fields| Some(written(fields)))?;
    let (known, custom, _) = of_id(&call.snapshot.resources, &zone, call.parameter("custom_certificate_id"))?;
    if written.r#type.is_some_and(|kind| kind != custom.r#type) {
        let message = "the type of a certificate cannot be changed; upload it again with the other one";
        return Err(ApiError::at(error::BAD_PACK, "/type", message).into());
    }
    let (id, precondition) = (known.id, call.precondition());
    let (call, owner) = (Arc::new(call), zone.clone());
    let writer = Arc::clone(&call);
    let applied = call
        .write(move |resources| {
            let (known, ..) = of_id(resources, &owner, &id.to_string())?;
            precondition.check(revision(known))?;
            let mut pack = known.value.clone();
            pack.bundle_method = written.bundle_method.unwrap_or(pack.bundle_method);
            if let Some(certificate) = &written.certificate {
                put(&mut pack, certificate, &writer, (resources, &owner.value))?;
            }
            Ok(changed(known, pack).into_iter().collect())
        })
        .await?;
    reply(&applied.resources, &zone.value, id, unknown)
}

/// The change of a pack; `None` if it is as before.
fn changed(known: &CertificatePack, pack: CertificatePack) -> Option<Change> {
    (*known != pack).then(|| Change::PutPack { pack: Box::new(pack) })
}

async fn prioritize(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    let (priorities, unknown) = rule_input::read(&call.body, |fields| {
        if fields.value("certificates").is_none() {
            fields.refuse(error::BAD_PACK, "certificates", "`certificates` is required: expected a list");
        }
        let priority = |fields: &Fields<'_>| {
            let id = fields.required_text("id")?.to_owned();
            let priority = fields.within("priority", 0..=MAX_PRIORITY)?;
            Some((id, u32::try_from(priority).ok()?))
        };
        let all = fields.objects("certificates")?;
        if all.len() > MAX_PRIORITIES {
            let message = format!("expected at most {MAX_PRIORITIES} certificates, found {}", all.len());
            fields.refuse(error::BAD_PACK, "certificates", message);
        }
        Some(all.iter().take(MAX_PRIORITIES).filter_map(priority).collect::<Vec<_>>())
    })?;
    let owner = zone.clone();
    let applied = call
        .write(move |resources| {
            let mut changes = Vec::new();
            for (nth, (id, priority)) in priorities.iter().enumerate() {
                let (known, custom, _) = of_id(resources, &owner, id).map_err(|_| {
                    let message = format!("the zone has no certificate `{id:.60}`");
                    ApiError::at(error::NO_CERTIFICATE_OF_ID, format!("/certificates/{nth}/id"), message)
                })?;
                let kind = PackKind::Custom(CustomCertificate { priority: *priority, ..custom });
                changes.extend(changed(known, CertificatePack { kind, ..known.value.clone() }));
            }
            Ok(changes)
        })
        .await?;
    let all = of_zone(&applied.resources, &zone);
    let (page, info) = call.paging(20, 50)?.of(all);
    Ok(ApiReply::page(&page.into_iter().map(shown).collect::<Vec<_>>(), info)?.passing_over(unknown))
}

async fn delete(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    let (known, ..) = of_id(&call.snapshot.resources, &zone, call.parameter("custom_certificate_id"))?;
    let (id, precondition) = (known.id, call.precondition());
    call.write(move |resources| {
        let known = resources.packs.get(&id).ok_or_else(not_found)?;
        precondition.check(revision(known))?;
        Ok(crate::certificates::deletion(resources, known))
    })
    .await?;
    ApiReply::of(&Deleted { id: &id.to_string() })
}
