//! Certificate packs as the API shows them.

use std::sync::Arc;

use model::certificate_pack::{BundleMethod, CertificatePack, IssuedCertificate};
use model::{PackKind, PackStatus};
use serde::Serialize;

use super::packs::VALIDITY_DAYS;
use crate::api::resources::hostnames::{ShownMistake, ShownValidation, due, time};

#[derive(Debug, Serialize)]
pub(super) struct ShownPack<'a> {
    id: String,
    r#type: &'static str,
    hosts: &'a [String],
    status: &'static str,
    validation_method: &'static str,
    /// Clients know four lengths.
    #[serde(skip_serializing_if = "Option::is_none")]
    validity_days: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate_authority: Option<&'a str>,
    svc_branding: bool,
    certificates: Vec<ShownCertificate<'a>>,
    primary_certificate: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    validation_records: Vec<ShownValidation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    validation_errors: Vec<ShownMistake<'a>>,
    next_attempt: Option<String>,
    created_on: &'a str,
}

#[derive(Debug, Serialize)]
struct ShownCertificate<'a> {
    id: String,
    hosts: &'a [String],
    status: &'static str,
    issuer: &'a str,
    signature: &'a str,
    serial_number: &'a str,
    bundle_method: BundleMethod,
    uploaded_on: &'a str,
    modified_on: &'a str,
    expires_on: String,
    priority: usize,
}

fn kind(pack: &CertificatePack) -> &'static str {
    match pack.kind {
        PackKind::Universal => "universal",
        PackKind::Advanced => "advanced",
        PackKind::CustomHostname(_) if pack.certificates.first().is_some_and(|one| one.is_uploaded) => {
            "mh_custom"
        }
        PackKind::CustomHostname(_) => "managed_hostname",
        PackKind::Custom(custom) => custom.r#type.word(),
    }
}

/// How long a certificate is valid, if that is one of the lengths that are asked for.
fn validity_days(issued: &Arc<IssuedCertificate>) -> Option<u64> {
    let days = issued.expires.saturating_sub(issued.not_before).div_ceil(86_400);
    VALIDITY_DAYS.contains(&days).then_some(days)
}

pub(super) fn shown(pack: &CertificatePack) -> ShownPack<'_> {
    let certificates = pack.certificates.iter().enumerate().map(|(priority, issued)| ShownCertificate {
        id: issued.id.to_string(),
        hosts: &issued.hosts,
        status: pack.status.word(),
        issuer: &issued.issuer,
        signature: &issued.signature,
        serial_number: &issued.serial,
        bundle_method: pack.bundle_method,
        uploaded_on: &issued.uploaded_on,
        modified_on: &issued.uploaded_on,
        expires_on: time(issued.expires),
        priority,
    });
    let newest = pack.certificates.first();
    ShownPack {
        id: pack.id.to_string(),
        r#type: kind(pack),
        hosts: &pack.hosts,
        status: pack.status.word(),
        validation_method: pack.method.word(),
        validity_days: newest.map_or(Some(90), validity_days),
        certificate_authority: pack.certificate_authority.as_deref(),
        svc_branding: pack.has_branding,
        primary_certificate: newest.map(|newest| newest.id.to_string()),
        certificates: certificates.collect(),
        validation_records: ShownValidation::of_pack(pack),
        validation_errors: ShownMistake::of_pack(pack),
        next_attempt: due(pack.next_step),
        created_on: &pack.created_on,
    }
}

#[derive(Debug, Serialize)]
pub(super) struct ShownVerification<'a> {
    cert_pack_uuid: String,
    certificate_status: &'static str,
    validation_method: &'static str,
    hostname: &'a str,
    signature: &'a str,
    brand_check: bool,
    /// Whether all is shown to the CA.
    verification_status: bool,
    validation_records: Vec<ShownValidation>,
}

/// How far the validation of a pack is.
pub(super) fn verification(pack: &CertificatePack) -> ShownVerification<'_> {
    ShownVerification {
        cert_pack_uuid: pack.id.to_string(),
        certificate_status: verification_word(pack.status),
        validation_method: pack.method.word(),
        hostname: pack.hosts.first().map_or("", String::as_str),
        signature: pack.certificates.first().map_or("ECDSAWithSHA256", |newest| &newest.signature),
        brand_check: false,
        verification_status: !pack.certificates.is_empty(),
        validation_records: ShownValidation::of_pack(pack),
    }
}

/// A status in the words of verifications.
fn verification_word(status: PackStatus) -> &'static str {
    match status {
        PackStatus::Initializing => "initializing",
        PackStatus::PendingValidation => "authorizing",
        PackStatus::PendingIssuance => "issuing",
        PackStatus::Active => "active",
        PackStatus::Expired => "expired",
        PackStatus::ValidationTimedOut | PackStatus::IssuanceTimedOut => "timing_out",
    }
}
