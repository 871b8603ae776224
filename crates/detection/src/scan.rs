//! The scanner: one pass for the places where a rule may begin, rules tried only there, in bounded windows.
//!
//! The time is linear in the body: a place is tried with the rules that may begin at it, each over at most
//! its `max_bytes`. What the pass costs without a place is the classes of [`classes`](super::anchors) and
//! one gram in four bytes.

use std::cmp::Reverse;

use smallvec::SmallVec;

use super::anchors::{CHUNK_BYTES, Candidates, MAX_TOLD_TOKEN_BYTES, Pass, Token};
use super::detector::Detector;
use super::escapes;
use super::keyword::Near;
use super::lookalike::{has_joint, is_behind_sign, is_date_or_fraction, is_timestamp, is_whole};
use super::rule::{Anchor, Confidence, Rule};
use super::shape::{self, Group, Groups};
use super::table::Values;
use super::tally::{self, Tally};
use pattern::ByteSet;

/// What the patterns of all rules may look at in a body, for each of its bytes, and in any case: past it no
/// pattern is tried.
const BUDGET_PER_BYTE: usize = 10;
const BUDGET_BYTES: usize = 1 << 20;
/// How far a scan goes on between two pauses; a multiple of a chunk.
const PAUSE_BYTES: usize = 4 * CHUNK_BYTES;
/// What a try costs beside the bytes of its window.
const TRY_BYTES: usize = 64;
/// How far before an `@` an address or a URL may begin.
const MAX_BEFORE_AT_BYTES: usize = 256;
/// Groups of a number that share the words before the first of them.
const MAX_SHARED_GROUPS: usize = 8;
/// What stands before the `@` of an address.
const MAILBOX: ByteSet = ByteSet::of(b"._%+-'").and(b'a', b'z').and(b'A', b'Z').and(b'0', b'9');
/// What stands before the `@` of a URL: all that is printed but what URLs do not have.
const AUTHORITY: ByteSet = ByteSet::of(b"\"'<>`(){}[]|\\,@").and(0, b' ').and(0x7F, 0xFF).others();

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
    /// The order in which a finding is told where it overlaps others of its rule.
    pub(super) fn longest_first(&self) -> (usize, usize, Reverse<usize>) {
        (self.start, self.rule, Reverse(self.end))
    }
}

/// Findings of one number: the place among all findings, and how far off its keyword is.
type Rivals = SmallVec<[(usize, usize); 4]>;

/// Where a value may begin that is looked for at a place.
#[derive(Clone, Copy, Debug)]
enum Begins {
    /// There, or up to the rule's `before_bytes` before it.
    Before,
    Here,
}

/// One scan under way.
struct Scan<'d> {
    detector: &'d Detector,
    enabled: &'d dyn Fn(usize) -> bool,
    pause: &'d dyn Fn(),
    /// In the chunk at hand.
    found: Vec<Detection>,
    /// In the chunks before.
    all: Vec<Detection>,
    /// Of the body, not of its regions, which stand among what was found before.
    tally: Tally,
    /// Bytes that patterns may still look at.
    budget: usize,
    /// Of the body, not of its regions.
    values: Values,
    /// Kept between a body and its regions, as is the next: their lists need not grow again.
    pass: Pass,
    groups: Vec<Group>,
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

    /// The same; `pause` is called again and again, so that whoever waits for the processor can have it.
    pub fn scan_in_turns(&self, body: &[u8], enabled: &dyn Fn(usize) -> bool, pause: &dyn Fn()) -> Scanned {
        let mut places = Vec::new();
        let budget = BUDGET_BYTES + BUDGET_PER_BYTE * body.len();
        let values = Values::of(body, &self.keywords);
        let mut scan = Scan {
            detector: self,
            enabled,
            pause,
            found: Vec::new(),
            all: Vec::new(),
            tally: Tally::new(self.rules.len()),
            budget,
            values,
            pass: Pass::default(),
            groups: Vec::new(),
        };
        scan.body(body, Some(&mut places));
        let mut found = std::mem::take(&mut scan.all);
        scan.tally = Tally::new(self.rules.len());
        escapes::regions(body, &places, |region| {
            scan.values.begin();
            scan.body(&region.text, None);
            found.extend(scan.all.drain(..).filter_map(|detection| {
                let (start, end) = region.origin(detection.start, detection.end)?;
                Some(Detection { start, end, ..detection })
            }));
        });
        Scanned { exhausted: scan.budget == 0, detections: tally::told(found, self.rules.len()) }
    }
}

