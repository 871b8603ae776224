//! All rules by what they may begin with, ready to scan.

use std::sync::atomic::{AtomicU64, Ordering};

use super::anchors::literals::{Literal, Literals};
use super::keyword::{Entries, Keywords};
use super::rule::{Anchor, Rule, RuleFile};
use super::shape::{self, Shape, Shapes};
use super::tokens::{Tokens, expand_sets};
use pattern::LazyPattern;

/// All rules, ready to scan.
#[derive(Debug)]
pub struct Detector {
    /// Tells it from every other in this process.
    number: u64,
    pub(super) rules: Vec<Rule>,
    pub(super) literals: Literals,
    pub(super) shapes: Shapes,
    pub(super) keywords: Keywords,
    pub(super) tokens: Tokens,
    /// By the byte before a number.
    pub(super) behind: Vec<(u8, usize)>,
    /// By the length of a token.
    pub(super) by_token_bytes: Vec<(usize, usize)>,
    pub(super) countries: Vec<usize>,
    pub(super) addresses: Vec<usize>,
    pub(super) user_information: Vec<usize>,
    pub(super) hardware: Vec<usize>,
}

/// The texts of rules on their way into the detector.
#[derive(Default)]
struct Texts {
    literals: Vec<Literal>,
    tokens: Vec<(String, usize)>,
    keywords: Entries,
}

impl Detector {
    /// Makes a detector; a rule that has no place in it is told by its index, with the reason.
    pub(super) fn new(rules: Vec<Rule>) -> (Self, Vec<(usize, String)>) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut detector = Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            rules: Vec::new(),
            literals: Literals::default(),
            shapes: Shapes::default(),
            keywords: Keywords::default(),
            tokens: Tokens::default(),
            behind: Vec::new(),
            by_token_bytes: Vec::new(),
            countries: Vec::new(),
            addresses: Vec::new(),
            user_information: Vec::new(),
            hardware: Vec::new(),
        };
        let mut texts = Texts::default();
        let mut refused = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            if let Err(message) = detector.enter(index, rule, &mut texts) {
                refused.push((index, message));
            }
        }
        detector.literals = Literals::new(texts.literals);
        detector.tokens = Tokens::new(&texts.tokens);
        detector.keywords = Keywords::new(texts.keywords);
        detector.rules = rules;
        (detector, refused)
    }

    fn enter(&mut self, index: usize, rule: &Rule, texts: &mut Texts) -> Result<(), String> {
        let begins = &rule.begins;
        texts.literals.extend(begins.literals.iter().map(|text| Literal::new(text, index)));
        texts
            .tokens
            .extend(begins.tokens.iter().flat_map(|text| expand_sets(text)).map(|text| (text, index)));
        for (shapes, needs_keyword) in [(&begins.shapes, false), (&begins.keyword_shapes, true)] {
            for template in shapes.iter().flat_map(|shape| shape::expand(shape)) {
                self.shapes.add(Shape::new(index, &template, needs_keyword))?;
            }
        }
        self.by_token_bytes.extend(begins.token_bytes.iter().map(|bytes| (*bytes, index)));
        let behind = begins.number_behind.iter().filter_map(|character| u8::try_from(*character).ok());
        self.behind.extend(behind.map(|byte| (byte, index)));
        rule.keywords.iter().try_for_each(|keyword| texts.keywords.add(keyword, index))?;
        match begins.anchor {
            Some(Anchor::CountryAndCheckDigits) => self.countries.push(index),
            Some(Anchor::Address) => self.addresses.push(index),
            Some(Anchor::UserInformation) => self.user_information.push(index),
            Some(Anchor::HardwareAddress) => self.hardware.push(index),
            // These are told by their keyword.
            Some(Anchor::KeywordToken | Anchor::KeywordNumber) | None => {}
        }
        Ok(())
    }

    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    pub(super) fn forget_compiled(&mut self) {
        self.rules.iter_mut().filter_map(|rule| rule.pattern.as_mut()).for_each(LazyPattern::forget);
    }

    /// What of a rule's own examples does not hold.
    pub(super) fn failed_examples(&self, rule: usize, file: &RuleFile) -> Vec<String> {
        let reports = |text: &str| !self.scan(text.as_bytes(), &|other| other == rule).detections.is_empty();
        let missed = file
            .examples
            .iter()
            .filter(|text| !reports(text))
            .map(|text| format!("it misses its example `{text}`"));
        let false_alarms = file
            .counter_examples
            .iter()
            .filter(|text| reports(text))
            .map(|text| format!("it reports its counter-example `{text}`"));
        missed.chain(false_alarms).collect()
    }
}
