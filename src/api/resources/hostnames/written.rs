//! Custom hostnames as bodies write them.

use hostnames::name;
use model::Zone;
use model::certificate_pack::{BundleMethod, TlsSettings, ValidationMethod};
use model::custom_hostname::OriginServerName;

use super::checks;
use super::tls_input::{certificate_authority, settings};
use crate::api::error;
use crate::api::input::Fields;
use crate::api::resources::certificates::UploadedCertificate;
use crate::snapshot::Snapshot;

/// Longest metadata, in bytes of JSON.
const MAX_METADATA_BYTES: usize = 4_096;

/// What a body says of a custom hostname. What is `None` was not written; an inner `None` takes away.
#[derive(Clone, Debug, Default)]
pub(super) struct WrittenHostname {
    pub(super) hostname: Option<String>,
    pub(super) ssl: Option<WrittenSsl>,
    pub(super) metadata: Option<Option<Box<str>>>,
    pub(super) server: Option<Option<Box<str>>>,
    pub(super) sni: Option<Option<OriginServerName>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct WrittenSsl {
    pub(super) has_type: bool,
    pub(super) method: Option<ValidationMethod>,
    pub(super) certificate_authority: Option<String>,
    pub(super) bundle_method: Option<BundleMethod>,
    pub(super) is_wildcard: Option<bool>,
    pub(super) has_branding: Option<bool>,
    pub(super) settings: Option<TlsSettings>,
    /// None, one, or two for clients that take different kinds of keys.
    pub(super) uploaded: Vec<UploadedCertificate>,
}

pub(super) fn hostname(fields: &Fields<'_>, snapshot: &Snapshot, zone: &Zone) -> WrittenHostname {
    fields.ignore(&[
        "id",
        "status",
        "verification_errors",
        "ownership_verification",
        "ownership_verification_http",
        "created_at",
        "wait_for_ssl_pending_validation",
    ]);
    let policy = snapshot.certificate_settings.names;
    let written = fields.text("hostname").and_then(|text| match name::parse(text, policy) {
        Ok(name) => Some(name),
        Err(mistake) => {
            fields.refuse(checks::code_of(&mistake), "hostname", mistake.message(text));
            None
        }
    });
    let mut ssl = fields.object("ssl").map(|fields| ssl(&fields, snapshot));
    if let (Some(ssl), Some(has_branding)) = (&mut ssl, fields.bool("svc_branding")) {
        ssl.has_branding = ssl.has_branding.or(Some(has_branding));
    }
    let is_wildcard = ssl.as_ref().and_then(|ssl| ssl.is_wildcard) == Some(true);
    WrittenHostname {
        hostname: written,
        ssl,
        metadata: metadata(fields, is_wildcard),
        server: origin_server(fields, snapshot, zone),
        sni: origin_sni(fields),
    }
}

fn ssl(fields: &Fields<'_>, snapshot: &Snapshot) -> WrittenSsl {
    fields.ignore(&[
        "id",
        "status",
        "hosts",
        "issuer",
        "serial_number",
        "signature",
        "uploaded_on",
        "expires_on",
        "validation_records",
        "validation_errors",
        "dcv_delegation_records",
    ]);
    let has_type = match fields.text("type") {
        Some("dv") => true,
        Some(other) => {
            fields.refuse(error::BAD_VALIDATION_TYPE, "type", format!("expected `dv`, found `{other:.40}`"));
            true
        }
        None => false,
    };
    let written = WrittenSsl {
        has_type,
        method: fields.word("method", error::BAD_VALIDATION_METHOD),
        certificate_authority: certificate_authority(fields, &snapshot.certificate_settings),
        bundle_method: fields.word("bundle_method", error::BAD_BUNDLE_METHOD),
        is_wildcard: fields.bool("wildcard"),
        has_branding: fields.bool("svc_branding"),
        settings: fields.object("settings").map(|fields| settings(&fields)),
        uploaded: uploaded(fields),
    };
    if written.method == Some(ValidationMethod::Email) {
        let message = "no CA that this server asks sends mail; use `http` or `txt`";
        fields.refuse(error::BAD_VALIDATION_METHOD, "method", message);
    }
    written
}

/// The names of the fields of a certificate and its key.
pub(super) const CERTIFICATE_FIELDS: (&str, &str) = ("custom_certificate", "custom_key");
/// Most certificates of one hostname.
const MAX_UPLOADED: usize = 2;

fn uploaded(fields: &Fields<'_>) -> Vec<UploadedCertificate> {
    let one = UploadedCertificate::of_fields(fields, CERTIFICATE_FIELDS);
    let Some(bundle) = fields.objects("custom_cert_bundle") else { return one.into_iter().collect() };
    if one.is_some() || bundle.is_empty() || bundle.len() > MAX_UPLOADED {
        let message = "expected one or two certificates, and no `custom_certificate` beside them";
        fields.refuse(error::BAD_BUNDLE, "custom_cert_bundle", message);
    }
    let of_bundle = |fields: &Fields<'_>| {
        if fields.value(CERTIFICATE_FIELDS.0).is_none() {
            let message = "expected a certificate as PEM, found nothing";
            fields.refuse(error::NO_CERTIFICATE, CERTIFICATE_FIELDS.0, message);
        }
        UploadedCertificate::of_fields(fields, CERTIFICATE_FIELDS)
    };
    bundle.iter().filter_map(of_bundle).collect()
}

fn metadata(fields: &Fields<'_>, is_wildcard: bool) -> Option<Option<Box<str>>> {
    if !fields.has("custom_metadata") {
        return None;
    }
    let Some(value) = fields.value("custom_metadata") else { return Some(None) };
    let text = value.to_string();
    if !value.is_object() {
        fields.refuse(error::BAD_METADATA, "custom_metadata", "expected an object".to_owned());
    } else if text.len() > MAX_METADATA_BYTES {
        let message = format!("metadata has at most {MAX_METADATA_BYTES} bytes, found {}", text.len());
        fields.refuse(error::BAD_METADATA, "custom_metadata", message);
    } else if is_wildcard {
        let message = "a hostname with `ssl.wildcard` has no metadata".to_owned();
        fields.refuse(error::METADATA_ON_WILDCARD, "custom_metadata", message);
    }
    Some(Some(text.into()))
}

fn origin_server(fields: &Fields<'_>, snapshot: &Snapshot, zone: &Zone) -> Option<Option<Box<str>>> {
    if !fields.has("custom_origin_server") {
        return None;
    }
    let Some(text) = fields.text("custom_origin_server").filter(|text| !text.is_empty()) else {
        return Some(None);
    };
    match checks::origin_server(snapshot, zone, text) {
        Ok(name) => Some(Some(name.into())),
        Err((code, message)) => {
            fields.refuse(code, "custom_origin_server", message);
            None
        }
    }
}

fn origin_sni(fields: &Fields<'_>) -> Option<Option<OriginServerName>> {
    if !fields.has("custom_origin_sni") {
        return None;
    }
    let Some(text) = fields.text("custom_origin_sni").filter(|text| !text.is_empty()) else {
        return Some(None);
    };
    if text == OriginServerName::REQUEST_HOST {
        return Some(Some(OriginServerName::RequestHost));
    }
    match model::HostName::parse(text) {
        Ok(name) => Some(Some(OriginServerName::Name(name.as_str().into()))),
        Err(message) => {
            fields.refuse(error::BAD_ORIGIN_NAME, "custom_origin_sni", message);
            None
        }
    }
}
