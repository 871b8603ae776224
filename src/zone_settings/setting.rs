//! One setting of a zone: how it is shown, and how a value of it is taken.

use model::Zone;
use serde_json::Value;

/// A setting.
#[derive(Debug)]
pub struct Setting {
    pub id: &'static str,
    pub show: fn(&Zone) -> Value,
    /// `None` if it takes no such value.
    pub set: fn(&mut Zone, &Value) -> Option<()>,
    pub expected: &'static str,
    /// Whether it has more than one value.
    pub is_editable: bool,
}

/// How a switch is written: `on` or `off`.
pub fn switch_word(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

/// What a switch is set to; `None` if the text is neither word.
pub fn read_switch(text: &str) -> Option<bool> {
    [true, false].into_iter().find(|is_on| switch_word(*is_on) == text)
}

/// A switch as settings show it.
pub fn word(is_on: bool) -> Value {
    Value::from(switch_word(is_on))
}

/// What a switch is set to, also by a boolean.
pub fn switch(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| read_switch(value.as_str()?))
}

/// A setting that is on or off, by its name and the field of a zone that holds it; without a value it is as said last.
macro_rules! on_off {
    ($id:literal, $($field:ident).+, $default:literal) => {
        $crate::zone_settings::Setting {
            id: $id,
            show: |zone| $crate::zone_settings::word(zone.$($field).+.unwrap_or($default)),
            set: |zone, value| {
                $crate::zone_settings::switch(value).map(|is_on| zone.$($field).+ = Some(is_on))
            },
            expected: "`on` or `off`",
            is_editable: true,
        }
    };
}

pub(super) use on_off;
