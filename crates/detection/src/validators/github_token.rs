//! Tokens that end with a checksum: CRC-32 of what stands between prefix and end, in six digits of base 62.

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "github_token",
    summary: "A token whose last six characters are the checksum of the thirty before them.",
    validate,
    valid: &[concat!("gh", "p_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17")],
    invalid: &[concat!("gh", "p_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq18"), concat!("gh", "p_")],
};

const BASE_62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

fn validate(value: &[u8]) -> bool {
    let Some((_, token)) =
        value.iter().position(|byte| *byte == b'_').and_then(|at| value.split_at_checked(at + 1))
    else {
        return false;
    };
    let Some((body, check)) = token.len().checked_sub(6).and_then(|at| token.split_at_checked(at)) else {
        return false;
    };
    let mut rest = crc32fast::hash(body);
    let mut expected = [b'0'; 6];
    for place in expected.iter_mut().rev() {
        *place = BASE_62.get((rest % 62) as usize).copied().unwrap_or(b'0');
        rest /= 62;
    }
    check == expected
}