impl<'d> Scan<'d> {
    fn body(&mut self, body: &[u8], mut escapes: Option<&mut Vec<usize>>) {
        let mut pass = std::mem::take(&mut self.pass);
        for start in (0..body.len()).step_by(CHUNK_BYTES) {
            pass.chunk(body, start, &self.detector.literals);
            if let Some(escapes) = escapes.as_mut() {
                escapes.extend(&pass.found.escapes);
                if pass.found.has_tags {
                    self.values.read_html(body, start, &self.detector.keywords);
                }
            }
            self.candidates(body, &pass.found);
            // Found kind by kind; few are put in order sooner than many.
            self.found.sort_by_key(Detection::longest_first);
            if escapes.is_some() {
                self.found.retain(|found| self.tally.is_told(found) || !self.tally.is_full(found.rule));
            }
            self.all.append(&mut self.found);
            if start % PAUSE_BYTES == 0 {
                (self.pause)();
            }
        }
        self.pass = pass;
    }

    fn candidates(&mut self, body: &[u8], found: &Candidates) {
        let detector = self.detector;
        for place in &found.grams {
            for (start, literal) in detector.literals.at_gram(body, *place) {
                self.pattern(literal.rule, body, start, None);
            }
        }
        for place in &found.shorts {
            for (start, literal) in detector.literals.at_short(body, *place) {
                self.pattern(literal.rule, body, start, None);
            }
        }
        // In the order of the body, so that the words before them are read once and findings need no sorting.
        let mut numbers = found.numbers.iter().copied().peekable();
        let mut tokens = found.tokens.iter().copied().peekable();
        for end in found.at_signs.iter().copied().map(Some).chain([None]) {
            let is_before = |at: usize| end.is_none_or(|end| at < end);
            while let Some(start) = numbers.next_if(|start| is_before(*start)) {
                while let Some(token) = tokens.next_if(|token| token.start < start) {
                    self.token(body, token);
                }
                self.number(body, start);
            }
            while let Some(token) = tokens.next_if(|token| is_before(token.start)) {
                self.token(body, token);
            }
            if let Some(at) = end {
                self.at_sign(body, at);
            }
        }
        for at in &found.pairs {
            let start = at.saturating_sub(2);
            let separator = body.get(*at);
            let is_one = (1..5).all(|nth| body.get(at + 3 * nth) == separator);
            let goes_on = [start.checked_sub(1), Some(start + 17)];
            if is_one && goes_on.into_iter().flatten().all(|next| body.get(next) != separator) {
                detector.hardware.iter().for_each(|rule| self.pattern(*rule, body, start, None));
            }
        }
    }

    /// Each group of a number may begin a value.
    fn number(&mut self, body: &[u8], start: usize) {
        let detector = self.detector;
        if is_timestamp(body.get(start..).unwrap_or(&[])) {
            return;
        }
        // The words before a group are those before the groups behind it too.
        let mut near: Option<Near> = None;
        let mut groups = Groups::of(body, start, std::mem::take(&mut self.groups));
        for nth in 0.. {
            let Some(group) = groups.ahead().first().copied() else { break };
            let at = group.start;
            if shape::begins_number(body, at) {
                self.number_at(body, groups.ahead(), at == start, &mut near);
            }
            let text = body.get(at..group.end).unwrap_or(&[]);
            if let [b'A'..=b'Z', b'A'..=b'Z', b'0'..=b'9', b'0'..=b'9', ..] = text {
                detector.countries.iter().for_each(|rule| self.grouped(*rule, body, at));
            }
            // A group with letters may be a keyword itself.
            if group.has_letters || nth % MAX_SHARED_GROUPS == MAX_SHARED_GROUPS - 1 {
                near = None;
            }
            groups.pop();
        }
        self.groups = groups.into_read();
    }

