//! What is written of a pack after each step, and after a failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hostnames::backoff;
use model::certificate_pack::NEVER;
use model::{CertificatePack, PackId, PackStatus, Resources};
use store::Change;

use super::begin::waits_for_hostname;
use super::{Issuing, Pause};
use crate::certificates::record_deletions;
use crate::control::Write;
use crate::events::kinds::CertificateFailed;
use crate::jobs::acme::{ACTOR, AcmeFailure};

/// How long a CA that has not looked yet is left alone, in seconds.
const CA_WAIT: u64 = 5;
/// How long an order waits for its hostname, in seconds; it goes on at once when that is verified.
const HOSTNAME_WAIT: u64 = 3_600;
/// How long orders wait after a CA said that there were too many, in seconds.
const RATE_WAIT: u64 = 3_600;

impl Issuing {
    /// A status that says how far the first certificate is; one that is valid stays in use.
    pub(super) fn set_status(&self, pack: &mut CertificatePack, status: PackStatus) {
        let now = self.now();
        let is_served = pack.certificates.first().is_some_and(|newest| now < newest.expires);
        let status = if is_served { PackStatus::Active } else { status };
        if pack.status != status {
            (pack.status, pack.since) = (status, now);
        }
    }

    /// Writes a pack, if it is still as it was; with it, what else changes.
    pub(super) async fn save(
        &self,
        known: &CertificatePack,
        next: CertificatePack,
        more: impl Fn(&Resources) -> Vec<Change> + Send + 'static,
    ) -> Result<CertificatePack, Pause> {
        self.save_if(known, next, |_| true, more).await
    }

    /// Writes a pack, if it is still as it was and what else it depends on is, too.
    async fn save_if(
        &self,
        known: &CertificatePack,
        next: CertificatePack,
        holds: impl Fn(&Resources) -> bool + Send + 'static,
        more: impl Fn(&Resources) -> Vec<Change> + Send + 'static,
    ) -> Result<CertificatePack, Pause> {
        let is_stale = Arc::new(AtomicBool::new(false));
        let (stale, known, put) = (Arc::clone(&is_stale), known.clone(), next.clone());
        let edit = move |resources: &Resources| {
            let is_same = resources.packs.get(&known.id).is_some_and(|current| current.value == known);
            let is_current = is_same && holds(resources);
            stale.store(!is_current, Ordering::Relaxed);
            if !is_current {
                return Ok(Vec::new());
            }
            let mut changes = more(resources);
            changes.push(Change::PutPack { pack: Box::new(put.clone()) });
            Ok(changes)
        };
        let written = self.control.write(Write::of(ACTOR, edit)).await;
        if is_stale.load(Ordering::Relaxed) || written.is_err() {
            return Err(Pause::Changed);
        }
        Ok(next)
    }

    /// Writes why a pack does not go on, and when it does.
    pub(super) async fn pause(&self, pack: CertificatePack, pause: Pause) {
        let now = self.now();
        let mut next = pack.clone();
        let mut drops_order = false;
        let is_unverified = matches!(pause, Pause::Unverified);
        match pause {
            // With the next tick it is looked at as it is then.
            Pause::Changed => return,
            Pause::Until(moment) => next.next_step = moment.max(now + 1),
            Pause::CaBusy => next.next_step = now + CA_WAIT,
            Pause::Unverified => {
                next.next_step = now + HOSTNAME_WAIT;
                next.errors = vec![
                    "the custom hostname is not verified; the certificate follows when it is".to_owned(),
                ];
            }
            Pause::NotVisible(missing) => {
                next.attempts = next.attempts.saturating_add(1);
                next.next_step = now + with_jitter(backoff::wait(next.attempts - 1), next.id);
                next.errors = missing;
                if next.attempts >= backoff::ISSUANCE_ATTEMPTS {
                    drops_order = true;
                    self.give_up(&mut next, PackStatus::ValidationTimedOut);
                }
            }
            Pause::Forbidden(errors) => {
                next.is_forbidden_by_caa = true;
                self.failed(&mut next, errors, "caa", 0);
            }
            Pause::Failed(failure) => {
                let authority = pack.order.as_ref().map_or("", |order| &order.authority);
                // An order that could not be asked for now may be there later.
                drops_order = !matches!(
                    failure,
                    AcmeFailure::Unreachable(_) | AcmeFailure::StaleNonce(_) | AcmeFailure::Here(_)
                );
                let least = if matches!(failure, AcmeFailure::RateLimited(_)) { RATE_WAIT } else { 0 };
                let is_of_names = matches!(failure, AcmeFailure::NotValidated { .. });
                self.failed(&mut next, vec![failure.message(authority)], failure.cause(), least);
                // Another CA may be there, if there is a choice.
                drops_order |= pack.named_authority().is_none()
                    && pack.order.as_ref().is_some_and(|order| order.url.is_none());
                if next.attempts >= backoff::ISSUANCE_ATTEMPTS {
                    drops_order = true;
                    let status = match is_of_names {
                        true => PackStatus::ValidationTimedOut,
                        false => PackStatus::IssuanceTimedOut,
                    };
                    self.give_up(&mut next, status);
                }
            }
        }
        if drops_order {
            next.order = None;
        }
        if next.certificates.first().is_some_and(|newest| newest.expires <= now) {
            self.set_status(&mut next, PackStatus::Expired);
        }
        let known = pack.clone();
        let deletions = move |resources: &Resources| match drops_order {
            true => record_deletions(resources, &known),
            false => Vec::new(),
        };
        // A hostname that was verified since it was looked at would be waited for in vain: its pack was due then.
        let waiting = pack.clone();
        let holds = move |resources: &Resources| !is_unverified || waits_for_hostname(&waiting, resources);
        // If it was changed meanwhile, the change makes it due again.
        let _ = self.save_if(&pack, next, holds, deletions).await;
    }

    fn failed(&self, next: &mut CertificatePack, errors: Vec<String>, cause: &'static str, least: u64) {
        next.attempts = next.attempts.saturating_add(1);
        next.next_step = self.now() + with_jitter(backoff::wait(next.attempts - 1).max(least), next.id);
        next.errors = errors;
        self.events.emit(&CertificateFailed {
            pack: next.id.to_string(),
            hosts: next.hosts.join(" "),
            cause,
            error: next.errors.join("; "),
            attempts: next.attempts,
        });
    }

    /// Nothing more is tried before somebody asks for it; of a certificate that is in use, after a day.
    fn give_up(&self, next: &mut CertificatePack, status: PackStatus) {
        next.next_step = match next.certificates.is_empty() {
            true => NEVER,
            false => self.now() + 86_400,
        };
        next.attempts = 0;
        self.set_status(next, status);
    }
}

/// A wait with up to a tenth more, by the id of what waits: what failed together is not tried again together.
fn with_jitter(seconds: u64, id: PackId) -> u64 {
    let chance = u64::from(id.0.as_bytes()[15]);
    seconds + seconds / 10 * chance / 255
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn waits_are_up_to_a_tenth_longer() {
        let waits = [0, 128, 255].map(|last| with_jitter(1_000, PackId(Uuid::from_u128(last))));
        assert_eq!(waits, [1_000, 1_050, 1_100]);
    }
}
