//! Settings of zones: their names and values, as the management API and files write them.

mod cipher_suites;
mod client_cas;
mod setting;
mod tls;
mod traffic;

pub use cipher_suites::cipher_suite;
pub use client_cas::roots;
pub use setting::{Setting, read_switch, switch, switch_word, word};

use model::{AccountId, Zone, ZoneId};

/// All of them, by their names.
pub const ALL: &[&[Setting]] = &[tls::SETTINGS, traffic::SETTINGS];

/// Whether the settings of a zone go together.
///
/// # Errors
/// One sentence: why they do not.
pub fn check(zone: &Zone) -> Result<(), &'static str> {
    if zone.tls.settings.leave_no_version() {
        return Err("`tls_1_3` is off and `min_tls_version` is 1.3: no version is left");
    }
    Ok(())
}

/// The settings, each.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    ALL.iter().copied().flatten()
}

/// A zone to try values on.
pub fn unnamed() -> Zone {
    Zone::new(ZoneId::new(""), AccountId::new(""), "")
}

#[cfg(test)]
mod tests {
    use model::ZoneTls;
    use model::zone::StrictTransport;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn each_setting_takes_what_it_shows() {
        let mut zone = unnamed();
        zone.tls = ZoneTls {
            strict_transport: Some(StrictTransport {
                max_age: 5,
                includes_subdomains: true,
                is_preloaded: false,
            }),
            ..ZoneTls::default()
        };
        for setting in all() {
            let value = (setting.show)(&zone);
            assert!((setting.set)(&mut zone, &value).is_some(), "{}", setting.id);
            assert_eq!((setting.show)(&zone), value, "{}", setting.id);
            assert!((setting.set)(&mut zone, &json!("nonsense")).is_none(), "{}", setting.id);
            let takes_nothing = (setting.set)(&mut zone, &Value::Null).is_some();
            assert!(!takes_nothing || (setting.show)(&zone).is_null(), "{}", setting.id);
        }
        assert!(ALL.iter().all(|settings| settings.is_sorted_by_key(|setting| setting.id)));
    }
}
