//! Puzzles: so many hashes of a kind are asked for that finding them takes a browser a moment.

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::clearance::SKEW;
use crate::keys::{Purpose, TAG_BYTES};
use crate::{ChallengeKeys, ChallengeLevel, Clearance, ClearanceScope, Visitor, from_text, to_text};

const VERSION: u8 = 1;
/// Version, level, bits, whether a click is asked for, when it was issued, scope, chance.
const HEAD_BYTES: usize = 4 + 8 + 16 + 8;
const BYTES: usize = HEAD_BYTES + TAG_BYTES;
/// Hashes that a solution has. Many easy ones take about the same time for everyone, one hard one does not.
const HASHES: usize = 16;
/// How long a puzzle may take: a visitor may be away when it comes.
const LIFETIME: Duration = Duration::from_mins(10);
/// Longest solution, in bytes: the puzzle, and a number of ten digits with a sign before it for each hash.
pub const MAX_SOLUTION_BYTES: usize = BYTES * 2 + HASHES * 11;

/// What a puzzle asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Bits with which each hash begins that are 0: 1 to 24. Each more doubles the time.
    pub bits: u8,
    /// Whether the page waits for a click. A browser does; a program may say it did.
    pub click: bool,
}

/// A puzzle, or one that was solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Puzzle {
    pub level: ChallengeLevel,
    pub effort: Effort,
    /// Since the Unix epoch.
    pub issued: Duration,
    pub scope: ClearanceScope,
}

/// Why a solution is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolutionRefusal {
    /// It is not of the form of solutions, or its puzzle is not ours or for someone else.
    Foreign,
    Expired,
    /// Its hashes are not what was asked for.
    Wrong,
}

impl Puzzle {
    /// The puzzle as text, for a visitor alone.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn issue(&self, keys: &ChallengeKeys, visitor: &Visitor<'_>) -> Result<String, getrandom::Error> {
        let mut chance = [0; 8];
        getrandom::fill(&mut chance)?;
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend([VERSION, self.level.byte(), self.effort.bits, u8::from(self.effort.click)]);
        bytes.extend(self.issued.as_secs().to_be_bytes());
        bytes.extend(self.scope.bytes());
        bytes.extend(chance);
        let tag = keys.tag(Purpose::Puzzle, self.issued, &parts(&bytes, visitor, &visitor.network()));
        bytes.extend(tag);
        Ok(to_text(&bytes))
    }

    /// Reads a solution: the puzzle, a dot, and numbers with commas between them.
    ///
    /// # Errors
    /// If it is none of a puzzle that holds now for this visitor.
    pub fn solved(
        solution: &[u8],
        keys: &ChallengeKeys,
        visitor: &Visitor<'_>,
        now: Duration,
    ) -> Result<Self, SolutionRefusal> {
        let (bytes, numbers) = split(solution).ok_or(SolutionRefusal::Foreign)?;
        let puzzle = read(&bytes, keys, visitor).ok_or(SolutionRefusal::Foreign)?;
        if puzzle.issued > now + SKEW || puzzle.issued + LIFETIME <= now {
            return Err(SolutionRefusal::Expired);
        }
        let seed = Sha256::digest(bytes);
        let is_right = |(nth, number): (usize, &u32)| {
            // INVARIANT: there are fewer hashes than fit 32 bits.
            zeros(&seed, u32::try_from(nth).unwrap_or(u32::MAX), *number) >= u32::from(puzzle.effort.bits)
        };
        if numbers.iter().enumerate().all(is_right) { Ok(puzzle) } else { Err(SolutionRefusal::Wrong) }
    }

    /// What a solution is worth: the same for each time that it comes, so that sending it again gains nothing.
    pub fn clearance(&self, lasts: Duration) -> Clearance {
        Clearance { level: self.level, issued: self.issued, expires: self.issued + lasts }
    }

    /// The numbers that solve a puzzle, as its page finds them; for tests and tools. `None` if the text is no puzzle.
    pub fn solve(puzzle: &str) -> Option<String> {
        let bytes: [u8; BYTES] = from_text(puzzle.as_bytes())?;
        let [_, _, bits, ..] = bytes;
        let seed = Sha256::digest(bytes);
        let number = |nth| (0..=u32::MAX).find(|number| zeros(&seed, nth, *number) >= u32::from(bits));
        let numbers: Option<Vec<u32>> = (0..).take(HASHES).map(number).collect();
        let numbers: Vec<String> = numbers?.iter().map(u32::to_string).collect();
        Some(format!("{puzzle}.{}", numbers.join(",")))
    }
}

/// Zero bits at the beginning of a hash.
fn zeros(seed: &[u8], nth: u32, number: u32) -> u32 {
    let mut hash = Sha256::new();
    hash.update(seed);
    hash.update(nth.to_be_bytes());
    hash.update(number.to_be_bytes());
    // INVARIANT: a hash has 32 bytes.
    hash.finalize().first_chunk::<4>().map_or(0, |word| u32::from_be_bytes(*word).leading_zeros())
}

