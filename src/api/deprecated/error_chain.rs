//! Errors of new records as they were until 2024-10-01: one error with its causes behind it.

use std::borrow::Cow;

use crate::api::error::{ApiError, ApiErrors, DNS_VALIDATION};

pub(super) const ROW: &str = "dns-record-error-chain";
/// Codes of what is wrong with a record itself.
const OF_RECORDS: std::ops::RangeInclusive<u32> = 9000..=9099;

/// The errors of a record in one.
pub(super) fn chained(errors: ApiErrors) -> ApiErrors {
    if !errors.iter().all(|error| OF_RECORDS.contains(&error.code.code)) {
        return errors;
    }
    let causes = errors.iter().map(|error| (error.code.code, Cow::Owned(error.message.clone())));
    ApiError { chain: causes.collect(), ..ApiError::new(DNS_VALIDATION, "DNS Validation Error") }.into()
}
