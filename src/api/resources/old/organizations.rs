//! Organizations: accounts under their first name.

use crate::api::auth::Permission;
use crate::api::operation::{DRY_RUN, InputShape, Operation, ResultKind, Verb};
use crate::api::resources::{accounts, shapes};

const PATH: &str = "/organizations/{organization_id}";

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: PATH,
        summary: "Shows an account.",
        permission: Permission::AccountRead,
        query: &[],
        input: None,
        output: ResultKind::One(shapes::ACCOUNT),
        run: |call| Box::pin(accounts::find(call)),
    },
    Operation {
        verb: Verb::Patch,
        path: PATH,
        summary: "Changes the name of an account.",
        permission: Permission::AccountWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::ACCOUNT)),
        output: ResultKind::One(shapes::ACCOUNT),
        run: |call| Box::pin(accounts::rename(call)),
    },
];
