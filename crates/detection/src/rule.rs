//! A sensitive data rule: as written in YAML, and compiled.

use serde::Deserialize;

use super::confidence::Confidence;
use super::surroundings::Surroundings;
use super::validators;
use pattern::{ByteSet, EngineKind, LazyPattern};

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
    /// Whether it runs if nobody says otherwise.
    #[serde(default = "yes")]
    pub enabled: bool,
    #[serde(default)]
    pub literals: Vec<String>,
    #[serde(default)]
    pub tokens: Vec<String>,
    #[serde(default)]
    pub token_bytes: Vec<usize>,
    #[serde(default)]
    pub shapes: Vec<String>,
    #[serde(default)]
    pub keyword_shapes: Vec<String>,
    #[serde(default)]
    pub number_behind: Vec<char>,
    #[serde(default)]
    pub anchor: Option<Anchor>,
    /// What a value looks like from where it begins; not for shapes, which say it themselves.
    #[serde(default)]
    pub pattern: Option<String>,
    /// How far before the place that it is found by the pattern may begin.
    #[serde(default)]
    pub before_bytes: usize,
    #[serde(default = "sixty_four")]
    pub max_bytes: usize,
    #[serde(default)]
    pub validator: Option<String>,
    /// Bits a byte that the value has at least, behind its fixed beginning; placeholders have none.
    #[serde(default)]
    pub min_entropy: Option<f64>,
    /// How the text around a value decides whether it is reported.
    #[serde(default)]
    pub surroundings: Option<Surroundings>,
    /// Words that stand before a value: they raise the confidence, and some rules need one.
    #[serde(default)]
    pub keywords: Vec<String>,
    pub confidence: Confidence,
    pub examples: Vec<String>,
    pub counter_examples: Vec<String>,
}

/// Where a value may begin. A rule has at least one of these.
#[derive(Clone, Debug)]
pub(super) struct Begins {
    /// Texts of three bytes and more, ignoring case.
    pub literals: Vec<String>,
    /// Beginnings of a token: of sixteen and more letters, digits, hyphens and underscores.
    pub tokens: Vec<String>,
    /// Tokens of these lengths with a digit in them.
    pub token_bytes: Vec<usize>,
    /// Shapes of numbers.
    pub shapes: Vec<String>,
    /// Shapes of numbers that count only behind a keyword.
    pub keyword_shapes: Vec<String>,
    /// Characters that a number stands right behind; the pattern begins with one of them.
    pub number_behind: Vec<char>,
    pub anchor: Option<Anchor>,
}

/// A place that is found by what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Anchor {
    /// Any token behind a keyword.
    KeywordToken,
    /// Any number of seven and more characters behind a keyword.
    KeywordNumber,
    /// A number that begins with two capital letters and two digits.
    CountryAndCheckDigits,
    /// The local part of an address, an `@` behind it.
    Address,
    /// A URL whose authority has an `@`.
    UserInformation,
    /// Six pairs of hexadecimal digits.
    HardwareAddress,
}

/// Shortest text that is searched for.
pub(super) const MIN_LITERAL_BYTES: usize = 3;

/// How the group of a pattern begins that is the value, if it is not all of it.
const GROUP: &str = "(?<value>";

fn yes() -> bool {
    true
}

fn sixty_four() -> usize {
    64
}

/// What stands before a pattern that stands at its place.
const ANCHORED: &str = "^(?:";

/// A rule, compiled.
#[derive(Debug)]
pub struct Rule {
    pub id: String,
    pub name: String,
    pub description: String,
    pub categories: Vec<String>,
    pub enabled: bool,
    pub confidence: Confidence,
    pub(super) begins: Begins,
    pub(super) pattern: Option<LazyPattern>,
    /// What the pattern may begin with; all bytes if it may begin before its place.
    pub(super) first: ByteSet,
    pub(super) before_bytes: usize,
    pub(super) max_bytes: usize,
    pub(super) validator: Option<&'static validators::Definition>,
    pub(super) min_entropy: Option<f64>,
    pub(super) surroundings: Option<Surroundings>,
    pub(super) keywords: Vec<String>,
}

impl Rule {
    /// The engine of its pattern; `None` if it has none.
    pub fn pattern_engine(&self) -> Option<EngineKind> {
        self.pattern.as_ref().map(LazyPattern::engine_kind)
    }