    #[inline]
    fn number_at(&mut self, body: &[u8], groups: &[Group], is_first: bool, near: &mut Option<Near>) {
        let detector = self.detector;
        let Some(at) = groups.first().map(|group| group.start) else { return };
        let mut rivals = Rivals::new();
        detector.shapes.of_groups(groups, |shapes, are_digits| {
            for shape in shapes.iter().filter(|shape| shape.may_stand(are_digits)) {
                if shape.needs_keyword {
                    let near = near.get_or_insert_with(|| self.values.near(&detector.keywords, body, at));
                    // So do those that follow.
                    if near.is_empty() {
                        return;
                    }
                    let Some(distance) = near.distance(shape.rule) else { continue };
                    let Some(end) = shape.end(body, at, are_digits) else { continue };
                    if self.value(shape.rule, body, at, end, Some(near)) {
                        rivals.push((self.found.len() - 1, distance));
                    }
                } else if self.wanted(shape.rule).is_some()
                    && let Some(end) = shape.end(body, at, are_digits)
                {
                    self.value(shape.rule, body, at, end, near.as_ref());
                }
            }
        });
        self.keep_nearest(&rivals);
        if !is_first {
            return;
        }
        let before = at.checked_sub(1).and_then(|before| body.get(before));
        let mut told = None;
        for (_, rule) in detector.behind.iter().filter(|(byte, _)| Some(byte) == before) {
            if self.pattern_from(*rule, body, at - 1, Begins::Here, None) {
                told = Some(*rule);
            }
        }
        if is_date_or_fraction(body.get(at..).unwrap_or(&[])) {
            return;
        }
        let near = near.get_or_insert_with(|| self.values.near(&detector.keywords, body, at));
        self.by_keyword(body, at, Anchor::KeywordNumber, told, near);
    }

    /// Of kinds of one shape that only their keywords tell apart, that whose keyword stands nearest; those
    /// of one distance are all told.
    fn keep_nearest(&mut self, rivals: &Rivals) {
        if rivals.len() < 2 {
            return;
        }
        let end = |nth: usize| self.found.get(nth).map(|detection| detection.end);
        let is_beaten = |(nth, distance): &(usize, usize)| {
            rivals.iter().any(|(other, nearer)| nearer < distance && end(*other) == end(*nth))
        };
        let beaten: Rivals = rivals.iter().copied().filter(is_beaten).collect();
        // From the last on, so that the places before stay.
        for (nth, _) in beaten.into_iter().rev() {
            self.found.remove(nth);
        }
    }

    /// The rules whose keyword stands before a value, but one that it told already.
    #[inline]
    fn by_keyword(&mut self, body: &[u8], at: usize, anchor: Anchor, told: Option<usize>, near: &Near) {
        let detector = self.detector;
        for index in near.rules() {
            if Some(index) != told
                && detector.rules.get(index).is_some_and(|rule| rule.begins.anchor == Some(anchor))
            {
                self.pattern(index, body, at, Some(near));
            }
        }
    }

    #[inline]
    fn token(&mut self, body: &[u8], token: Token) {
        let detector = self.detector;
        let start = token.start;
        detector.tokens.at(body, start, |from, rule| self.pattern(rule, body, from, None));
        // A value that is told by its length has a digit; one that is told by its keyword has one, or stands right behind
        // a sign for values.
        if token.has_digit {
            let bytes = token.bytes.min(MAX_TOLD_TOKEN_BYTES) as usize;
            for (_, rule) in detector.by_token_bytes.iter().filter(|(other, _)| *other == bytes) {
                self.pattern(*rule, body, start, None);
            }
        } else if !is_behind_sign(body, start) || has_joint(body, token) {
            return;
        }
        let near = self.values.near(&detector.keywords, body, start);
        self.by_keyword(body, start, Anchor::KeywordToken, None, &near);
    }

    fn at_sign(&mut self, body: &[u8], at: usize) {
        let detector = self.detector;
        let label = body.get(at + 1..).unwrap_or(&[]);
        let label =
            label.iter().take(64).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
        if label == 0 {
            return;
        }
        let before = body.get(at.saturating_sub(MAX_BEFORE_AT_BYTES)..at).unwrap_or(&[]);
        let back = |set: ByteSet| at - before.iter().rev().take_while(|byte| set.has(**byte)).count();
        // A domain has a point.
        if body.get(at + 1 + label) == Some(&b'.') {
            let start = back(MAILBOX);
            detector.addresses.iter().for_each(|rule| self.pattern(*rule, body, start, None));
        }
        let start = back(AUTHORITY);
        let text = body.get(start..at).unwrap_or(&[]);
        let Some(colon) = text.array_windows().position(|three| *three == *b"://") else { return };
        // A password is behind a colon of its own.
        let password =
            text.get(colon + 3..).and_then(|user| memchr::memrchr(b':', user).map(|at| user.len() - at - 1));
        if password.is_some_and(|bytes| bytes > 2) {
            let scheme = text.get(..colon).unwrap_or(&[]);
            let belongs = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+.-:".contains(byte);
            let start = start + colon - scheme.iter().rev().take_while(belongs).count();
            detector.user_information.iter().for_each(|rule| self.pattern(*rule, body, start, None));
        }
    }

