//! National register numbers of Belgium: date of birth, serial number, modulo 97.

use super::Definition;
use crate::digits::{digits, number, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "be_nn",
    summary: "Eleven digits whose last two are 97 less the rest of the others, with a 2 before them for those born since 2000.",
    validate,
    valid: &["85.07.30-033.28", "17073003384", "01.03.02-700.58"],
    invalid: &["85.07.30-033.29", "85.13.30-033.28"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let Some((rest, _)) = digits.split_at_checked(9).filter(|_| digits.len() == 11) else { return false };
    let check = u64::from(pair(&digits, 9));
    let holds = |number: u64| 97 - number % 97 == check;
    let month = pair(&digits, 2) % 20;
    (1..=12).contains(&month) && (holds(number(rest)) || holds(number(rest) + 2_000_000_000))
}
