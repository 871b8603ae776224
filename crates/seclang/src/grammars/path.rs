//! Paths: how far one climbs above the folder it starts in.
//!
//! A path is read as the servers behind a proxy may read it: percent-encoded more than once, in overlong
//! UTF-8, with backslashes, with `..;`, and after a filter has taken `../` out of it.

use smallvec::SmallVec;

use super::{fragments, spans_lines};
use body::urlencoded;
use pattern::ByteSet;

/// Longer values are read in pieces of this length.
const PIECE_BYTES: usize = 4096;
/// What a piece shares with the one before it: no path that climbs is longer.
const SHARED_BYTES: usize = 512;
/// Times that a path is decoded.
const MAX_DECODINGS: usize = 4;

/// Endings of documents and source files.
const SOURCES: &[&[u8]] = &[
    b".md", b".rst", b".html", b".css", b".scss", b".js", b".ts", b".tsx", b".rs", b".go", b".svg", b".png",
];

/// Levels that no program climbs to a file of its own.
const FAR_LEVELS: usize = 3;

/// Dots of a name that climbs.
const MAX_DOTS: usize = 8;

type Path = SmallVec<[u8; 256]>;

/// The levels that a path in this value climbs above where it starts; 0 if it stays below.
pub(crate) fn levels_above_root(value: &[u8]) -> usize {
    if value.len() <= PIECE_BYTES {
        return levels_in_piece(value);
    }
    let mut most = 0;
    for start in (0..value.len()).step_by(PIECE_BYTES - SHARED_BYTES) {
        let piece = value.get(start..value.len().min(start + PIECE_BYTES)).unwrap_or_default();
        // A path that began before this piece was read with the one before it.
        let shared = piece.get(..SHARED_BYTES).unwrap_or(piece);
        let begins = if start == 0 { 0 } else { shared.iter().position(ends_path).map_or(0, |at| at + 1) };
        most = most.max(levels_in_piece(piece.get(begins..).unwrap_or_default()));
    }
    most
}

fn levels_in_piece(value: &[u8]) -> usize {
    let is_plain = |byte: &u8| !matches!(byte, b'%' | 0xc0 | 0xc1 | 0xe0 | 0xe2 | 0xef);
    let has = |text: &[u8]| memchr::memmem::find(value, text).is_some();
    if !has(b"..") && !has(b"0x2") && value.iter().all(is_plain) {
        return 0;
    }
    let mut path = Path::from_slice(value);
    let plain = climb(&path);
    let mut most = plain.anywhere;
    // No program disguises what it names.
    let in_disguise = |climb: Climb| if climb.named > plain.named { climb.named } else { climb.anywhere };
    for _ in 0..MAX_DECODINGS {
        let decoded = decode(&path);
        if decoded == path {
            break;
        }
        most = most.max(in_disguise(climb(&decoded)));
        path = decoded;
    }
    if let Some(path) = filtered(&path) {
        most = most.max(in_disguise(climb(&path)));
    }
    // Programs name their own folders so.
    if most > 0 && spans_lines(value) {
        return fragments(value).map(|(_, fragment)| levels_above_root(fragment)).max().unwrap_or(0);
    }
    most
}

/// Bytes around a path.
const PATH_ENDS: ByteSet = ByteSet::of(b"\"'=,()[]{}<>|`?&").and(0, b' ');

fn ends_path(byte: &u8) -> bool {
    PATH_ENDS.has(*byte)
}

/// The most levels that paths in a text climb.
#[derive(Clone, Copy, Default)]
struct Climb {
    /// One that is none of the others.
    anywhere: usize,
    /// One as programs and documents name their own files.
    named: usize,
}

