#![no_main]
//! Any text is read as a clearance, a solution and a key file; no text that was not issued holds, and one that was does.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use challenge::{ChallengeKeys, ChallengeLevel, Clearance, ClearanceScope, Puzzle, Visitor};
use libfuzzer_sys::fuzz_target;

const NOW: Duration = Duration::from_secs(1_800_000_000);

fuzz_target!(|input: (&[u8], &str, &[u8])| {
    let (text, zone, user_agent) = input;
    let keys = ChallengeKeys::of_secret([1; 32]);
    let visitor = Visitor { zone, address: IpAddr::V4(Ipv4Addr::LOCALHOST), user_agent };
    let expires = NOW + Duration::from_secs(1);
    let clearance = Clearance { level: ChallengeLevel::Managed, issued: NOW, expires };
    let issued = clearance.issue(&keys, &visitor, ClearanceScope::ZONE);
    let read = |text| Clearance::read(text, &keys, &visitor, ClearanceScope::ZONE, NOW);
    assert_eq!(read(issued.as_bytes()), Some(clearance));
    assert_eq!(read(text).is_some(), text == issued.as_bytes());
    assert!(Puzzle::solved(text, &keys, &visitor, NOW).is_err());
    if let Ok(text) = std::str::from_utf8(text) {
        let _ = (ChallengeKeys::parse(text), Puzzle::solve(text.get(..1).unwrap_or("")));
    }
});
