//! Variables of the environment in texts of the configuration: `${NAME}`, or `${NAME:-what holds without it}`.

use toml::Value;
use toml::de::{DeTable, DeValue};

use super::table::Reader;
use diagnostic::{Code, Diagnostic};

/// A text with its variables put in; `None` if it has none. `$${` stands for `${`, and what is no name of a variable stays.
///
/// # Errors
/// One sentence: a variable is not set.
fn expanded(text: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<Option<String>, String> {
    if !text.contains("${") {
        return Ok(None);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = from.get(2..).unwrap_or("");
            continue;
        }
        out.push_str(before);
        let inside = from.get(2..).and_then(|from| from.split_once('}'));
        let named = inside.and_then(|(inside, after)| {
            let (name, otherwise) = match inside.split_once(":-") {
                Some((name, otherwise)) => (name, Some(otherwise)),
                None => (inside, None),
            };
            is_name(name).then_some((name, otherwise, after))
        });
        let Some((name, otherwise, after)) = named else {
            out.push_str("${");
            rest = from.get(2..).unwrap_or("");
            continue;
        };
        match (variable(name), otherwise) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(otherwise)) => out.push_str(otherwise),
            (None, None) => {
                return Err(format!(
                    "the environment has no variable `{name}`; set it, or write `${{{name}:-…}}` with what holds without it"
                ));
            }
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(Some(out))
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Puts variables into all texts of a file; those that are not set are errors at their places.
pub(super) fn expand(reader: &Reader, table: &mut DeTable<'_>) {
    for (_, value) in table.iter_mut() {
        let span = value.span();
        expand_value(reader, span, value.get_mut());
    }
}

fn expand_value(reader: &Reader, span: std::ops::Range<usize>, value: &mut DeValue<'_>) {
    match value {
        DeValue::String(text) => match expanded(text, &variable) {
            Ok(Some(new)) => *text = new.into(),
            Ok(None) => {}
            Err(message) => {
                reader.push(Diagnostic::error(Code::ConfBadValue, message).at(reader.place(span)));
            }
        },
        DeValue::Array(items) => {
            for item in items.iter_mut() {
                let span = item.span();
                expand_value(reader, span, item.get_mut());
            }
        }
        DeValue::Table(table) => expand(reader, table),
        _ => {}
    }
}

/// Puts variables into the texts of a part that was read again; which are not set is known by then.
pub(super) fn expand_again(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Ok(Some(new)) = expanded(text, &variable) {
                *text = new;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(expand_again),
        Value::Table(table) => table.iter_mut().for_each(|(_, value)| expand_again(value)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in_and_nothing_else_is() {
        let known = |name: &str| (name == "A" || name == "_b2").then(|| "x${A}".to_owned());
        for (text, expected) in [
            ("plain $A", None),
            ("${A}", Some("x${A}")),
            ("<${_b2}|${A}>", Some("<x${A}|x${A}>")),
            ("${NO:-other}", Some("other")),
            ("${NO:-}", Some("")),
            ("${A:-other}", Some("x${A}")),
            ("$${A}", Some("${A}")),
            ("a{2}${", Some("a{2}${")),
            ("^x${2}$", Some("^x${2}$")),
            ("${}${A-B}", Some("${}${A-B}")),
        ] {
            assert_eq!(expanded(text, &known), Ok(expected.map(str::to_owned)), "{text}");
        }
        assert!(expanded("${NO}", &known).unwrap_err().contains("no variable `NO`"));
    }
}
