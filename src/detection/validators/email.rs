//! E-mail addresses whose top-level domain is none of the endings of files.

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "email",
    summary: "An address that is no file name.",
    validate,
    valid: &["info@example.org", "a.b+c@mail.example.co.uk"],
    invalid: &["logo@2x.png", "icon@3x.webp", "no-at"],
};

fn validate(value: &[u8]) -> bool {
    const FILES: &[&[u8]] = &[
        b"png", b"jpg", b"jpeg", b"gif", b"svg", b"webp", b"avif", b"css", b"js", b"mjs", b"json", b"map",
        b"html", b"php", b"ts",
    ];
    let ending = value.rsplit(|byte| *byte == b'.').next().unwrap_or(&[]);
    let is_file = FILES.iter().any(|file| ending.eq_ignore_ascii_case(file));
    // Looked at to its end: it is short, and then there is no branch.
    let has_empty_label = value.array_windows().fold(false, |has, two| has | (*two == *b".."));
    value.contains(&b'@') && !has_empty_label && !is_file
}
