//! Which CA may make a certificate for a name, by its CAA records (RFC 8659).

/// A CAA record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaaRecord {
    pub is_critical: bool,
    /// In lower case.
    pub tag: String,
    pub value: String,
}

/// A CA, as far as CAA records name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authority<'a> {
    /// The domains that stand for it.
    pub domains: &'a [String],
}

/// Whether the records of a name let a CA make a certificate for it; else the record that forbids, as text.
///
/// `records` are those of the nearest name that has some.
///
/// # Errors
/// The records that would have to name the CA, or the critical one that is not understood.
pub fn check(records: &[CaaRecord], authority: Authority<'_>, is_wildcard: bool) -> Result<(), String> {
    let show = |record: &CaaRecord| {
        format!("{} {} \"{}\"", if record.is_critical { 128 } else { 0 }, record.tag, record.value)
    };
    let is_understood = |record: &&CaaRecord| {
        matches!(record.tag.as_str(), "issue" | "issuewild" | "iodef" | "issuemail" | "issuevmc")
    };
    if let Some(unknown) = records.iter().find(|record| record.is_critical && !is_understood(record)) {
        return Err(show(unknown));
    }
    let of = |tag: &str| records.iter().filter(|record| record.tag == tag).collect::<Vec<_>>();
    let mut relevant = if is_wildcard { of("issuewild") } else { Vec::new() };
    if relevant.is_empty() {
        relevant = of("issue");
    }
    let names_it = |record: &&CaaRecord| {
        let domain = record.value.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        authority.domains.contains(&domain)
    };
    if relevant.is_empty() || relevant.iter().any(names_it) {
        return Ok(());
    }
    Err(relevant.iter().map(|record| show(record)).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(texts: &[&str]) -> Vec<CaaRecord> {
        let record = |text: &&str| {
            let mut parts = text.splitn(3, ' ');
            let is_critical = parts.next() == Some("128");
            let (tag, value) = (parts.next().unwrap(), parts.next().unwrap());
            CaaRecord { is_critical, tag: tag.to_owned(), value: value.to_owned() }
        };
        texts.iter().map(record).collect()
    }

    #[test]
    fn records_allow_those_that_they_name() {
        let domains = ["ca.example".to_owned(), "old.ca.example".to_owned()];
        let authority = Authority { domains: &domains };
        for (texts, is_wildcard, is_allowed) in [
            (&[][..], false, true),
            (&["0 issue ca.example"], false, true),
            (&["0 issue CA.example; validationmethods=dns-01"], false, true),
            (&["0 issue other.example"], false, false),
            (&["0 issue ;"], false, false),
            (&["0 issue other.example", "0 issue old.ca.example"], false, true),
            (&["0 issue other.example"], true, false),
            (&["0 issue other.example", "0 issuewild ca.example"], true, true),
            (&["0 issue other.example", "0 issuewild ca.example"], false, false),
            (&["0 issue ca.example", "0 issuewild ;"], true, false),
            (&["0 issue ca.example", "0 issuewild ;"], false, true),
            (&["0 iodef mailto:a@example.com"], false, true),
            (&["0 unknown x"], false, true),
            (&["128 unknown x", "0 issue ca.example"], false, false),
            (&["0 issue notca.example"], false, false),
        ] {
            let outcome = check(&records(texts), authority, is_wildcard);
            assert_eq!(outcome.is_ok(), is_allowed, "{texts:?} {is_wildcard}: {outcome:?}");
        }
        let forbidden = check(&records(&["0 issue other.example"]), authority, false);
        assert_eq!(forbidden.unwrap_err(), "0 issue \"other.example\"");
    }
}
