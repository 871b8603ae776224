//! Whether what happened is what a test expects.

use super::case::{LogExpectation, Output};
use pattern::Pattern;
use seclang::Match;

/// What a request led to.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// `None` if the connection ends without an answer.
    pub status: Option<u16>,
    pub log: Vec<LogLine>,
}

/// A rule in the log.
#[derive(Clone, Debug)]
pub struct LogLine {
    pub rule: u64,
    /// What patterns of tests look into: the place, message and data of the match.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// What was expected and what came instead.
    Failed(String),
}

/// How one test went.
#[derive(Clone, Debug)]
pub struct Report {
    pub test: String,
    pub outcome: Outcome,
}

/// In the order of go-ftw: an expected error ends it, then the status, then the log.
pub(super) fn judge(expected: &Output, answer: &Answer) -> Outcome {
    match check(expected, answer) {
        Ok(()) => Outcome::Passed,
        Err(reason) => Outcome::Failed(reason),
    }
}

fn check(expected: &Output, answer: &Answer) -> Result<(), String> {
    match (expected.expect_error, answer.status) {
        (Some(true), None) => return Ok(()),
        (Some(true), Some(status)) => return Err(format!("expected no answer, found status {status}")),
        _ => {}
    }
    if let Some(statuses) = &expected.status {
        let found = answer.status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        if !statuses.0.contains(&found) {
            return Err(format!("expected status {}, found {found}", statuses.0.join(" or ")));
        }
    }
    if expected.response_contains.is_some() || expected.html_contains.is_some() {
        return Err("expectations about the response's text cannot be checked without a server".to_owned());
    }
    let older = LogExpectation {
        match_regex: expected.log_contains.as_ref().map(|text| text.0.clone()),
        no_match_regex: expected.no_log_contains.as_ref().map(|text| text.0.clone()),
        ..LogExpectation::default()
    };
    check_log(&older, answer)?;
    expected.log.as_ref().map_or(Ok(()), |log| check_log(log, answer))
}

fn check_log(expected: &LogExpectation, answer: &Answer) -> Result<(), String> {
    let ids: Vec<u64> = answer.log.iter().map(|line| line.rule).collect();
    let listed = || ids.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    if let Some(missing) = expected.expect_ids.iter().find(|id| !ids.contains(id)) {
        return Err(format!("expected rule {missing} in the log, found [{}]", listed()));
    }
    if let Some(id) = expected.no_expect_ids.iter().find(|id| ids.contains(id)) {
        return Err(format!("expected rule {id} not to be in the log"));
    }
    let any = |pattern: &str| {
        let pattern = Pattern::new(pattern).map_err(|error| format!("the expected pattern: {error}"))?;
        Ok::<_, String>(answer.log.iter().any(|line| pattern.is_match(line.text.as_bytes())))
    };
    if let Some(pattern) = &expected.match_regex
        && !any(pattern)?
    {
        return Err(format!("expected the log to match `{pattern}`, found [{}]", listed()));
    }
    if let Some(pattern) = &expected.no_match_regex
        && any(pattern)?
    {
        return Err(format!("expected the log not to match `{pattern}`, found [{}]", listed()));
    }
    Ok(())
}

impl LogLine {
    /// A match as error logs of this language show it.
    pub fn new(
        rule: u64,
        variable: &str,
        message: &str,
        data: &str,
        severity: &str,
        tags: &[String],
    ) -> Self {
        let tags: String = tags.iter().map(|tag| format!(" [tag \"{tag}\"]")).collect();
        let text = format!(
            "Warning. Match at {variable}. [id \"{rule}\"] [msg \"{message}\"] [data \"{data}\"] [severity \"{severity}\"]{tags}"
        );
        Self { rule, text }
    }
}

impl From<&Match> for LogLine {
    fn from(m: &Match) -> Self {
        Self::new(m.rule, m.variable(), &m.message, &m.data, m.severity_word().unwrap_or(""), &m.tags)
    }
}

#[cfg(test)]
mod tests {
    use super::super::scalar::{OneOrMany, Scalar};
    use super::*;

    fn answer(status: Option<u16>, rules: &[u64]) -> Answer {
        let one = |rule: &u64| LogLine::new(*rule, "ARGS:q", "m", "", "CRITICAL", &["t".to_owned()]);
        Answer { status, log: rules.iter().map(one).collect() }
    }

    #[test]
    fn each_expectation_can_fail() {
        let log = |expect: &[u64], not: &[u64], matches: Option<&str>, no: Option<&str>| Output {
            log: Some(LogExpectation {
                expect_ids: expect.to_vec(),
                no_expect_ids: not.to_vec(),
                match_regex: matches.map(str::to_owned),
                no_match_regex: no.map(str::to_owned),
            }),
            ..Output::default()
        };
        let status =
            Output { status: Some(OneOrMany(vec!["403".into(), "400".into()])), ..Output::default() };
        let error = Output { expect_error: Some(true), ..Output::default() };
        let older = Output { log_contains: Some(Scalar("id \"7\"".into())), ..Output::default() };
        let older_not = Output { no_log_contains: Some(Scalar("id \"7\"".into())), ..Output::default() };
        let cases = [
            (log(&[7], &[], None, None), answer(Some(200), &[7]), answer(Some(200), &[8])),
            (log(&[], &[7], None, None), answer(Some(200), &[8]), answer(Some(200), &[7])),
            (log(&[], &[], Some("ARGS:q"), None), answer(Some(200), &[7]), answer(Some(200), &[])),
            (log(&[], &[], None, Some(r#"\[id "\d+"\]"#)), answer(Some(200), &[]), answer(Some(200), &[7])),
            (status, answer(Some(400), &[]), answer(Some(200), &[])),
            (error, answer(None, &[]), answer(Some(200), &[])),
            (older, answer(Some(200), &[7]), answer(Some(200), &[8])),
            (older_not, answer(Some(200), &[8]), answer(Some(200), &[7])),
        ];
        for (expected, good, bad) in cases {
            assert_eq!(judge(&expected, &good), Outcome::Passed, "{expected:?}");
            assert!(matches!(judge(&expected, &bad), Outcome::Failed(_)), "{expected:?}");
        }
    }
}
