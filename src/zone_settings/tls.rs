//! How a zone speaks TLS.

use std::sync::Arc;

use model::certificate_pack::TlsVersion;
use model::zone::{ClientCertificates, StrictTransport};
use serde_json::{Value, json};

use super::setting::on_off;
use super::{Setting, cipher_suite, roots, switch, word};

pub const SETTINGS: &[Setting] = &[
    Setting {
        id: "always_use_https",
        show: |zone| word(zone.tls.is_always_https),
        set: |zone, value| switch(value).map(|is_on| zone.tls.is_always_https = is_on),
        expected: "`on` or `off`",
        is_editable: true,
    },
    Setting {
        id: "ciphers",
        show: |zone| json!(zone.tls.settings.ciphers),
        set: |zone, value| {
            let names: Option<Vec<String>> =
                value.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect();
            let names = names.filter(|names| names.iter().all(|name| cipher_suite(name).is_some()))?;
            zone.tls.settings.ciphers = names;
            Some(())
        },
        expected: "a list of suites of TLS 1.2 such as `ECDHE-ECDSA-AES128-GCM-SHA256`",
        is_editable: true,
    },
    Setting {
        id: "client_certificates",
        show: |zone| {
            let known = zone.tls.client_certificates.as_deref();
            json!({
                "ca": known.map_or("", |known| known.ca.as_str()),
                "required": known.is_some_and(|known| known.is_required),
            })
        },
        set: |zone, value| {
            let value = value.as_object()?;
            let (ca, is_required) =
                (value.get("ca")?.as_str()?, value.get("required").is_none_or(|is| is == true));
            if ca.is_empty() {
                zone.tls.client_certificates = None;
                return Some(());
            }
            roots(ca).ok()?;
            let certificates = ClientCertificates { ca: ca.to_owned(), is_required };
            zone.tls.client_certificates = Some(Arc::new(certificates));
            Some(())
        },
        expected: "`ca` with certificates of CAs as PEM, nothing to take all clients, and `required`",
        is_editable: true,
    },
    on_off!("http2", tls.settings.http2, true),
    on_off!("http3", tls.settings.http3, true),
    Setting {
        id: "min_tls_version",
        show: |zone| json!(zone.tls.settings.min_tls_version.unwrap_or_default()),
        set: |zone, value| {
            let version: TlsVersion = serde_json::from_value(value.clone()).ok()?;
            zone.tls.settings.min_tls_version = Some(version);
            Some(())
        },
        expected: "`1.0`, `1.1`, `1.2` or `1.3`, of which this edge speaks none below 1.2",
        is_editable: true,
    },
    Setting {
        id: "security_header",
        show: |zone| {
            let known = zone.tls.strict_transport;
            json!({"strict_transport_security": {
                "enabled": known.is_some(),
                "max_age": known.map_or(0, |known| known.max_age),
                "include_subdomains": known.is_some_and(|known| known.includes_subdomains),
                "preload": known.is_some_and(|known| known.is_preloaded),
                "nosniff": false,
            }})
        },
        set: |zone, value| {
            let value = value.get("strict_transport_security")?.as_object()?;
            let flag = |name: &str| value.get(name).is_none_or(Value::is_boolean);
            if !["enabled", "include_subdomains", "preload"].into_iter().all(flag) {
                return None;
            }
            let is_on = |name: &str| value.get(name).and_then(Value::as_bool) == Some(true);
            let max_age = match value.get("max_age") {
                None => 0,
                Some(seconds) => u32::try_from(seconds.as_u64()?).ok()?,
            };
            zone.tls.strict_transport = is_on("enabled").then(|| StrictTransport {
                max_age,
                includes_subdomains: is_on("include_subdomains"),
                is_preloaded: is_on("preload"),
            });
            Some(())
        },
        expected: "`strict_transport_security` with `enabled`, `max_age` in seconds, `include_subdomains` and `preload`",
        is_editable: true,
    },
    on_off!("tls_1_3", tls.settings.tls_1_3, true),
];
