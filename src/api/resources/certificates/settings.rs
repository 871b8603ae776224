//! `/zones/{zone_id}/settings`: how a zone speaks TLS. Each setting is one entry of a table.

use std::sync::Arc;

use model::certificate_pack::TlsVersion;
use model::zone::{ClientCertificates, StrictTransport};
use model::{Declared, Zone, ZoneTls};
use serde::Serialize;
use serde_json::{Value, json};

use super::shapes;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{Answer, ApiCall, DRY_RUN, InputShape, Operation, ResultKind, Verb};
use crate::api::resources::hostnames::{read_switch, switch_word};
use crate::api::resources::rule_input;
use crate::api::resources::rulesets_read::revision;
use crate::api::resources::zone_edit::{EditedZone, edit_zone};
use crate::listener::{cipher_suite, roots};

const PATH: &str = "/zones/{zone_id}/settings/{setting_id}";
const ONE: ResultKind = ResultKind::One(shapes::SETTING);

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: "/zones/{zone_id}/settings",
        summary: "Lists the settings of a zone.",
        permission: Permission::ZoneRead,
        query: &[],
        input: None,
        output: ResultKind::List(shapes::SETTING),
        run: |call| {
            Box::pin(async move {
                let zone = call.zone()?;
                ApiReply::of(&SETTINGS.iter().map(|setting| shown(setting, &zone, &call)).collect::<Vec<_>>())
            })
        },
    },
    Operation {
        verb: Verb::Get,
        path: PATH,
        summary: "Shows a setting of a zone.",
        permission: Permission::ZoneRead,
        query: &[],
        input: None,
        output: ONE,
        run: |call| {
            Box::pin(async move {
                let zone = call.zone()?;
                Ok(ApiReply::of(&shown(of_path(&call)?, &zone, &call))?.tagged(revision(&zone)))
            })
        },
    },
    Operation {
        verb: Verb::Patch,
        path: PATH,
        summary: "Changes a setting of a zone.",
        permission: Permission::ZoneWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::SETTING)),
        output: ONE,
        run: |call| Box::pin(change(call)),
    },
];

/// A setting: how it is shown, and how a value of it is taken.
struct Setting {
    id: &'static str,
    show: fn(&ZoneTls) -> Value,
    /// `None` if it takes no such value.
    set: fn(&mut ZoneTls, &Value) -> Option<()>,
    expected: &'static str,
}

fn word(is_on: bool) -> Value {
    Value::from(switch_word(is_on))
}

fn switch(value: &Value) -> Option<bool> {
    read_switch(value.as_str()?)
}

const SETTINGS: &[Setting] = &[
    Setting {
        id: "always_use_https",
        show: |tls| word(tls.is_always_https),
        set: |tls, value| switch(value).map(|is_on| tls.is_always_https = is_on),
        expected: "`on` or `off`",
    },
    Setting {
        id: "ciphers",
        show: |tls| json!(tls.settings.ciphers),
        set: |tls, value| {
            let names: Option<Vec<String>> =
                value.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect();
            let names = names.filter(|names| names.iter().all(|name| cipher_suite(name).is_some()))?;
            tls.settings.ciphers = names;
            Some(())
        },
        expected: "a list of suites of TLS 1.2 such as `ECDHE-ECDSA-AES128-GCM-SHA256`",
    },
    Setting {
        id: "client_certificates",
        show: |tls| {
            let known = tls.client_certificates.as_deref();
            json!({
                "ca": known.map_or("", |known| known.ca.as_str()),
                "required": known.is_some_and(|known| known.is_required),
            })
        },
        set: |tls, value| {
            let value = value.as_object()?;
            let (ca, is_required) =
                (value.get("ca")?.as_str()?, value.get("required").is_none_or(|is| is == true));
            if ca.is_empty() {
                tls.client_certificates = None;
                return Some(());
            }
            roots(ca).ok()?;
            let certificates = ClientCertificates { ca: ca.to_owned(), is_required };
            tls.client_certificates = Some(Arc::new(certificates));
            Some(())
        },
        expected: "`ca` with certificates of CAs as PEM, nothing to take all clients, and `required`",
    },
    Setting {
        id: "http2",
        show: |tls| word(tls.settings.http2 != Some(false)),
        set: |tls, value| switch(value).map(|is_on| tls.settings.http2 = Some(is_on)),
        expected: "`on` or `off`",
    },
    Setting {
        id: "min_tls_version",
        show: |tls| json!(tls.settings.min_tls_version.unwrap_or_default()),
        set: |tls, value| {
            let version: TlsVersion = serde_json::from_value(value.clone()).ok()?;
            tls.settings.min_tls_version = Some(version);
            Some(())
        },
        expected: "`1.0`, `1.1`, `1.2` or `1.3`, of which this edge speaks none below 1.2",
    },
    Setting {
        id: "security_header",
        show: |tls| {
            let known = tls.strict_transport;
            json!({"strict_transport_security": {
                "enabled": known.is_some(),
                "max_age": known.map_or(0, |known| known.max_age),
                "include_subdomains": known.is_some_and(|known| known.includes_subdomains),
                "preload": known.is_some_and(|known| known.is_preloaded),
                "nosniff": false,
            }})
        },
        set: |tls, value| {
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
            tls.strict_transport = is_on("enabled").then(|| StrictTransport {
                max_age,
                includes_subdomains: is_on("include_subdomains"),
                is_preloaded: is_on("preload"),
            });
            Some(())
        },
        expected: "`strict_transport_security` with `enabled`, `max_age` in seconds, `include_subdomains` and `preload`",
    },
    Setting {
        id: "tls_1_3",
        show: |tls| word(tls.settings.tls_1_3 != Some(false)),
        set: |tls, value| switch(value).map(|is_on| tls.settings.tls_1_3 = Some(is_on)),
        expected: "`on` or `off`",
    },
];

