//! Lexical path resolution shared by the two path transformations.

/// Appends `path` to `out` with empty, `.` and `..` segments resolved; any of `separators` ends a
/// segment and is written as `/`. Leading `..` of a relative path stay, those of an absolute one go.
pub(super) fn normalize(path: &[u8], separators: &[u8], out: &mut Vec<u8>) {
    let separates = |byte: &u8| separators.contains(byte);
    let absolute = path.first().is_some_and(separates);
    if absolute {
        out.push(b'/');
    }
    let root = out.len();
    let mut directory = false;
    for segment in path.split(separates) {
        directory = matches!(segment, b"" | b"." | b"..");
        if matches!(segment, b"" | b".") {
            continue;
        }
        if segment == b".." {
            let kept = out.get(root..).unwrap_or(&[]);
            let slash = memchr::memrchr(b'/', kept);
            let last = kept.get(slash.map_or(0, |at| at + 1)..).unwrap_or(&[]);
            if !last.is_empty() && last != b".." {
                out.truncate(root + slash.unwrap_or(0));
                continue;
            }
            if absolute {
                continue;
            }
        }
        if out.len() > root {
            out.push(b'/');
        }
        out.extend_from_slice(segment);
    }
    // A path to a folder keeps its last slash.
    let ends = directory && path.last().is_some_and(separates);
    if ends && out.len() > root {
        out.push(b'/');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_resolved() {
        let mut checked = 0;
        for (path, expected) in [
            ("", ""),
            ("/", "/"),
            ("a", "a"),
            ("/a/./b//c", "/a/b/c"),
            ("/a/../../b", "/b"),
            ("a/../b", "b"),
            ("a/../../b", "../b"),
            ("../../a/..", "../.."),
            ("a/b/..", "a"),
            ("a/b/../", "a/"),
            ("/..", "/"),
            ("a/..", ""),
            ("...", "..."),
        ] {
            let mut out = Vec::new();
            normalize(path.as_bytes(), b"/", &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected, "{path}");
            checked += 1;
        }
        assert_eq!(checked, 13);
    }
}
