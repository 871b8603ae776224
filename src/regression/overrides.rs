//! What is expected otherwise on this engine, in go-ftw's format: the tests, the reason, the output
//! that holds instead.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::case::Output;

/// Overrides by test id.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    pub(super) outputs: HashMap<String, Output>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileYaml {
    #[serde(default, rename = "version")]
    _version: Option<IgnoredAny>,
    #[serde(default, rename = "meta")]
    _meta: Option<IgnoredAny>,
    test_overrides: Vec<OverrideYaml>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OverrideYaml {
    rule_id: u64,
    test_ids: Vec<u64>,
    reason: String,
    #[serde(default)]
    expect_failure: Option<bool>,
    output: Output,
}

impl Overrides {
    /// Reads a file's text.
    ///
    /// # Errors
    /// One sentence if it is not YAML, has an unknown key, or an override gives no reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: FileYaml = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let FileYaml { test_overrides, .. } = file;
        let mut outputs = HashMap::new();
        for OverrideYaml { rule_id, test_ids, reason, expect_failure, output } in test_overrides {
            if reason.trim().is_empty() {
                return Err(format!("the override of rule {rule_id} gives no reason"));
            }
            if expect_failure == Some(true) {
                return Err(format!(
                    "the override of rule {rule_id} expects a failure; say with `output` what is expected instead"
                ));
            }
            outputs.extend(test_ids.iter().map(|test| (format!("{rule_id}-{test}"), output.clone())));
        }
        Ok(Self { outputs })
    }

    pub fn len(&self) -> usize {
        self.outputs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_needs_a_reason() {
        let text = |reason: &str| {
            format!(
                "test_overrides:\n  - rule_id: 1\n    test_ids: [2, 3]\n    reason: '{reason}'\n    output: {{status: 400}}\n"
            )
        };
        assert_eq!(Overrides::parse(&text("the server refuses it")).unwrap().len(), 2);
        assert!(Overrides::parse(&text(" ")).is_err());
    }
}
