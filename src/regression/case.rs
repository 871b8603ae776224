//! The two YAML forms of tests: `stages[].input/output` with `log.expect_ids`, and the older
//! `stages[].stage.input/output` with `log_contains`. A key that neither form has is an error: a
//! check that is not understood would pass for ever.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::overrides::Overrides;
use super::request::Request;
use super::scalar::{Fields, OneOrMany, Scalar};
use super::verdict::{self, Answer, Outcome};
use body::urlencoded;

/// The tests of one file.
#[derive(Clone, Debug)]
pub struct Suite {
    pub tests: Vec<Test>,
}

/// One test: requests in order, each with what is expected of it.
#[derive(Clone, Debug)]
pub struct Test {
    /// `942100-3`
    pub id: String,
    pub(super) stages: Vec<Stage>,
}

#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) input: Input,
    pub(super) output: Output,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Input {
    pub(super) dest_addr: Option<Scalar>,
    pub(super) port: Option<Scalar>,
    pub(super) protocol: Option<Scalar>,
    pub(super) method: Option<Scalar>,
    pub(super) uri: Option<Scalar>,
    pub(super) version: Option<Scalar>,
    pub(super) headers: Fields,
    pub(super) data: Option<OneOrMany>,
    pub(super) encoded_request: Option<Scalar>,
    /// The same without Base64, in the older form.
    pub(super) raw_request: Option<Scalar>,
    pub(super) autocomplete_headers: Option<bool>,
    /// The older form's `autocomplete_headers`, the other way round.
    pub(super) stop_magic: Option<bool>,
    pub(super) save_cookie: Option<IgnoredAny>,
    pub(super) follow_redirect: Option<IgnoredAny>,
    pub(super) virtual_host_mode: Option<IgnoredAny>,
    /// Whether it is of the older form, whose client announced a length only if there is a body.
    #[serde(skip)]
    pub(super) older: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Output {
    pub(super) status: Option<OneOrMany>,
    pub(super) expect_error: Option<bool>,
    pub(super) retry_once: Option<bool>,
    pub(super) isolated: Option<bool>,
    pub(super) response_contains: Option<String>,
    pub(super) log: Option<LogExpectation>,
    /// The older form: a pattern that the log must match, or must not.
    pub(super) log_contains: Option<Scalar>,
    pub(super) no_log_contains: Option<Scalar>,
    pub(super) html_contains: Option<Scalar>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LogExpectation {
    pub(super) expect_ids: Vec<u64>,
    pub(super) no_expect_ids: Vec<u64>,
    pub(super) match_regex: Option<String>,
    pub(super) no_match_regex: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileYaml {
    #[serde(default, rename = "meta")]
    _meta: Option<IgnoredAny>,
    /// Some files have it here instead of in `meta`.
    #[serde(default, rename = "author")]
    _author: Option<IgnoredAny>,
    #[serde(default)]
    rule_id: Option<u64>,
    #[serde(default)]
    tests: Vec<TestYaml>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TestYaml {
    #[serde(default)]
    test_id: Option<u64>,
    #[serde(default)]
    test_title: Option<Scalar>,
    #[serde(default, rename = "desc")]
    _desc: Option<IgnoredAny>,
    stages: Vec<StageYaml>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StageYaml {
    #[serde(default, rename = "description")]
    _description: Option<IgnoredAny>,
    #[serde(default)]
    input: Option<Input>,
    #[serde(default)]
    output: Option<Output>,
    #[serde(default)]
    stage: Option<Box<Self>>,
}

impl Output {
    /// Whether a rule is to match.
    pub(super) fn expects_rules(&self) -> bool {
        let log = self.log.as_ref();
        self.log_contains.is_some()
            || log.is_some_and(|log| !log.expect_ids.is_empty() || log.match_regex.is_some())
    }
}

impl Suite {
    /// Reads a file's text; an empty one has no tests.
    ///
    /// # Errors
    /// One sentence if it is not YAML, has a key that is not known, or a test without a name.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.lines().all(|line| line.trim().is_empty() || line.starts_with('#') || line.trim() == "---") {
            return Ok(Self { tests: Vec::new() });
        }
        let options = serde_saphyr::Options::default();
        let file: FileYaml =
            serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())?;
        let FileYaml { rule_id, tests, .. } = file;
        let tests = tests.into_iter().map(|test| test.named(rule_id)).collect::<Result<_, _>>()?;
        Ok(Self { tests })
    }
}

impl Test {
    /// What goes over the wire, for each stage.
    ///
    /// # Errors
    /// One sentence if a request cannot be built.
    pub fn requests(&self) -> Result<Vec<Vec<u8>>, String> {
        self.stages.iter().map(|stage| Request::build(&stage.input).map(|request| request.wire)).collect()
    }

    /// Whether a rule is to match.
    pub fn is_attack(&self) -> bool {
        self.stages.iter().any(|stage| stage.output.expects_rules())
    }

    /// The values of the arguments that its requests have in the query and in forms, decoded.
    pub fn values(&self) -> Vec<Vec<u8>> {
        let mut values = Vec::new();
        for request in self.stages.iter().filter_map(|stage| Request::build(&stage.input).ok()) {
            let query = request.target.splitn(2, |byte| *byte == b'?').nth(1).unwrap_or(&[]);
            let is_form = request
                .header("content-type")
                .is_some_and(|value| value.starts_with(b"application/x-www-form-urlencoded"));
            let form = if is_form { request.body.as_slice() } else { &[] };
            for text in [query, form] {
                urlencoded::read(text, |_, value| {
                    let mut decoded = Vec::with_capacity(value.len());
                    urlencoded::decode(value, &mut decoded);
                    values.push(decoded);
                });
            }
        }
        values
    }

    /// Judges what each stage led to, by what is expected of it or by its override.
    pub fn judge(&self, answers: &[Answer], overrides: &Overrides) -> Outcome {
        let expected =
            self.stages.iter().map(|stage| overrides.outputs.get(&self.id).unwrap_or(&stage.output));
        let outcomes = expected.zip(answers).map(|(expected, answer)| verdict::judge(expected, answer));
        outcomes.into_iter().find(|outcome| *outcome != Outcome::Passed).unwrap_or(Outcome::Passed)
    }
}

impl TestYaml {
    fn named(self, rule: Option<u64>) -> Result<Test, String> {
        let Self { test_id, test_title, stages, .. } = self;
        let id = match (test_title, rule, test_id) {
            (Some(title), ..) => title.0,
            (None, Some(rule), Some(test)) => format!("{rule}-{test}"),
            _ => {
                return Err(
                    "a test has neither `test_title` nor a `test_id` in a file with `rule_id`".to_owned()
                );
            }
        };
        let stages = stages.into_iter().map(StageYaml::stage).collect::<Option<_>>();
        let stages = stages.ok_or_else(|| format!("a stage of test {id} has no `input` or no `output`"))?;
        Ok(Test { id, stages })
    }
}

impl StageYaml {
    fn stage(self) -> Option<Stage> {
        let Self { input, output, stage, .. } = self;
        match stage {
            Some(inner) => inner.stage().map(|mut stage| {
                stage.input.older = true;
                stage
            }),
            None => Some(Stage { input: input?, output: output? }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_unknown_keys_are_refused() {
        let new = "rule_id: 7\ntests:\n  - test_id: 1\n    stages:\n      - input:\n          headers: {B: 1, A: x}\n          data: a=1\n        output:\n          log: {expect_ids: [7]}\n";
        let suite = Suite::parse(new).unwrap();
        let stage = &suite.tests[0].stages[0];
        assert_eq!(suite.tests[0].id, "7-1");
        assert_eq!(stage.input.headers.0, [("B".into(), "1".into()), ("A".into(), "x".into())]);
        let old = "tests:\n  - test_title: 7-2\n    stages:\n      - stage:\n          input: {data: [a, b]}\n          output: {status: [403, 400], log_contains: 'id \"7\"'}\n";
        let suite = Suite::parse(old).unwrap();
        let stage = &suite.tests[0].stages[0];
        assert_eq!((suite.tests[0].id.as_str(), stage.output.status.clone().unwrap().0.len()), ("7-2", 2));
        assert!(Suite::parse("tests:\n  - test_title: x\n    stages: []\n    expects: 1\n").is_err());
        assert!(Suite::parse("---\n").unwrap().tests.is_empty());
    }
}
