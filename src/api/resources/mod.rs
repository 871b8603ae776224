//! The resources of the API, one file each: decode, call, encode. A resource lists its operations; the router and the
//! description of the API are made from these lists.

mod access_apps;
mod accounts;
mod ai_logs;
mod alerting;
mod certificates;
mod custom_providers;
mod deprecations;
mod dns;
mod dynamic_routes;
mod errors;
mod expressions;
mod gateway_dlp;
mod gateway_guardrail;
mod gateway_otel;
mod gateway_settings;
mod gateway_shapes;
mod gateway_spend_limits;
mod gateway_tokens;
mod gateways;
mod hostnames;
mod list_items;
mod lists;
mod old;
mod openapi;
mod provider_keys;
mod purge_cache;
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
mod zone_settings;
mod zones;

use ::deprecations::OperationName;

use super::operation::Operation;

/// The operations of each file.
const ALL: &[&[Operation]] = &[
    accounts::OPERATIONS,
    user::OPERATIONS,
    tokens::OPERATIONS,
    zones::OPERATIONS,
    zone_holds::OPERATIONS,
    purge_cache::OPERATIONS,
    rulesets_read::OPERATIONS,
    rulesets::OPERATIONS,
    rulesets::OF_ACCOUNTS,
    rulesets_read::OF_ACCOUNTS,
    rulesets_explain::OPERATIONS,
    request_tracer::OPERATIONS,
    security_events::OPERATIONS,
    gateways::OPERATIONS,
    gateway_tokens::OPERATIONS,
    dynamic_routes::OPERATIONS,
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
    hostnames::PACK_CERTIFICATES,
    certificates::PACKS,
    certificates::CUSTOM,
    certificates::SIGNING_REQUESTS_OF_ACCOUNTS,
    certificates::SIGNING_REQUESTS_OF_ZONES,
    certificates::UNIVERSAL,
    zone_settings::OPERATIONS,
    zone_settings::OLD,
    access_apps::OF_ACCOUNTS,
    access_apps::OF_ZONES,
    deprecations::OPERATIONS,
    old::CUSTOM_NAMESERVERS,
    old::FILTERS,
    old::FIREWALL_RULES,
    old::ORGANIZATIONS,
    old::RATE_LIMITS,
    old::WAF_OVERRIDES,
    old::WAF_PACKAGES,
    errors::OPERATIONS,
    openapi::OPERATIONS,
];

/// Whether there is an operation of a name.
pub fn has_operation(name: OperationName<'_>) -> bool {
    all().any(|operation| operation.verb.word() == name.method && operation.path == name.path)
}

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
        let lists = lists(concat!(env!("CARGO_MANIFEST_DIR"), "/src/api/resources").as_ref());
        assert_eq!(lists, ALL.len(), "a list of operations stands in a file and not here");
    }

    /// How many lists of operations the files of a folder have.
    fn lists(folder: &std::path::Path) -> usize {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let of_entry = |path: std::path::PathBuf| {
            if path.is_dir() {
                return lists(&path);
            }
            std::fs::read_to_string(path).unwrap().matches(concat!(": &[Operation", "] =")).count()
        };
        entries.map(of_entry).sum()
    }
}
