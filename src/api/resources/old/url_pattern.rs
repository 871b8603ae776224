//! Patterns of URLs, such as `example.com/login*`, as conditions of expressions, and back.
//!
//! A pattern is a host, and from its first `/` on a path; `*` stands for any text. Schemes and queries are no part of it.

/// The condition that a pattern is: `None` if it matches every URL.
pub(super) fn condition(pattern: &str) -> Option<String> {
    let pattern = pattern.split_once("://").map_or(pattern, |(_, rest)| rest);
    let (host, path) = match pattern.find('/') {
        Some(at) => pattern.split_at(at),
        None => (pattern, ""),
    };
    let of_host = (host != "*").then(|| format!("http.host wildcard {}", quoted(host)));
    let of_path = (!path.is_empty() && path != "/*")
        .then(|| format!("http.request.uri.path strict wildcard {}", quoted(path)));
    match (of_host, of_path) {
        (Some(host), Some(path)) => Some(format!("({host} and {path})")),
        (Some(one), None) | (None, Some(one)) => Some(format!("({one})")),
        (None, None) => None,
    }
}

/// The pattern of a condition that `condition` wrote.
pub(super) fn pattern(condition: &str) -> Option<String> {
    let inner = condition.strip_prefix('(')?.strip_suffix(')')?;
    let (host, rest) = match inner.strip_prefix("http.host wildcard ") {
        Some(rest) => {
            let (host, rest) = unquoted(rest)?;
            (host, rest.strip_prefix(" and ").unwrap_or(rest))
        }
        None => ("*".to_owned(), inner),
    };
    let path = match rest.strip_prefix("http.request.uri.path strict wildcard ") {
        Some(rest) => {
            let (path, rest) = unquoted(rest)?;
            rest.is_empty().then_some(path)?
        }
        None if rest.is_empty() => String::new(),
        None => return None,
    };
    Some(format!("{host}{path}"))
}

/// A text in quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The text in quotes that something begins with, and what is behind it.
pub(super) fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut found = String::new();
    let mut characters = text.strip_prefix('"')?.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((found, text.get(at + 2..)?)),
            '\\' => found.push(characters.next()?.1),
            other => found.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read_back() {
        for text in [
            "example.com/login*",
            "*.example.com",
            "*/admin",
            "example.com/",
            "a\"b\\c/*\\d",
            "example.com/*x*",
        ] {
            let written = condition(text).unwrap();
            assert_eq!(pattern(&written).as_deref(), Some(text), "{written}");
        }
        assert_eq!((condition("*"), condition("*/*")), (None, None));
        assert_eq!(condition("https://example.com/a"), condition("example.com/a"));
        for other in [
            "http.host eq \"a\"",
            "(http.host wildcard \"a\" or ssl)",
            "(ssl)",
            "()",
            "(http.host wildcard \"a)",
        ] {
            assert_eq!(
                pattern(other).filter(|found| condition(found).as_deref() == Some(other)),
                None,
                "{other}"
            );
        }
    }
}
