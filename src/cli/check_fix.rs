//! `check --fix`: keys of a configuration that end, written as what takes their place. Comments and order stay.

use std::path::Path;

use toml_edit::{Decor, DocumentMut, Item, Key, Table, Value};

use super::Failure;

/// Rewrites what ends in a text. Returns the text with the keys that it rewrote; `None` if there are none, or it is no
/// TOML, which its own check says better.
fn fixed(text: &str) -> Option<(String, Vec<&'static str>)> {
    let mut document: DocumentMut = text.parse().ok()?;
    let rewritten: Vec<&str> =
        FIXES.iter().filter(|(_, fix)| fix(&mut document).is_some()).map(|(key, _)| *key).collect();
    (!rewritten.is_empty()).then(|| (document.to_string(), rewritten))
}

/// How a key is rewritten: `None` if it is not there.
type Fix = fn(&mut DocumentMut) -> Option<()>;

/// Every key that ends.
const FIXES: &[(&str, Fix)] = &[("dns.srv_names", |document| {
    let dns = document.get_mut("dns")?.as_table_like_mut()?;
    let word = dns.get("srv_names")?.as_str()?.to_owned();
    let decor = dns.key("srv_names").map(|key| key.leaf_decor().clone()).unwrap_or_default();
    let old = dns.remove("srv_names")?;
    let mut value = Value::from(if word == "ignore" { "warn" } else { "enforce" });
    if let Some(known) = old.as_value() {
        *value.decor_mut() = known.decor().clone();
    }
    let modes = document
        .entry("deprecations")
        .or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        })
        .as_table_like_mut()?
        .entry("modes")
        .or_insert_with(|| Item::Table(Table::new()));
    match modes {
        Item::Table(modes) => {
            // In an inline table the space before it is no comment.
            let is_comment =
                decor.prefix().and_then(|prefix| prefix.as_str()).is_some_and(|text| text.contains('#'));
            let decor = if is_comment { decor } else { Decor::default() };
            let key = Key::new("srv-record-data").with_leaf_decor(decor);
            modes.insert_formatted(&key, Item::Value(value));
        }
        // An inline table has no room for comments, so they stand before it.
        other => {
            let inline = other.as_inline_table_mut()?;
            inline.insert("srv-record-data", Value::from(value.as_str()?));
            inline.fmt();
            let comment = decor.prefix().and_then(|prefix| prefix.as_str()).unwrap_or("").trim();
            if !comment.is_empty() {
                let ends = document.get_mut("deprecations")?.as_table_like_mut()?;
                ends.key_mut("modes")?.leaf_decor_mut().set_prefix(format!("{comment}\n"));
            }
        }
    }
    Some(())
})];

/// Rewrites what ends in a file, at once. Returns the keys that it rewrote.
pub(super) fn fix(path: &Path) -> Result<Vec<&'static str>, Failure> {
    let failed =
        |error: std::io::Error| Failure::Input(format!("cannot rewrite `{}`: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(failed)?;
    let Some((text, rewritten)) = fixed(&text) else { return Ok(Vec::new()) };
    // Beside it, so that a crash leaves one of both whole; with the permissions of the file.
    let mut beside = path.as_os_str().to_owned();
    beside.push(".fixed");
    std::fs::copy(path, &beside).map_err(failed)?;
    std::fs::write(&beside, text).map_err(failed)?;
    std::fs::rename(&beside, path).map_err(failed)?;
    Ok(rewritten)
}

#[cfg(test)]
mod tests {
    use deprecations::{DeprecationKind, SHIPPED};

    use super::*;

    #[test]
    fn every_key_that_ends_can_be_rewritten() {
        let ending = SHIPPED.rows().iter().flat_map(|row| match &row.what {
            DeprecationKind::ConfigurationKey(keys) => keys.clone(),
            _ => Vec::new(),
        });
        let known: Vec<&str> = FIXES.iter().map(|(key, _)| *key).collect();
        assert_eq!(ending.collect::<Vec<_>>(), known);
    }

    #[test]
    fn tables_of_every_form_are_rewritten() {
        let of = |text: &str| fixed(text).map(|(text, _)| text);
        for (before, after) in [
            (
                "[dns]\nsrv_names = \"ignore\"\n",
                "[dns]\n\n[deprecations.modes]\nsrv-record-data = \"warn\"\n",
            ),
            (
                "dns = { srv_names = \"refuse\", rate_limit = 5 }\n",
                "dns = { rate_limit = 5 }\n\n[deprecations.modes]\nsrv-record-data = \"enforce\"\n",
            ),
            (
                "[deprecations]\nmodes = { tunnels = \"gone\" }\n[dns]\n# why\nsrv_names = \"ignore\"\n",
                "[deprecations]\n# why\nmodes = { tunnels = \"gone\", srv-record-data = \"warn\" }\n[dns]\n",
            ),
        ] {
            assert_eq!(of(before).as_deref(), Some(after), "{before}");
            assert_eq!(of(after), None);
        }
        assert_eq!(of("[dns]\nsrv_names = 5\n"), None);
        assert_eq!(of("[dns"), None);
    }
}
