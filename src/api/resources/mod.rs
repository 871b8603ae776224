//! The resources of the API, one file each: decode, call, encode. A resource lists its operations; the router and the
//! description of the API are made from these lists.

mod accounts;
mod ai_logs;
mod alerting;
mod certificates;
mod custom_providers;
mod dns;
mod errors;
mod expressions;
mod gateway_settings;
mod gateway_tokens;
mod gateways;
mod hostnames;
mod list_items;
mod lists;
mod openapi;
mod provider_keys;
mod request_tracer;
mod rule_input;
mod rule_position;
mod ruleset_shapes;
mod rulesets;
mod rulesets_explain;
mod rulesets_read;
mod rulesets_writable;
mod security_events;
mod shapes;
mod tokens;
mod user;
mod zone_edit;
mod zone_filters;
mod zone_holds;
mod zones;

use super::operation::Operation;

/// The operations of each file.
const ALL: &[&[Operation]] = &[
    accounts::OPERATIONS,
    user::OPERATIONS,
    tokens::OPERATIONS,
    zones::OPERATIONS,
    zone_holds::OPERATIONS,
    rulesets_read::OPERATIONS,
    rulesets::OPERATIONS,
    rulesets::OF_ACCOUNTS,
    rulesets_read::OF_ACCOUNTS,
    rulesets_explain::OPERATIONS,
    request_tracer::OPERATIONS,
    security_events::OPERATIONS,
    gateways::OPERATIONS,
    gateway_tokens::OPERATIONS,
    provider_keys::OPERATIONS,
    custom_providers::OPERATIONS,
    ai_logs::OPERATIONS,
    alerting::OPERATIONS,
    lists::OPERATIONS,
    list_items::OPERATIONS,
    expressions::OPERATIONS,
    dns::RECORDS,
    dns::BATCH,
    dns::ZONE_FILES,
    dns::USAGE,
    dns::DESIRED,
    dns::HISTORY,
    dns::SCAN,
    dns::SETTINGS,
    dns::DNSSEC,
    dns::PARTNERS,
    dns::OUTGOING,
    dns::INCOMING,
    hostnames::RECORDS,
    hostnames::FALLBACK_ORIGIN,
    hostnames::DIAGNOSE,
    certificates::PACKS,
    certificates::UNIVERSAL,
    certificates::SETTINGS,
    errors::OPERATIONS,
    openapi::OPERATIONS,
];

/// Every operation.
pub(super) fn all() -> impl Iterator<Item = &'static Operation> {
    ALL.iter().copied().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn operations_are_unique_and_each_file_is_listed() {
        let paths: Vec<_> = all().map(|operation| (operation.verb.word(), operation.path)).collect();
        assert_eq!(paths.iter().collect::<BTreeSet<_>>().len(), paths.len());
        assert!(all().all(|operation| operation.summary.ends_with('.') && operation.path.starts_with('/')));
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/api/resources");
        // All but this file, two of shapes, the readers of rules and of settings, filters, places of rules, what of rulesets
        // may be written, and how zones are changed; two have two lists, the folder of records twelve, those of hostnames and certificates three.
        assert_eq!(std::fs::read_dir(folder).unwrap().count() - 9, ALL.len() - 2 - 11 - 2 - 2);
    }
}
