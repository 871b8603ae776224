//! Words to AST: variable lists, operators, action lists.

use std::ops::Range;
use std::sync::Arc;

use super::ast::{ActionAst, ItemAst, OperatorAst, SelectorAst, UpdateBy, VariableAst, Word};
use super::mistake;
use diagnostic::{Diagnostics, Place, Source};

/// One directive's words as an item; `None` if it is too malformed to go on with.
pub(super) fn item(source: &Arc<Source>, words: Vec<Word>, diagnostics: &mut Diagnostics) -> Option<ItemAst> {
    let mut words = words.into_iter();
    let name = words.next()?;
    let arguments: Vec<Word> = words.collect();
    let place = Place::new(source, name.span.start..arguments.last().map_or(name.span.end, |w| w.span.end));
    let mut wants = |count: Range<usize>, form: &str| {
        let fits = count.contains(&arguments.len());
        if !fits {
            diagnostics.push(mistake(place.clone(), format!("`{}` takes {form}", name.text)));
        }
        fits
    };
    if name.is("SecRule") {
        if !wants(
            2..4,
            "variables, an operator and, but for chain links, actions: SecRule VARIABLES \"@op argument\" \"id:…,…\"",
        ) {
            return None;
        }
        let (first, second) = (arguments.first()?, arguments.get(1)?);
        let variables = variables(first, diagnostics);
        let operator = operator(second);
        let actions = arguments.get(2).map_or_else(Vec::new, |word| actions(word, diagnostics));
        return Some(ItemAst::Rule { variables, operator, actions, place });
    }
    if name.is("SecAction") || name.is("SecDefaultAction") {
        if !wants(1..2, "one list of actions") {
            return None;
        }
        let default = name.is("SecDefaultAction");
        let actions = actions(arguments.first()?, diagnostics);
        return Some(if default {
            ItemAst::DefaultAction { actions, place }
        } else {
            ItemAst::Action { actions, place }
        });
    }
    if name.is("SecMarker") {
        return wants(1..2, "one name")
            .then(|| arguments.first().map(|w| ItemAst::Marker { name: w.text.clone() }))?;
    }
    let updates = [
        ("SecRuleUpdateTargetById", UpdateBy::Id),
        ("SecRuleUpdateTargetByTag", UpdateBy::Tag),
        ("SecRuleUpdateTargetByMsg", UpdateBy::Msg),
    ];
    if let Some((_, by)) = updates.into_iter().find(|(word, _)| name.is(word)) {
        if !wants(2..4, "the rules it changes, a list of variables, and what those replace") {
            return None;
        }
        let replaced = arguments.get(2).map_or_else(Vec::new, |word| variables(word, diagnostics));
        let variables = variables(arguments.get(1)?, diagnostics);
        return Some(ItemAst::UpdateTarget { by, key: arguments.into_iter().next()?, variables, replaced });
    }
    Some(ItemAst::Directive { name, arguments })
}

/// `A|B:sel|!C|&D:/re/`
pub(super) fn variables(word: &Word, diagnostics: &mut Diagnostics) -> Vec<VariableAst> {
    let mut found = Vec::new();
    for range in split_variables(&word.text) {
        let place = word.part(range.clone());
        let text = word.text.get(range).unwrap_or("").trim();
        match variable(text, &place) {
            Ok(variable) => found.push(variable),
            Err(message) => diagnostics.push(mistake(place, message)),
        }
    }
    found
}

/// Ranges between the `|` that separate variables; those inside `/…/` or quotes do not.
fn split_variables(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut ranges = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < bytes.len() {
        match bytes.get(at) {
            Some(b'|' | b',') => {
                ranges.push(start..at);
                start = at + 1;
                at += 1;
            }
            Some(b':') => at = selector_end(text, start, at + 1),
            _ => at += 1,
        }
    }
    ranges.push(start..text.len());
    ranges
}

