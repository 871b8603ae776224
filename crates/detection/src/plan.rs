//! What is scanned for, and what each rule found.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::confidence::Confidence;
use super::location;
use super::mac::{Digest, Mac};
use super::payload;
use super::rule::Rule;
use super::scanner::{Detection, Detector};
use model::PayloadKey;

/// What a zone's deployment or a gateway scans for.
#[derive(Clone, Debug)]
pub struct ScanPlan {
    pub detector: Arc<Detector>,
    /// For each rule of the detector, whether it runs.
    pub enabled: Arc<[bool]>,
    pub settings: Settings,
}

/// What a zone says of its scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What was found goes into the event, sealed with this key.
    pub payload_key: Option<PayloadKey>,
    /// The first response of a path is scanned, and every nth after it.
    pub sample_every: NonZeroU32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { payload_key: None, sample_every: NonZeroU32::MIN }
    }
}

/// What one rule found in a body. The value itself is nowhere in it.
#[derive(Clone, Debug)]
pub struct Found<'p> {
    pub rule: &'p Rule,
    pub count: usize,
    /// Where the first match begins, in bytes.
    pub offset: usize,
    /// The JSON pointer or the path of elements that the first match stands at.
    pub location: Option<String>,
    /// Of the first match.
    pub confidence: Confidence,
    /// The first match, masked.
    pub sample: String,
    /// The first match with the text around it, sealed; `None` without a key.
    pub payload: Option<String>,
    /// Keyed hash of the first match, the same wherever it is found and however it is written; `None` if
    /// nobody asked for it.
    pub fingerprint: Option<Digest>,
    /// The same of all matches.
    pub values: Option<Digest>,
}

/// What the rules of a plan found in a body.
#[derive(Clone, Debug)]
pub struct Findings<'p> {
    /// One entry for each rule that found something.
    pub found: Vec<Found<'p>>,
    /// Whether the scan ended before its time.
    pub exhausted: bool,
}

impl ScanPlan {
    /// One plan that looks for what any of these does; they are of one detector. `None` of none.
    pub fn joined<'p>(mut plans: impl Iterator<Item = &'p Self>) -> Option<Self> {
        let first = plans.next()?.clone();
        Some(plans.fold(first, |joined, plan| {
            let enabled = joined.enabled.iter().zip(&*plan.enabled).map(|(one, other)| *one || *other);
            Self { enabled: enabled.collect(), ..joined }
        }))
    }

    /// Scans the body of the message with this ray id; values are hashed if there is something to hash
    /// them with.
    pub fn scan(&self, body: &[u8], ray: &str, mac: Option<&Mac>) -> Findings<'_> {
        self.scan_in_turns(body, ray, mac, &|| {})
    }

    /// The same; `pause` is called again and again, so that whoever waits for the processor can have it.
    pub fn scan_in_turns(&self, body: &[u8], ray: &str, mac: Option<&Mac>, pause: &dyn Fn()) -> Findings<'_> {
        let enabled = |rule| self.enabled.get(rule).copied().unwrap_or(false);
        let scanned = self.detector.scan_in_turns(body, &enabled, pause);
        // Of each rule in the order of their places.
        let mut by_rule: BTreeMap<usize, Vec<Detection>> = BTreeMap::new();
        for detection in scanned.detections {
            by_rule.entry(detection.rule).or_default().push(detection);
        }
        let value = |detection: &Detection| body.get(detection.start..detection.end).unwrap_or(&[]);
        let found = by_rule.into_iter().filter_map(|(rule, detections)| {
            let first = detections.first()?;
            let digests = mac.map(|mac| {
                let digest = |detection| mac.digest([normal_form(value(detection)).as_slice()]);
                let mut all: Vec<Digest> = detections.iter().map(digest).collect();
                let first = all.first().copied().unwrap_or_default();
                all.sort_unstable();
                all.dedup();
                (first, mac.digest(all.iter().map(|digest| &digest[..])))
            });
            let rule = self.detector.rules().get(rule)?;
            let place = (first.start, first.end);
            let payload =
                self.settings.payload_key.and_then(|key| payload::seal(key, ray, &rule.id, body, place));
            Some(Found {
                rule,
                count: detections.len(),
                offset: first.start,
                location: location::of(body, first.start),
                confidence: first.confidence,
                sample: rule.mask(value(first)),
                payload,
                fingerprint: digests.map(|(first, _)| first),
                values: digests.map(|(_, all)| all),
            })
        });
        Findings { found: found.collect(), exhausted: scanned.exhausted }
    }
}

/// A value without the characters that group it.
fn normal_form(value: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut form = Zeroizing::new(Vec::with_capacity(value.len()));
    form.extend(value.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()));
    form
}
