//! Which names can be custom hostnames.

use model::HostName;

/// Longest name that stands in the subject of a certificate, in bytes (RFC 5280 appendix A.1, `ub-common-name`).
pub const MAX_COMMON_NAME_BYTES: usize = 64;
/// Names that nobody can have (RFC 6761).
const RESERVED: [&str; 4] = ["test", "example", "invalid", "localhost"];
/// Names that stand in documents.
const DOCUMENTATION: [&str; 3] = ["example.com", "example.net", "example.org"];

/// Whether names that nobody can have are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NamePolicy {
    #[default]
    Public,
    /// They are taken: for tests, and for networks of their own.
    Any,
}

/// Why a name cannot be a custom hostname, with what the error says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameMistake {
    /// It is no host name.
    Invalid(String),
    NotAscii,
    Reserved,
    /// Everybody has names below it, and nobody it.
    PublicSuffix,
    Documentation,
    Wildcard,
}

impl NameMistake {
    pub fn message(&self, name: &str) -> String {
        let name: String = name.chars().take(80).collect();
        match self {
            Self::Invalid(message) => message.clone(),
            Self::NotAscii => {
                format!("`{name}` has letters beyond ASCII; write it as `xn--…` (RFC 5890)")
            }
            Self::Reserved => format!(
                "`{name}` is below a name that nobody can have: `test`, `example`, `invalid` or `localhost`"
            ),
            Self::PublicSuffix => {
                format!("`{name}` is a public suffix or has no dot; expected a name below one")
            }
            Self::Documentation => format!("`{name}` is a name of documents, which nobody can have"),
            Self::Wildcard => {
                format!("`{name}` has a `*`; name the host, and set `ssl.wildcard` for the names below it")
            }
        }
    }
}

/// Reads a name: lower case, without a final dot.
///
/// # Errors
/// [`NameMistake`] by cause.
pub fn parse(text: &str, policy: NamePolicy) -> Result<String, NameMistake> {
    if text.contains('*') {
        return Err(NameMistake::Wildcard);
    }
    if !text.is_ascii() {
        return Err(NameMistake::NotAscii);
    }
    let name = HostName::parse(text).map_err(NameMistake::Invalid)?.to_string();
    if name.parse::<std::net::IpAddr>().is_ok() {
        return Err(NameMistake::Invalid(format!("`{name}` is an address; expected a host name")));
    }
    let is_below =
        |above: &&str| name == **above || name.strip_suffix(*above).is_some_and(|rest| rest.ends_with('.'));
    if policy == NamePolicy::Public {
        if RESERVED.iter().any(is_below) {
            return Err(NameMistake::Reserved);
        }
        if DOCUMENTATION.iter().any(is_below) {
            return Err(NameMistake::Documentation);
        }
    }
    match psl::domain(name.as_bytes()) {
        Some(_) => Ok(name),
        None => Err(NameMistake::PublicSuffix),
    }
}

/// Whether a name is too long for the subject of a certificate.
pub fn needs_branding(name: &str) -> bool {
    name.len() > MAX_COMMON_NAME_BYTES
}

/// A name as certificates have it, in lower case: that of a host, or a wildcard.
///
/// # Errors
/// One sentence, if it is neither.
pub fn of_certificate(text: &str) -> Result<String, String> {
    let (wildcard, rest) = text.strip_prefix("*.").map_or(("", text), |rest| ("*.", rest));
    HostName::parse(rest).map(|host| format!("{wildcard}{host}"))
}

/// The name below which a wildcard stands; other names as they are.
pub fn without_wildcard(name: &str) -> &str {
    name.strip_prefix("*.").unwrap_or(name)
}

/// Whether a name of a certificate is for a host (RFC 6125 section 6.4.3: a wildcard stands for one label).
pub fn covers(known: &str, host: &str) -> bool {
    let above = known.strip_prefix("*.");
    known == host || above.is_some_and(|above| host.split_once('.').is_some_and(|(_, rest)| rest == above))
}

/// Whether one of the names of a certificate is for a host.
pub fn is_covered(known: &[String], host: &str) -> bool {
    known.iter().any(|known| covers(known, host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_or_refused_by_cause() {
        let public = |name: &str| parse(name, NamePolicy::Public);
        assert_eq!(public("Shop.Customer.dev.").unwrap(), "shop.customer.dev");
        assert_eq!(public("customer.co.uk").unwrap(), "customer.co.uk");
        for (name, expected) in [
            ("shop.test", NameMistake::Reserved),
            ("localhost", NameMistake::Reserved),
            ("www.example.com", NameMistake::Documentation),
            ("example.org", NameMistake::Documentation),
            ("*.customer.dev", NameMistake::Wildcard),
            ("shöp.dev", NameMistake::NotAscii),
            ("co.uk", NameMistake::PublicSuffix),
            ("dev", NameMistake::PublicSuffix),
        ] {
            assert_eq!(public(name), Err(expected), "{name}");
        }
        for name in ["", "a..b", "-a.dev", "192.0.2.1", "a b.dev", &"a.".repeat(200)] {
            assert!(matches!(public(name), Err(NameMistake::Invalid(_))), "{name}");
        }
        assert!(
            parse("shop.test", NamePolicy::Any).is_ok() && parse("a.example.com", NamePolicy::Any).is_ok()
        );
        assert!(public("notexample.com").is_ok() && public("mytest").is_err());
        let long = format!("{}.{}.dev", "a".repeat(40), "b".repeat(20));
        assert_eq!((needs_branding(&long), needs_branding(&long[1..])), (true, false));
    }
}
