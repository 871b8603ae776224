//! Where in a document a finding stands, as its reader would say it: the JSON pointer (RFC 6901) of the
//! member, or the path of elements in markup.

/// Deepest nesting that is reported.
const MAX_DEPTH: usize = 64;

/// Where `at` stands in `body`; `None` if the body is neither JSON nor markup, or too deep.
pub fn of(body: &[u8], at: usize) -> Option<String> {
    let before = body.get(..at)?;
    match body.trim_ascii_start().first()? {
        b'{' | b'[' => pointer(before),
        b'<' => elements(before),
        _ => None,
    }
}

/// An open object or array.
enum Open {
    Object { key: String },
    Array { index: usize },
}

fn pointer(before: &[u8]) -> Option<String> {
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    // The text that ended last: a key, if a colon follows.
    let mut text: &[u8] = &[];
    while let Some(byte) = before.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let start = at;
                at = body::json::end_of_string(before, at);
                text = before.get(start..at).unwrap_or(&[]);
                at += 1;
            }
            b'{' => open.push(Open::Object { key: String::new() }),
            b'[' => open.push(Open::Array { index: 0 }),
            b'}' | b']' => {
                open.pop();
            }
            b':' => {
                if let Some(Open::Object { key }) = open.last_mut() {
                    *key = String::from_utf8_lossy(text).into_owned();
                }
            }
            b',' => {
                if let Some(Open::Array { index }) = open.last_mut() {
                    *index += 1;
                }
            }
            _ => {}
        }
        if open.len() > MAX_DEPTH {
            return None;
        }
    }
    let part = |open: &Open| match open {
        Open::Object { key } => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
        Open::Array { index } => format!("/{index}"),
    };
    (!open.is_empty()).then(|| open.iter().map(part).collect())
}

fn elements(before: &[u8]) -> Option<String> {
    /// Elements without an end (HTML, section 13.1.2).
    const VOID: &[&str] = &[
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
    ];
    let mut open: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(less) = before.get(at..).and_then(|rest| memchr::memchr(b'<', rest)).map(|n| at + n) {
        let rest = before.get(less + 1..).unwrap_or(&[]);
        if rest.starts_with(b"!--") {
            at = memchr::memmem::find(rest, b"-->").map_or(before.len(), |end| less + end + 4);
            continue;
        }
        let (ends, name) = match rest.strip_prefix(b"/") {
            Some(name) => (true, name),
            None => (false, rest),
        };
        let name: String = name
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b":-_".contains(byte))
            .map(|byte| char::from(byte.to_ascii_lowercase()))
            .collect();
        let close = memchr::memchr(b'>', rest).map(|end| less + 1 + end);
        let is_void = VOID.contains(&name.as_str())
            || close.is_some_and(|close| close > 0 && before.get(close - 1) == Some(&b'/'));
        if ends {
            if let Some(same) = open.iter().rposition(|other| *other == name) {
                open.truncate(same);
            }
        } else if !name.is_empty() && (!is_void || close.is_none()) {
            open.push(name);
        }
        if open.len() > MAX_DEPTH {
            return None;
        }
        at = close.map_or(before.len(), |close| close + 1);
    }
    (!open.is_empty()).then(|| open.join(" > "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(body: &str) -> Option<String> {
        of(body.as_bytes(), body.find("HERE").unwrap())
    }

    #[test]
    fn members_are_told_by_their_pointer() {
        for (body, pointer) in [
            (r#"{"user":{"cards":[{"no":1},{"no":"HERE"}]}}"#, "/user/cards/1/no"),
            (r#"[1,2,"HERE"]"#, "/2"),
            (r#"{"a/b~c":"HERE"}"#, "/a~1b~0c"),
            (r#"{"a":"x,\"y\":{","b":"HERE"}"#, "/b"),
            (r#"  {"a":{"b":1},"c":HERE}"#, "/c"),
        ] {
            assert_eq!(found(body).as_deref(), Some(pointer), "{body}");
        }
    }

    #[test]
    fn elements_are_told_by_their_path() {
        for (body, path) in [
            ("<html><body><table><tr><td>1</td><td>HERE</td></tr></table>", "html > body > table > tr > td"),
            ("<div><img src=x><br/><p>HERE", "div > p"),
            ("<div><!-- <b> --><input value=\"HERE\">", "div > input"),
            ("<a><b>x</a>HERE<c>", ""),
        ] {
            assert_eq!(found(body).unwrap_or_default(), path, "{body}");
        }
    }

    #[test]
    fn what_is_neither_or_too_deep_is_not_told() {
        assert_eq!(found("plain HERE"), None);
        assert_eq!(found(&format!("{}HERE", "[".repeat(70))), None);
        assert_eq!(found(&format!("{}HERE", "<a>".repeat(70))), None);
        assert_eq!(of(b"{", 5), None);
    }
}
