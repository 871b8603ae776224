//! How TLS is spoken, as bodies write it.

use model::certificate_pack::{TlsSettings, TlsVersion};

use crate::api::error::{self, ErrorCode};
use crate::api::input::Fields;
use crate::conf::CertificateSettings;
use crate::zone_settings::{cipher_suite, read_switch};

fn switch(fields: &Fields<'_>, name: &'static str, code: &'static ErrorCode) -> Option<bool> {
    let text = fields.text(name)?;
    let switch = read_switch(text);
    if switch.is_none() {
        fields.refuse(code, name, format!("expected `on` or `off` for `{name}`, found `{text:.40}`"));
    }
    switch
}

/// Reads settings; what is not there is `None`.
pub(in crate::api::resources) fn settings(fields: &Fields<'_>) -> TlsSettings {
    let settings = TlsSettings {
        http2: switch(fields, "http2", error::BAD_HTTP2),
        // As its zone has it: nobody sets it for one name.
        http3: None,
        tls_1_3: switch(fields, "tls_1_3", error::BAD_TLS_1_3),
        min_tls_version: fields.word::<TlsVersion>("min_tls_version", error::BAD_MIN_TLS_VERSION),
        early_hints: switch(fields, "early_hints", error::BAD_SSL),
        ciphers: fields.texts("ciphers").unwrap_or_default(),
    };
    for (nth, cipher) in settings.ciphers.iter().enumerate() {
        if cipher_suite(cipher).is_none() {
            let message = format!(
                "`{cipher:.60}` is no suite of TLS 1.2 that is spoken here; expected such as \
                 `ECDHE-ECDSA-AES128-GCM-SHA256`"
            );
            fields.refuse(error::BAD_CIPHERS, &format!("ciphers/{nth}"), message);
        }
    }
    if !settings.ciphers.is_empty() && settings.min_tls_version == Some(TlsVersion::V13) {
        let message = "`ciphers` are suites of TLS 1.2, which `min_tls_version` 1.3 rules out";
        fields.refuse(error::CIPHERS_WITH_TLS_1_3, "ciphers", message);
    }
    if settings.leave_no_version() {
        let message = "`tls_1_3` is off and `min_tls_version` is 1.3: no version is left";
        fields.refuse(error::BAD_MIN_TLS_VERSION, "min_tls_version", message);
    }
    settings
}

/// The name of a CA; empty for the one that the server chooses.
pub(in crate::api::resources) fn certificate_authority(
    fields: &Fields<'_>,
    known: &CertificateSettings,
) -> Option<String> {
    let name = fields.text("certificate_authority")?;
    if name.is_empty() || known.authority(name).is_some() {
        return Some(name.to_owned());
    }
    let names: Vec<&str> = known.authorities.iter().map(|authority| authority.name.as_str()).collect();
    let message = format!("there is no CA `{name:.40}`; expected nothing or one of `{}`", names.join("`, `"));
    fields.refuse(error::BAD_SSL, "certificate_authority", message);
    None
}
