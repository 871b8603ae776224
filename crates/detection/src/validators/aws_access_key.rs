//! AWS access key ids: Base32 after the prefix, and not the one of the documentation.

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "aws_access_key",
    summary: "Four letters of a key kind and sixteen of Base32 that are no placeholder.",
    validate,
    valid: &[concat!("AKIA", "QYLPMN5HHHFPZAM2"), concat!("ASIA", "QYLPMN5HHHFPZAM2")],
    invalid: &[
        concat!("AKIA", "IOSFODNN7EXAMPLE"),
        concat!("AKIA", "AAAAAAAAAAAAAAAA"),
        concat!("AKIA", "QYLPMN5HHHFPZA01"),
    ],
};

fn validate(value: &[u8]) -> bool {
    let Some((_, key)) = value.split_at_checked(4) else { return false };
    let base32 = key.len() == 16 && key.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7'));
    let distinct = key.iter().fold(0_u64, |set, byte| set | 1 << (byte.wrapping_sub(b'2') % 64));
    base32 && distinct.count_ones() >= 6 && !key.ends_with(b"EXAMPLE")
}
