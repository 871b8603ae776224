//! `/zones/{zone_id}/settings`: each setting is one entry of a table.

mod old;
mod setting;

use model::{Declared, Zone};
use serde_json::Value;

use super::certificates::SETTING_SHAPE;
use super::rule_input;
use super::rulesets_read::revision;
use super::zone_edit::{EditedZone, edit_zone};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Kind, ObjectShape, Operation, ResultKind, Verb, field,
};
use crate::zone_settings::{self, Setting, unnamed};
pub(super) use old::OPERATIONS as OLD;
use setting::{ShownSetting, shown};

/// The row about the setting `cname_flattening` among all settings.
const CNAME_FLATTENING_IN_LIST: &str = "setting-cname-flattening-in-list";

const ALL: &str = "/zones/{zone_id}/settings";
const ONE: &str = "/zones/{zone_id}/settings/{setting_id}";

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: ALL,
        summary: "Lists the settings of a zone.",
        permission: Permission::ZoneRead,
        query: &[],
        input: None,
        output: ResultKind::List(SETTING_SHAPE),
        run: |call| {
            Box::pin(async move {
                let zone = call.zone()?;
                ApiReply::of(&all_shown(&zone, &call))
            })
        },
    },
    Operation {
        verb: Verb::Patch,
        path: ALL,
        summary: "Changes several settings of a zone at once.",
        permission: Permission::ZoneWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(SETTINGS_SHAPE)),
        output: ResultKind::List(SETTING_SHAPE),
        run: |call| Box::pin(change_several(call)),
    },
    Operation {
        verb: Verb::Get,
        path: ONE,
        summary: "Shows a setting of a zone.",
        permission: Permission::ZoneRead,
        query: &[],
        input: None,
        output: ResultKind::One(SETTING_SHAPE),
        run: |call| Box::pin(async move { show_setting(&call, of_path(&call)?) }),
    },
    Operation {
        verb: Verb::Patch,
        path: ONE,
        summary: "Changes a setting of a zone.",
        permission: Permission::ZoneWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(SETTING_SHAPE)),
        output: ResultKind::One(SETTING_SHAPE),
        run: |call| {
            Box::pin(async move {
                let setting = of_path(&call)?;
                change_setting(call, setting).await
            })
        },
    },
];

const SETTINGS_SHAPE: &ObjectShape = &ObjectShape {
    name: "ZoneSettings",
    fields: &[field("items", Kind::Objects(SETTING_SHAPE), "Settings, each with its `id` and `value`.")],
};

/// The settings of a call, by their ids.
fn settings(call: &ApiCall) -> impl Iterator<Item = &'static Setting> {
    let old = call.serves(CNAME_FLATTENING_IN_LIST).then_some(old::CNAME_FLATTENING);
    let mut all: Vec<&Setting> = zone_settings::all().chain(old).collect();
    all.sort_by_key(|setting| setting.id);
    all.into_iter()
}

fn all_shown<'a>(zone: &'a Declared<Zone>, call: &'a ApiCall) -> Vec<ShownSetting<'a>> {
    settings(call).map(|setting| shown(setting, zone, call)).collect()
}

fn of_path(call: &ApiCall) -> Result<&'static Setting, ApiErrors> {
    let id = call.parameter("setting_id");
    let found = zone_settings::all().find(|setting| setting.id == id);
    found.ok_or_else(|| ApiError::unknown(&call.path).into())
}

fn show_setting(call: &ApiCall, setting: &Setting) -> Answer {
    let zone = call.zone()?;
    Ok(ApiReply::of(&shown(setting, &zone, call))?.tagged(revision(&zone)))
}

/// The value that a body has for a setting; one that it does not take is an error.
fn value_of(fields: &Fields<'_>, setting: &Setting) -> Option<Value> {
    fields.ignore(&["id", "editable", "modified_on"]);
    // `null` is a value: of some settings it means what the edge has.
    let value = fields.value("value").or_else(|| fields.has("value").then_some(&Value::Null));
    let is_taken = value.and_then(|value| (setting.set)(&mut unnamed(), value)).is_some();
    if !is_taken {
        fields.refuse(error::BAD_FIELD, "value", format!("expected {}", setting.expected));
    }
    value.cloned()
}

/// Gives a zone values of settings.
fn with_settings(known: &Zone, values: &[(&Setting, Value)]) -> Result<Zone, ApiErrors> {
    let mut zone = known.clone();
    for (setting, value) in values {
        (setting.set)(&mut zone, value);
    }
    zone_settings::check(&zone).map_err(|message| ApiError::at(error::BAD_FIELD, "/value", message))?;
    Ok(zone)
}

async fn change_setting(call: ApiCall, setting: &'static Setting) -> Answer {
    let (value, unknown) = rule_input::read(&call.body, |fields| value_of(fields, setting))?;
    let EditedZone { zone, .. } =
        edit_zone(&call, move |known| with_settings(known, &[(setting, value.clone())])).await?;
    Ok(ApiReply::of(&shown(setting, &zone, &call))?.tagged(revision(&zone)).passing_over(unknown))
}

async fn change_several(call: ApiCall) -> Answer {
    let (values, unknown) = rule_input::read(&call.body, |fields| {
        let items = fields.objects("items");
        if items.is_none() {
            fields.refuse(error::BAD_FIELD, "items", "`items` is required: expected a list of settings");
        }
        let value = |fields: &Fields<'_>| {
            let id = fields.required_text("id")?;
            let Some(setting) = settings(&call).find(|setting| setting.id == id) else {
                let known: Vec<&str> = settings(&call).map(|setting| setting.id).collect();
                let message = format!("expected one of `{}`, found `{id:.40}`", known.join("`, `"));
                fields.refuse(error::BAD_FIELD, "id", message);
                return None;
            };
            Some((setting, value_of(fields, setting)?))
        };
        Some(items?.iter().filter_map(value).collect::<Vec<_>>())
    })?;
    let EditedZone { zone, .. } = edit_zone(&call, move |known| with_settings(known, &values)).await?;
    Ok(ApiReply::of(&all_shown(&zone, &call))?.tagged(revision(&zone)).passing_over(unknown))
}
