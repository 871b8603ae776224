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
    /// Whether it leads to its zone, or to this edge; `None` if nobody could say.
    pub points_here: Option<bool>,
    /// Whether it has addresses rather than an alias.
    pub has_addresses: bool,
    /// Whether its TXT record has the token.
    pub has_text: bool,
    /// Whether its web server answers with the token.
    pub has_page: bool,
    /// Whether somebody else holds the zone above it.
    pub is_held: bool,
    /// Whether a zone of this server has it: then tokens alone prove nothing.
    pub is_in_zone: bool,
    pub fallback: FallbackState,
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
    let has_gone = seen.points_here == Some(false) && next.has_pointed_here;
    if has_gone {
        become_moved(next, now);
        next.verification_errors = Box::new([NOT_HERE.into()]);
        return;
    }
    next.has_pointed_here |= seen.points_here == Some(true);
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
    let points_here = seen.points_here == Some(true);
    let is_proven = points_here || (!seen.is_in_zone && (seen.has_text || seen.has_page));
    let has_origin = seen.fallback == FallbackState::Active
        || next.origin.as_ref().is_some_and(|origin| origin.server.is_some());
    if is_proven && has_origin {
        set_status(next, HostnameStatus::Active, now);
        next.has_pointed_here = points_here;
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
        if seen.is_in_zone && (seen.has_text || seen.has_page) {
            errors.push(
                "The hostname is in a zone of this service and cannot be activated with an TXT or HTTP validation \
                 token; its DNS record must lead to this zone."
                    .into(),
            );
        } else if seen.has_addresses {
            errors.push(
                "None of the A or AAAA records are owned by this account and the pre-generated ownership validation \
                 token was not found."
                    .into(),
            );
        } else if seen.points_here.is_none() {
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
