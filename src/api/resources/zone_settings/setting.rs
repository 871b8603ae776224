//! One setting of a zone, as it is shown.

use model::{Declared, Zone};
use serde::Serialize;
use serde_json::Value;

use crate::api::operation::ApiCall;
use crate::zone_settings::Setting;

#[derive(Debug, Serialize)]
pub(super) struct ShownSetting<'a> {
    id: &'static str,
    value: Value,
    editable: bool,
    modified_on: Option<&'a str>,
}

pub(super) fn shown<'a>(setting: &Setting, zone: &'a Declared<Zone>, call: &'a ApiCall) -> ShownSetting<'a> {
    let modified = if zone.modified_on.is_empty() { &call.snapshot.modified } else { &zone.modified_on };
    ShownSetting {
        id: setting.id,
        value: (setting.show)(zone),
        editable: setting.is_editable && zone.place().is_none(),
        modified_on: Some(modified),
    }
}
