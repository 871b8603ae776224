//! Rules read from YAML into a detector, each held to its own examples.

use std::sync::Arc;

use super::rule::{self, Rule, RuleFile};
use super::scanner::Detector;
use diagnostic::{Code, Diagnostic, Diagnostics, Place, Source};

/// Joins two parts of an example, so that no secret scanner takes a rule file for a leak.
const JOINT: &str = "{+}";

/// What is known of rules before they are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// A rule that fails its own examples is refused.
    None,
    /// Tests of the program hold the rules to their examples.
    BuiltIn,
}

/// Reads the rules of files and makes the detector.
pub fn load(sources: &[Arc<Source>], trust: Trust) -> (Detector, Diagnostics) {
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
        let mut refuse = |message: &str| diagnostics.push(bad_rule(&file, &place, message));
        if rules.iter().any(|rule: &Rule| rule.id == file.id) {
            refuse("there is another rule with this id");
            continue;
        }
        if file.examples.is_empty() || file.counter_examples.is_empty() {
            refuse("it needs at least one example and one counter-example");
        }
        match rule::compile(&file) {
            Ok(rule) => {
                rules.push(rule);
                examples.push((file, place));
            }
            Err(message) => refuse(&message),
        }
    }
    let (mut detector, refused) = Detector::new(rules);
    for (index, (file, place)) in examples.iter().enumerate() {
        let without_place =
            refused.iter().filter(|(rule, _)| *rule == index).map(|(_, message)| message.clone());
        let failed = match trust {
            Trust::None => detector.failed_examples(index, file),
            Trust::BuiltIn => Vec::new(),
        };
        for message in without_place.chain(failed) {
            diagnostics.push(bad_rule(file, place, &message));
        }
    }
    // Running the examples has compiled every pattern.
    detector.forget_compiled();
    (detector, diagnostics)
}

fn bad_rule(file: &RuleFile, place: &Place, message: &str) -> Diagnostic {
    Diagnostic::error(Code::DetectionRule, format!("rule `{}`: {message}", file.id)).at(place.clone())
}

/// Where a rule's id stands in its file.
fn place_of(source: &Arc<Source>, id: &str) -> Place {
    let start = source.text.find(&format!("id: {id}\n")).unwrap_or(0);
    Place::new(source, start..start + if start > 0 { id.len() + 4 } else { 0 })
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &str = "- id: own.badge
  name: Badge
  description: A badge number
  definition: ours
  literals: [ACME-]
  pattern: 'ACME-(?<value>[0-9]{4})'
  confidence: high
  examples: ['ACME-1234']
  counter_examples: ['ACME-12']
";

    /// What is said of a rule.
    fn said(text: &str) -> String {
        let source = Source::new("own.yaml", text);
        load(&[source], Trust::None).1.to_string()
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_said() {
        assert_eq!(said(SOUND), "");
        let cases = [
            ("own.badge", "badge", "it needs an id such as"),
            ("ACME-]", "AC]", "at least three bytes"),
            ("  literals: [ACME-]\n", "", "it needs a place to begin"),
            ("literals: [ACME-]", "shapes: ['9999']", "none if it has shapes only"),
            ("literals: [ACME-]", "anchor: keyword_number", "it needs `keywords`"),
            ("confidence", "before_bytes: 3\n  confidence", "is the value as a whole"),
            ("confidence", "validator: none\n  confidence", "there is no validator `none`"),
            ("(?<value>[0-9]{4})", "[0-9", "its pattern cannot be compiled"),
            ("(?<value>[0-9]{4})", "([0-9]{4})", "write others as `(?:…)`"),
            ("(?<value>[0-9]{4})", "(?<value>[0-9])([0-9]{3})", "write others as `(?:…)`"),
            ("(?<value>[0-9]{4})", "(?=1)([0-9]{4})", "write others as `(?:…)`"),
            ("'ACME-12'", "'ACME-4321'", "it reports its counter-example"),
            ("'ACME-1234'", "'ACME-x'", "it misses its example"),
            ("['ACME-12']", "[]", "at least one example and one counter-example"),
            ("- id", "id", "the file is not a list of rules"),
        ];
        for (sound, wrong, message) in cases {
            let text = SOUND.replace(sound, wrong);
            assert_ne!(text, SOUND, "{sound}");
            let said = said(&text);
            assert!(said.contains(message), "{wrong}: {said}");
        }
        let said = said(&format!("{SOUND}{SOUND}"));
        assert!(said.contains("another rule with this id"), "{said}");
    }
}
