//! `[challenges]` as written.

use std::time::Duration;

use super::table::{Located, Table};

#[derive(Clone, Debug)]
pub struct ChallengesFile {
    pub difficulty: usize,
    pub clearance: Option<Located<Duration>>,
    pub key_file: Option<Located<String>>,
}

pub(super) fn challenges(root: &mut Table<'_>) -> ChallengesFile {
    let difficulty = usize::from(super::ChallengeSettings::default().bits);
    let Some(mut table) = root.table("challenges") else {
        return ChallengesFile { difficulty, clearance: None, key_file: None };
    };
    let file = ChallengesFile {
        difficulty: table.number("difficulty", difficulty, 1..=20),
        clearance: table.get("clearance"),
        key_file: table.get("key_file"),
    };
    table.finish();
    file
}
