//! Names of records and hosts as requests write them.

use std::net::IpAddr;

use dns::Name;
use model::HostName;

/// A host name as records hold it: letters beyond ASCII encoded. `None` if it is none, or an address.
pub(super) fn host_text(text: &str) -> Option<String> {
    if text == "." {
        return Some(text.to_owned());
    }
    let text = HostName::ascii(text)?;
    let name = text.strip_suffix('.').unwrap_or(&text);
    let is_label = |label: &str| {
        (1..=dns::name::MAX_LABEL_BYTES).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let is_host = name.split('.').all(is_label) && name.parse::<IpAddr>().is_err();
    let last_is_number =
        name.rsplit('.').next().is_some_and(|label| label.bytes().all(|byte| byte.is_ascii_digit()));
    (is_host && !last_is_number && name.len() <= 253).then(|| text.clone())
}

/// A name of a record, as the API takes it: the whole name, or one below the zone's.
///
/// # Errors
/// One sentence: which rule it breaks.
pub(super) fn name_in_zone(text: &str, origin: &Name, is_strict: bool) -> Result<Name, String> {
    let shown: String = text.chars().take(80).collect();
    let text =
        HostName::ascii(text.trim()).ok_or_else(|| format!("`{shown}` has a letter that no name has"))?;
    if text == "@" {
        return Ok(origin.clone());
    }
    let zone = origin.to_string();
    let is_whole =
        |name: &str| name == zone || name.strip_suffix(&zone).is_some_and(|before| before.ends_with('.'));
    let name = match text.strip_suffix('.') {
        Some(absolute) if is_whole(absolute) => absolute,
        Some(_) => return Err(format!("`{shown}` is not in the zone `{zone}`")),
        None => text.as_str(),
    };
    let below =
        if is_whole(name) { name.strip_suffix(&zone).unwrap_or("").trim_end_matches('.') } else { name };
    if below.is_empty() {
        return if name.is_empty() {
            Err("it is empty; `@` is the zone itself".to_owned())
        } else {
            Ok(origin.clone())
        };
    }
    for (nth, label) in below.split('.').enumerate() {
        check_label(label, nth == 0, is_strict).map_err(|rule| format!("`{shown}`: {rule}"))?;
    }
    Name::parse(below, Some(origin))
}

fn check_label(label: &str, is_first: bool, is_strict: bool) -> Result<(), String> {
    if label == "*" && is_first {
        return Ok(());
    }
    if !(1..=dns::name::MAX_LABEL_BYTES).contains(&label.len()) {
        let most = dns::name::MAX_LABEL_BYTES;
        return Err(format!("a part between dots has 1 to {most} characters, found {}", label.len()));
    }
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/');
    if !label.bytes().all(is_known) {
        return Err("a name has letters, digits, hyphens and underscores; `*` only as its whole first part"
            .to_owned());
    }
    if !is_strict {
        return Ok(());
    }
    let starts = label.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let ends = label.ends_with(|last: char| last.is_ascii_alphanumeric() || last == '_');
    if label.contains('/') {
        return Err(
            "names of A, AAAA and CNAME records have letters, digits, hyphens and underscores".to_owned()
        );
    }
    if !starts || !ends {
        return Err(
            "each part of the name of an A, AAAA or CNAME record starts with a letter and ends with a letter or digit; \
             `dns.strict_names = false` takes others"
                .to_owned(),
        );
    }
    Ok(())
}
