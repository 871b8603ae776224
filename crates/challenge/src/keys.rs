//! Keys of puzzles and clearances.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

/// Bytes of a keyed hash in a text.
pub(crate) const TAG_BYTES: usize = 16;

/// How long a key signs: a day. What it signed is read for as long as that holds, with the same key.
const EPOCH_SECONDS: u64 = 86_400;

/// Secrets that puzzles and clearances are signed with: the first signs, all are read. Of each a key is derived anew for
/// every day, so that nodes with the same secrets change keys together and without a word.
#[derive(Clone)]
pub struct ChallengeKeys(Vec<Zeroizing<[u8; 32]>>);

/// What a key signs, so that no text passes for one of another kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Puzzle,
    Clearance,
}

impl ChallengeKeys {
    /// Keys of one secret.
    pub fn of_secret(secret: [u8; 32]) -> Self {
        Self(vec![Zeroizing::new(secret)])
    }

    /// Reads secrets of 64 hex digits, one a line; the first one signs.
    ///
    /// # Errors
    /// One sentence that shows the form, if a line is no such secret or there is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = || "expected lines of 64 hex digits, as `openssl rand -hex 32` prints them".to_owned();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let secrets: Option<Vec<_>> = lines.map(secret).collect();
        secrets.filter(|secrets| !secrets.is_empty()).map(Self).ok_or_else(expected)
    }

    /// The hash of parts under the first secret, as of a time.
    pub(crate) fn tag(&self, purpose: Purpose, issued: Duration, parts: &[&[u8]]) -> [u8; TAG_BYTES] {
        let tag = self.0.first().and_then(|secret| {
            let bytes = hash(secret, purpose, issued, parts)?.finalize().into_bytes();
            bytes.first_chunk().copied()
        });
        // INVARIANT: there is a secret, and a hash is longer than a tag.
        tag.unwrap_or_default()
    }

    /// Whether a tag is that of these parts under any of the secrets.
    pub(crate) fn verifies(
        &self,
        purpose: Purpose,
        issued: Duration,
        parts: &[&[u8]],
        tag: &[u8; TAG_BYTES],
    ) -> bool {
        self.0.iter().any(|secret| {
            hash(secret, purpose, issued, parts).is_some_and(|hash| hash.verify_truncated_left(tag).is_ok())
        })
    }
}

impl std::fmt::Debug for ChallengeKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ChallengeKeys({})", self.0.len())
    }
}

fn secret(line: &str) -> Option<Zeroizing<[u8; 32]>> {
    let mut bytes = Zeroizing::new([0; 32]);
    if line.len() != 64 || !line.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(line.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// Each part stands behind its length, so that no two lists of parts are one text.
fn hash(secret: &[u8; 32], purpose: Purpose, issued: Duration, parts: &[&[u8]]) -> Option<Hmac<Sha256>> {
    // INVARIANT: a key of any length is taken.
    let mut of_day = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    of_day.update(match purpose {
        Purpose::Puzzle => b"puzzle",
        Purpose::Clearance => b"clearance",
    });
    of_day.update(&(issued.as_secs() / EPOCH_SECONDS).to_be_bytes());
    let mut hash = Hmac::<Sha256>::new_from_slice(&of_day.finalize().into_bytes()).ok()?;
    for part in parts {
        hash.update(&(part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    #[test]
    fn keys_are_read_line_by_line_and_any_of_them_verifies() {
        let (old, new) = ("0a".repeat(32), "0B".repeat(32));
        let keys = |text: &str| ChallengeKeys::parse(text).unwrap();
        let tag = keys(&old).tag(Purpose::Puzzle, NOW, &[b"a"]);
        let verifies = |keys: &ChallengeKeys, issued| keys.verifies(Purpose::Puzzle, issued, &[b"a"], &tag);
        assert!(verifies(&keys(&format!("\n{new}\r\n {old}\n")), NOW), "what the key before signed is read");
        assert!(!verifies(&keys(&new), NOW));
        assert_ne!(keys(&format!("{new}\n{old}")).tag(Purpose::Puzzle, NOW, &[b"a"]), tag, "the first signs");
        let day = Duration::from_secs(EPOCH_SECONDS);
        assert!(!verifies(&keys(&old), NOW + day) && !verifies(&keys(&old), NOW - day));
        for wrong in
            ["", "\n", "0a", &old[1..], &format!("{old}{old}"), &format!("{old}\nx"), &"é".repeat(32)]
        {
            assert!(ChallengeKeys::parse(wrong).unwrap_err().contains("64 hex digits"), "{wrong:?}");
        }
        assert!(!format!("{:?}", keys(&old)).contains("0a"));
    }

    #[test]
    fn no_text_passes_for_another() {
        let keys = ChallengeKeys::of_secret([7; 32]);
        let tag = keys.tag(Purpose::Puzzle, NOW, &[b"ab", b"c"]);
        assert!(keys.verifies(Purpose::Puzzle, NOW, &[b"ab", b"c"], &tag));
        for (purpose, parts) in [
            (Purpose::Clearance, &[&b"ab"[..], b"c"][..]),
            (Purpose::Puzzle, &[b"a", b"bc"]),
            (Purpose::Puzzle, &[b"abc"]),
            (Purpose::Puzzle, &[b"ab", b"c", b""]),
        ] {
            assert!(!keys.verifies(purpose, NOW, parts, &tag), "{purpose:?} {parts:?}");
        }
    }
}
