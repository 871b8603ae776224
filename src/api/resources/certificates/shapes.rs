//! The fields of certificates and TLS settings, as the description of the API shows them.

use crate::api::operation::{Kind, ObjectShape, field, required};

pub(super) const PACK: &ObjectShape = &ObjectShape {
    name: "CertificatePack",
    fields: &[
        field("id", Kind::Text, "Identifier of the pack."),
        required(
            "type",
            Kind::Words(&["advanced"]),
            "What it is for; a pack that was not ordered has another word, such as `universal`.",
        ),
        required("hosts", Kind::Texts, "The names, at most 50: the zone's own or below it."),
        field("status", Kind::Text, "How far it is, such as `active`."),
        required(
            "validation_method",
            Kind::Words(&["http", "txt", "email"]),
            "How a CA sees that the names are yours.",
        ),
        field("validity_days", Kind::Whole, "Taken and shown; the CA decides."),
        field("certificate_authority", Kind::Text, "The CA; empty for the one that the server chooses."),
        field("svc_branding", Kind::Flag, "Whether a name of the service may be in its subject."),
        field("certificates", Kind::Any, "The certificates, the newest first."),
        field("primary_certificate", Kind::Any, "The identifier of the newest."),
        field("validation_records", Kind::Any, "What a CA waits for."),
        field("validation_errors", Kind::Any, "Why there is no certificate."),
        field(
            "next_attempt",
            Kind::Any,
            "When the next step is due (RFC 3339); nothing if somebody must ask for it.",
        ),
    ],
};

pub(super) const CUSTOM_CERTIFICATE: &ObjectShape = &ObjectShape {
    name: "CustomCertificate",
    fields: &[
        field("id", Kind::Text, "Identifier of the certificate."),
        field("zone_id", Kind::Text, "Identifier of the zone."),
        required(
            "certificate",
            Kind::Text,
            "The certificate and those of CAs behind it, as PEM; never shown.",
        ),
        field("private_key", Kind::Text, "Its key, as PEM; never shown."),
        field("custom_csr_id", Kind::Text, "The request that it was made for, in the place of its key."),
        field(
            "type",
            Kind::Words(&["legacy_custom", "sni_custom"]),
            "Of two for one name a `legacy_custom` one is chosen.",
        ),
        field("bundle_method", Kind::Words(&["ubiquitous", "optimal", "force"]), "Kept and shown."),
        field("deploy", Kind::Text, "`production`: there is one deployment."),
        field("hosts", Kind::Texts, "The names in it; it is served for those of the zone."),
        field("issuer", Kind::Text, "Who made it."),
        field("signature", Kind::Text, "How it is signed."),
        field("status", Kind::Text, "`active` or `expired`."),
        field("priority", Kind::Whole, "Of two of a type for one name that with the higher one is chosen."),
        field("uploaded_on", Kind::Text, "When it first came (RFC 3339)."),
        field("modified_on", Kind::Text, "When it last came (RFC 3339)."),
        field("expires_on", Kind::Text, "When it ends (RFC 3339)."),
    ],
};

pub(super) const PRIORITIES: &ObjectShape = &ObjectShape {
    name: "CertificatePriorities",
    fields: &[required("certificates", Kind::Objects(PRIORITY), "The certificates that change.")],
};

const PRIORITY: &ObjectShape = &ObjectShape {
    name: "CertificatePriority",
    fields: &[
        required("id", Kind::Text, "Identifier of the certificate."),
        required("priority", Kind::Whole, "0 to 1,000,000; the highest comes first."),
    ],
};

pub(super) const SIGNING_REQUEST: &ObjectShape = &ObjectShape {
    name: "CertificateSigningRequest",
    fields: &[
        field("id", Kind::Text, "Identifier of the request."),
        field("account_tag", Kind::Text, "Identifier of the account."),
        field("name", Kind::Text, "What it is called."),
        field("description", Kind::Text, "What it is for."),
        required("common_name", Kind::Text, "The name in the subject, at most 64 bytes."),
        required("sans", Kind::Texts, "The names that the certificate is to be for, at most 100."),
        required("country", Kind::Text, "Two capital letters (ISO 3166-1)."),
        required("state", Kind::Text, "State or province."),
        required("locality", Kind::Text, "Town."),
        required("organization", Kind::Text, "Who asks."),
        field("organizational_unit", Kind::Text, "Which part of it asks."),
        field(
            "key_type",
            Kind::Words(&["rsa2048", "p256v1"]),
            "The kind of its key; `rsa2048` if nothing is said.",
        ),
        field("csr", Kind::Text, "The request, as PEM."),
        field("created_at", Kind::Text, "When it was made (RFC 3339)."),
    ],
};

pub(super) const VERIFICATION: &ObjectShape = &ObjectShape {
    name: "CertificateVerification",
    fields: &[
        field("cert_pack_uuid", Kind::Text, "Identifier of the pack."),
        field("certificate_status", Kind::Text, "How far it is."),
        field("validation_method", Kind::Text, "How a CA sees that the names are yours."),
        field("hostname", Kind::Text, "The first of its names."),
        field("signature", Kind::Text, "How it is signed."),
        field("brand_check", Kind::Flag, "Whether a name was looked at by people; none is."),
        field("verification_status", Kind::Flag, "Whether a CA has seen that the names are yours."),
        field("validation_records", Kind::Any, "What a CA waits for."),
    ],
};

pub(super) const DELEGATION: &ObjectShape = &ObjectShape {
    name: "ValidationDelegation",
    fields: &[field("uuid", Kind::Text, "The label below which `HOST` is in `HOST.UUID.dcv.ZONE`.")],
};

pub(super) const UNIVERSAL: &ObjectShape = &ObjectShape {
    name: "UniversalSettings",
    fields: &[
        required("enabled", Kind::Flag, "Whether the zone gets certificates automatically."),
        field("certificate_authority", Kind::Text, "The CA that is asked first."),
    ],
};

pub(in crate::api::resources) const SETTING: &ObjectShape = &ObjectShape {
    name: "ZoneSetting",
    fields: &[
        field("id", Kind::Text, "The name of the setting."),
        required("value", Kind::Any, "What it is set to."),
        field("editable", Kind::Flag, "Whether it can be changed."),
        field("modified_on", Kind::Any, "When the zone was last changed (RFC 3339)."),
    ],
};

pub(super) const PACK_QUOTA: &ObjectShape = &ObjectShape {
    name: "CertificatePackQuota",
    fields: &[field("advanced", Kind::Any, "How many may be ordered, and are.")],
};
