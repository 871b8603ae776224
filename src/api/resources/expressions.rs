//! Filter expressions, checked without a rule.

use expression::{Expression, ValueExpression};
use model::{AccountId, Phase};
use serde::Serialize;

use super::{rule_input, shapes};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error;
use crate::api::operation::{Answer, ApiCall, InputShape, Operation, ResultKind, Running, Verb};

const fn check(path: &'static str, permission: Permission, run: fn(ApiCall) -> Running) -> Operation {
    Operation {
        verb: Verb::Post,
        path,
        summary: "Says whether a text is a filter expression, and where not.",
        permission,
        query: &[],
        input: Some(InputShape::Object(shapes::EXPRESSION)),
        output: ResultKind::One(shapes::CHECKED_EXPRESSION),
        run,
    }
}

pub(super) const OPERATIONS: &[Operation] = &[
    check("/zones/{zone_id}/expressions/check", Permission::WafRead, |call| {
        Box::pin(async move {
            let account = call.zone()?.account.clone();
            checked(&call, &account)
        })
    }),
    check("/accounts/{account_id}/expressions/check", Permission::RulesetsRead, |call| {
        Box::pin(async move { checked(&call, &call.account()) })
    }),
];

#[derive(Debug, Serialize)]
struct ShownCheck {
    valid: bool,
    /// `condition` or `value`.
    kind: Option<&'static str>,
    /// From 1, in bytes.
    column: Option<usize>,
    message: Option<String>,
    /// The line with a caret below.
    excerpt: Option<String>,
}

fn checked(call: &ApiCall, account: &AccountId) -> Answer {
    let ((text, phase), unknown) = rule_input::read(&call.body, |fields| {
        let phase = match fields.value("phase") {
            Some(_) => fields.word::<Phase>("phase", error::BAD_PHASE),
            None => Some(Phase::HttpRequestFirewallCustom),
        };
        Some((fields.required_text("expression")?.to_owned(), phase?))
    })?;
    let sets = call.snapshot.sets_of(account);
    let valid =
        |kind| ShownCheck { valid: true, kind: Some(kind), column: None, message: None, excerpt: None };
    let shown = match Expression::parse_with(&text, phase, &sets) {
        Ok(_) => valid("condition"),
        // What is no condition may be a value, as `rewrite` and `redirect` take it.
        Err(_) if ValueExpression::parse(&text, phase, &sets).is_ok() => valid("value"),
        Err(mistake) => ShownCheck {
            valid: false,
            kind: None,
            column: Some(mistake.at + 1),
            excerpt: Some(mistake.excerpt(&text)),
            message: Some(mistake.message),
        },
    };
    Ok(ApiReply::of(&shown)?.passing_over(unknown))
}
