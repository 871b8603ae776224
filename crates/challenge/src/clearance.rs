//! What a visitor has who solved a puzzle: a text that requests carry.

use std::time::Duration;

use crate::keys::{Purpose, TAG_BYTES};
use crate::{ChallengeKeys, ChallengeLevel, ClearanceScope, Visitor, from_text, to_text};

const VERSION: u8 = 1;
/// Version, level, when it was issued and when it ends in seconds, tag.
const BYTES: usize = 1 + 1 + 8 + 8 + TAG_BYTES;
/// How far clocks of nodes may be apart.
pub(crate) const SKEW: Duration = Duration::from_mins(1);

/// That a visitor solved a puzzle of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clearance {
    pub level: ChallengeLevel,
    /// Since the Unix epoch.
    pub issued: Duration,
    /// Since the Unix epoch.
    pub expires: Duration,
}

impl Clearance {
    /// The clearance as text, for who and what it is for alone.
    pub fn issue(&self, keys: &ChallengeKeys, visitor: &Visitor<'_>, scope: ClearanceScope) -> String {
        let mut bytes = self.head();
        bytes.extend(keys.tag(
            Purpose::Clearance,
            self.issued,
            &parts(&bytes, visitor, &visitor.network(), &scope),
        ));
        to_text(&bytes)
    }

    fn head(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend([VERSION, self.level.byte()]);
        bytes.extend(self.issued.as_secs().to_be_bytes());
        bytes.extend(self.expires.as_secs().to_be_bytes());
        bytes
    }

    /// Reads a clearance; `None` if it is none that holds now for this visitor and scope.
    pub fn read(
        text: &[u8],
        keys: &ChallengeKeys,
        visitor: &Visitor<'_>,
        scope: ClearanceScope,
        now: Duration,
    ) -> Option<Self> {
        let bytes: [u8; BYTES] = from_text(text)?;
        let (head, tag) = bytes.split_last_chunk::<TAG_BYTES>()?;
        let [VERSION, level, times @ ..] = head else { return None };
        let (issued, expires) = times.split_first_chunk::<8>()?;
        let clearance = Self {
            level: ChallengeLevel::of_byte(*level)?,
            issued: Duration::from_secs(u64::from_be_bytes(*issued)),
            expires: Duration::from_secs(u64::from_be_bytes(expires.try_into().ok()?)),
        };
        let holds = clearance.expires > now && clearance.issued <= now + SKEW;
        let network = visitor.network();
        let verifies = holds
            && keys.verifies(
                Purpose::Clearance,
                clearance.issued,
                &parts(head, visitor, &network, &scope),
                tag,
            );
        verifies.then_some(clearance)
    }
}

fn parts<'p>(
    head: &'p [u8],
    visitor: &'p Visitor<'_>,
    network: &'p [u8; 16],
    scope: &'p ClearanceScope,
) -> [&'p [u8]; 5] {
    [head, visitor.zone.as_bytes(), network, visitor.user_agent, scope.bytes()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_800_000_000);
    const VISITOR: Visitor<'static> = Visitor {
        zone: "z",
        address: std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7)),
        user_agent: b"ua",
    };

    fn keys() -> ChallengeKeys {
        ChallengeKeys::of_secret([1; 32])
    }

    fn clearance() -> Clearance {
        Clearance { level: ChallengeLevel::Managed, issued: NOW, expires: NOW + Duration::from_mins(30) }
    }

    #[test]
    fn a_clearance_holds_for_whom_and_what_it_was_issued_and_until_it_ends() {
        let text = clearance().issue(&keys(), &VISITOR, ClearanceScope::ZONE);
        let read = |keys: &ChallengeKeys, visitor: &Visitor<'_>, scope, now| {
            Clearance::read(text.as_bytes(), keys, visitor, scope, now)
        };
        assert_eq!(read(&keys(), &VISITOR, ClearanceScope::ZONE, NOW), Some(clearance()));
        let at = |seconds| NOW + Duration::from_secs(seconds);
        let neighbour = Visitor { address: "192.0.2.250".parse().unwrap(), ..VISITOR };
        assert!(read(&keys(), &neighbour, ClearanceScope::ZONE, at(1799)).is_some());
        let other_key = ChallengeKeys::of_secret([2; 32]);
        for (what, keys, visitor, scope, now) in [
            ("forged", other_key, VISITOR, ClearanceScope::ZONE, NOW),
            ("of another zone", keys(), Visitor { zone: "y", ..VISITOR }, ClearanceScope::ZONE, NOW),
            (
                "from another address",
                keys(),
                Visitor { address: "192.0.3.7".parse().unwrap(), ..VISITOR },
                ClearanceScope::ZONE,
                NOW,
            ),
            ("of another browser", keys(), Visitor { user_agent: b"", ..VISITOR }, ClearanceScope::ZONE, NOW),
            ("for something else", keys(), VISITOR, ClearanceScope::request(b"GET", b"/"), NOW),
            ("expired", keys(), VISITOR, ClearanceScope::ZONE, at(1800)),
            ("from the future", keys(), VISITOR, ClearanceScope::ZONE, NOW - Duration::from_secs(61)),
        ] {
            assert_eq!(read(&keys, &visitor, scope, now), None, "{what}");
        }
    }

    #[test]
    fn no_bit_of_a_clearance_can_be_changed_and_none_left_out() {
        let text = clearance().issue(&keys(), &VISITOR, ClearanceScope::ZONE);
        let read = |text: &[u8]| Clearance::read(text, &keys(), &VISITOR, ClearanceScope::ZONE, NOW);
        let mut tried = 0;
        for at in 0..text.len() {
            for byte in 0..=u8::MAX {
                let mut changed = text.clone().into_bytes();
                changed[at] = byte;
                assert_eq!(read(&changed).is_some(), changed == text.as_bytes(), "{at} {byte}");
                tried += 1;
            }
            assert!(read(&text.as_bytes()[..at]).is_none() && read(&text.as_bytes()[at + 1..]).is_none());
        }
        assert_eq!(tried, text.len() * 256);
        for wrong in [
            format!("{text}="),
            format!("{text}a"),
            format!("{text}00"),
            text.to_uppercase(),
            format!(" {text}"),
            "a".repeat(100_000),
        ] {
            assert!(read(wrong.as_bytes()).is_none(), "{wrong}");
        }
    }
}