/// Where the selector that begins at `from` ends.
fn selector_end(text: &str, variable: usize, from: usize) -> usize {
    let bytes = text.as_bytes();
    let name = text.get(variable..from - 1).unwrap_or("").trim_start_matches(['!', '&', ' ']);
    let pattern_close: Option<&[u8]> = match bytes.get(from) {
        // XPath selectors begin with a slash too, and are not patterns.
        Some(b'/') if name.eq_ignore_ascii_case("XML") => return xpath_end(text, from),
        Some(b'/') => Some(b"/"),
        Some(b'\'') if bytes.get(from + 1) == Some(&b'/') => Some(b"/'"),
        Some(b'\'') => Some(b"'"),
        _ => None,
    };
    let Some(close) = pattern_close else {
        return bytes
            .iter()
            .skip(from)
            .position(|b| matches!(b, b'|' | b','))
            .map_or(text.len(), |n| from + n);
    };
    let mut at = from + close.len();
    while at < bytes.len() {
        if bytes.get(at) == Some(&b'\\') {
            at += 2;
        } else if bytes.get(at..).is_some_and(|rest| rest.starts_with(close)) {
            return at + close.len();
        } else {
            at += 1;
        }
    }
    text.len()
}

/// Where a path that begins at `from` ends: separators in predicates are part of it.
fn xpath_end(text: &str, from: usize) -> usize {
    let (mut is_in_predicate, mut quote) = (false, None);
    for (at, byte) in text.bytes().enumerate().skip(from) {
        match byte {
            b'\'' | b'"' if is_in_predicate && quote.is_none() => quote = Some(byte),
            _ if quote.is_some() => quote = quote.filter(|open| *open != byte),
            b'[' => is_in_predicate = true,
            b']' => is_in_predicate = false,
            b'|' | b',' if !is_in_predicate => return at,
            _ => {}
        }
    }
    text.len()
}

fn variable(text: &str, place: &Place) -> Result<VariableAst, String> {
    let exclude = text.starts_with('!');
    let count = text.starts_with('&');
    let bare = text.trim_start_matches(['!', '&']).trim();
    let (name, selector) =
        bare.split_once(':').map_or((bare, None), |(name, selector)| (name, Some(selector)));
    if name.is_empty() {
        return Err("a variable is missing here; expected a name such as `ARGS`".to_owned());
    }
    let selector = selector.map(|text| selector_of(name, text));
    Ok(VariableAst { name: name.to_owned(), selector, count, exclude, place: place.clone() })
}

fn selector_of(variable: &str, text: &str) -> SelectorAst {
    let unquoted = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')).unwrap_or(text);
    let pattern = unquoted.strip_prefix('/').and_then(|t| t.strip_suffix('/'));
    match pattern {
        Some(pattern) if !variable.eq_ignore_ascii_case("XML") => {
            SelectorAst::Pattern(pattern.replace("\\/", "/"))
        }
        _ => SelectorAst::Name(unquoted.to_owned()),
    }
}

fn operator(word: &Word) -> OperatorAst {
    let text = word.text.as_str();
    let trimmed = text.trim_start();
    let (negated, rest) =
        trimmed.strip_prefix('!').map_or((false, trimmed), |rest| (true, rest.trim_start()));
    let (name, argument) = match rest.strip_prefix('@') {
        Some(named) => named.split_once(char::is_whitespace).map_or((named, ""), |(n, a)| (n, a.trim())),
        None => ("rx", rest),
    };
    // INVARIANT: `argument` is a part of `text`, so its offset is the difference of the addresses.
    let offset =
        if argument.is_empty() { text.len() } else { argument.as_ptr() as usize - text.as_ptr() as usize };
    OperatorAst {
        negated,
        name: name.to_owned(),
        argument: argument.to_owned(),
        place: word.place(),
        argument_place: if argument.is_empty() {
            word.place()
        } else {
            word.part(offset..offset + argument.len())
        },
    }
}

