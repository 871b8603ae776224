//! What follows for a custom hostname from what was seen of it (spec, "Custom hostname states").
//!
//! ```text
//! create ─► pending ──proven──► active ──leads elsewhere──► moved ──7 days──► deleted
//!              │ ▲                 ▲                          ▲ │
//!     held ────▼ │ released        │                          │ └─ PATCH ─► pending
//!            blocked ──────────────┘      75 attempts ────────┘
//! ```

use model::{CustomHostname, HostnameStatus};

use crate::backoff;

/// How long a hostname that has moved is kept, in seconds (spec, "Limits").
pub const MOVED_RETENTION: u64 = 7 * 86_400;
/// How often a hostname that is served is looked at, in seconds.
pub const RECHECK: u64 = backoff::LONGEST;

/// Where the fallback origin of a zone is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FallbackState {
    #[default]
    Missing,
    /// It is named, and has no proxied record.
    WithoutRecord,
    Active,
}

/// What was seen of a hostname.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Whether an alias leads from it to its zone; `None` if nobody could say.
    pub has_alias_here: Option<bool>,
    /// Whether all of its addresses are of this edge. Names of many zones have these: they prove nothing against others.
    pub has_own_addresses: Option<bool>,
    /// Whether it has addresses rather than an alias.
    pub has_addresses: bool,
    /// Whether its TXT record has the token.
    pub has_text: bool,
    /// Whether its web server answers with the token.
    pub has_page: bool,
    /// Whether somebody else holds the zone above it.
    pub is_held: bool,
    /// Whether another zone of this server has it: then an alias of that zone is the only proof.
    pub is_in_zone: bool,
    /// Whether another zone serves it as a custom hostname: then addresses prove nothing.
    pub is_served_elsewhere: bool,
    pub fallback: FallbackState,
}

impl Seen {
    /// Whether it leads to its zone, or to this edge; `None` if nobody could say.
    pub fn points_here(&self) -> Option<bool> {
        match (self.has_alias_here, self.has_own_addresses) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        }
    }

    /// Whether it is shown that the name is to be served by its zone.
    fn is_proven(&self) -> bool {
        let by_address = self.has_own_addresses == Some(true) && !self.is_served_elsewhere;
        let by_token = self.has_text || self.has_page;
        self.has_alias_here == Some(true) || (!self.is_in_zone && (by_address || by_token))
    }
}

/// What becomes of a hostname.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Changed(Box<CustomHostname>),
    /// Its time is over.
    Deleted,
}

impl Outcome {
    /// The hostname, if it is still there.
    pub fn hostname(self) -> Option<CustomHostname> {
        match self {
            Self::Changed(hostname) => Some(*hostname),
            Self::Deleted => None,
        }
    }
}

/// What follows from what was seen, `now` in seconds since the epoch.
pub fn after_check(known: &CustomHostname, seen: &Seen, now: u64) -> Outcome {
    let mut next = known.clone();
    match known.status {
        HostnameStatus::Moved => {
            if now.saturating_sub(known.since) >= MOVED_RETENTION {
                return Outcome::Deleted;
            }
            next.next_check = known.since + MOVED_RETENTION;
        }
        HostnameStatus::Active | HostnameStatus::ActiveRedeploying => look_at_served(&mut next, seen, now),
        HostnameStatus::Pending | HostnameStatus::Blocked => look_at_pending(&mut next, seen, now),
    }
    Outcome::Changed(Box::new(next))
}

fn look_at_served(next: &mut CustomHostname, seen: &Seen, now: u64) {
    let has_gone = seen.points_here() == Some(false) && next.has_pointed_here;
    if has_gone {
        become_moved(next, now);
        next.verification_errors = Box::new([NOT_HERE.into()]);
        return;
    }
    next.has_pointed_here |= seen.points_here() == Some(true);
    set_status(next, HostnameStatus::Active, now);
    next.verification_errors = Box::default();
    next.next_check = now + RECHECK;
}