    /// A rule that runs and may find more that is told. Those that a keyword tells from others of their shape are
    /// not asked: what is found of them keeps the others from being told.
    #[inline]
    fn wanted(&self, index: usize) -> Option<&'d Rule> {
        let rule = self.detector.rules.get(index)?;
        ((self.enabled)(index) && !self.tally.is_full(index)).then_some(rule)
    }

    /// One rule, from one place: pattern, boundaries, value.
    #[inline]
    fn pattern(&mut self, index: usize, body: &[u8], place: usize, near: Option<&Near>) {
        self.pattern_from(index, body, place, Begins::Before, near);
    }

    /// The same, and whether a value was found.
    #[inline]
    fn pattern_from(
        &mut self,
        index: usize,
        body: &[u8],
        place: usize,
        begins: Begins,
        near: Option<&Near>,
    ) -> bool {
        let Some(rule) = self.wanted(index) else { return false };
        if !body.get(place).is_some_and(|byte| rule.first.has(*byte)) {
            return false;
        }
        let Some(pattern) = &rule.pattern else { return false };
        let from = place.saturating_sub(rule.before_bytes);
        let to = body.len().min(place + rule.max_bytes);
        let Some(window) = body.get(from..to) else { return false };
        self.budget = self.budget.saturating_sub(window.len() + TRY_BYTES);
        if self.budget == 0 {
            return false;
        }
        if matches!(begins, Begins::Here) || from == place {
            let Some((span, group)) = pattern.match_at(window, place - from) else { return false };
            let (start, end) = group.unwrap_or(span);
            return is_whole(body, from + start, from + end)
                && self.value(index, body, from + start, from + end, near);
        }
        let Some(pattern) = pattern.get() else { return false };
        let mut search = 0;
        while let Some((start, end)) = pattern.find_at(window, search) {
            let (start, end) = (from + start, from + end);
            if start > place {
                return false;
            }
            if end > place && is_whole(body, start, end) && self.value(index, body, start, end, near) {
                return true;
            }
            search = start - from + 1;
        }
        false
    }

    /// A value whose length only its check knows: a word in capitals may stand behind it.
    fn grouped(&mut self, index: usize, body: &[u8], start: usize) {
        let Some(rule) = self.wanted(index) else { return };
        let window = body.get(start..body.len().min(start + rule.max_bytes)).unwrap_or(&[]);
        let found = rule.pattern.as_ref().and_then(|pattern| pattern.match_at(window, 0));
        let mut end = found.map_or(0, |((_, end), _)| end);
        while end > 0 {
            if is_whole(body, start, start + end) && self.value(index, body, start, start + end, None) {
                return;
            }
            let shorter = window.get(..end).unwrap_or(&[]);
            end = shorter.iter().rposition(|byte| matches!(byte, b' ' | b'-')).unwrap_or(0);
        }
    }

    /// What is left of a value: its checks.
    #[inline]
    fn value(&mut self, index: usize, body: &[u8], start: usize, end: usize, near: Option<&Near>) -> bool {
        let detector = self.detector;
        let Some(rule) = detector.rules.get(index).filter(|_| (self.enabled)(index)) else { return false };
        let Some(value) = body.get(start..end) else { return false };
        let valid =
            rule.validator.is_none_or(|validator| (validator.validate)(value)) && rule.is_random(value);
        if valid {
            let raised = !rule.keywords.is_empty()
                && match near {
                    Some(near) => near.contains(index),
                    None => self.values.near_other(&detector.keywords, body, start).contains(index),
                };
            let confidence = if raised { rule.confidence.raised() } else { rule.confidence };
            let judged = match rule.surroundings {
                Some(surroundings) => surroundings.judge(body, start, end, raised, confidence),
                None => Some(confidence),
            };
            let Some(confidence) = judged else { return false };
            self.found.push(Detection { start, end, rule: index, confidence });
        }
        valid
    }
}