fn climb(text: &[u8]) -> Climb {
    let mut most = Climb::default();
    if memchr::memmem::find(text, b"..").is_none() {
        return most;
    }
    let mut at = 0usize;
    for path in text.split(ends_path) {
        let before = text.get(at.saturating_sub(3)..at).unwrap_or_default();
        // Links of Markdown are in brackets or behind a name: what stands before the path makes it no path.
        let is_quoted = matches!(before, [.., b'"' | b'\'' | b'`'] | [.., b']', b'('] | [b']', b':', b' ']);
        let levels = levels(path);
        // Programs name their own files in quotes, and rarely from far.
        let is_in_sentence = before.ends_with(b" ") && (levels == 1 || is_source(path));
        if !(is_quoted || is_in_sentence) || levels >= FAR_LEVELS {
            most.anywhere = most.anywhere.max(levels);
        } else {
            most.named = most.named.max(levels);
        }
        at += path.len() + 1;
    }
    most
}

/// Whether a path ends as a document or a source file does: people mention such paths in sentences.
fn is_source(path: &[u8]) -> bool {
    let path = path.trim_ascii_end();
    let path = path.strip_suffix(b".").or_else(|| path.strip_suffix(b";")).unwrap_or(path);
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"./_-".contains(byte);
    path.iter().all(is_plain) && SOURCES.iter().any(|ending| path.ends_with(ending))
}

fn levels(path: &[u8]) -> usize {
    let (mut depth, mut lowest) = (0isize, 0isize);
    let is_separator = |byte: &u8| matches!(byte, b'/' | b'\\');
    // Parameters belong to a segment that another one follows.
    let last = path.iter().rposition(is_separator).map_or(0, |at| at + 1);
    let mut at = 0;
    for segment in path.split(is_separator) {
        let is_last = at == last;
        at += segment.len() + 1;
        let name =
            if is_last { segment } else { segment.split(|byte| *byte == b';').next().unwrap_or_default() };
        match name {
            b"" | b"." => {}
            b".." => {
                depth -= 1;
                lowest = lowest.min(depth);
            }
            // Some file systems climb a level more for each dot.
            dots if !is_last && dots.len() <= MAX_DOTS && dots.iter().all(|byte| *byte == b'.') => {
                depth -= 1;
                lowest = lowest.min(depth);
            }
            // `C:`, `file:`: where a path starts.
            name if name.ends_with(b":") || name.ends_with(b":..") => {
                depth = if name.ends_with(b"..") { -1 } else { 0 };
                lowest = lowest.min(depth);
            }
            _ => depth += 1,
        }
    }
    lowest.unsigned_abs()
}

/// What stands for another byte begins with one of these, or is left out.
const DECODED: ByteSet = ByteSet::of(b"%0\xc0\xc1\xe0\xe2\xef").and(0, 0x1f);

/// One round of decoding; NUL bytes are left out, and control characters between a dot and a separator, which some servers
/// leave out.
fn decode(path: &[u8]) -> Path {
    let mut decoded = Path::new();
    let mut rest = path;
    loop {
        let plain = rest.iter().position(|byte| DECODED.has(*byte)).unwrap_or(rest.len());
        decoded.extend_from_slice(rest.get(..plain).unwrap_or_default());
        rest = rest.get(plain..).unwrap_or_default();
        let Some((&byte, after)) = rest.split_first() else { return decoded };
        let (byte, length) = match (byte, after) {
            (b'%', [b'u' | b'U', digits @ ..]) => match wide(digits) {
                Some(byte) => (byte, 6),
                None => (byte, 1),
            },
            (b'%', _) => urlencoded::escaped(rest).map_or((byte, 1), |(escaped, _)| (escaped, 3)),
            // Overlong forms of `.`, `/` and `\`, and their full-width relatives.
            (b'0', [b'x' | b'X', b'2', b'e' | b'E', ..]) => (b'.', 4),
            (b'0', [b'x' | b'X', b'2', b'f' | b'F', ..]) => (b'/', 4),
            (b'0', [b'x' | b'X', b'5', b'c' | b'C', ..]) => (b'\\', 4),
            (0xc0, [0xae, ..]) => (b'.', 2),
            (0xc0, [0xaf, ..]) => (b'/', 2),
            (0xc1, [0x9c, ..]) => (b'\\', 2),
            (0xe0, [0x80, 0xae, ..]) => (b'.', 3),
            (0xe0, [0x80, 0xaf, ..]) => (b'/', 3),
            (0xef, [0xbc, 0x8e, ..]) => (b'.', 3),
            (0xef, [0xbc, 0x8f, ..]) => (b'/', 3),
            (0xe2, [0x88, 0x95, ..]) => (b'/', 3),
            _ => (byte, 1),
        };
        rest = rest.get(length..).unwrap_or_default();
        let is_dropped = byte == 0
            || byte < b' ' && decoded.last() == Some(&b'.') && matches!(rest, [b'/' | b'\\' | b'%', ..]);
        if !is_dropped {
            decoded.push(byte);
        }
    }
}

