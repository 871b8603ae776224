//! Validators, one file each: is a value of the right shape the real thing?

mod aws_access_key;
mod card;
mod iban;
mod jwt;
mod private_key;

use crate::body::base64::decode_all;

/// One validator.
pub struct Definition {
    pub name: &'static str,
    pub summary: &'static str,
    pub validate: fn(&[u8]) -> bool,
    /// Published test numbers and values made for the test.
    pub valid: &'static [&'static str],
    pub invalid: &'static [&'static str],
}

impl std::fmt::Debug for Definition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Every validator, sorted by name.
pub const ALL: &[&Definition] = &[
    &aws_access_key::DEFINITION,
    &card::DEFINITION,
    &iban::DEFINITION,
    &jwt::DEFINITION,
    &private_key::DEFINITION,
];

pub fn find(name: &str) -> Option<&'static Definition> {
    ALL.iter().copied().find(|definition| definition.name == name)
}

/// Base64 of either alphabet (RFC 4648 sections 4 and 5), without padding; `None` for other characters.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    decode_all(text.iter().map(|byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => *other,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_unique_and_complete() {
        let names: Vec<&str> = ALL.iter().map(|d| d.name).collect();
        assert!(names.is_sorted_by(|a, b| a < b));
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/detection/validators");
        assert_eq!(std::fs::read_dir(folder).unwrap().count() - 1, ALL.len());
    }

    #[test]
    fn test_numbers_hold() {
        let mut ran = 0;
        for definition in ALL {
            assert!(!definition.valid.is_empty() && !definition.invalid.is_empty());
            for (values, expected) in [(definition.valid, true), (definition.invalid, false)] {
                for value in values {
                    assert_eq!((definition.validate)(value.as_bytes()), expected, "{definition:?} {value}");
                    ran += 1;
                }
            }
        }
        assert!(ran >= 2 * ALL.len());
    }
}