/// `id:1,phase:2,msg:'it, too',…`
pub(super) fn actions(word: &Word, diagnostics: &mut Diagnostics) -> Vec<ActionAst> {
    let mut found = Vec::new();
    for range in split_actions(&word.text) {
        let text = word.text.get(range.clone()).unwrap_or("");
        let trimmed = text.trim();
        if trimmed.is_empty() {
            continue;
        }
        let start = range.start + (text.len() - text.trim_start().len());
        let place = word.part(start..start + trimmed.len());
        let (name, value) =
            trimmed.split_once(':').map_or((trimmed, None), |(n, v)| (n.trim_end(), Some(v.trim())));
        if name.contains('\'') {
            diagnostics.push(mistake(
                place,
                format!("expected an action such as `id:1` or `pass`, found `{trimmed}`"),
            ));
            continue;
        }
        let value_place = match value {
            Some(value) => {
                let offset = start + trimmed.len() - value.len();
                word.part(offset..offset + value.len().max(1))
            }
            None => place.clone(),
        };
        found.push(ActionAst { name: name.to_owned(), value: value.map(unquote), place, value_place });
    }
    found
}

/// Ranges between the commas that separate actions; those inside `'…'` do not.
fn split_actions(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut quoted, mut escaped) = (0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'\'' => quoted = !quoted,
            b',' if !quoted => {
                ranges.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    ranges.push(start..text.len());
    ranges
}

fn unquote(value: &str) -> String {
    match value.strip_prefix('\'').and_then(|v| v.strip_suffix('\'')) {
        Some(inner) => inner.replace("\\'", "'"),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> (Vec<VariableAst>, OperatorAst, Vec<ActionAst>) {
        let mut diagnostics = Diagnostics::default();
        let items = super::super::parse_text(&Source::new("t", text), &mut diagnostics);
        assert!(diagnostics.is_empty(), "{diagnostics}");
        match items.into_iter().next() {
            Some(ItemAst::Rule { variables, operator, actions, .. }) => (variables, operator, actions),
            other => panic!("expected a rule, got {other:?}"),
        }
    }

    #[test]
    fn variable_lists_split_outside_selectors() {
        let (variables, ..) =
            rule(r#"SecRule "&ARGS|!REQUEST_COOKIES:/a|b\/c/|XML:/*|XML://@*|TX:'/^x|y/'" "@rx a" "id:1""#);
        let shown: Vec<String> = variables
            .iter()
            .map(|v| {
                format!(
                    "{}{}{} {:?}",
                    if v.count { "&" } else { "" },
                    if v.exclude { "!" } else { "" },
                    v.name,
                    v.selector
                )
            })
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        &ARGS None
        !REQUEST_COOKIES Some(Pattern("a|b/c"))
        XML Some(Name("/*"))
        XML Some(Name("//@*"))
        TX Some(Pattern("^x|y"))
        "#);
    }

    #[test]
    fn operators_are_named_negated_or_implied() {
        let (_, operator, _) = rule(r#"SecRule ARGS "!@within  a b " "id:1""#);
        assert_eq!((operator.negated, &*operator.name, &*operator.argument), (true, "within", "a b"));
        let (_, operator, _) = rule(r#"SecRule ARGS "^x$" "id:1""#);
        assert_eq!((operator.negated, &*operator.name, &*operator.argument), (false, "rx", "^x$"));
    }

    #[test]
    fn actions_keep_commas_and_colons_inside_quotes() {
        let (.., actions) = rule(r#"SecRule ARGS "@rx a" "id:'7',msg:'a, b: \'c\'',t:none, log""#);
        let shown: Vec<_> = actions.iter().map(|a| (a.name.as_str(), a.value.as_deref())).collect();
        assert_eq!(
            shown,
            [("id", Some("7")), ("msg", Some("a, b: 'c'")), ("t", Some("none")), ("log", None)]
        );
    }
}
