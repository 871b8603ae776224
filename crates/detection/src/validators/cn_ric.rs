//! Citizen identification numbers of China (GB 11643): region, date of birth, ISO 7064 MOD 11-2.

use super::Definition;
use crate::digits::{digits, is_date, pair, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "cn_ric",
    summary: "Eighteen characters with a region, a day that was and a valid check character.",
    validate,
    valid: &["360426199101010071", "11010519491231002X"],
    invalid: &["360426199101010072", "000426199101010071", "110105194912310021"],
};

fn validate(value: &[u8]) -> bool {
    let Some((check, rest)) = value.split_last().filter(|_| value.len() == 18) else { return false };
    let digits = digits(rest);
    let weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let expected = b"10X98765432".get((weighted(&digits, &weights) % 11) as usize);
    let region = matches!(pair(&digits, 0), 11..=15 | 21..=23 | 31..=37 | 41..=46 | 50..=54 | 61..=65 | 71 | 81..=83 | 91);
    let year = pair(&digits, 6) * 100 + pair(&digits, 8);
    let born = (1900..2100).contains(&year) && is_date(year, pair(&digits, 10), pair(&digits, 12));
    digits.len() == 17 && region && born && expected == Some(&check.to_ascii_uppercase())
}
