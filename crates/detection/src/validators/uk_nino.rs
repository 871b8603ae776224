//! National insurance numbers of the United Kingdom: two letters, six digits, a letter from A to D.

use super::Definition;
use crate::digits::compact;

pub(super) const DEFINITION: Definition = Definition {
    name: "uk_nino",
    summary: "Letters that are issued and six digits.",
    validate,
    valid: &["LB367042C", "GG 85 72 06 B"],
    invalid: &["DA123456A", "GB123456A", "AO123456A", "AB123456E"],
};

fn validate(value: &[u8]) -> bool {
    let value = compact(value);
    let (Some(prefix), Some(suffix)) = (value.get(..2), value.get(8)) else { return false };
    let issued = prefix.iter().all(|letter| !b"DFIQUV".contains(letter)) && prefix.get(1) != Some(&b'O');
    let kept_back: [&[u8]; 7] = [b"BG", b"GB", b"KN", b"NK", b"NT", b"TN", b"ZZ"];
    value.len() == 9 && issued && !kept_back.contains(&prefix) && (b'A'..=b'D').contains(suffix)
}
