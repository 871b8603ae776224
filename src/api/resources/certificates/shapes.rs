//! The fields of certificates and TLS settings, as the description of the API shows them.

use crate::api::operation::{Kind, ObjectShape, field, required};

pub(super) const PACK: &ObjectShape = &ObjectShape {
    name: "CertificatePack",
    fields: &[
        field("id", Kind::Text, "Identifier of the pack."),
        required(
            "type",
            Kind::Words(&["advanced"]),
            "What it is for; `universal` and `custom_hostname` are made automatically.",
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
