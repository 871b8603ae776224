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
    let ending = value.rsplit(|byte| *byte == b'.').next().unwrap_or(&[]).to_ascii_lowercase();
    value.contains(&b'@') && !value.windows(2).any(|two| two == b"..") && !FILES.contains(&ending.as_slice())
}
