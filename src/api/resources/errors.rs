//! Every code of the API with its cause.

use serde::Serialize;

use super::shapes;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error;
use crate::api::operation::{Answer, Operation, ResultKind, Verb};

pub(super) const OPERATIONS: &[Operation] = &[Operation {
    verb: Verb::Get,
    path: "/errors",
    summary: "Lists every code that `errors` of an answer can have.",
    permission: Permission::Any,
    query: &[],
    input: None,
    output: ResultKind::List(shapes::ERROR_CODE),
    run: |_| Box::pin(list()),
}];

#[derive(Debug, Serialize)]
struct ShownCode {
    code: u32,
    status: u16,
    cause: &'static str,
}

async fn list() -> Answer {
    let codes = error::ALL.iter().map(|known| ShownCode {
        code: known.code,
        status: known.status,
        cause: known.cause,
    });
    ApiReply::of(&codes.collect::<Vec<_>>())
}
