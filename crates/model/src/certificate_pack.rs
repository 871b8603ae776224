//! Certificates: which names have one, how it is got, and what was got.

use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::word::serde_by_word;
use crate::{HostnameId, SigningRequestId, ZoneId};

/// The id of a [`CertificatePack`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PackId(pub Uuid);

impl fmt::Display for PackId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A wish for certificates of some names, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificatePack {
    pub id: PackId,
    pub zone: ZoneId,
    pub kind: PackKind,
    /// Names in lower case; wildcards as `*.example.com`.
    pub hosts: Vec<String>,
    pub method: ValidationMethod,
    /// The name of a CA as it was asked for: nothing, or an empty name, is the one that the server chooses.
    #[serde(default, skip_serializing_if = "is_default")]
    pub certificate_authority: Option<String>,
    /// Whether a name of the service stands in the subject, because all of the hosts are too long for it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub has_branding: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub bundle_method: BundleMethod,
    #[serde(default, skip_serializing_if = "is_default")]
    pub settings: TlsSettings,
    pub status: PackStatus,
    /// Since when it has this status, in seconds since the epoch.
    pub since: u64,
    /// Attempts to get a certificate since the last success.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attempts: u32,
    /// When the next step is due, in seconds since the epoch.
    pub next_step: u64,
    /// Why there is no certificate.
    #[serde(default, skip_serializing_if = "is_default")]
    pub errors: Vec<String>,
    /// Whether CAA records forbid the CA.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_forbidden_by_caa: bool,
    /// Whether its certificates are to be revoked, and made anew.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_revoking: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub order: Option<Box<PendingOrder>>,
    /// The newest first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub certificates: Vec<Arc<IssuedCertificate>>,
    /// RFC 3339.
    pub created_on: String,
}

/// The time of a next step that is not planned, in seconds since the epoch: later than any clock shows.
pub const NEVER: u64 = u64::MAX >> 1;

impl CertificatePack {
    /// Most certificates that are kept: the one in use and the one before it, or two with keys of two kinds that somebody
    /// uploads.
    pub const MAX_CERTIFICATES: usize = 2;

    /// One that nothing was done for yet, and that is due. `now` is in seconds since the epoch and as RFC 3339.
    pub fn new(
        id: PackId,
        zone: ZoneId,
        kind: PackKind,
        (hosts, method): (Vec<String>, ValidationMethod),
        (now, created_on): (u64, String),
    ) -> Self {
        Self {
            id,
            zone,
            kind,
            hosts,
            method,
            certificate_authority: None,
            has_branding: false,
            bundle_method: BundleMethod::default(),
            settings: TlsSettings::default(),
            status: PackStatus::Initializing,
            since: now,
            attempts: 0,
            next_step: now,
            errors: Vec::new(),
            is_forbidden_by_caa: false,
            is_revoking: false,
            order: None,
            certificates: Vec::new(),
            created_on,
        }
    }

    /// A name and, if it is to be, its wildcard.
    pub fn hosts_of(name: &str, has_wildcard: bool) -> Vec<String> {
        let wildcard = has_wildcard.then(|| format!("*.{name}"));
        std::iter::once(name.to_owned()).chain(wildcard).collect()
    }

    /// The CA that was asked for by name.
    pub fn named_authority(&self) -> Option<&str> {
        self.certificate_authority.as_deref().filter(|name| !name.is_empty())
    }

    /// Whether a name of it is a wildcard.
    pub fn has_wildcard(&self) -> bool {
        self.hosts.iter().any(|host| host.starts_with("*."))
    }

    /// Forgets attempts and errors, and is due now. Without a certificate it has the status that its order has.
    pub fn begin_again(&mut self, now: u64) {
        (self.attempts, self.next_step, self.errors, self.is_forbidden_by_caa) = (0, now, Vec::new(), false);
        if self.certificates.is_empty() {
            let has_order = self.order.as_ref().is_some_and(|order| order.url.is_some());
            self.status = if has_order { PackStatus::PendingValidation } else { PackStatus::Initializing };
            self.since = now;
        }
    }

    /// Is due now, whatever time its certificate has left: one attempt counts as begun.
    pub fn renew(&mut self, now: u64) {
        self.attempts = self.attempts.max(u32::from(!self.certificates.is_empty()));
        self.next_step = now;
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What a pack is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackKind {
    /// The names of a zone, automatically.
    Universal,
    /// Names of a zone that somebody ordered.
    Advanced,
    CustomHostname(HostnameId),
    /// Names of a zone whose certificate somebody uploads, who renews it, too.
    Custom(CustomCertificate),
}

/// How a certificate that somebody uploads for a zone is chosen among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomCertificate {
    pub r#type: CustomCertificateType,
    /// Of two for one name that with the higher one is served.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: u32,
}

impl CustomCertificate {
    /// Which of several for one name is chosen: the least.
    pub fn rank(self) -> (CustomCertificateType, Reverse<u32>) {
        (self.r#type, Reverse(self.priority))
    }
}

/// The types of certificates that somebody uploads for a zone, in the order in which they are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CustomCertificateType {
    Legacy,
    Sni,
}

serde_by_word!(CustomCertificateType, "type of a certificate");

impl CustomCertificateType {
    pub const ALL: [Self; 2] = [Self::Legacy, Self::Sni];

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Legacy => "legacy_custom",
            Self::Sni => "sni_custom",
        }
    }
}