fn look_at_pending(next: &mut CustomHostname, seen: &Seen, now: u64) {
    if seen.is_held {
        set_status(next, HostnameStatus::Blocked, now);
        next.verification_errors = Box::new([HELD.into()]);
        next.next_check = now + backoff::wait(next.attempts);
        // Whoever holds it may take long; that is no failure of the hostname.
        next.attempts = next.attempts.saturating_add(1).min(backoff::HOSTNAME_ATTEMPTS - 1);
        return;
    }
    if next.status == HostnameStatus::Blocked {
        set_status(next, HostnameStatus::Pending, now);
        next.attempts = 0;
    }
    let is_proven = seen.is_proven();
    let has_origin = seen.fallback == FallbackState::Active
        || next.origin.as_ref().is_some_and(|origin| origin.server.is_some());
    if is_proven && has_origin {
        set_status(next, HostnameStatus::Active, now);
        next.has_pointed_here = seen.points_here() == Some(true);
        next.attempts = 0;
        next.verification_errors = Box::default();
        next.next_check = now + RECHECK;
        return;
    }
    next.verification_errors = errors(seen, is_proven, has_origin);
    next.attempts += 1;
    if next.attempts >= backoff::HOSTNAME_ATTEMPTS {
        become_moved(next, now);
    } else {
        next.next_check = now + backoff::wait(next.attempts - 1);
    }
}

/// Another zone has verified the same name later: the last one has it.
pub fn superseded(known: &CustomHostname, now: u64) -> CustomHostname {
    let mut next = known.clone();
    become_moved(&mut next, now);
    next.verification_errors = Box::new([NOT_HERE.into()]);
    next
}

/// Verification begins again, as a client asks for it.
pub fn restarted(known: &CustomHostname, now: u64) -> CustomHostname {
    let mut next = known.clone();
    let status =
        if known.status.is_served() { HostnameStatus::ActiveRedeploying } else { HostnameStatus::Pending };
    set_status(&mut next, status, now);
    next.attempts = 0;
    next.next_check = now;
    next
}

fn become_moved(next: &mut CustomHostname, now: u64) {
    set_status(next, HostnameStatus::Moved, now);
    next.attempts = 0;
    next.has_pointed_here = false;
    next.next_check = now + MOVED_RETENTION;
}

fn set_status(next: &mut CustomHostname, status: HostnameStatus, now: u64) {
    if next.status != status {
        next.status = status;
        next.since = now;
    }
}

const NOT_HERE: &str = "custom hostname does not CNAME to this zone.";
const HELD: &str = "The hostname is associated with a held zone. Please contact the owner of this domain to have the \
                    hold removed.";

/// Why a hostname is not active, in the words that clients know.
fn errors(seen: &Seen, is_proven: bool, has_origin: bool) -> Box<[Box<str>]> {
    let mut errors: Vec<Box<str>> = Vec::new();
    if !is_proven {
        let has_other_proof = seen.has_text || seen.has_page || seen.has_own_addresses == Some(true);
        if seen.is_in_zone && has_other_proof {
            errors.push(
                "The hostname is in a zone of this service and cannot be activated with an TXT or HTTP validation \
                 token; its DNS record must lead to this zone."
                    .into(),
            );
        } else if seen.is_served_elsewhere && seen.has_own_addresses == Some(true) {
            errors.push(
                "The hostname is served by another zone; it needs an alias of this zone, or the pre-generated ownership \
                 validation token."
                    .into(),
            );
        } else if seen.has_addresses {
            errors.push(
                "None of the A or AAAA records are owned by this account and the pre-generated ownership validation \
                 token was not found."
                    .into(),
            );
        } else if seen.points_here().is_none() {
            errors.push("The DNS records of the hostname could not be looked up; it is tried again.".into());
        } else {
            errors.push(NOT_HERE.into());
        }
    }
    if !has_origin {
        errors.push(match seen.fallback {
            FallbackState::WithoutRecord => "Fallback origin is in a status of `pending_deployment`.".into(),
            FallbackState::Missing | FallbackState::Active => {
                "Zone does not have a fallback origin set.".into()
            }
        });
    }
    errors.into()
}

#[cfg(test)]
mod tests;
