//! Challenges for browsers: a puzzle that costs its solver time, and a clearance for who solved it.
//!
//! ```text
//! request ─► Puzzle::issue ─► page ─► browser solves ─► Puzzle::solved ─► Clearance::issue ─► cookie ─► Clearance::read
//! ```
//!
//! Nothing is kept here: puzzle and clearance are texts with a keyed hash, bound to a [`Visitor`] and a [`ClearanceScope`]. A
//! solution that is sent twice makes the same clearance twice, with the same end, so that it is worth one solution. Nodes
//! with the same keys take each other's texts.

mod clearance;
mod keys;
mod level;
mod page;
mod puzzle;
mod visitor;

pub use clearance::Clearance;
pub use keys::ChallengeKeys;
pub use level::ChallengeLevel;
pub use page::{ChallengePage, FormBody, RenderedPage};
pub use puzzle::{Effort, MAX_SOLUTION_BYTES, Puzzle, SolutionRefusal};
pub use visitor::{ClearanceScope, Visitor};

/// Bytes as lower-case hex digits: rules that look for encoded attacks in cookies take no notice of them.
fn to_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of such a text; `None` if it is none, or not of that many bytes.
fn from_text<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let (pairs, []) = text.as_chunks::<2>() else { return None };
    if pairs.len() != N {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}