/// `%u002e`, `%u2215`, `%u2216`, `%uff0e` …
fn wide(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits.get(..4)?).ok()?;
    match u32::from_str_radix(digits, 16).ok()? {
        code @ 0..=0x7f => u8::try_from(code).ok(),
        0xff0e | 0x2024 => Some(b'.'),
        0x2215 | 0x2044 | 0xff0f => Some(b'/'),
        0x2216 | 0xff3c => Some(b'\\'),
        _ => None,
    }
}

/// What a filter leaves that takes every `../` out once: `....//` becomes `../`. `None` if there is none.
fn filtered(path: &[u8]) -> Option<Path> {
    let mut left = Path::new();
    let mut rest = path;
    let step_end = |rest: &[u8]| {
        let mut separators = memchr::memchr2_iter(b'/', b'\\', rest);
        separators.find(|at| rest.get(..*at).is_some_and(|before| before.ends_with(b"..")))
    };
    while let Some(end) = step_end(rest) {
        left.extend_from_slice(rest.get(..end - 2).unwrap_or_default());
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    (rest.len() < path.len()).then(|| {
        left.extend_from_slice(rest);
        left
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_takes_each_step_out_once() {
        for (path, left) in [
            ("../x", "x"),
            ("....//x", "../x"),
            (".../x", ".x"),
            ("a..\\..\\", "a"),
            ("....././/x", "....//x"),
        ] {
            assert_eq!(filtered(path.as_bytes()).as_deref(), Some(left.as_bytes()), "{path}");
        }
        for path in ["", "..", "a/b", "./x"] {
            assert_eq!(filtered(path.as_bytes()), None, "{path}");
        }
    }

    #[test]
    fn climbs() {
        for (value, levels) in [
            ("../../etc/passwd", 2),
            ("..%2f..%2f", 2),
            ("..%252f..%252fx", 2),
            ("..\\..\\boot.ini", 2),
            ("%c0%ae%c0%ae/x", 1),
            ("..;/..;/admin", 2),
            ("....//....//etc/passwd", 2),
            ("..././..././x", 2),
            ("%2e%2e%5cx", 1),
            ("a/../../x", 1),
            ("/../../x", 2),
            ("%u002e%u002e%u2215x", 1),
            ("file=../../x", 2),
            ("C:\\..\\..\\x", 2),
            (".%00./.%00./x", 2),
            ("0x2e0x2e/0x2e0x2e/x", 2),
            ("..0x2f..0x2fx", 2),
            ("..0x5c..0x5cx", 2),
            (".../.../x", 2),
            ("..%0d/..%01/x", 2),
            ("..\r/..\r/x", 2),
            ("/usr/.../lib", 0),
            ("go test ./...", 0),
            ("0x2e is a dot", 0),
            ("a/../b", 0),
            ("a..b/c", 0),
            ("wait...", 0),
            ("...", 0),
            ("v1..v2", 0),
            ("", 0),
            ("..", 1),
            ("./a/./b", 0),
            ("see ../../README.md, and ../../src/main.rs.", 0),
            ("see ../../../README.md", 3),
            ("see ../../.env", 2),
            ("see ../../secret%00.png", 2),
            ("he wrote \"..%2f..%2fetc/passwd\" to me", 2),
            ("import a from \"../../b\";\nimport c from \"../d\";\nexport default a;\n", 0),
        ] {
            assert_eq!(levels_above_root(value.as_bytes()), levels, "{value}");
        }
    }
}