/// How a CA is shown that a name is ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValidationMethod {
    #[default]
    Http,
    Txt,
    /// Taken, and never done: no CA that speaks ACME sends mail.
    Email,
}

impl ValidationMethod {
    pub fn word(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Txt => "txt",
            Self::Email => "email",
        }
    }
}

/// Which certificates of CAs go with one. It is kept and shown; the CA decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BundleMethod {
    #[default]
    Ubiquitous,
    Optimal,
    Force,
}

/// How TLS of some names is spoken; what is `None` is as the zone has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsSettings {
    #[serde(default, skip_serializing_if = "is_default")]
    pub http2: Option<bool>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub http3: Option<bool>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub tls_1_3: Option<bool>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub min_tls_version: Option<TlsVersion>,
    /// Kept and shown only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub early_hints: Option<bool>,
    /// Suites of TLS 1.2, by the names of OpenSSL.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ciphers: Vec<String>,
}

impl TlsSettings {
    /// Whether they rule out each version that could be spoken.
    pub fn leave_no_version(&self) -> bool {
        self.tls_1_3 == Some(false) && self.min_tls_version == Some(TlsVersion::V13)
    }
}

/// Lowest version that is spoken. This edge speaks none below 1.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TlsVersion {
    #[serde(rename = "1.0")]
    V10,
    #[serde(rename = "1.1")]
    V11,
    #[default]
    #[serde(rename = "1.2")]
    V12,
    #[serde(rename = "1.3")]
    V13,
}

/// How far a pack is (notes, "SSL part": those that this server gives).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackStatus {
    /// No CA was asked yet.
    Initializing,
    /// A CA waits to be shown that the names are ours.
    PendingValidation,
    /// The CA was asked for the certificate.
    PendingIssuance,
    Active,
    /// Its newest certificate is no longer valid.
    Expired,
    /// The names were not shown to be ours in time.
    ValidationTimedOut,
    /// No CA made the certificate in time.
    IssuanceTimedOut,
}

impl PackStatus {
    pub fn word(self) -> &'static str {
        match self {
            Self::Initializing => "initializing",
            Self::PendingValidation => "pending_validation",
            Self::PendingIssuance => "pending_issuance",
            Self::Active => "active",
            Self::Expired => "expired",
            Self::ValidationTimedOut => "validation_timed_out",
            Self::IssuanceTimedOut => "issuance_timed_out",
        }
    }
}

/// An order at a CA. It is kept before each step, so that a process that ends takes none twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingOrder {
    pub authority: String,
    /// Where it is; `None` before the CA was asked.
    pub url: Option<String>,
    /// The key of the certificate.
    pub key: KeptKey,
    pub challenges: Vec<PendingChallenge>,
}

/// What a CA looks at to see that a name is ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingChallenge {
    /// The name, without `*.`.
    pub host: String,
    pub kind: ChallengeKind,
    pub token: String,
    /// RFC 8555 section 8.1.
    pub key_authorization: String,
    /// The name of the record in a zone of ours that has what the CA looks for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub record_name: Option<String>,
    /// Whether the CA was told to look.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChallengeKind {
    #[serde(rename = "http-01")]
    Http,
    #[serde(rename = "dns-01")]
    Dns,
    #[serde(rename = "tls-alpn-01")]
    TlsAlpn,
}

/// A private key as it is kept: PKCS #8 in PEM, or what sealing made of that.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptKey {
    pub text: String,
    pub is_sealed: bool,
}

impl fmt::Debug for KeptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeptKey(…, is_sealed: {})", self.is_sealed)
    }
}

/// A certificate with its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuedCertificate {
    pub id: Uuid,
    /// The names in it.
    pub hosts: Vec<String>,
    /// PEM, its own first.
    pub chain: String,
    pub key: KeptKey,
    pub issuer: String,
    /// Decimal.
    pub serial: String,
    /// Such as `ECDSAWithSHA256`.
    pub signature: String,
    /// RFC 3339.
    pub uploaded_on: String,
    /// Seconds since the epoch, as the other.
    pub not_before: u64,
    pub expires: u64,
    /// The name of the CA that made it here; empty if somebody uploaded it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub authority: String,
    /// Whether somebody uploaded it, who renews it, too.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_uploaded: bool,
    /// The request that a CA elsewhere made it for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub signing_request: Option<SigningRequestId>,
}

/// An account at a CA.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcmeAccount {
    /// The name of the CA, and where its directory is.
    pub authority: String,
    pub directory: String,
    /// What the library makes of the account, as JSON, or what sealing made of that.
    pub credentials: KeptKey,
}

impl fmt::Debug for AcmeAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AcmeAccount({}, {}, …)", self.authority, self.directory)
    }
}
