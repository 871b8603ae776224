//! Custom hostnames as the API shows them.

use model::certificate_pack::{
    BundleMethod, CertificatePack, ChallengeKind, IssuedCertificate, PendingChallenge, TlsSettings,
    TlsVersion,
};
use model::custom_hostname::OriginServerName;
use model::{CustomHostname, HostnameStatus, Resources, Zone};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::certificates::delegation_target;
use crate::clock::rfc3339;
use crate::jobs::verifying::question;
use crate::zone_settings::switch_word;

/// The status of a hostname whose certificate CAA records forbid (spec, "Custom hostname states").
const CAA_ERROR: &str = "caa_error";

#[derive(Debug, Serialize)]
pub(super) struct ShownHostname<'a> {
    id: String,
    hostname: &'a str,
    ssl: Option<ShownSsl<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_metadata: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_origin_server: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_origin_sni: Option<&'a str>,
    status: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    verification_errors: &'a [Box<str>],
    ownership_verification: OwnershipRecord,
    ownership_verification_http: OwnershipPage,
    created_at: &'a str,
}

#[derive(Debug, Serialize)]
struct OwnershipRecord {
    r#type: &'static str,
    name: String,
    value: String,
}

#[derive(Debug, Serialize)]
struct OwnershipPage {
    http_url: String,
    http_body: String,
}

#[derive(Debug, Serialize)]
struct ShownSsl<'a> {
    id: String,
    r#type: &'static str,
    method: &'static str,
    status: &'static str,
    bundle_method: BundleMethod,
    wildcard: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate_authority: Option<&'a str>,
    svc_branding: bool,
    settings: ShownTls<'a>,
    hosts: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_certificate: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_csr_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    serial_number: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uploaded_on: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_on: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    validation_records: Vec<ShownValidation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    validation_errors: Vec<ShownMistake<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dcv_delegation_records: Vec<ShownDelegation>,
}

/// An alias by which validation is delegated.
#[derive(Debug, Serialize)]
struct ShownDelegation {
    cname: String,
    cname_target: String,
}

/// How TLS is spoken, in the words of clients; what is not set is not shown.
#[derive(Debug, Serialize)]
pub(in crate::api::resources) struct ShownTls<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    http2: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls_1_3: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_tls_version: Option<TlsVersion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    early_hints: Option<&'static str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    ciphers: &'a [String],
}

/// What a CA waits for.
#[derive(Debug, Serialize)]
pub(in crate::api::resources) struct ShownValidation {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    txt_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    txt_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http_body: Option<String>,
}

#[derive(Debug, Serialize)]
pub(in crate::api::resources) struct ShownMistake<'a> {
    message: &'a str,
}

fn word(is_on: Option<bool>) -> Option<&'static str> {
    is_on.map(switch_word)
}

impl<'a> ShownTls<'a> {
    pub(in crate::api::resources) fn of(settings: &'a TlsSettings) -> Self {
        Self {
            http2: word(settings.http2),
            tls_1_3: word(settings.tls_1_3),
            min_tls_version: settings.min_tls_version,
            early_hints: word(settings.early_hints),
            ciphers: &settings.ciphers,
        }
    }
}

impl ShownValidation {
    fn of(challenge: &PendingChallenge) -> Self {
        let status = if challenge.is_told { "processing" } else { "pending" };
        let mut shown = Self { status, txt_name: None, txt_value: None, http_url: None, http_body: None };
        match challenge.kind {
            ChallengeKind::Dns => {
                shown.txt_name = Some(format!("_acme-challenge.{}", challenge.host));
                shown.txt_value = Some(crate::certificates::dns_value(&challenge.key_authorization));
            }
            ChallengeKind::Http | ChallengeKind::TlsAlpn => {
                let (host, token) = (&challenge.host, &challenge.token);
                shown.http_url = Some(format!("http://{host}/.well-known/acme-challenge/{token}"));
                shown.http_body = Some(challenge.key_authorization.clone());
            }
        }
        shown
    }

    /// Of each challenge of a pack.
    pub(in crate::api::resources) fn of_pack(pack: &CertificatePack) -> Vec<Self> {
        let challenges = pack.order.iter().flat_map(|order| &order.challenges);
        challenges.map(Self::of).collect()
    }
}

impl<'a> ShownMistake<'a> {
    pub(in crate::api::resources) fn of_pack(pack: &'a CertificatePack) -> Vec<Self> {
        pack.errors.iter().map(|message| Self { message }).collect()
    }
}

