//! Settings that end (spec, "Deprecation schedule"): each mirrors a field of the DNS settings, or has the one value that is
//! true of this edge.

use serde_json::json;

use super::{change_setting, show_setting};
use crate::api::auth::Permission;
use crate::api::operation::{
    ApiCall, DRY_RUN, InputShape, Operation, QueryParameter, ResultKind, Running, Verb,
};
use crate::api::resources::certificates::SETTING_SHAPE;
use crate::zone_settings::{Setting, switch, word};

/// The setting that the list of settings has while that is served.
pub(super) const CNAME_FLATTENING: &Setting = &Setting {
    id: "cname_flattening",
    // A zone's own name is always flattened, so `off` and `apex` are the same.
    show: |zone| json!(if zone.dns.flatten_all_cnames { "on" } else { "apex" }),
    set: |zone, value| {
        zone.dns.flatten_all_cnames = match value.as_str()? {
            "on" | "flatten_all" => true,
            "off" | "apex" | "flatten_at_root" => false,
            _ => return None,
        };
        Some(())
    },
    expected: "`off`, `apex` or `on`",
    is_editable: true,
};

const USE_APEX_NS: &Setting = &Setting {
    id: "use_apex_ns",
    show: |zone| word(zone.dns.multi_provider),
    set: |zone, value| switch(value).map(|is_on| zone.dns.multi_provider = is_on),
    expected: "`on` or `off`",
    is_editable: true,
};

const SECONDARY_OVERRIDES: &Setting = &Setting {
    id: "secondary_overrides",
    show: |zone| word(zone.dns.secondary_overrides),
    set: |zone, value| switch(value).map(|is_on| zone.dns.secondary_overrides = is_on),
    expected: "`on` or `off`",
    is_editable: true,
};

/// A setting that this edge has one value of.
macro_rules! fixed {
    ($id:literal, $value:expr, $expected:literal) => {
        &Setting {
            id: $id,
            show: |_| $value,
            set: |_, value| (*value == $value).then_some(()),
            expected: $expected,
            is_editable: false,
        }
    };
}

const BROTLI: &Setting =
    fixed!("brotli", json!("off"), "`off`: rules of the phase `http_response_compression` do this");
const MINIFY: &Setting = fixed!(
    "minify",
    json!({"css": "off", "html": "off", "js": "off"}),
    "`off` for `css`, `html` and `js`: this edge changes no text"
);
const MOBILE_REDIRECT: &Setting = fixed!(
    "mobile_redirect",
    json!({"mobile_subdomain": null, "status": "off", "strip_uri": false}),
    "`status` as `off`: redirect rules do this"
);
const SERVER_SIDE_EXCLUDE: &Setting =
    fixed!("server_side_exclude", json!("off"), "`off`: this edge changes no text");
const PRIVACY_PASS: &Setting = fixed!("privacy_pass", json!("off"), "`off`: this edge takes no such tokens");

/// An operation that shows a setting.
macro_rules! show {
    ($setting:ident, $path:literal, $permission:ident) => {
        operation(Verb::Get, $path, Permission::$permission, |call| {
            Box::pin(async move { show_setting(&call, $setting) })
        })
    };
}

/// An operation that changes a setting.
macro_rules! change {
    ($verb:ident, $setting:ident, $path:literal, $permission:ident) => {
        operation(Verb::$verb, $path, Permission::$permission, |call| {
            Box::pin(change_setting(call, $setting))
        })
    };
}

const fn operation(
    verb: Verb,
    path: &'static str,
    permission: Permission,
    run: fn(ApiCall) -> Running,
) -> Operation {
    let (summary, query, input): (_, &[QueryParameter], _) = match verb {
        Verb::Get => ("Shows a setting of a zone that ends.", &[], None),
        _ => ("Changes a setting of a zone that ends.", &[DRY_RUN], Some(InputShape::Object(SETTING_SHAPE))),
    };
    Operation { verb, path, summary, permission, query, input, output: ResultKind::One(SETTING_SHAPE), run }
}

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    show!(CNAME_FLATTENING, "/zones/{zone_id}/settings/cname_flattening", ZoneRead),
    change!(Patch, CNAME_FLATTENING, "/zones/{zone_id}/settings/cname_flattening", ZoneWrite),
    show!(USE_APEX_NS, "/zones/{zone_id}/dns_settings/use_apex_ns", DnsRead),
    change!(Patch, USE_APEX_NS, "/zones/{zone_id}/dns_settings/use_apex_ns", DnsWrite),
    show!(SECONDARY_OVERRIDES, "/zones/{zone_id}/dns_settings/secondary_overrides", DnsRead),
    change!(Patch, SECONDARY_OVERRIDES, "/zones/{zone_id}/dns_settings/secondary_overrides", DnsWrite),
    show!(BROTLI, "/zones/{zone_id}/settings/brotli", ZoneRead),
    change!(Patch, BROTLI, "/zones/{zone_id}/settings/brotli", ZoneWrite),
    show!(MINIFY, "/zones/{zone_id}/settings/minify", ZoneRead),
    change!(Patch, MINIFY, "/zones/{zone_id}/settings/minify", ZoneWrite),
    show!(MOBILE_REDIRECT, "/zones/{zone_id}/settings/mobile_redirect", ZoneRead),
    change!(Patch, MOBILE_REDIRECT, "/zones/{zone_id}/settings/mobile_redirect", ZoneWrite),
    show!(SERVER_SIDE_EXCLUDE, "/zones/{zone_id}/settings/server_side_exclude", ZoneRead),
    change!(Patch, SERVER_SIDE_EXCLUDE, "/zones/{zone_id}/settings/server_side_exclude", ZoneWrite),
    show!(PRIVACY_PASS, "/zones/{zone_id}/settings/privacy_pass", ZoneRead),
    change!(Post, PRIVACY_PASS, "/zones/{zone_id}/settings/privacy_pass", ZoneWrite),
];

#[cfg(test)]
const ALL: &[&Setting] = &[
    CNAME_FLATTENING,
    USE_APEX_NS,
    SECONDARY_OVERRIDES,
    BROTLI,
    MINIFY,
    MOBILE_REDIRECT,
    SERVER_SIDE_EXCLUDE,
    PRIVACY_PASS,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zone_settings::unnamed;

    #[test]
    fn each_takes_what_it_shows_and_mirrors_what_took_its_place() {
        let mut zone = unnamed();
        for setting in ALL {
            let value = (setting.show)(&zone);
            assert!((setting.set)(&mut zone, &value).is_some(), "{}", setting.id);
            assert_eq!((setting.show)(&zone), value, "{}", setting.id);
            assert!((setting.set)(&mut zone, &json!("nonsense")).is_none(), "{}", setting.id);
        }
        for (value, expected) in [("on", true), ("off", false), ("on", true), ("apex", false)] {
            assert!((CNAME_FLATTENING.set)(&mut zone, &json!(value)).is_some());
            assert_eq!(zone.dns.flatten_all_cnames, expected, "{value}");
        }
    }
}
