//! `[challenges]`: settings within bounds, keys read.

use std::time::Duration;

use super::Resolving;
use crate::conf::ChallengeSettings;
use crate::conf::challenge_file::ChallengesFile;
use crate::named_file::read_text;
use challenge::ChallengeKeys;

/// How short and how long a clearance may be.
const CLEARANCE: std::ops::RangeInclusive<Duration> = Duration::from_mins(15)..=Duration::from_hours(24);

impl Resolving<'_> {
    pub(super) fn challenges(&mut self, file: ChallengesFile) -> ChallengeSettings {
        let mut settings = ChallengeSettings::default();
        settings.bits = u8::try_from(file.difficulty).unwrap_or(settings.bits);
        if let Some(clearance) = file.clearance {
            match CLEARANCE.contains(&clearance.value) {
                true => settings.clearance = clearance.value,
                false => self.bad(&clearance.place, "`challenges.clearance` takes 15m to 24h"),
            }
        }
        settings.keys = file.key_file.and_then(|file| {
            let path = self.existing(&file);
            let text = zeroize::Zeroizing::new(read_text(&path).ok()?);
            let parsed = ChallengeKeys::parse(&text);
            parsed.map_err(|message| self.bad(&file.place, format!("`challenges.key_file`: {message}"))).ok()
        });
        settings
    }
}