    /// Its pattern, as it was written.
    pub fn pattern(&self) -> Option<&str> {
        let source = self.pattern.as_ref()?.source();
        Some(source.strip_prefix(ANCHORED).and_then(|rest| rest.strip_suffix(')')).unwrap_or(source))
    }

    /// The texts that it begins at.
    pub fn literals(&self) -> impl Iterator<Item = &str> {
        self.begins.literals.iter().chain(&self.begins.tokens).map(String::as_str)
    }
}

/// Whether a rule says where a value begins, and has what such a place needs.
fn check_places(file: &RuleFile, begins: &Begins) -> Result<(), String> {
    let texts = begins.literals.iter().chain(&begins.tokens);
    if texts.clone().any(|text| text.len() < MIN_LITERAL_BYTES) {
        return Err("its literals and tokens must have at least three bytes".to_owned());
    }
    let needs_pattern = texts.count() > 0
        || !begins.token_bytes.is_empty()
        || begins.anchor.is_some()
        || !begins.number_behind.is_empty();
    if !needs_pattern && begins.shapes.is_empty() && begins.keyword_shapes.is_empty() {
        return Err(
            "it needs a place to begin: `literals`, `tokens`, `token_bytes`, `shapes`, `keyword_shapes`, \
             `number_behind` or `anchor`"
                .to_owned(),
        );
    }
    if needs_pattern != file.pattern.is_some() {
        return Err(
            "it needs a `pattern` if it has literals, tokens or an anchor, and none if it has shapes only"
                .to_owned(),
        );
    }
    let by_keyword = matches!(begins.anchor, Some(Anchor::KeywordToken | Anchor::KeywordNumber));
    if (by_keyword || !begins.keyword_shapes.is_empty()) && file.keywords.is_empty() {
        return Err("it needs `keywords`".to_owned());
    }
    Ok(())
}

/// Compiles a rule as written.
///
/// # Errors
/// One sentence: what is wrong with it.
pub(super) fn compile(file: &RuleFile) -> Result<Rule, String> {
    if !file.id.contains('.') || file.definition.is_empty() {
        return Err("it needs an id such as `financial.credit_card` and the definition it was written from"
            .to_owned());
    }
    let begins = Begins {
        literals: file.literals.clone(),
        tokens: file.tokens.clone(),
        token_bytes: file.token_bytes.clone(),
        shapes: file.shapes.clone(),
        keyword_shapes: file.keyword_shapes.clone(),
        number_behind: file.number_behind.clone(),
        anchor: file.anchor,
    };
    check_places(file, &begins)?;
    let has_value = file.pattern.as_ref().is_some_and(|pattern| pattern.contains(GROUP));
    if file.before_bytes > 0 && has_value {
        return Err("a pattern with `before_bytes` is the value as a whole".to_owned());
    }
    let validator = match &file.validator {
        Some(name) => Some(validators::find(name).ok_or_else(|| format!("there is no validator `{name}`"))?),
        None => None,
    };
    // A pattern that may begin before its place is searched for; any other stands there.
    let anchored = |pattern: &String| match file.before_bytes {
        0 => LazyPattern::new(&format!("{ANCHORED}{pattern})")),
        _ => LazyPattern::new(pattern),
    };
    let pattern = file.pattern.as_ref().map(anchored).transpose();
    let pattern = pattern.map_err(|reason| format!("its pattern cannot be compiled: {reason}"))?;
    if pattern.as_ref().is_some_and(|pattern| pattern.groups() > usize::from(has_value)) {
        return Err(format!(
            "the only group of a pattern is the value, `{GROUP}…)`; write others as `(?:…)`"
        ));
    }
    let stands = pattern.as_ref().filter(|_| file.before_bytes == 0);
    Ok(Rule {
        first: stands.map_or(ByteSet::ALL, LazyPattern::first_bytes),
        pattern,
        id: file.id.clone(),
        name: file.name.clone(),
        description: file.description.clone(),
        categories: file.categories.clone(),
        enabled: file.enabled,
        begins,
        confidence: file.confidence,
        validator,
        before_bytes: file.before_bytes,
        max_bytes: file.max_bytes,
        min_entropy: file.min_entropy,
        surroundings: file.surroundings,
        keywords: file.keywords.clone(),
    })
}
