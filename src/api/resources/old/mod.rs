//! Operations that end (spec, "Deprecation schedule"), each over the resource that took its place: what is written here is
//! read there, and the other way round.

mod custom_nameservers;
mod filters;
mod firewall_rule_form;
mod firewall_rules;
mod operation;
mod organizations;
mod rate_limit_form;
mod rate_limits;
mod shapes;
mod url_pattern;
mod waf_deployed;
mod waf_overrides;
mod waf_packages;
mod zone_rules;

pub(super) use custom_nameservers::OPERATIONS as CUSTOM_NAMESERVERS;
pub(super) use filters::OPERATIONS as FILTERS;
pub(super) use firewall_rules::OPERATIONS as FIREWALL_RULES;
pub(super) use organizations::OPERATIONS as ORGANIZATIONS;
pub(super) use rate_limits::OPERATIONS as RATE_LIMITS;
pub(super) use waf_overrides::OPERATIONS as WAF_OVERRIDES;
pub(super) use waf_packages::OPERATIONS as WAF_PACKAGES;
