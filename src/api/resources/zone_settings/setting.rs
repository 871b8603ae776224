//! One setting of a zone: how it is shown, and how a value of it is taken.

use model::{Declared, Zone};
use serde::Serialize;
use serde_json::Value;

use crate::api::operation::ApiCall;
use crate::api::resources::hostnames::{read_switch, switch_word};

/// A setting.
pub(super) struct Setting {
    pub(super) id: &'static str,
    pub(super) show: fn(&Zone) -> Value,
    /// `None` if it takes no such value.
    pub(super) set: fn(&mut Zone, &Value) -> Option<()>,
    pub(super) expected: &'static str,
    /// Whether it has more than one value.
    pub(super) is_editable: bool,
}

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

/// A switch as settings show it.
pub(super) fn word(is_on: bool) -> Value {
    Value::from(switch_word(is_on))
}

/// What a switch is set to.
pub(super) fn switch(value: &Value) -> Option<bool> {
    read_switch(value.as_str()?)
}
