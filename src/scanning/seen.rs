//! What was scanned and reported already: a clean body need not be looked at again wherever it is served, a
//! leaking one is scanned once for each path, and the same finding is reported once in a while.

use std::sync::Arc;
use std::time::Duration;

use super::recent::Recent;
use super::report::Subject;
use detection::ScanPlan;
use detection::mac::{Digest, Mac};
use detection::plan::Found;

/// How long the same finding on the same path is counted and not reported again.
const WINDOW: Duration = Duration::from_mins(10);

/// What is remembered of bodies and findings.
#[derive(Debug)]
pub struct Seen {
    mac: Mac,
    bodies: Recent<Scanned>,
    told: Recent<Telling>,
}

/// A body as it was scanned.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// Since the Unix epoch.
    at: Duration,
    /// The rules that found something, each with how often.
    pub found: Arc<[(String, usize)]>,
}

/// A finding as it was reported. Times are since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telling {
    pub first: Duration,
    /// Made so often, and before this time last at `last`.
    pub count: u64,
    pub last: Duration,
    told: Duration,
}

impl Seen {
    pub fn new(mac: Mac) -> Self {
        Self { mac, bodies: Recent::default(), told: Recent::default() }
    }

    pub fn mac(&self) -> &Mac {
        &self.mac
    }

    /// The hash of a body and what it is scanned for.
    pub fn digest(&self, plan: &ScanPlan, body: &[u8]) -> Digest {
        let enabled: Vec<u8> = plan.enabled.iter().map(|enabled| u8::from(*enabled)).collect();
        self.mac.digest([&plan.detector.number().to_le_bytes()[..], &enabled, body])
    }

    /// The hash of a body that came from a path.
    pub fn at_path(&self, digest: &Digest, subject: &Subject) -> Digest {
        let Subject { zone_id, account_id, host, path, .. } = subject;
        let parts = [zone_id, account_id, host, path].map(|part| part.as_bytes());
        self.mac.digest(std::iter::once(&digest[..]).chain(parts))
    }

    /// How this body was scanned last, if that is known.
    pub fn scanned(&self, digest: &Digest) -> Option<Scanned> {
        self.bodies.get(digest)
    }

    /// The same if that is a short while ago.
    pub fn scanned_lately(&self, digest: &Digest, now: Duration) -> Option<Scanned> {
        self.scanned(digest).filter(|scanned| now < scanned.at + WINDOW)
    }

    pub fn remember(&self, digest: Digest, found: &[Found<'_>], now: Duration) {
        let found = found.iter().map(|found| (found.rule.id.clone(), found.count)).collect();
        let scanned = Scanned { at: now, found };
        self.bodies.update(digest, || scanned.clone(), |known| *known = scanned.clone());
    }

    /// What is to be reported of a finding made now; `None` if the same was reported for this path a short while
    /// ago.
    pub fn telling(&self, found: &Found<'_>, subject: &Subject, now: Duration) -> Option<Telling> {
        let values = found.values.as_ref()?;
        let rule = self.mac.digest([&values[..], found.rule.id.as_bytes()]);
        let new = || Telling { first: now, count: 0, last: now, told: Duration::ZERO };
        self.told.update(self.at_path(&rule, subject), new, |telling| {
            telling.count += 1;
            let is_due = telling.told.is_zero() || now >= telling.told + WINDOW;
            let tell = is_due.then_some(*telling);
            telling.last = now;
            if is_due {
                telling.told = now;
            }
            tell
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use detection::plan::Settings;

    fn plan(count: usize) -> ScanPlan {
        let detector = Arc::new(crate::rules::sensitive(None).0);
        ScanPlan { enabled: vec![true; count].into(), detector, settings: Settings::default() }
    }

    fn subject(path: &str) -> Subject {
        Subject { host: "h".to_owned(), zone_id: "z".to_owned(), ..Subject::of_call("a", "r", path) }
    }

    #[test]
    fn a_body_is_known_by_itself_its_plan_and_its_path() {
        let (one, other) = (plan(3), plan(4));
        let seen = Seen::new(Mac::new([1; 32]));
        let digest = seen.digest(&one, b"body");
        let now = Duration::from_secs(1_000);
        assert!(seen.scanned(&digest).is_none());
        seen.remember(digest, &[], now);
        assert!(seen.scanned(&digest).is_some_and(|scanned| scanned.at == now));
        assert!(seen.scanned_lately(&digest, now + WINDOW / 2).is_some());
        assert!(seen.scanned_lately(&digest, now + WINDOW).is_none());
        for different in [
            seen.digest(&one, b"Body"),
            seen.digest(&other, b"body"),
            seen.digest(&plan(3), b"body"),
            seen.at_path(&digest, &subject("/a")),
            Seen::new(Mac::new([2; 32])).digest(&one, b"body"),
        ] {
            assert!(seen.scanned(&different).is_none());
        }
    }

    #[test]
    fn the_same_finding_is_told_again_only_after_a_while() {
        let seen = Seen::new(Mac::new([1; 32]));
        let plan = plan(1_000);
        let card = ["4111", "1111", "1111", "1111"];
        let other = ["5500", "0000", "0000", "0004"];
        let tell = |body: &str, path: &str, at: u64| {
            let findings = plan.scan(body.as_bytes(), "r", Some(seen.mac()));
            let card = findings.found.iter().find(|found| found.rule.id == "financial.credit_card").unwrap();
            let telling = seen.telling(card, &subject(path), Duration::from_secs(at));
            telling.map(|telling| (telling.first.as_secs(), telling.last.as_secs(), telling.count))
        };
        let (spaced, hyphened) = (card.join(" "), card.join("-"));
        assert_eq!(tell(&spaced, "/a", 1_000), Some((1_000, 1_000, 1)));
        // However it is written, and whatever stands about it.
        assert_eq!(tell(&format!("card: {hyphened}."), "/a", 1_010), None);
        assert_eq!(tell(&format!("{spaced} {hyphened}"), "/a", 1_020), None);
        assert_eq!(tell(&spaced, "/b", 1_030), Some((1_030, 1_030, 1)));
        assert_eq!(tell(&other.join(" "), "/a", 1_040), Some((1_040, 1_040, 1)));
        assert_eq!(tell(&format!("{spaced} {}", other.join(" ")), "/a", 1_050), Some((1_050, 1_050, 1)));
        assert_eq!(tell(&spaced, "/a", 1_600), Some((1_000, 1_020, 4)));
        assert_eq!(tell(&spaced, "/a", 1_700), None);
    }
}
