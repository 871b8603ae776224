//! A plain scanner: it finds what the scanner finds, rule by rule and byte by byte, with nothing kept between two values.
//!
//! It reads what a rule says of where its value begins, without the pass, the indexes and the families. Patterns run on
//! the compiled engine, keywords are read again for each value. Validators, what stands around a value, the reading of
//! keywords and headers, and the choice among findings that overlap are those of the scanner. It knows no budget.

use super::Detection;
use super::detector::Detector;
use super::escapes;
use super::judge::keyword::Near;
use super::judge::table::Values;
use super::judge::{has_joint, is_behind_sign, is_date_or_fraction, is_timestamp, is_whole, tally};
use super::narrow::families::token_beginning::expand_sets;
use super::narrow::shape;
use crate::rule::{Anchor, Rule};
use crate::scanner::find::Token;

/// Shortest number and shortest token.
const MIN_NUMBER_BYTES: usize = 7;
const MIN_TOKEN_BYTES: usize = 16;
/// How much of a token counts for its length and its digits.
const TOKEN_BYTES: usize = 40;
/// How far before an `@` a value may begin.
const BEFORE_AT_BYTES: usize = 256;
/// Longest label of a host name, and one byte more.
const LABEL_BYTES: usize = 64;
/// Groups of a number that share the words before the first of them.
const SHARED_GROUPS: usize = 8;

/// Everything `enabled` rules find, in the order and form of [`Detector::scan`].
pub fn scan(detector: &Detector, body: &[u8], enabled: &dyn Fn(usize) -> bool) -> Vec<Detection> {
    let mut found = Plain { detector, enabled, body, is_region: false, found: Vec::new() }.findings();
    let places: Vec<usize> = (0..body.len()).filter(|at| may_begin_escape(body, *at)).collect();
    escapes::regions(body, &places, |region| {
        let inner =
            Plain { detector, enabled, body: &region.text, is_region: true, found: Vec::new() }.findings();
        found.extend(inner.into_iter().filter_map(|detection| region.detection(detection)));
    });
    tally::told(found, detector.rules().len())
}

fn may_begin_escape(body: &[u8], at: usize) -> bool {
    let byte = |at: Option<usize>| at.and_then(|at| body.get(at)).copied().unwrap_or(b' ');
    let is_lead = |byte: u8| matches!(byte, b'&' | b'\\' | b'%');
    let (before, here, behind) = (byte(at.checked_sub(1)), byte(Some(at)), byte(Some(at + 1)));
    let follows = behind.is_ascii_alphanumeric() || matches!(behind, b'/' | b'#' | b'"' | b'\'');
    is_lead(here) && !is_lead(before) && follows || here == b'<' && before.is_ascii_digit()
}

fn is_capital(byte: &u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

/// A body or a region of it.
struct Plain<'s> {
    detector: &'s Detector,
    enabled: &'s dyn Fn(usize) -> bool,
    body: &'s [u8],
    is_region: bool,
    found: Vec<Detection>,
}

impl<'s> Plain<'s> {
    fn findings(mut self) -> Vec<Detection> {
        for at in 0..self.body.len() {
            self.rules().for_each(|(index, rule)| self.literals(index, rule, at));
            if let Some(token) = self.token_at(at) {
                self.token(token);
            }
            if self.begins_number(at) {
                self.number(at);
            }
            if self.body.get(at) == Some(&b'@') {
                self.at_sign(at);
            }
            self.hardware_address(at);
        }
        self.found
    }