fn split(solution: &[u8]) -> Option<([u8; BYTES], [u32; HASHES])> {
    if solution.len() > MAX_SOLUTION_BYTES {
        return None;
    }
    let (puzzle, numbers) = std::str::from_utf8(solution).ok()?.split_once('.')?;
    let bytes = from_text(puzzle.as_bytes())?;
    let mut found = [0; HASHES];
    let mut numbers = numbers.split(',');
    for slot in &mut found {
        // `parse` takes a sign, and is not asked for what no page writes.
        let number = numbers.next().filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))?;
        *slot = number.parse().ok()?;
    }
    numbers.next().is_none().then_some((bytes, found))
}

fn read(bytes: &[u8; BYTES], keys: &ChallengeKeys, visitor: &Visitor<'_>) -> Option<Puzzle> {
    let (head, tag) = bytes.split_last_chunk::<TAG_BYTES>()?;
    let [VERSION, level, bits, click, rest @ ..] = head else { return None };
    let (issued, rest) = rest.split_first_chunk::<8>()?;
    let (scope, _) = rest.split_first_chunk::<16>()?;
    let puzzle = Puzzle {
        level: ChallengeLevel::of_byte(*level)?,
        effort: Effort { bits: *bits, click: *click == 1 },
        issued: Duration::from_secs(u64::from_be_bytes(*issued)),
        scope: ClearanceScope::of_bytes(*scope),
    };
    let network = visitor.network();
    let verifies = keys.verifies(Purpose::Puzzle, puzzle.issued, &parts(head, visitor, &network), tag);
    verifies.then_some(puzzle)
}

fn parts<'p>(head: &'p [u8], visitor: &'p Visitor<'_>, network: &'p [u8; 16]) -> [&'p [u8]; 4] {
    [head, visitor.zone.as_bytes(), network, visitor.user_agent]
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

    fn puzzle() -> Puzzle {
        let effort = Effort { bits: 6, click: false };
        Puzzle {
            level: ChallengeLevel::Managed,
            effort,
            issued: NOW,
            scope: ClearanceScope::request(b"GET", b"/"),
        }
    }

    #[test]
    fn a_solution_is_of_its_puzzle_its_visitor_and_its_time_alone() {
        let solution = Puzzle::solve(&puzzle().issue(&keys(), &VISITOR).unwrap()).unwrap();
        assert!(solution.len() <= MAX_SOLUTION_BYTES);
        let solved = |solution: &str, visitor: &Visitor<'_>, now| {
            Puzzle::solved(solution.as_bytes(), &keys(), visitor, now)
        };
        assert_eq!(solved(&solution, &VISITOR, NOW), Ok(puzzle()));
        let last = NOW + LIFETIME - Duration::from_secs(1);
        let lasts = Duration::from_mins(30);
        let again = solved(&solution, &VISITOR, last).unwrap();
        assert_eq!(again.clearance(lasts), puzzle().clearance(lasts), "sent again it is worth no more");
        assert_eq!(solved(&solution, &VISITOR, NOW + LIFETIME), Err(SolutionRefusal::Expired));
        assert_eq!(solved(&solution, &VISITOR, NOW - Duration::from_secs(61)), Err(SolutionRefusal::Expired));
        for visitor in [
            Visitor { zone: "y", ..VISITOR },
            Visitor { address: "198.51.100.7".parse().unwrap(), ..VISITOR },
            Visitor { user_agent: b"other", ..VISITOR },
        ] {
            assert_eq!(solved(&solution, &visitor, NOW), Err(SolutionRefusal::Foreign));
        }
        // The numbers of one puzzle solve no other.
        let other = puzzle().issue(&keys(), &VISITOR).unwrap();
        let (_, numbers) = solution.split_once('.').unwrap();
        assert_eq!(solved(&format!("{other}.{numbers}"), &VISITOR, NOW), Err(SolutionRefusal::Wrong));
        let foreign = ChallengeKeys::of_secret([2; 32]);
        assert_eq!(
            Puzzle::solved(solution.as_bytes(), &foreign, &VISITOR, NOW),
            Err(SolutionRefusal::Foreign)
        );
    }

    #[test]
    fn what_is_not_of_the_form_is_no_solution() {
        let text = puzzle().issue(&keys(), &VISITOR).unwrap();
        let solution = Puzzle::solve(&text).unwrap();
        let (_, numbers) = solution.split_once('.').unwrap();
        let fewer = numbers.rsplit_once(',').unwrap().0;
        for wrong in [
            String::new(),
            ".".to_owned(),
            text.clone(),
            format!("{text}."),
            format!("{text}.{fewer}"),
            format!("{text}.{numbers},0"),
            format!("{text}.{fewer},"),
            format!("{text}.{fewer},+1"),
            format!("{text}.{fewer},-1"),
            format!("{text}.{fewer}, 1"),
            format!("{text}.{fewer},4294967296"),
            format!("{text}.{fewer},{}", "9".repeat(100_000)),
            format!("{}.{numbers}", &text[1..]),
            format!("é{solution}"),
        ] {
            let solved = Puzzle::solved(wrong.as_bytes(), &keys(), &VISITOR, NOW);
            assert_eq!(solved, Err(SolutionRefusal::Foreign), "{wrong:?}");
        }
        // An easier puzzle cannot be made of one.
        for at in 0..text.len() {
            let mut changed = solution.clone().into_bytes();
            changed[at] = if changed[at] == b'a' { b'b' } else { b'a' };
            assert!(Puzzle::solved(&changed, &keys(), &VISITOR, NOW).is_err(), "{at}");
        }
    }
}
