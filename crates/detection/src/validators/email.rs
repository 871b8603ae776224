//! E-mail addresses whose top-level domain is none of the endings of files.

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "email",
    summary: "An address that is no file name.",
    validate,
    valid: &["info@example.org", "a.b+c@mail.example.co.uk"],
    invalid: &["logo@2x.png", "icon@3x.webp", "no-at"],
};

/// A short text in small letters as a number; 0 for a longer one.
const fn short(text: &[u8]) -> u64 {
    let (mut number, mut rest) = (0, text);
    while let [byte, others @ ..] = rest {
        (number, rest) = (number << 8 | (*byte | 0x20) as u64, others);
    }
    if text.len() > 8 { 0 } else { number }
}

fn validate(value: &[u8]) -> bool {
    const FILES: [u64; 15] = [
        short(b"png"),
        short(b"jpg"),
        short(b"jpeg"),
        short(b"gif"),
        short(b"svg"),
        short(b"webp"),
        short(b"avif"),
        short(b"css"),
        short(b"js"),
        short(b"mjs"),
        short(b"json"),
        short(b"map"),
        short(b"html"),
        short(b"php"),
        short(b"ts"),
    ];
    let point = memchr::memrchr(b'.', value);
    let ending = point.and_then(|point| value.get(point + 1..)).unwrap_or(value);
    // Looked at to its end: it is short, and then there is no branch.
    let has_empty_label = value.array_windows().fold(false, |has, two| has | (*two == *b".."));
    value.contains(&b'@') && !has_empty_label && !FILES.contains(&short(ending))
}
