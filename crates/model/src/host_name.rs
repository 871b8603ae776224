//! Host names in the one form all parts compare: lower case, no final dot, no port.

use std::fmt;

/// Longest name in bytes (RFC 1035 section 2.3.4, without the root's dot).
pub const MAX_NAME_BYTES: usize = 253;
/// Longest label in bytes.
pub const MAX_LABEL_BYTES: usize = 63;

/// A host name of letters, digits, hyphens and underscores (RFC 1123 section 2.1, RFC 8552).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

impl HostName {
    /// Parses a name; a final dot and the case are dropped.
    ///
    /// # Errors
    /// One sentence: which rule the name breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return Err(format!("`{text}` is not a host name: it must have 1 to {MAX_NAME_BYTES} bytes"));
        }
        for label in name.split('.') {
            let sound = (1..=MAX_LABEL_BYTES).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
                && !label.starts_with('-')
                && !label.ends_with('-');
            if !sound {
                return Err(format!(
                    "`{text}` is not a host name: `{label}` must be 1 to {MAX_LABEL_BYTES} letters, digits or inner hyphens"
                ));
            }
        }
        Ok(Self(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_normalised_or_refused() {
        assert_eq!(HostName::parse("Shop.Example.").unwrap().as_str(), "shop.example");
        assert!(HostName::parse("_acme-challenge.a_b.example").is_ok());
        for text in ["", ".", "a..b", "-a.b", "a b", "é.example", &"a".repeat(64), &"a.".repeat(128)] {
            assert!(HostName::parse(text).is_err(), "{text}");
        }
    }
}
