//! A service of the operator that judges what callers ask of providers before a provider hears of it, and what providers
//! answer before the caller does.
//!
//! It gets a `POST` with the body of a call or of its answer and what is known of it, and answers `{"action": "allow"}`, or
//! `"block"` with a `reason` for the caller. Any other answer, and none in time, is a failure.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::header;
use pingora::http::RequestHeader;
use pingora::{Error, ErrorType, Result};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::call::Call;
use super::context::Context;
use super::service_client::{ServiceAnswer, ServiceClient, ServiceRequest};
use crate::ai::CompiledGuardrail;
use crate::clock::Clock;
use ::gateway::answer::GatewayError;
use model::gateway::{CallStage, GuardrailFailure};
use model::{ContentCategory, DlpAction, Finding};

/// Longest answer that is read.
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// Told to a client whose answer cannot be judged.
const UNREADABLE_ANSWER: &str = "the answer is longer than `limits.inspected_body`, or its `Content-Encoding` cannot be \
                                 undone, so that it cannot be judged";

/// The step that asks guardrails.
pub(super) struct Guardrails(ServiceClient);

/// What a guardrail is asked.
#[derive(Serialize)]
struct Question<'a> {
    /// What is judged.
    stage: CallStage,
    ray: &'a str,
    account: &'a str,
    gateway: &'a str,
    provider: &'a str,
    /// Towards the provider.
    path: &'a str,
    metadata: &'a serde_json::Map<String, serde_json::Value>,
    /// The kinds of content that the gateway asks about, with what it does about each.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    categories: &'a BTreeMap<ContentCategory, DlpAction>,
    /// Of an answer.
    #[serde(flatten)]
    answer: Option<AnswerHead<'a>>,
    /// The body, if it is JSON.
    body: Option<&'a RawValue>,
    /// The body as text, if it is anything else.
    text: Option<String>,
}

/// What the head of a provider's answer says.
#[derive(Clone, Copy, Serialize)]
pub(super) struct AnswerHead<'a> {
    pub(super) status: u16,
    pub(super) content_type: &'a str,
}

#[derive(Deserialize)]
struct GuardrailAnswer {
    action: GuardrailAction,
    #[serde(default)]
    reason: Option<String>,
    /// The kinds of content that it found, by their words; others are let be.
    #[serde(default)]
    categories: Vec<String>,
}

/// What was found in a call, and whether that may go on.
struct ContentVerdict {
    blocks: bool,
    found: Vec<ContentCategory>,
}

impl GuardrailAnswer {
    fn content(&self, policy: &BTreeMap<ContentCategory, DlpAction>) -> ContentVerdict {
        let found: Vec<ContentCategory> = self
            .categories
            .iter()
            .filter_map(|word| ContentCategory::parse(word))
            .filter(|category| policy.contains_key(category))
            .collect();
        let blocks = found.iter().any(|category| policy.get(category) == Some(&DlpAction::Block));
        ContentVerdict { blocks, found }
    }
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum GuardrailAction {
    Allow,
    Block,
}

impl Guardrails {
    pub(super) fn new(clock: Clock) -> Self {
        Self(ServiceClient::new(clock))
    }

    /// Asks the guardrail of a call's gateway, if that has one, about what is asked; inside, why the call does not go out.
    pub(super) async fn judge(
        &self,
        call: &mut Call,
        body: Option<&Bytes>,
        ctx: &mut Context,
    ) -> std::result::Result<(), GatewayError> {
        let gateway = Arc::clone(&call.gateway);
        let Some(guardrail) = &gateway.guardrail else { return Ok(()) };
        // What only reads asks nothing of a model.
        if body.is_some_and(Bytes::is_empty) {
            return Ok(());
        }
        let Some(body) = body else {
            ctx.reason = Some("what passes over a WebSocket cannot be judged before it goes on".to_owned());
            return Err(GatewayError::PromptBlocked);
        };
        if !guardrail.judges(CallStage::Request) {
            return Ok(());
        }
        let question = question(call, guardrail, None, body, &ctx.ray);
        self.verdict(guardrail, CallStage::Request, question, &mut call.content, ctx).await
    }

