//! A rule and a field that it is no longer to look at, as `waf explain` and `waf learn` propose them. Clients choose the
//! names of fields and the paths: no sign of theirs may end the rule that it stands in.

use std::fmt::Write;

use body::urlencoded;
use seclang::ir::{ItemIr, RuleSetIr, SelectorIr, TargetIr, exclude};
use seclang::variables;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Exclusion {
    pub(super) rule: u64,
    /// As `ARGS:q`.
    pub(super) variable: String,
}

/// From here on an id is looked for that is free; ids below 100,000 are for local rules.
const FIRST_ID: u64 = 1000;

/// An id that no rule of a set has, and none of those taken since.
pub(super) fn free_id(ir: &RuleSetIr, taken: u64) -> u64 {
    let mut free = (FIRST_ID..).filter(|id| ir.roots().all(|root| root.id != *id));
    free.nth(usize::try_from(taken).unwrap_or(0)).unwrap_or(FIRST_ID)
}

/// The rules with the exclusions applied to their targets, in every link.
pub(super) fn without(ir: &RuleSetIr, exclusions: &[Exclusion]) -> RuleSetIr {
    let mut changed = ir.clone();
    for Exclusion { rule, variable } in exclusions {
        let (name, key) = split(variable);
        let Some(definition) = variables::find(name) else { continue };
        let roots = changed.items.iter_mut().filter_map(|item| match item {
            ItemIr::Rule(root) if root.id == *rule => Some(root),
            _ => None,
        });
        let selector = key.map(selector);
        let excluded = TargetIr { variable: definition, selector, count: false, exclusions: Vec::new() };
        for root in roots {
            let links =
                std::iter::once(&mut root.targets).chain(root.chain.iter_mut().map(|l| &mut l.targets));
            links.for_each(|link| exclude(link, std::slice::from_ref(&excluded)));
        }
    }
    changed
}

/// Collection and name of `ARGS:q`.
fn split(variable: &str) -> (&str, Option<&str>) {
    variable.split_once(':').map_or((variable, None), |(collection, key)| (collection, Some(key)))
}

fn selector(key: &str) -> SelectorIr {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.[]/*@$".contains(&byte);
    let is_delimited = key.starts_with('/') && key.ends_with('/');
    if !key.is_empty() && !is_delimited && key.bytes().all(is_plain) {
        SelectorIr::Name(key.to_ascii_lowercase())
    } else {
        SelectorIr::Pattern(format!("(?i){}", exact(key.as_bytes())))
    }
}

/// A variable as rules name it: one whose name has signs of its own is a pattern.
pub(super) fn target(variable: &str) -> String {
    let (collection, key) = split(variable);
    match key.map(|key| (key, selector(key))) {
        None => collection.to_owned(),
        Some((key, SelectorIr::Name(_))) => format!("{collection}:{key}"),
        Some((_, pattern)) => format!("{collection}:{pattern}"),
    }
}

/// A pattern for this text and no other, of letters, digits and escapes.
fn exact(text: &[u8]) -> String {
    let mut pattern = "^".to_owned();
    // What a log shows for bytes that are not UTF-8.
    let unknown = char::REPLACEMENT_CHARACTER.to_string();
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if let Some(after) = after.strip_prefix(&unknown.as_bytes()[1..])
            && byte == unknown.as_bytes()[0]
        {
            pattern.push_str(r"[\x80-\xff]+");
            rest = after;
        } else if byte.is_ascii_alphanumeric() || byte == b'_' {
            pattern.push(char::from(byte));
        } else {
            // INVARIANT: writing to a `String` cannot fail.
            let _ = write!(pattern, "\\x{byte:02x}");
        }
    }
    pattern.push('$');
    pattern
}

/// The rule that applies exclusions to the requests of one path, as it was sent.
pub(super) fn on_path<'e>(
    path: &str,
    id: u64,
    exclusions: impl IntoIterator<Item = &'e Exclusion>,
) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte);
    let operator = if path.bytes().all(is_plain) {
        format!("@streq {path}")
    } else {
        let mut decoded = Vec::new();
        urlencoded::decode_path(path.as_bytes(), &mut decoded);
        format!("@rx {}", exact(&decoded))
    };
    let mut text = format!("  SecRule REQUEST_FILENAME \"{operator}\" \\\n    \"id:{id},phase:1,pass,nolog");
    for Exclusion { rule, variable } in exclusions {
        let _ = write!(text, ",\\\n    ctl:ruleRemoveTargetById={rule};{}", target(variable));
    }
    text.push_str("\"\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths_stay_in_their_places() {
        for (variable, expected) in [
            ("ARGS:q", "ARGS:q"),
            ("REQUEST_BODY", "REQUEST_BODY"),
            ("XML:/*", "XML:/*"),
            ("ARGS:a[B][]", "ARGS:a[B][]"),
            (
                "ARGS:a,phase:1\"\nSecRuleEngine Off\n",
                r"ARGS:/(?i)^a\x2cphase\x3a1\x22\x0aSecRuleEngine\x20Off\x0a$/",
            ),
            ("ARGS:/.*/", r"ARGS:/(?i)^\x2f\x2e\x2a\x2f$/"),
            ("ARGS:%{tx.0}", r"ARGS:/(?i)^\x25\x7btx\x2e0\x7d$/"),
            ("ARGS:\u{fffd}x", r"ARGS:/(?i)^[\x80-\xff]+x$/"),
            ("ARGS:", "ARGS:/(?i)^$/"),
        ] {
            assert_eq!(target(variable), expected, "{variable:?}");
        }
        for (path, expected) in [
            ("/a/b.php", "\"@streq /a/b.php\""),
            ("/a%22%0Ab", r#""@rx ^\x2fa\x22\x0ab$""#),
            ("/%{tx.0}", r#""@rx ^\x2f\x25\x7btx\x2e0\x7d$""#),
        ] {
            let text = on_path(path, 1000, &[]);
            assert!(text.starts_with(&format!("  SecRule REQUEST_FILENAME {expected} ")), "{path:?}: {text}");
        }
    }
}