#[derive(Debug, Serialize)]
struct ShownSetting<'a> {
    id: &'static str,
    value: Value,
    editable: bool,
    modified_on: Option<&'a str>,
}

fn shown<'a>(setting: &Setting, zone: &'a Declared<Zone>, call: &'a ApiCall) -> ShownSetting<'a> {
    let modified = if zone.modified_on.is_empty() { &call.snapshot.modified } else { &zone.modified_on };
    ShownSetting {
        id: setting.id,
        value: (setting.show)(&zone.tls),
        editable: zone.place().is_none(),
        modified_on: Some(modified),
    }
}

fn of_path(call: &ApiCall) -> Result<&'static Setting, ApiErrors> {
    let id = call.parameter("setting_id");
    SETTINGS.iter().find(|setting| setting.id == id).ok_or_else(|| ApiError::unknown(&call.path).into())
}

async fn change(call: ApiCall) -> Answer {
    let setting = of_path(&call)?;
    let (value, unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["id", "editable", "modified_on"]);
        let value = fields.value("value");
        let is_taken = value.and_then(|value| (setting.set)(&mut ZoneTls::default(), value)).is_some();
        if !is_taken {
            fields.refuse(error::BAD_FIELD, "value", format!("expected {}", setting.expected));
        }
        value.cloned()
    })?;
    let EditedZone { zone, .. } = edit_zone(&call, move |known| {
        let mut tls = known.tls.clone();
        (setting.set)(&mut tls, &value);
        if tls.settings.leave_no_version() {
            let message = "`tls_1_3` is off and `min_tls_version` is 1.3: no version is left";
            return Err(ApiError::at(error::BAD_FIELD, "/value", message).into());
        }
        Ok(Zone { tls, ..known.clone() })
    })
    .await?;
    Ok(ApiReply::of(&shown(setting, &zone, &call))?.tagged(revision(&zone)).passing_over(unknown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_takes_what_it_shows() {
        let mut tls = ZoneTls {
            strict_transport: Some(StrictTransport {
                max_age: 5,
                includes_subdomains: true,
                is_preloaded: false,
            }),
            ..ZoneTls::default()
        };
        for setting in SETTINGS {
            let value = (setting.show)(&tls);
            assert!((setting.set)(&mut tls, &value).is_some(), "{}", setting.id);
            assert_eq!((setting.show)(&tls), value, "{}", setting.id);
            assert!((setting.set)(&mut tls, &json!("nonsense")).is_none(), "{}", setting.id);
            assert!((setting.set)(&mut tls, &Value::Null).is_none(), "{}", setting.id);
        }
        assert!(SETTINGS.is_sorted_by_key(|setting| setting.id));
    }
}
