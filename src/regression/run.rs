//! A test's requests through the engine, all phases, one transaction each.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;

use super::case::Test;
use super::overrides::Overrides;
use super::request::Request;
use super::server::{self, Reception};
use super::verdict::{self, Answer, LogLine, Outcome, Report};
use seclang::BodyLimits;
use seclang::{Phase, Plan, PlanSettings, Program, RequestHead, ResponseHead, Transaction};

/// Any moment will do, as long as it stays the same.
const RECEIVED: Duration = Duration::from_secs(1_750_000_000);

/// Runs tests on one program.
#[derive(Debug)]
pub struct Runner {
    program: Arc<Program>,
    plan: Arc<Plan>,
    overrides: Overrides,
    /// Whether rules see what a server would refuse.
    is_engine_alone: bool,
}

/// A request that is an attack or is none, and what rules make of it.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The test expects a rule to match.
    pub is_attack: bool,
    pub is_refused: bool,
    /// Rules that added to the score.
    pub rules: Vec<u64>,
}

/// What the reflector of the tests is told to answer, as JSON in the request's body.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Reflection {
    status: Option<u16>,
    headers: std::collections::BTreeMap<String, String>,
    body: String,
    encoded_body: String,
}

impl Runner {
    /// With the rules as they are, all levels of them.
    pub fn new(program: Arc<Program>, overrides: Overrides) -> Self {
        let plan = Arc::new(Plan::new(Arc::clone(&program), &PlanSettings::default()));
        Self::with_plan(program, plan, overrides)
    }

    /// With the rules as a zone runs them.
    pub fn with_plan(program: Arc<Program>, plan: Arc<Plan>, overrides: Overrides) -> Self {
        Self { program, plan, overrides, is_engine_alone: false }
    }

    /// Shows rules every request as it is, without what a server refuses before: no status but theirs.
    #[must_use]
    pub fn engine_alone(self) -> Self {
        Self { is_engine_alone: true, ..self }
    }

    /// What becomes of a test's requests, whatever rule it expects.
    ///
    /// # Errors
    /// One sentence if a request cannot be built.
    pub fn sample(&self, test: &Test) -> Result<Sample, String> {
        self.program.forget_collections();
        let mut sample = Sample::default();
        for stage in &test.stages {
            let expected = self.overrides.outputs.get(&test.id).unwrap_or(&stage.output);
            sample.is_attack |= expected.expects_rules();
            let mut transaction = Transaction::new(Arc::clone(&self.plan), BodyLimits::default());
            sample.is_refused |= drive(&mut transaction, &Request::build(&stage.input)?).is_some();
            sample.rules.extend(transaction.matches().iter().filter(|m| m.score > 0).map(|m| m.rule));
        }
        Ok(sample)
    }

    /// Runs one test; the first stage that fails decides.
    pub fn run(&self, test: &Test) -> Report {
        // What one test makes rules remember must not reach the next.
        self.program.forget_collections();
        for (index, stage) in test.stages.iter().enumerate() {
            let expected = self.overrides.outputs.get(&test.id).unwrap_or(&stage.output);
            let outcome = match Request::build(&stage.input) {
                Ok(request) => {
                    let asks_for_status = expected.status.is_some() || expected.expect_error.is_some();
                    verdict::judge(expected, &self.answer(&request, asks_for_status))
                }
                Err(reason) => Outcome::Failed(reason),
            };
            if let Outcome::Failed(reason) = outcome {
                let stage =
                    if test.stages.len() > 1 { format!("stage {}: ", index + 1) } else { String::new() };
                return Report {
                    test: test.id.clone(),
                    outcome: Outcome::Failed(format!("{stage}{reason}")),
                };
            }
        }
        Report { test: test.id.clone(), outcome: Outcome::Passed }
    }

    fn answer(&self, request: &Request, asks_for_status: bool) -> Answer {
        let reception = if self.is_engine_alone { Reception::Accepted } else { server::receive(request) };
        let mut transaction =
            Transaction::new(Arc::clone(&self.plan), BodyLimits { arguments: 5000, ..BodyLimits::default() });
        // A server refuses what is malformed before rules see it; if a test does not ask for that,
        // the engine is shown the fields all the same.
        let refused = asks_for_status && reception != Reception::Accepted;
        let interruption = if refused { None } else { drive(&mut transaction, request) };
        let status = match (reception, interruption) {
            (Reception::Dropped, _) => None,
            (Reception::Malformed, _) => Some(400),
            (Reception::Accepted, Some(status)) => Some(status),
            (Reception::Accepted, None) => Some(200),
        };
        Answer { status, log: transaction.matches().iter().map(LogLine::from).collect() }
    }
}

/// Runs every phase; the status of a refusal, if there is one.
fn drive(transaction: &mut Transaction, request: &Request) -> Option<u16> {
    let headers: Vec<(&[u8], &[u8])> =
        request.headers.iter().map(|(name, value)| (name.as_slice(), value.as_slice())).collect();
    transaction.request_head(&RequestHead {
        method: &request.method,
        target: &request.target,
        protocol: &request.protocol,
        headers: &headers,
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        server: None,
        request_id: "test",
        received: RECEIVED,
    });
    let mut refused = transaction.run(Phase::RequestHeaders);
    if refused.is_none() {
        transaction.request_body(Bytes::copy_from_slice(&request.body), false);
        refused = transaction.run(Phase::RequestBody);
    }
    if refused.is_none() {
        refused = respond(transaction, request);
    }
    transaction.run(Phase::Logging);
    refused.map(|interruption| interruption.status)
}

fn respond(transaction: &mut Transaction, request: &Request) -> Option<seclang::Interruption> {
    let path = request.target.split(|byte| *byte == b'?').next().unwrap_or(&[]);
    let reflects = path.starts_with(b"/reflect");
    let reflection: Reflection = if reflects {
        serde_json::from_slice(&request.body).unwrap_or_default()
    } else {
        Reflection::default()
    };
    let mut headers: Vec<(&[u8], &[u8])> =
        reflection.headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(b"content-type")) {
        headers.push((b"Content-Type", b"text/plain"));
    }
    let status = reflection.status.unwrap_or(200);
    transaction.response_head(&ResponseHead { status, protocol: "HTTP/1.1", headers: &headers });
    if let Some(refused) = transaction.run(Phase::ResponseHeaders) {
        return Some(refused);
    }
    let body = if reflection.encoded_body.is_empty() {
        reflection.body.into_bytes()
    } else {
        super::request::base64(&reflection.encoded_body).unwrap_or_default()
    };
    if transaction.wants_response_body() {
        transaction.response_body(Bytes::from(body), false);
    }
    transaction.run(Phase::ResponseBody)
}
