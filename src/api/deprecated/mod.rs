//! What ends: found in requests, told to clients, refused after its end; and the old forms of resources, which are read
//! from the new ones and written as these.
//!
//! The calendar is the crate [`deprecations`]. A row about fields, values or forms of a query is found in [`forms`]; one
//! about operations in [`ended`]. What is still served of fields is read and shown by the resource itself; operations that
//! end are in `resources/old`, each over the resource that took its place.

mod caller;
mod ended;
mod error_chain;
mod forms;
mod rows;
mod telling;

use std::sync::LazyLock;

use deprecations::{DeprecationKind, SHIPPED};

use super::auth::Permission;
use super::envelope::Item;
use super::error::BAD_FIELD;
use super::operation::{Answer, ApiCall, Operation, ResultKind, Running, Verb};
use super::resources;

pub(super) use caller::OldCaller;
pub(super) use ended::check as check_operation;
pub(super) use forms::{check_body, check_query, is_list};
pub(super) use rows::{CallAbout, CallRows, requested_day};
pub(super) use telling::{write_headers, write_version};

/// Operations that end, and never were a part of this server: whoever calls them hears so.
pub(super) fn not_here() -> impl Iterator<Item = &'static Operation> {
    static NOT_HERE: LazyLock<Vec<Operation>> = LazyLock::new(|| {
        let is_served = |verb: Verb, path: &str| {
            resources::all().any(|operation| operation.verb == verb && operation.path == path)
        };
        let of_routes = SHIPPED.rows().iter().filter(|row| row.what == DeprecationKind::Route);
        let named = of_routes.flat_map(|row| &row.operations);
        named
            .filter_map(|(method, path)| {
                let verb = Verb::parse(method)?;
                (!is_served(verb, path)).then_some(Operation {
                    verb,
                    path,
                    summary: "Is no part of this server.",
                    permission: Permission::Any,
                    query: &[],
                    input: None,
                    output: ResultKind::Nothing,
                    run: refuse,
                })
            })
            .collect()
    });
    NOT_HERE.iter()
}

fn refuse(call: ApiCall) -> Running {
    Box::pin(async move {
        let refused = call.old.as_ref().map(|rows| ended::not_here(rows, &call.path));
        Err(refused.unwrap_or_else(|| super::error::ApiError::unknown(&call.path).into()))
    })
}

/// Adds to an outcome what the call should hear of what it used. `unknown` are fields that were dropped.
pub(super) fn finish(rows: &CallRows, operation: &str, unknown: Vec<String>, outcome: Answer) -> Answer {
    match outcome {
        Ok(mut reply) => {
            reply.messages.extend(telling::messages(rows, operation));
            reply.messages.extend(unknown.into_iter().map(|pointer| {
                Item::new(
                    BAD_FIELD.code,
                    format!("the field `{pointer}` is not known here and was passed over"),
                )
            }));
            Ok(reply)
        }
        Err(errors) if rows.mode(error_chain::ROW).is_served() => Err(error_chain::chained(errors)),
        Err(errors) => Err(errors),
    }
}
