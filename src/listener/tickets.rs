//! Session tickets (RFC 5077, RFC 8446 section 4.6.1) that all nodes with the same secret take: their keys follow from the
//! secret and the time, and change every six hours.

use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hmac;
use rustls::server::ProducesTickets;
use zeroize::Zeroizing;

use crate::clock::Clock;
use crate::conf::TicketSecret;

/// How long one key makes tickets, in seconds. They are taken as long again.
const KEY_SECONDS: u64 = 6 * 3_600;
const PERIOD_BYTES: usize = 8;

/// Tickets of one profile of TLS: those of another are not taken, because what was agreed on there is not agreed on here.
#[derive(Debug)]
pub(super) struct SharedTickets {
    secret: TicketSecret,
    profile: String,
    clock: Clock,
}

impl SharedTickets {
    pub(super) fn new(secret: TicketSecret, profile: String, clock: Clock) -> Arc<Self> {
        Arc::new(Self { secret, profile, clock })
    }

    fn period(&self) -> u64 {
        self.clock.unix().as_secs() / KEY_SECONDS
    }

    /// The key of a period.
    fn key(&self, period: u64) -> Option<LessSafeKey> {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, self.secret.expose().as_bytes());
        let mut context = hmac::Context::with_key(&secret);
        context.update(b"session tickets\0");
        context.update(&period.to_be_bytes());
        context.update(self.profile.as_bytes());
        let key = Zeroizing::new(context.sign().as_ref().to_vec());
        UnboundKey::new(&AES_256_GCM, &key).ok().map(LessSafeKey::new)
    }
}

impl ProducesTickets for SharedTickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        u32::try_from(KEY_SECONDS).unwrap_or(u32::MAX)
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let period = self.period();
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let mut sealed = plain.to_vec();
        let aad = Aad::from(period.to_be_bytes());
        self.key(period)?
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed)
            .ok()?;
        Some([&period.to_be_bytes()[..], &nonce, &sealed].concat())
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let (period, rest) = cipher.split_first_chunk::<PERIOD_BYTES>()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>()?;
        let made = u64::from_be_bytes(*period);
        // Those of the period before, and of a node whose clock is a little ahead.
        if made.abs_diff(self.period()) > 1 {
            return None;
        }
        let mut opened = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let plain = self.key(made)?.open_in_place(nonce, Aad::from(*period), &mut opened).ok()?.len();
        opened.truncate(plain);
        Some(opened)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn tickets_are_taken_by_nodes_with_the_same_secret_for_a_time() {
        let secret = |digit: &str| TicketSecret::parse(&digit.repeat(64)).unwrap();
        let at = |hours: u64| Clock::fixed(UNIX_EPOCH + Duration::from_hours(1_000_000 + hours));
        let node = |digit: &str, profile: &str, hours| {
            SharedTickets::new(secret(digit), profile.to_owned(), at(hours))
        };
        let ticket = node("a", "p", 0).encrypt(b"session").unwrap();
        assert_ne!(ticket, node("a", "p", 0).encrypt(b"session").unwrap(), "a nonce of its own");
        for (digit, profile, hours, is_taken) in [
            ("a", "p", 0, true),
            ("a", "p", 6, true),
            ("a", "p", 12, false),
            ("b", "p", 0, false),
            ("a", "q", 0, false),
        ] {
            let opened = node(digit, profile, hours).decrypt(&ticket);
            assert_eq!(opened.as_deref(), is_taken.then_some(&b"session"[..]), "{digit} {profile} {hours}");
        }
        for nth in 0..ticket.len() {
            let mut changed = ticket.clone();
            changed[nth] ^= 1;
            assert_eq!(node("a", "p", 0).decrypt(&changed), None, "byte {nth}");
            assert_eq!(node("a", "p", 0).decrypt(&ticket[..nth]), None);
        }
        assert!(TicketSecret::parse("short").is_err() && TicketSecret::parse(&"g".repeat(64)).is_err());
        assert!(!format!("{:?}", secret("a")).contains("aaaa"));
    }
}