    fn from(&self, at: usize) -> &'s [u8] {
        let body: &'s [u8] = self.body;
        body.get(at..).unwrap_or_default()
    }

    fn rules(&self) -> impl Iterator<Item = (usize, &'s Rule)> + use<'s> {
        let enabled = self.enabled;
        self.detector.rules().iter().enumerate().filter(move |(index, _)| enabled(*index))
    }

    fn literals(&mut self, index: usize, rule: &Rule, at: usize) {
        for text in &rule.begins.literals {
            let text = text.as_bytes();
            let stands = self.from(at).get(..text.len()).is_some_and(|here| here.eq_ignore_ascii_case(text));
            let before = at.checked_sub(1).and_then(|before| self.body.get(before));
            // Of one byte over and over, the first of a longer run.
            let is_run = text.iter().all(|byte| text.first() == Some(byte));
            if stands && !(is_run && before == text.first()) {
                self.pattern(index, rule, at, None);
            }
        }
    }

    fn token_at(&self, at: usize) -> Option<Token> {
        let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let length = self.from(at).iter().take_while(|byte| is_token(byte)).count();
        let begins = at == 0 || self.body.get(at - 1).is_some_and(|byte| !is_token(byte));
        let has_digit = self.from(at).iter().take(length.min(TOKEN_BYTES)).any(u8::is_ascii_digit);
        let bytes = u32::try_from(length).unwrap_or(u32::MAX);
        (begins && length >= MIN_TOKEN_BYTES).then_some(Token { start: at, bytes, has_digit })
    }

    fn token(&mut self, token: Token) {
        let start = token.start;
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        for (index, rule) in self.rules() {
            for text in rule.begins.tokens.iter().flat_map(|text| expand_sets(text)) {
                // `SG.` begins before the token that follows it.
                let lead = text.bytes().rposition(|byte| !is_token(byte)).map_or(0, |at| at + 1);
                let from =
                    start.checked_sub(lead).filter(|from| self.from(*from).starts_with(text.as_bytes()));
                if let Some(from) = from {
                    self.pattern(index, rule, from, None);
                }
            }
            let length = (token.bytes as usize).min(TOKEN_BYTES);
            for _ in rule.begins.token_bytes.iter().filter(|bytes| token.has_digit && **bytes == length) {
                self.pattern(index, rule, start, None);
            }
        }
        if token.has_digit || is_behind_sign(self.body, start) && !has_joint(self.body, token) {
            let near = self.near(start);
            self.by_keyword(Anchor::KeywordToken, start, &near, None);
        }
    }

    /// Whether a byte belongs to a number: a capital letter, a digit, or a separator between two of them.
    fn is_in_number(&self, at: usize) -> bool {
        let is_capital = |at: Option<usize>| at.and_then(|at| self.body.get(at)).is_some_and(is_capital);
        match self.body.get(at) {
            Some(b' ' | b'-' | b'.' | b'/') => is_capital(at.checked_sub(1)) && is_capital(Some(at + 1)),
            _ => is_capital(Some(at)),
        }
    }

    fn begins_number(&self, at: usize) -> bool {
        self.body.get(at).is_some_and(is_capital)
            && !at.checked_sub(1).is_some_and(|before| self.is_in_number(before))
            && (at..at + MIN_NUMBER_BYTES).all(|at| self.is_in_number(at))
    }

    fn number(&mut self, start: usize) {
        if is_timestamp(self.from(start)) {
            return;
        }
        let (mut at, mut words_end, mut nth) = (start, None, 0);
        while self.body.get(at).is_some_and(is_capital) {
            let group = self.from(at).iter().take_while(|byte| is_capital(byte)).count();
            let text = self.from(at).get(..group).unwrap_or_default();
            if shape::begins_number(self.body, at) {
                self.shapes(at, *words_end.get_or_insert(at));
                if at == start {
                    self.first_group(at);
                }
            }
            if let [b'A'..=b'Z', b'A'..=b'Z', b'0'..=b'9', b'0'..=b'9', ..] = text {
                self.countries(at);
            }
            let has_letters = text.iter().any(u8::is_ascii_uppercase);
            at += group;
            if !self.is_in_number(at) {
                break;
            }
            at += 1;
            nth += 1;
            // A group with letters may be a keyword itself.
            if has_letters || nth % SHARED_GROUPS == 0 {
                words_end = None;
            }
        }
    }

    fn shapes(&mut self, at: usize, words_end: usize) {
        let mut rivals: Vec<(Detection, usize)> = Vec::new();
        let near = self.near(words_end);
        for (index, rule) in self.rules() {
            for (shapes, needs_keyword) in [(&rule.begins.shapes, false), (&rule.begins.keyword_shapes, true)]
            {
                for template in shapes.iter().flat_map(|shape| shape::expand(shape)) {
                    let Some(end) = self.shape_end(&template, at) else { continue };
                    let distance = near.distance(index);
                    if needs_keyword && distance.is_none() {
                        continue;
                    }
                    let Some(detection) = self.value(index, rule, at, end, Some(&near)) else { continue };
                    match distance.filter(|_| needs_keyword) {
                        Some(distance) => rivals.push((detection, distance)),
                        None => self.found.push(detection),
                    }
                }
            }
        }
        let is_nearest = |(one, distance): &(Detection, usize)| {
            !rivals.iter().any(|(other, nearer)| other.end == one.end && nearer < distance)
        };
        self.found.extend(rivals.iter().filter(|rival| is_nearest(rival)).map(|(detection, _)| *detection));
    }

    /// Where a shape ends that stands at a place: no letter, digit or group that belongs to it follows.
    fn shape_end(&self, template: &str, at: usize) -> Option<usize> {
        let text = self.from(at).get(..template.len())?;
        let fits = template.bytes().zip(text).all(|(template, byte)| match template {
            b'9' => byte.is_ascii_digit(),
            b'A' => byte.is_ascii_uppercase(),
            b'X' => is_capital(byte),
            other => other == *byte,
        });
        let end = at + template.len();
        let ahead = |by: usize| self.body.get(end + by).copied().unwrap_or(b' ');
        let ends = match ahead(0) {
            b'-' => !ahead(1).is_ascii_alphanumeric(),
            b'.' | b'/' => !ahead(1).is_ascii_digit(),
            byte => !byte.is_ascii_alphanumeric(),
        };
        (fits && ends).then_some(end)
    }

    fn first_group(&mut self, at: usize) {
        let sign = at.checked_sub(1).and_then(|sign| Some((sign, char::from(*self.body.get(sign)?))));
        let mut told = None;
        if let Some((place, sign)) = sign {
            for (index, rule) in self.rules() {
                for _ in rule.begins.number_behind.iter().filter(|other| **other == sign) {
                    if let Some(detection) = self.pattern_here(index, rule, place, None) {
                        self.found.push(detection);
                        told = Some(index);
                    }
                }
            }
        }
        if !is_date_or_fraction(self.from(at)) {
            let near = self.near(at);
            self.by_keyword(Anchor::KeywordNumber, at, &near, told);
        }
    }

    fn by_keyword(&mut self, anchor: Anchor, at: usize, near: &Near, told: Option<usize>) {
        for (index, rule) in self.rules().filter(|(_, rule)| rule.begins.anchor == Some(anchor)) {
            if Some(index) != told && near.contains(index) {
                self.pattern(index, rule, at, Some(near));
            }
        }
    }

    fn countries(&mut self, at: usize) {
        for (index, rule) in self.anchored(Anchor::CountryAndCheckDigits) {
            let window = self.from(at).get(..rule.max_bytes).unwrap_or(self.from(at));
            let longest = rule.pattern.as_ref().and_then(|pattern| pattern.get()?.find(window));
            let mut end = longest.map_or(0, |(_, end)| end);
            // A word in capitals may stand behind it.
            while end > 0 {
                let is_whole = is_whole(self.body, at, at + end);
                if let Some(detection) = self.value(index, rule, at, at + end, None).filter(|_| is_whole) {
                    self.found.push(detection);
                    break;
                }
                let shorter = window.get(..end).unwrap_or_default();
                end = shorter.iter().rposition(|byte| matches!(byte, b' ' | b'-')).unwrap_or(0);
            }
        }
    }

    fn at_sign(&mut self, at: usize) {
        let is_label = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'-';
        let label = self.from(at + 1).iter().take(LABEL_BYTES).take_while(is_label).count();
        if label == 0 {
            return;
        }
        let first = at.saturating_sub(BEFORE_AT_BYTES);
        let back = |belongs: fn(u8) -> bool| {
            (first..at).rev().take_while(|at| self.body.get(*at).is_some_and(|byte| belongs(*byte))).last()
        };
        if self.body.get(at + 1 + label) == Some(&b'.') {
            let start = back(|byte| byte.is_ascii_alphanumeric() || b"._%+-'".contains(&byte)).unwrap_or(at);
            for (index, rule) in self.anchored(Anchor::Address) {
                self.pattern(index, rule, start, None);
            }
        }
        let start =
            back(|byte| byte.is_ascii_graphic() && !b"\"'<>`(){}[]|\\,@".contains(&byte)).unwrap_or(at);
        let text = self.body.get(start..at).unwrap_or_default();
        let Some(colon) = text.windows(3).position(|three| three == b"://") else { return };
        let user = text.get(colon + 3..).unwrap_or_default();
        if user.iter().rposition(|byte| *byte == b':').is_some_and(|at| user.len() - at > 3) {
            let belongs = |byte: u8| byte.is_ascii_alphanumeric() || b"+.-:".contains(&byte);
            let scheme = text.get(..colon).unwrap_or_default();
            let scheme_bytes = scheme.iter().rev().take_while(|byte| belongs(**byte)).count();
            for (index, rule) in self.anchored(Anchor::UserInformation) {
                self.pattern(index, rule, start + colon - scheme_bytes, None);
            }
        }
    }

    /// Tries six pairs from `start` on, if one separator stands between all.
    fn hardware_address(&mut self, start: usize) {
        let separator = self.body.get(start + 2).filter(|byte| matches!(byte, b':' | b'-'));
        let is_one = separator.is_some() && (1..5).all(|nth| self.body.get(start + 2 + 3 * nth) == separator);
        let goes_on = start.checked_sub(1).is_some_and(|before| self.body.get(before) == separator)
            || self.body.get(start + 17) == separator;
        if is_one && !goes_on {
            for (index, rule) in self.anchored(Anchor::HardwareAddress) {
                self.pattern(index, rule, start, None);
            }
        }
    }

    fn anchored(&self, anchor: Anchor) -> impl Iterator<Item = (usize, &'s Rule)> + use<'s> {
        self.rules().filter(move |(_, rule)| rule.begins.anchor == Some(anchor))
    }

    /// The rules that have a keyword before a value or in the header above it, read for this value alone.
    fn near(&self, at: usize) -> Near {
        let keywords = &self.detector.keywords;
        let mut values = if self.is_region { Values::default() } else { Values::of(self.body, keywords) };
        if !self.is_region && self.body.contains(&b'<') {
            values.read_html(self.body, 0, keywords);
        }
        values.near(keywords, self.body, at)
    }

    fn pattern(&mut self, index: usize, rule: &Rule, place: usize, near: Option<&Near>) {
        if place == 0 || rule.before_bytes == 0 {
            let detection = self.pattern_here(index, rule, place, near);
            self.found.extend(detection);
            return;
        }
        let from = place.saturating_sub(rule.before_bytes);
        let window = self.body.get(from..self.body.len().min(place + rule.max_bytes)).unwrap_or_default();
        let Some(pattern) = rule.pattern.as_ref().and_then(|pattern| pattern.get()) else { return };
        // The first match that reaches over the place and holds.
        for search in 0..=place - from {
            let Some((start, end)) = pattern.match_at(window, search) else { continue };
            let (start, end) = (from + start, from + end);
            if end > place
                && is_whole(self.body, start, end)
                && let Some(detection) = self.value(index, rule, start, end, near)
            {
                self.found.push(detection);
                return;
            }
        }
    }

    fn pattern_here(
        &self,
        index: usize,
        rule: &Rule,
        place: usize,
        near: Option<&Near>,
    ) -> Option<Detection> {
        let window = self.body.get(place..self.body.len().min(place + rule.max_bytes))?;
        let pattern = rule.pattern.as_ref()?.get()?;
        pattern.match_at(window, 0)?;
        let groups = pattern.groups(window)?;
        let whole = groups.first().copied().flatten()?;
        let (start, end) = groups.get(1).copied().flatten().unwrap_or(whole);
        let (start, end) = (place + start, place + end);
        self.value(index, rule, start, end, near).filter(|_| is_whole(self.body, start, end))
    }

    fn value(
        &self,
        index: usize,
        rule: &Rule,
        start: usize,
        end: usize,
        near: Option<&Near>,
    ) -> Option<Detection> {
        let value = self.body.get(start..end)?;
        let is_valid = rule.validator.is_none_or(|validator| (validator.validate)(value));
        if !is_valid || !rule.is_random(value) {
            return None;
        }
        let keywords = &self.detector.keywords;
        let near = near.cloned().unwrap_or_else(|| Values::default().near_other(keywords, self.body, start));
        let raised = !rule.keywords.is_empty() && near.contains(index);
        let confidence = if raised { rule.confidence.raised() } else { rule.confidence };
        let confidence = match rule.surroundings {
            Some(surroundings) => surroundings.judge(self.body, start, end, raised, confidence)?,
            None => confidence,
        };
        Some(Detection { start, end, rule: index, confidence })
    }
}
