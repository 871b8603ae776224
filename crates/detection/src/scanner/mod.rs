//! The scanner: sensitive data in a text, in time linear in its length.
//!
//! ```text
//!          find                  narrow                        judge
//! body ──► one pass over ──────► families: which rules ──────► pattern in a bounded window, check digits,
//!   ▲      the bytes: places     may begin at a place          keyword before it, what stands around it
//!   │      by kind                                                │
//!   └── regions: escapes undone, scanned the same way             └──► tally: which findings are reported
//! ```
//! - `find` walks the body in chunks and lists places: numbers, tokens, `@` signs, pairs of hexadecimal digits, parts
//!   of literals. A place may be none: whatever it names is looked at again.
//! - `narrow` has a file for each family of rules, that is for each way in which a rule says where a value begins.
//! - `judge` applies one rule at one place. What a rule may look at there is bounded by its `max_bytes`.
//! - `escapes` undoes character references and escapes around places that may hide a value.
//!
//! `oracle` finds the same without any of this, rule by rule and byte by byte; tests compare the two.

mod detector;
#[cfg(test)]
mod differential;
mod eights;
pub(crate) mod escapes;
pub(crate) mod find;
pub(crate) mod judge;
pub(crate) mod narrow;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;

use std::cmp::Reverse;

use crate::confidence::Confidence;
pub use detector::Detector;
use find::{CHUNK_BYTES, Pass};
use judge::Judge;
use judge::tally;
use narrow::Narrow;

/// How far a scan goes on between two pauses; a multiple of a chunk.
const PAUSE_BYTES: usize = 4 * CHUNK_BYTES;

/// Something found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Detection {
    /// Bytes of the body.
    pub start: usize,
    pub end: usize,
    /// Index in the detector's rules.
    pub rule: usize,
    pub confidence: Confidence,
}

impl Detection {
    /// The order in which findings of one rule that overlap are reported: the first and longest.
    pub(super) fn longest_first(&self) -> (usize, usize, Reverse<usize>) {
        (self.start, self.rule, Reverse(self.end))
    }
}

/// What a scan found, and whether it ended before its time.
#[derive(Debug, Default)]
pub struct Scanned {
    /// Sorted by place. Findings of one rule do not overlap.
    pub detections: Vec<Detection>,
    /// The body asked for more work than a body may: some rules were not tried to its end.
    pub exhausted: bool,
}

impl Detector {
    /// Everything `enabled` rules find.
    pub fn scan(&self, body: &[u8], enabled: &dyn Fn(usize) -> bool) -> Scanned {
        self.scan_in_turns(body, enabled, &|| {})
    }

    /// The same; `pause` is called again and again, so that another thread that waits for the processor gets it.
    pub fn scan_in_turns(&self, body: &[u8], enabled: &dyn Fn(usize) -> bool, pause: &dyn Fn()) -> Scanned {
        let mut escapes = Vec::new();
        let judge = Judge::new(self, enabled, body);
        let mut scan =
            Scan { judge, pass: Pass::default(), narrow: Narrow::default(), found: Vec::new(), pause };
        scan.body(body, Some(&mut escapes));
        let mut found = std::mem::take(&mut scan.found);
        scan.judge.begin_regions();
        escapes::regions(body, &escapes, |region| {
            scan.judge.begin_region();
            scan.body(&region.text, None);
            found.extend(scan.found.drain(..).filter_map(|detection| region.detection(detection)));
        });
        let detections = tally::told(found, self.rules().len());
        Scanned { exhausted: scan.judge.is_exhausted(), detections }
    }
}

/// One scan under way. What it allocates is kept between a body and its regions.
struct Scan<'d> {
    judge: Judge<'d>,
    pass: Pass,
    narrow: Narrow,
    /// In the chunks so far.
    found: Vec<Detection>,
    pause: &'d dyn Fn(),
}

impl Scan<'_> {
    /// A body, whose escapes are listed, or a region of it.
    fn body(&mut self, body: &[u8], mut escapes: Option<&mut Vec<usize>>) {
        for start in (0..body.len()).step_by(CHUNK_BYTES) {
            let places = self.pass.chunk(body, start, self.judge.literals());
            if let Some(escapes) = escapes.as_mut() {
                escapes.extend(&places.escapes);
                if places.has_tags {
                    self.judge.read_html(body, start);
                }
            }
            self.narrow.places(&mut self.judge, body, places);
            self.judge.end_chunk(escapes.is_some(), &mut self.found);
            if start % PAUSE_BYTES == 0 {
                (self.pause)();
            }
        }
    }
}
