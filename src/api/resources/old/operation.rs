//! How operations over the rules of a zone are listed.

use crate::api::auth::Permission;
use crate::api::operation::{
    ApiCall, DRY_RUN, InputShape, Operation, PAGE, PER_PAGE, QueryParameter, ResultKind, Running, Verb,
};

/// Parameters of what lists, and of what changes something.
pub(super) const PAGES: &[QueryParameter] = &[PAGE, PER_PAGE];
pub(super) const WRITE: &[QueryParameter] = &[DRY_RUN];

/// An operation that reads or writes rules. `input` is its body, if its verb has one.
pub(super) const fn operation(
    verb: Verb,
    path: &'static str,
    summary: &'static str,
    (query, input): (&'static [QueryParameter], InputShape),
    output: ResultKind,
    run: fn(ApiCall) -> Running,
) -> Operation {
    let (permission, input) = match verb {
        Verb::Get => (Permission::WafRead, None),
        Verb::Delete => (Permission::WafWrite, None),
        Verb::Post | Verb::Put | Verb::Patch => (Permission::WafWrite, Some(input)),
    };
    Operation { verb, path, summary, permission, query, input, output, run }
}
