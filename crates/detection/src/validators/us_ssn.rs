//! Social security numbers of the United States: area, group and serial number, without those never issued.

use super::Definition;
use crate::digits::{digits, is_uniform, number};

pub(super) const DEFINITION: Definition = Definition {
    name: "us_ssn",
    summary: "Nine digits of an area, a group and a serial number that can be issued.",
    validate,
    valid: &["281-87-8310", "536-90-4399"],
    invalid: &[
        "000-12-3456",
        "666-12-3456",
        "900-12-3456",
        "123-00-4567",
        "123-45-0000",
        "078-05-1120",
        "219-09-9999",
    ],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let number = number(&digits);
    let (area, group, serial) = (number / 1_000_000, number / 10_000 % 100, number % 10_000);
    // Printed on sample cards and in leaflets.
    let published =
        matches!(number, 78_051_120 | 219_099_999 | 123_456_789 | 457_555_462 | 111_111_111..=111_111_119);
    let issued = !matches!(area, 0 | 666 | 900..) && group != 0 && serial != 0;
    digits.len() == 9 && issued && !published && !is_uniform(&digits)
}
