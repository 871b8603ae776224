//! A sensitive data rule: as written in YAML, and compiled.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::scan::Detector;
use super::validators;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Place, Source};
use crate::pattern::Pattern;

/// One rule as written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleFile {
    /// `category.name`
    pub id: String,
    pub name: String,
    pub description: String,
    /// The public text the rule was written from.
    pub definition: String,
    #[serde(default)]
    pub categories: Vec<String>,
    /// Whether it runs where nobody says otherwise.
    #[serde(default = "yes")]
    pub enabled: bool,
    pub anchor: Anchor,
    /// Tried only round an anchor; matches from the anchor or from a little before it.
    pub pattern: String,
    #[serde(default)]
    pub validator: Option<String>,
    pub confidence: Confidence,
    #[serde(default = "sixty_four")]
    pub max_bytes: usize,
    pub examples: Vec<String>,
    pub counter_examples: Vec<String>,
}

/// Joins two parts of an example, so that no secret scanner takes a rule file for a leak.
const JOINT: &str = "{+}";

fn yes() -> bool {
    true
}

fn sixty_four() -> usize {
    64
}

/// What must stand in a body before the pattern is tried.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Anchor {
    /// One of these texts, byte for byte; the pattern begins with it.
    Literals(Vec<String>),
    /// A run of digits in which single spaces or hyphens may stand; the pattern begins with it.
    Digits,
    /// Two capital letters and two digits, at a boundary; the pattern begins with them.
    CountryAndCheckDigits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    Low,
    Medium,
    High,
}

impl Confidence {
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A rule, compiled.
#[derive(Debug)]
pub struct Rule {
    pub id: String,
    pub name: String,
    pub description: String,
    pub categories: Vec<String>,
    pub enabled: bool,
    pub anchor: Anchor,
    pub confidence: Confidence,
    pub(super) pattern: Pattern,
    pub(super) validator: Option<&'static validators::Definition>,
    pub(super) max_bytes: usize,
}

/// Reads the rules of files and makes the detector. A rule that fails its own examples is refused.
pub fn load(sources: &[Arc<Source>]) -> (Detector, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let mut files = Vec::new();
    for source in sources {
        match serde_saphyr::from_str::<Vec<RuleFile>>(&source.text) {
            Ok(rules) => files.extend(rules.into_iter().map(|rule| (Arc::clone(source), rule))),
            Err(error) => {
                let message = format!("the file is not a list of rules: {}", first_line(&error.to_string()));
                diagnostics
                    .push(Diagnostic::error(Code::DetectionRule, message).at(Place::new(source, 0..0)));
            }
        }
    }
    let mut rules = Vec::new();
    let mut examples = Vec::new();
    for (source, mut file) in files {
        file.examples
            .iter_mut()
            .chain(&mut file.counter_examples)
            .for_each(|text| *text = text.replace(JOINT, ""));
        let place = place_of(&source, &file.id);
        let mut refuse = |message: String| {
            diagnostics.push(
                Diagnostic::error(Code::DetectionRule, format!("rule `{}`: {message}", file.id))
                    .at(place.clone()),
            );
        };
        if rules.iter().any(|rule: &Rule| rule.id == file.id) {
            refuse("there is another rule with this id".to_owned());
            continue;
        }
        if file.examples.is_empty() || file.counter_examples.is_empty() {
            refuse("it needs at least one example and one counter-example".to_owned());
        }
        match compile(&file) {
            Ok(rule) => {
                rules.push(rule);
                examples.push((file, place));
            }
            Err(message) => refuse(message),
        }
    }
    let detector = Detector::new(rules);
    for (file, place) in examples {
        for message in detector.failed_examples(&file) {
            diagnostics.push(
                Diagnostic::error(Code::DetectionRule, format!("rule `{}`: {message}", file.id))
                    .at(place.clone()),
            );
        }
    }
    (detector, diagnostics)
}

fn compile(file: &RuleFile) -> Result<Rule, String> {
    if !file.id.contains('.') || file.definition.is_empty() {
        return Err("it needs an id such as `financial.credit_card` and the definition it was written from"
            .to_owned());
    }
    if matches!(&file.anchor, Anchor::Literals(texts) if texts.is_empty() || texts.iter().any(|text| text.len() < 3))
    {
        return Err("its literals must have at least three bytes".to_owned());
    }
    let validator = match &file.validator {
        Some(name) => Some(validators::find(name).ok_or_else(|| format!("there is no validator `{name}`"))?),
        None => None,
    };
    Ok(Rule {
        pattern: Pattern::new(&format!("^(?:{})", file.pattern))
            .map_err(|reason| format!("its pattern cannot be compiled: {reason}"))?,
        id: file.id.clone(),
        name: file.name.clone(),
        description: file.description.clone(),
        categories: file.categories.clone(),
        enabled: file.enabled,
        anchor: file.anchor.clone(),
        confidence: file.confidence,
        validator,
        max_bytes: file.max_bytes,
    })
}

/// Where a rule's id stands in its file.
fn place_of(source: &Arc<Source>, id: &str) -> Place {
    let start = source.text.find(&format!("id: {id}")).unwrap_or(0);
    Place::new(source, start..start + if start > 0 { id.len() + 4 } else { 0 })
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or(text)
}
