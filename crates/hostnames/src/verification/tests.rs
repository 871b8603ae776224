//! Each state by each thing that can be seen, and the way of many hostnames against a small model.

use model::{HostnameId, ZoneId};
use uuid::Uuid;

use super::*;

const NOW: u64 = 1_800_000_000;

fn hostname(status: HostnameStatus) -> CustomHostname {
    CustomHostname {
        id: HostnameId(Uuid::from_u128(1)),
        zone: ZoneId::new("zone"),
        hostname: "shop.customer.dev".into(),
        is_wildcard: false,
        status,
        since: NOW - 100,
        attempts: 3,
        next_check: NOW,
        has_pointed_here: status.is_served(),
        verification_errors: Box::default(),
        ownership_token: Uuid::from_u128(2),
        origin: None,
        metadata: None,
        pack: None,
        created_on: "2027-01-15T08:00:00.000000Z".into(),
    }
}

const NOTHING: Seen = Seen {
    has_alias_here: Some(false),
    has_own_addresses: Some(false),
    has_addresses: false,
    has_text: false,
    has_page: false,
    is_held: false,
    is_in_zone: false,
    is_served_elsewhere: false,
    fallback: FallbackState::Active,
};
const POINTS: Seen = Seen { has_alias_here: Some(true), ..NOTHING };
const ADDRESSES: Seen = Seen { has_own_addresses: Some(true), ..NOTHING };

#[test]
fn each_state_goes_where_it_should() {
    use HostnameStatus::{Active, ActiveRedeploying, Blocked, Moved, Pending};
    let unknown = Seen { has_alias_here: None, has_own_addresses: None, ..NOTHING };
    let (text, page) = (Seen { has_text: true, ..NOTHING }, Seen { has_page: true, ..NOTHING });
    let mut ran = 0;
    for (from, seen, to) in [
        (Pending, NOTHING, Pending),
        (Pending, POINTS, Active),
        (Pending, text, Active),
        (Pending, page, Active),
        (Pending, unknown, Pending),
        (Pending, Seen { is_in_zone: true, ..text }, Pending),
        (Pending, Seen { is_in_zone: true, ..POINTS }, Active),
        (Pending, ADDRESSES, Active),
        (Pending, Seen { is_in_zone: true, ..ADDRESSES }, Pending),
        (Pending, Seen { is_served_elsewhere: true, ..ADDRESSES }, Pending),
        (Pending, Seen { is_served_elsewhere: true, ..text }, Active),
        (Pending, Seen { is_served_elsewhere: true, ..POINTS }, Active),
        (Active, Seen { is_served_elsewhere: true, ..ADDRESSES }, Active),
        (Pending, Seen { fallback: FallbackState::Missing, ..POINTS }, Pending),
        (Pending, Seen { fallback: FallbackState::WithoutRecord, ..POINTS }, Pending),
        (Pending, Seen { is_held: true, ..POINTS }, Blocked),
        (Blocked, Seen { is_held: true, ..POINTS }, Blocked),
        (Blocked, POINTS, Active),
        (Blocked, NOTHING, Pending),
        (Active, POINTS, Active),
        (Active, NOTHING, Moved),
        (Active, unknown, Active),
        (Active, Seen { is_held: true, ..POINTS }, Active),
        (ActiveRedeploying, POINTS, Active),
        (ActiveRedeploying, NOTHING, Moved),
        (Moved, POINTS, Moved),
        (Moved, NOTHING, Moved),
    ] {
        let next = after_check(&hostname(from), &seen, NOW).hostname().unwrap();
        assert_eq!(next.status, to, "{from:?} {seen:?}");
        assert!(next.next_check > NOW, "{from:?} {seen:?}");
        assert_eq!(next.since, if from == to { NOW - 100 } else { NOW }, "{from:?} {seen:?}");
        assert_eq!(next.verification_errors.is_empty(), to.is_served() || from == Moved, "{from:?} {seen:?}");
        ran += 1;
    }
    assert_eq!(ran, 27);
}

#[test]
fn one_that_was_proven_by_a_token_alone_does_not_move() {
    let proven = after_check(&hostname(HostnameStatus::Pending), &Seen { has_text: true, ..NOTHING }, NOW);
    let proven = proven.hostname().unwrap();
    let later = after_check(&proven, &NOTHING, NOW + RECHECK).hostname().unwrap();
    assert_eq!(later.status, HostnameStatus::Active);
    let here = after_check(&later, &POINTS, NOW + 2 * RECHECK).hostname().unwrap();
    let gone = after_check(&here, &NOTHING, NOW + 3 * RECHECK).hostname().unwrap();
    assert_eq!(gone.status, HostnameStatus::Moved);
}

#[test]
fn attempts_end_after_seven_days_and_moved_ones_after_seven_more() {
    let mut known = CustomHostname { attempts: 0, ..hostname(HostnameStatus::Pending) };
    let (mut now, mut checks) = (NOW, 0);
    while known.status == HostnameStatus::Pending {
        known = after_check(&known, &NOTHING, now).hostname().unwrap();
        now = known.next_check;
        checks += 1;
    }
    assert_eq!((checks, known.status), (75, HostnameStatus::Moved));
    let days = (known.since - NOW) / 86_400;
    assert!((6..8).contains(&days), "{days}");
    assert_eq!(known.next_check, known.since + MOVED_RETENTION);
    assert!(after_check(&known, &POINTS, known.next_check - 1).hostname().is_some());
    assert_eq!(after_check(&known, &POINTS, known.next_check), Outcome::Deleted);
    let again = restarted(&known, now);
    assert_eq!((again.status, again.attempts, again.next_check), (HostnameStatus::Pending, 0, now));
    let active = after_check(&again, &POINTS, now).hostname().unwrap();
    assert_eq!(active.status, HostnameStatus::Active);
    assert_eq!(restarted(&active, now).status, HostnameStatus::ActiveRedeploying);
    assert_eq!(superseded(&active, now).status, HostnameStatus::Moved);
}

#[test]
fn the_errors_say_what_is_missing() {
    let says = |seen: Seen| {
        let next = after_check(&hostname(HostnameStatus::Pending), &seen, NOW).hostname().unwrap();
        next.verification_errors.join(" ")
    };
    assert_eq!(says(NOTHING), "custom hostname does not CNAME to this zone.");
    let none = Seen { fallback: FallbackState::Missing, ..NOTHING };
    assert_eq!(
        says(none),
        "custom hostname does not CNAME to this zone. Zone does not have a fallback origin set."
    );
    assert!(says(Seen { has_addresses: true, ..NOTHING }).starts_with("None of the A or AAAA records"));
    assert!(says(Seen { is_held: true, ..NOTHING }).contains("held zone"));
    assert!(says(Seen { has_alias_here: None, ..NOTHING }).contains("could not be looked up"));
    let own = hostname(HostnameStatus::Pending);
    let with_origin = CustomHostname {
        origin: Some(Box::new(model::custom_hostname::HostnameOrigin {
            server: Some("o.example.com".into()),
            sni: None,
        })),
        ..own
    };
    let seen = Seen { fallback: FallbackState::Missing, ..POINTS };
    let next = after_check(&with_origin, &seen, NOW).hostname().unwrap();
    assert_eq!(next.status, HostnameStatus::Active, "an origin of its own needs no other");
}
