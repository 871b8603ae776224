//! The fields of custom hostnames, as the description of the API shows them.

use crate::api::operation::{Kind, ObjectShape, field, required};

pub(super) const HOSTNAME: &ObjectShape = &ObjectShape {
    name: "CustomHostname",
    fields: &[
        field("id", Kind::Text, "Identifier of the custom hostname."),
        required("hostname", Kind::Text, "The name, such as `shop.customer.dev`."),
        field("ssl", Kind::Object(SSL), "Its certificate; without it, it is served over HTTP alone."),
        field("custom_metadata", Kind::Any, "An object that rules read as `svc.hostname.metadata`."),
        field("custom_origin_server", Kind::Any, "A name of the zone where its requests go."),
        field("custom_origin_sni", Kind::Any, "The name that TLS asks that origin for."),
        field("svc_branding", Kind::Flag, "As `ssl.svc_branding`."),
        field("status", Kind::Text, "How far it is, such as `pending` or `active`."),
        field("verification_errors", Kind::Texts, "Why it is not active."),
        field("ownership_verification", Kind::Any, "The TXT record that proves that it is yours."),
        field("ownership_verification_http", Kind::Any, "The page that proves the same."),
        field("created_at", Kind::Text, "When it was made (RFC 3339)."),
    ],
};

pub(super) const SSL: &ObjectShape = &ObjectShape {
    name: "CustomHostnameSsl",
    fields: &[
        field("id", Kind::Text, "Identifier of its certificate pack."),
        field("type", Kind::Words(&["dv"]), "The level of validation."),
        field("method", Kind::Words(&["http", "txt", "email"]), "How a CA sees that the name is yours."),
        field("status", Kind::Text, "How far it is, such as `pending_validation` or `active`."),
        field("certificate_authority", Kind::Text, "The CA; empty for the one that the server chooses."),
        field("bundle_method", Kind::Words(&["ubiquitous", "optimal", "force"]), "Kept and shown."),
        field("wildcard", Kind::Flag, "Whether it is for the names below, too; needs `txt`."),
        field("svc_branding", Kind::Flag, "Whether a name of the service may be in its subject."),
        field("settings", Kind::Object(SETTINGS), "How TLS is spoken."),
        field("custom_certificate", Kind::Any, "A certificate that you upload, as PEM."),
        field("custom_key", Kind::Any, "Its key, as PEM; never shown."),
        field("custom_csr_id", Kind::Any, "The request that it was made for, in the place of its key."),
        field(
            "custom_cert_bundle",
            Kind::Objects(PACK_CERTIFICATE),
            "One or two certificates that you upload: for clients that take RSA keys, and for others.",
        ),
        field("hosts", Kind::Texts, "The names in the certificate."),
        field("issuer", Kind::Text, "Who made the certificate."),
        field("serial_number", Kind::Text, "Its number."),
        field("signature", Kind::Text, "How it is signed."),
        field("uploaded_on", Kind::Text, "When it came (RFC 3339)."),
        field("expires_on", Kind::Text, "When it ends (RFC 3339)."),
        field("validation_records", Kind::Any, "What a CA waits for."),
        field("validation_errors", Kind::Any, "Why there is no certificate."),
        field("dcv_delegation_records", Kind::Any, "Names to which validation can be delegated."),
    ],
};

pub(super) const PACK_CERTIFICATE: &ObjectShape = &ObjectShape {
    name: "UploadedCertificate",
    fields: &[
        required("custom_certificate", Kind::Text, "The certificate and those of CAs behind it, as PEM."),
        field("custom_key", Kind::Text, "Its key, as PEM."),
        field("custom_csr_id", Kind::Text, "The request that it was made for, in the place of its key."),
    ],
};

pub(super) const SETTINGS: &ObjectShape = &ObjectShape {
    name: "TlsSettings",
    fields: &[
        field("http2", Kind::Words(&["on", "off"]), "Whether HTTP/2 is offered."),
        field("tls_1_3", Kind::Words(&["on", "off"]), "Whether TLS 1.3 is spoken."),
        field(
            "min_tls_version",
            Kind::Words(&["1.0", "1.1", "1.2", "1.3"]),
            "The lowest version; none is below 1.2.",
        ),
        field("early_hints", Kind::Words(&["on", "off"]), "Kept and shown."),
        field("ciphers", Kind::Texts, "Suites of TLS 1.2, by the names of OpenSSL."),
    ],
};

pub(super) const FALLBACK_ORIGIN: &ObjectShape = &ObjectShape {
    name: "FallbackOrigin",
    fields: &[
        required("origin", Kind::Text, "A name with proxied records in the zone."),
        field("status", Kind::Text, "`active`, or `pending_deployment` while it has no proxied record."),
        field("errors", Kind::Texts, "What is missing."),
        field("created_at", Kind::Text, "When it was first set (RFC 3339)."),
        field("updated_at", Kind::Text, "When it was last changed (RFC 3339)."),
    ],
};

pub(super) const QUOTA: &ObjectShape = &ObjectShape {
    name: "CustomHostnameQuota",
    fields: &[
        field("allocated", Kind::Whole, "How many custom hostnames the zone may have."),
        field("used", Kind::Whole, "How many it has."),
        field("exceeded", Kind::Flag, "Whether it may have no more."),
        field("hard_cap", Kind::Flag, "Whether that is an end."),
    ],
};

pub(super) const DIAGNOSIS: &ObjectShape = &ObjectShape {
    name: "CustomHostnameDiagnosis",
    fields: &[
        field("hostname", Kind::Text, "The name."),
        field("status", Kind::Text, "How far it is."),
        field("attempts", Kind::Whole, "Attempts to verify it since it last became pending."),
        field("attempts_left", Kind::Whole, "How many follow before it is given up."),
        field("next_attempt", Kind::Any, "When it is looked at next (RFC 3339); nothing if it is not."),
        field("probes", Kind::Any, "Each look at the name: what was expected and what was found."),
        field("ssl", Kind::Any, "The same for its certificate."),
    ],
};
