//! Lexical path resolution shared by the two path transformations.

/// Appends `path` to `out` with empty, `.` and `..` segments resolved; any of `separators` ends a
/// segment and is written as `/`. Leading `..` of a relative path stay, those of an absolute one go.
pub(super) fn normalize(path: &[u8], separators: &[u8], out: &mut Vec<u8>) {
    let separates = |byte: &u8| separators.contains(byte);
    let absolute = path.first().is_some_and(separates);
    let mut kept: Vec<&[u8]> = Vec::new();
    let mut directory = false;
    for segment in path.split(separates) {
        directory = matches!(segment, b"" | b"." | b"..");
        match segment {
            b"" | b"." => {}
            b".." => match kept.last() {
                Some(&last) if last != b".." => {
                    kept.pop();
                }
                _ if absolute => {}
                _ => kept.push(segment),
            },
            _ => kept.push(segment),
        }
    }
    if absolute {
        out.push(b'/');
    }
    for (index, segment) in kept.iter().enumerate() {
        if index > 0 {
            out.push(b'/');
        }
        out.extend_from_slice(segment);
    }
    // A path to a folder keeps its last slash.
    let ends = directory && path.last().is_some_and(separates);
    if ends && !kept.is_empty() {
        out.push(b'/');
    }
}