fn ssl<'a>(pack: &'a CertificatePack, zone: Option<&Zone>, name: &str, is_wildcard: bool) -> ShownSsl<'a> {
    let delegation = zone.map(|zone| ShownDelegation {
        cname: format!("_acme-challenge.{name}"),
        cname_target: delegation_target(zone, name),
    });
    let newest: Option<&'a IssuedCertificate> = pack.certificates.first().map(|issued| &**issued);
    ShownSsl {
        id: pack.id.to_string(),
        r#type: "dv",
        method: pack.method.word(),
        status: pack.status.word(),
        bundle_method: pack.bundle_method,
        wildcard: is_wildcard,
        certificate_authority: pack.certificate_authority.as_deref(),
        svc_branding: pack.has_branding,
        settings: ShownTls::of(&pack.settings),
        hosts: newest.map_or(&pack.hosts, |issued| &issued.hosts),
        custom_certificate: newest.filter(|issued| issued.is_uploaded).map(|issued| &*issued.chain),
        custom_csr_id: newest.and_then(|issued| issued.signing_request).map(|request| request.to_string()),
        issuer: newest.map(|issued| &*issued.issuer),
        serial_number: newest.map(|issued| &*issued.serial),
        signature: newest.map(|issued| &*issued.signature),
        uploaded_on: newest.map(|issued| &*issued.uploaded_on),
        expires_on: newest.map(|issued| time(issued.expires)),
        validation_records: ShownValidation::of_pack(pack),
        validation_errors: ShownMistake::of_pack(pack),
        dcv_delegation_records: delegation.into_iter().collect(),
    }
}

/// When something is due, in seconds since the epoch, as RFC 3339; `None` if nothing is done before somebody asks for it.
pub(in crate::api::resources) fn due(seconds: u64) -> Option<String> {
    /// The end of the year 9999, behind which there is no such text.
    const LAST: u64 = 253_402_300_799;
    (seconds <= LAST).then(|| time(seconds))
}

/// Seconds since the epoch as RFC 3339.
pub(in crate::api::resources) fn time(seconds: u64) -> String {
    rfc3339(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds))
}

/// The certificates of a hostname.
pub(super) fn pack_of<'r>(
    resources: &'r Resources,
    hostname: &CustomHostname,
) -> Option<&'r CertificatePack> {
    resources.packs.get(&hostname.pack?).map(|pack| &pack.value)
}

/// The word of a status, with that of its certificate where that says more.
pub(super) fn status(hostname: &CustomHostname, pack: Option<&CertificatePack>) -> &'static str {
    let is_forbidden = pack.is_some_and(|pack| pack.is_forbidden_by_caa);
    match hostname.status {
        HostnameStatus::Pending | HostnameStatus::Active | HostnameStatus::ActiveRedeploying
            if is_forbidden =>
        {
            CAA_ERROR
        }
        status => status.word(),
    }
}

pub(super) fn shown<'a>(hostname: &'a CustomHostname, resources: &'a Resources) -> ShownHostname<'a> {
    let pack = pack_of(resources, hostname);
    let origin = hostname.origin.as_deref();
    let (name, token) = (&*hostname.hostname, hostname.ownership_token.to_string());
    let question = question(hostname);
    ShownHostname {
        id: hostname.id.to_string(),
        hostname: name,
        ssl: pack.map(|pack| {
            // Without records here nobody would get those of a delegation from here.
            let zone = resources.zones.get(&hostname.zone).map(|zone| &zone.value);
            let zone = zone
                .filter(|zone| resources.records.get(&zone.id).is_some_and(|records| !records.is_empty()));
            ssl(pack, zone, name, hostname.is_wildcard)
        }),
        // INVARIANT: it was an object when it was written.
        custom_metadata: hostname
            .metadata
            .as_deref()
            .and_then(|text| RawValue::from_string(text.to_owned()).ok()),
        custom_origin_server: origin.and_then(|origin| origin.server.as_deref()),
        custom_origin_sni: origin.and_then(|origin| origin.sni.as_ref()).map(|sni| match sni {
            OriginServerName::RequestHost => OriginServerName::REQUEST_HOST,
            OriginServerName::Name(name) => name,
        }),
        status: status(hostname, pack),
        verification_errors: &hostname.verification_errors,
        ownership_verification: OwnershipRecord {
            r#type: "txt",
            name: question.text_name,
            value: token.clone(),
        },
        ownership_verification_http: OwnershipPage {
            http_url: format!("http://{name}{}", question.page_path),
            http_body: token,
        },
        created_at: &hostname.created_on,
    }
}
