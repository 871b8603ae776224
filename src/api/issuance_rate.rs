//! How many certificates an account may order in a minute (spec, "Limits").

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use model::AccountId;
use parking_lot::Mutex;

use super::error::{self, ApiError, ApiErrors};

/// The time that counts, in seconds.
const WINDOW: u64 = 60;
/// How long orders are refused after one too many, in seconds.
const REFUSED: u64 = 30;

/// Orders by account. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Issuances(Arc<Mutex<HashMap<AccountId, Ordered>>>);

#[derive(Debug, Default)]
struct Ordered {
    /// When each was, in seconds since the epoch.
    times: VecDeque<u64>,
    refused_until: u64,
}

/// Room for one order. It is given back if the order is not made.
#[derive(Debug)]
pub(super) struct IssuanceReservation {
    of: Issuances,
    account: AccountId,
    at: u64,
    is_kept: bool,
}

impl Issuances {
    /// Takes room for an order, `now` in seconds since the epoch; there is always some if `limit` is 0.
    ///
    /// # Errors
    /// If there were too many in the last minute.
    pub(super) fn reserve(
        &self,
        account: &AccountId,
        limit: u32,
        now: u64,
    ) -> Result<IssuanceReservation, ApiErrors> {
        let mut all = self.0.lock();
        let ordered = all.entry(account.clone()).or_default();
        while ordered.times.front().is_some_and(|at| at + WINDOW <= now) {
            ordered.times.pop_front();
        }
        let is_refused = now < ordered.refused_until;
        let is_past = limit > 0 && ordered.times.len() >= limit as usize;
        if limit > 0 && (is_refused || is_past) {
            if !is_refused {
                ordered.refused_until = now + REFUSED;
            }
            let seconds = ordered.refused_until - now;
            let message = format!(
                "More than {limit} certificates were ordered in a minute; go on in {seconds} seconds, or raise \
                 `certificates.issuance_rate`"
            );
            let error = ApiError {
                retry_after_seconds: Some(seconds),
                ..ApiError::new(error::ISSUANCE_RATE, message)
            };
            return Err(error.into());
        }
        ordered.times.push_back(now);
        Ok(IssuanceReservation { of: self.clone(), account: account.clone(), at: now, is_kept: false })
    }
}

impl IssuanceReservation {
    /// The order was made.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for IssuanceReservation {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        if let Some(ordered) = self.of.0.lock().get_mut(&self.account)
            && let Some(place) = ordered.times.iter().rposition(|at| *at == self.at)
        {
            ordered.times.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_that_are_made_count_and_one_too_many_waits_thirty_seconds() {
        let (issuances, account) = (Issuances::default(), AccountId::new("a"));
        let order = |now| issuances.reserve(&account, 2, now).map(IssuanceReservation::keep);
        drop(issuances.reserve(&account, 2, 100).unwrap());
        order(100).unwrap();
        order(101).unwrap();
        let seconds = |now| order(now).unwrap_err().iter().next().unwrap().retry_after_seconds;
        assert_eq!((seconds(150), seconds(179)), (Some(30), Some(1)));
        order(180).unwrap();
        issuances.reserve(&AccountId::new("b"), 2, 150).unwrap().keep();
        order(181).unwrap();
        assert_eq!(seconds(182), Some(30));
        (0..100).for_each(|_| issuances.reserve(&account, 0, 183).unwrap().keep());
    }
}