    /// The same about what a provider answers; inside, why the client does not get it. `body` is nothing if it cannot be read.
    pub(super) async fn judge_answer(
        &self,
        guardrail: &CompiledGuardrail,
        head: AnswerHead<'_>,
        body: Option<&Bytes>,
        ctx: &mut Context,
    ) -> std::result::Result<(), GatewayError> {
        let ray = ctx.ray.clone();
        let question = match (body, ctx.call()) {
            (Some(body), _) if body.is_empty() => return Ok(()),
            (Some(body), Some(call)) => question(call, guardrail, Some(head), body, &ray),
            _ if guardrail.on_failure == GuardrailFailure::Pass => return Ok(()),
            _ => {
                ctx.reason = Some(UNREADABLE_ANSWER.to_owned());
                return Err(GatewayError::GuardrailUnavailable);
            }
        };
        let mut content = Vec::new();
        let verdict = self.verdict(guardrail, CallStage::Response, question, &mut content, ctx).await;
        if let Some(call) = ctx.call() {
            call.content.extend(content);
        }
        verdict
    }

    async fn verdict(
        &self,
        guardrail: &CompiledGuardrail,
        stage: CallStage,
        question: Result<Bytes>,
        content: &mut Vec<Finding>,
        ctx: &mut Context,
    ) -> std::result::Result<(), GatewayError> {
        let (check, blocked) = match stage {
            CallStage::Request => ("REQUEST", GatewayError::PromptBlocked),
            CallStage::Response => ("RESPONSE", GatewayError::ResponseBlocked),
        };
        let asked = async { self.ask(guardrail, question?, ctx).await };
        match (tokio::time::timeout(guardrail.timeout, asked).await, guardrail.on_failure) {
            (Ok(Ok(answer)), _) => {
                let ContentVerdict { blocks, found } = answer.content(guardrail.content_policy.of(stage));
                content.extend(found.iter().map(|category| of_content(check, *category)));
                if answer.action == GuardrailAction::Allow && !blocks {
                    return Ok(());
                }
                let words: Vec<String> = found.iter().map(|category| category.word()).collect();
                let kinds = Some(words.join(", ")).filter(|words| !words.is_empty());
                ctx.reason = answer.reason.or(kinds);
                Err(blocked)
            }
            (Ok(Err(_)) | Err(_), GuardrailFailure::Pass) => Ok(()),
            (Ok(Err(_)) | Err(_), GuardrailFailure::Block) => Err(GatewayError::GuardrailUnavailable),
        }
    }

    async fn ask(
        &self,
        guardrail: &CompiledGuardrail,
        question: Bytes,
        ctx: &Context,
    ) -> Result<GuardrailAnswer> {
        let request = request(guardrail, question)?;
        let ServiceAnswer { head, body } = self.0.ask(&guardrail.origin, &request, ctx).await?;
        if !head.status.is_success() {
            return Error::e_explain(ErrorType::InternalError, "a guardrail did not answer with 2xx");
        }
        let unreadable = |error| Error::because(ErrorType::InternalError, "the answer of a guardrail", error);
        serde_json::from_slice(&body).map_err(unreadable)
    }
}

/// What is asked about a call, or about its answer.
fn question(
    call: &Call,
    guardrail: &CompiledGuardrail,
    answer: Option<AnswerHead<'_>>,
    body: &Bytes,
    ray: &str,
) -> Result<Bytes> {
    let stage = if answer.is_some() { CallStage::Response } else { CallStage::Request };
    let json = serde_json::from_slice::<&RawValue>(body).ok();
    let question = Question {
        stage,
        categories: guardrail.content_policy.of(stage),
        ray,
        account: &call.gateway.account,
        gateway: &call.gateway.id,
        provider: &call.provider.slug,
        path: &call.path,
        metadata: &call.options.metadata.entries,
        answer,
        body: json,
        text: json.is_none().then(|| String::from_utf8_lossy(body).into_owned()),
    };
    let failed = |error| Error::because(ErrorType::InternalError, "a question cannot be written", error);
    serde_json::to_vec(&question).map(Bytes::from).map_err(failed)
}

/// A kind of content as a row has it.
fn of_content(check: &str, category: ContentCategory) -> Finding {
    let rule = format!("guardrail.{}", category.word());
    Finding { check: check.to_owned(), rule, count: 1, offset: 0, sample: String::new() }
}

fn request(guardrail: &CompiledGuardrail, question: Bytes) -> Result<ServiceRequest> {
    let mut head = RequestHeader::build(http::Method::POST, guardrail.target.as_bytes(), None)?;
    head.insert_header(header::HOST, guardrail.origin.url.authority())?;
    head.insert_header(header::CONTENT_TYPE, "application/json")?;
    head.insert_header(header::CONTENT_LENGTH, question.len())?;
    head.insert_header(header::USER_AGENT, "portcullis")?;
    if let Some(authorization) = &guardrail.authorization {
        head.insert_header(header::AUTHORIZATION, authorization.expose())?;
    }
    let may_be_private = guardrail.may_be_private;
    Ok(ServiceRequest { head, body: Some(question), max_answer_bytes: MAX_ANSWER_BYTES, may_be_private })
}
