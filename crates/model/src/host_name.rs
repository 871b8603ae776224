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

    /// Reads a name whose letters may be beyond ASCII: `bücher.example` is `xn--bcher-kva.example` (RFC 5891, with the
    /// mapping of UTS #46).
    ///
    /// # Errors
    /// As [`Self::parse`], and if such letters make no name.
    pub fn parse_international(text: &str) -> Result<Self, String> {
        if text.is_ascii() {
            return Self::parse(text);
        }
        let ascii = Self::ascii(text);
        ascii
            .ok_or_else(|| format!("`{text:.80}` is not a host name: its letters make no name of IDNA"))
            .and_then(|ascii| Self::parse(&ascii))
    }

    /// A text as it stands in names: letters beyond ASCII as IDNA has them, in lower case. `None` if they make no name.
    pub fn ascii(text: &str) -> Option<String> {
        // Label by label: those in ASCII are taken as they are.
        let ascii = |label: &str| match label.is_ascii() {
            true => Some(label.to_ascii_lowercase()),
            false => idna::domain_to_ascii(label).ok(),
        };
        let labels: Option<Vec<String>> = text.split('.').map(ascii).collect();
        Some(labels?.join("."))
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
        let international = |text| HostName::parse_international(text).map(|name| name.to_string());
        assert_eq!(international("Bücher.Example.").as_deref(), Ok("xn--bcher-kva.example"));
        assert_eq!(international("shop。example").as_deref(), Ok("shop.example"), "another full stop");
        for text in ["a\u{202e}b.example", "ü..example", "xn--a.example\u{ad}\u{2f}x", "é b.example"] {
            assert!(international(text).is_err(), "{text}");
        }
        for text in ["", ".", "a..b", "-a.b", "a b", "é.example", &"a".repeat(64), &"a.".repeat(128)] {
            assert!(HostName::parse(text).is_err(), "{text}");
        }
    }
}
