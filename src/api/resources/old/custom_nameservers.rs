//! Zones that may have custom name servers: all of an account.

use crate::api::auth::Permission;
use crate::api::auth::scope::ScopeSubject;
use crate::api::envelope::ApiReply;
use crate::api::error::ApiError;
use crate::api::operation::{Answer, ApiCall, Operation, ResultKind, Verb};
use crate::api::resources::accounts;

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[Operation {
    verb: Verb::Get,
    path: "/accounts/{account_id}/custom_ns/availability",
    summary: "Lists the zones that may have custom name servers.",
    permission: Permission::AccountRead,
    query: &[],
    input: None,
    output: ResultKind::Value,
    run: |call| Box::pin(list(call)),
}];

async fn list(call: ApiCall) -> Answer {
    let (account, resources) = (call.account(), &call.snapshot.resources);
    if !accounts::exists(resources, &account) {
        return Err(ApiError::unknown(&call.path).into());
    }
    let zones = resources.zones.values().filter(|zone| {
        let subject = ScopeSubject::Zone(zone.id.clone(), zone.account.clone());
        zone.account == account && call.actor.may(Permission::ZoneRead, &subject)
    });
    let mut names: Vec<&str> = zones.map(|zone| zone.name.as_str()).collect();
    names.sort_unstable();
    ApiReply::of(&names)
}
