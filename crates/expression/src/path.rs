//! The normal form of a path, in which a filter sees it.
//!
//! A filter that lets `/uploads` be must not let `/uploads/../admin` be. So escapes of characters that need
//! none are taken back and dot segments are resolved (RFC 3986 section 6.2.2), and, as many origins do,
//! `\` is a `/` and several `/` are one. Servers of Java take parameters of a segment (`;…`) away before that, so
//! `..;` is `..` here too.

use std::borrow::Cow;

use body::urlencoded;

/// The normal form of a path, borrowed if it has it already.
pub(super) fn normal_form(path: &[u8]) -> Cow<'_, [u8]> {
    let is_normal = path.starts_with(b"/")
        && !path.iter().any(|byte| matches!(byte, b'%' | b'\\'))
        && !path.windows(2).any(|two| matches!(two, b"//" | b"/." | b"/;"));
    if is_normal {
        return Cow::Borrowed(path);
    }
    let plain = unescaped(path);
    let mut segments: Vec<&[u8]> = Vec::new();
    let mut ends_in_folder = false;
    for segment in plain.split(|byte| *byte == b'/') {
        let name = segment.split(|byte| *byte == b';').next().unwrap_or(segment);
        ends_in_folder = matches!(name, b"" | b"." | b"..");
        match name {
            b"" | b"." => {}
            b".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    let mut normal = Vec::with_capacity(plain.len() + 1);
    for segment in &segments {
        normal.push(b'/');
        normal.extend_from_slice(segment);
    }
    if ends_in_folder || segments.is_empty() {
        normal.push(b'/');
    }
    Cow::Owned(normal)
}

/// With the escapes of unreserved characters, slashes and backslashes taken back; other escapes in upper case.
fn unescaped(path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, after)) = rest.split_first() {
        let Some((escaped, tail)) = urlencoded::escaped(rest) else {
            plain.push(if byte == b'\\' { b'/' } else { byte });
            rest = after;
            continue;
        };
        match escaped {
            b'/' | b'\\' => plain.push(b'/'),
            b'-' | b'.' | b'_' | b'~' => plain.push(escaped),
            _ if escaped.is_ascii_alphanumeric() => plain.push(escaped),
            _ => plain.extend_from_slice(format!("%{escaped:02X}").as_bytes()),
        }
        rest = tail;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_mean_the_same_are_the_same() {
        for (path, normal) in [
            ("/", "/"),
            ("", "/"),
            ("/a/b", "/a/b"),
            ("/a/b/", "/a/b/"),
            ("/a//b", "/a/b"),
            ("/a/./b/../c", "/a/c"),
            ("/a/b/..", "/a/"),
            ("/../../a", "/a"),
            ("/a/%2e%2E/b", "/b"),
            ("/uploads%2f..%5cadmin", "/admin"),
            ("/uploads\\..\\admin", "/admin"),
            ("/%41%7e%3c%3C", "/A~%3C%3C"),
            ("/a%", "/a%"),
            ("/a%2", "/a%2"),
            ("/a%zz%25", "/a%zz%25"),
            ("/.well-known/x", "/.well-known/x"),
            ("/uploads/..;/admin", "/admin"),
            ("/uploads/%2e%2e;a=b/admin", "/admin"),
            ("/;/admin", "/admin"),
            ("/.;x/admin/..;", "/"),
            ("/a;b/c;d", "/a;b/c;d"),
            ("/..a;/b", "/..a;/b"),
            ("*", "/*"),
        ] {
            assert_eq!(normal_form(path.as_bytes()), normal.as_bytes(), "{path}");
        }
    }

    #[test]
    fn the_normal_form_of_a_normal_form_is_itself() {
        for path in ["/a/%2525/%252e%252e/b", "/%252f", "/x/%C3%A9", "/a/..%2f..", "/%"] {
            let once = normal_form(path.as_bytes()).into_owned();
            assert_eq!(normal_form(&once), once, "{path}");
        }
    }
}
