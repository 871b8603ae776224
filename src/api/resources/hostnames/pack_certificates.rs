//! `/zones/{zone_id}/custom_hostnames/{id}/certificate_pack/{pack}/certificates/{certificate}`: one of the certificates that
//! were uploaded for a custom hostname.

use std::sync::Arc;

use model::certificate_pack::{CertificatePack, IssuedCertificate};
use model::{Declared, HostnameId, PackId, Resources, Zone};
use store::Change;
use uuid::Uuid;

use super::records::{of_path, operation, reply};
use super::shapes;
use super::written::CERTIFICATE_FIELDS;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{Answer, ApiCall, InputShape, Operation, ResultKind, Verb};
use crate::api::resources::accounts::Deleted;
use crate::api::resources::certificates::{ReadCertificate, UploadedCertificate, upload};
use crate::api::resources::rule_input;
use crate::api::resources::rulesets_read::revision;
use crate::certificates::CertificateFacts;

const PATH: &str = "/zones/{zone_id}/custom_hostnames/{custom_hostname_id}/certificate_pack/{certificate_pack_id}/\
                    certificates/{certificate_id}";

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    operation(
        Verb::Put,
        PATH,
        "Replaces one of the certificates that were uploaded for a custom hostname by one with the same kind of key.",
        (Some(InputShape::Object(shapes::PACK_CERTIFICATE)), ResultKind::One(shapes::HOSTNAME)),
        |call| Box::pin(replace(call)),
    ),
    operation(
        Verb::Delete,
        PATH,
        "Deletes one of two certificates that were uploaded for a custom hostname.",
        (None, ResultKind::One(crate::api::resources::shapes::DELETED)),
        |call| Box::pin(delete(call)),
    ),
];

/// The pack and the certificate of a path, among others.
struct OfPath<'r> {
    hostname: HostnameId,
    pack: &'r Arc<Declared<CertificatePack>>,
    certificate: &'r Arc<IssuedCertificate>,
}

impl<'r> OfPath<'r> {
    /// # Errors
    /// If there is no such hostname, pack or certificate, or if a CA made it for this server.
    fn find(call: &ApiCall, resources: &'r Resources, zone: &Zone) -> Result<Self, ApiErrors> {
        let hostname = of_path(call, resources, zone)?;
        let id = call.parameter("certificate_pack_id").parse().ok().map(PackId);
        let pack = id.filter(|_| id == hostname.pack).and_then(|id| resources.packs.get(&id));
        let missing =
            || ApiErrors::from(ApiError::new(error::NO_PACK, "The certificate pack was not found."));
        let pack = pack.ok_or_else(missing)?;
        let id: Option<Uuid> = call.parameter("certificate_id").parse().ok();
        let certificate = pack.certificates.iter().find(|issued| Some(issued.id) == id);
        let certificate = certificate.ok_or_else(|| {
            ApiErrors::from(ApiError::new(error::NO_CERTIFICATE_OF_ID, "The certificate was not found."))
        })?;
        if !certificate.is_uploaded {
            let message = "a CA made the certificate for this server, which renews it";
            return Err(ApiError::new(error::CONFLICT, message).into());
        }
        Ok(Self { hostname: hostname.id, pack, certificate })
    }

    /// The other certificates of the pack.
    ///
    /// # Errors
    /// If one of them cannot be read.
    fn others(&self) -> Result<Vec<ReadCertificate>, ApiErrors> {
        let others = self.pack.certificates.iter().filter(|issued| issued.id != self.certificate.id);
        others.map(|issued| read(issued)).collect()
    }
}

/// A certificate of the store.
fn read(issued: &IssuedCertificate) -> Result<ReadCertificate, ApiErrors> {
    let facts = CertificateFacts::read(&issued.chain)
        .map_err(|message| ApiErrors::from(ApiError::new(error::UNAVAILABLE, message)))?;
    Ok(ReadCertificate { issued: issued.clone(), key_algorithm: facts.key_algorithm })
}

async fn replace(call: ApiCall) -> Answer {
    let (zone, snapshot) = (call.zone()?, Arc::clone(&call.snapshot));
    let id = OfPath::find(&call, &snapshot.resources, &zone)?.hostname;
    let (certificate, unknown) = rule_input::read(&call.body, |fields| {
        fields.required_text(CERTIFICATE_FIELDS.0);
        Some(UploadedCertificate::of_fields(fields, CERTIFICATE_FIELDS))
    })?;
    let precondition = call.precondition();
    let call = Arc::new(call);
    let writer = Arc::clone(&call);
    let applied = call
        .write(move |resources| {
            let known = OfPath::find(&writer, resources, &zone)?;
            precondition.check(revision(known.pack))?;
            let mut pack = known.pack.value.clone();
            let mut all = known.others()?;
            if let Some(certificate) = &certificate {
                let new = certificate.read(pack.id, &writer, (resources, &zone.value))?;
                certificate.check_hosts(&new.issued, &pack.hosts)?;
                if new.key_algorithm != read(known.certificate)?.key_algorithm {
                    let message =
                        "expected a certificate with the same kind of key as the one that it replaces";
                    return Err(ApiError::new(error::BAD_BUNDLE, message).into());
                }
                all.push(new);
            }
            upload(&mut pack, all)?;
            Ok(vec![Change::PutPack { pack: Box::new(pack) }])
        })
        .await?;
    reply(&applied.resources, id, unknown)
}

async fn delete(call: ApiCall) -> Answer {
    let (zone, snapshot) = (call.zone()?, Arc::clone(&call.snapshot));
    let id = OfPath::find(&call, &snapshot.resources, &zone)?.certificate.id;
    let precondition = call.precondition();
    let call = Arc::new(call);
    let writer = Arc::clone(&call);
    call.write(move |resources| {
        let known = OfPath::find(&writer, resources, &zone)?;
        precondition.check(revision(known.pack))?;
        let others = known.others()?;
        if others.is_empty() {
            let message = "the certificate is the only one of its pack; replace it, or delete its hostname";
            return Err(ApiError::new(error::LAST_CERTIFICATE, message).into());
        }
        let mut pack = known.pack.value.clone();
        upload(&mut pack, others)?;
        Ok(vec![Change::PutPack { pack: Box::new(pack) }])
    })
    .await?;
    ApiReply::of(&Deleted { id: &id.to_string() })
}
