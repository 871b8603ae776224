//! The objects of operations that end, for the description of the API.

use crate::api::operation::{Kind, ObjectShape, field, required};

pub(super) const FILTER: &ObjectShape = &ObjectShape {
    name: "Filter",
    fields: &[
        field("id", Kind::Text, "Identifier, that of the rule too."),
        required("expression", Kind::Text, "Which requests match."),
        field("paused", Kind::Flag, "Whether it is off."),
        field("description", Kind::Text, "What it is for."),
        field("ref", Kind::Text, "A name for it."),
    ],
};

pub(super) const FIREWALL_RULE: &ObjectShape = &ObjectShape {
    name: "FirewallRule",
    fields: &[
        field("id", Kind::Text, "Identifier."),
        field("paused", Kind::Flag, "Whether it is off."),
        field("description", Kind::Text, "What it is for."),
        required("action", Kind::Text, "What is done: `block`, a challenge, `allow`, `log` or `bypass`."),
        field("products", Kind::Texts, "What `bypass` passes over: `waf`, `rateLimit`."),
        field("priority", Kind::Any, "Its place among the rules, from 1."),
        required("filter", Kind::Object(FILTER), "Which requests it is for."),
        field("ref", Kind::Text, "A name for it."),
        field("created_on", Kind::Text, "When it was last changed (RFC 3339)."),
        field("modified_on", Kind::Text, "When it was last changed (RFC 3339)."),
    ],
};

pub(super) const RATE_LIMIT: &ObjectShape = &ObjectShape {
    name: "OldRateLimit",
    fields: &[
        field("id", Kind::Text, "Identifier."),
        field("disabled", Kind::Flag, "Whether it is off."),
        field("description", Kind::Text, "What it is for."),
        field("match", Kind::Any, "Which requests and responses count."),
        field("bypass", Kind::Any, "URLs that it is not for."),
        required("threshold", Kind::Whole, "How many requests may come in a period."),
        required("period", Kind::Whole, "Seconds."),
        required("action", Kind::Any, "`mode`, `timeout` in seconds and `response`."),
    ],
};

pub(super) const WAF_MODE: &ObjectShape = &ObjectShape {
    name: "WafMode",
    fields: &[
        field("mode", Kind::Text, "`on` or `off`, of groups and rules."),
        field("sensitivity", Kind::Text, "`high`, `medium`, `low` or `off`, of packages."),
        field("action_mode", Kind::Text, "`simulate`, `block` or `challenge`, of packages."),
    ],
};

pub(super) const WAF_PACKAGE: &ObjectShape = &ObjectShape {
    name: "WafPackage",
    fields: &[
        field("id", Kind::Text, "The managed ruleset."),
        field("name", Kind::Text, "Its name."),
        field("description", Kind::Text, "What it does."),
        field("zone_id", Kind::Text, "The zone."),
        field("detection_mode", Kind::Text, "`anomaly`."),
        field("status", Kind::Text, "`active`."),
        field("sensitivity", Kind::Text, "`high`, `medium`, `low` or `off`."),
        field("action_mode", Kind::Text, "`simulate`, `block` or `challenge`."),
    ],
};

pub(super) const WAF_GROUP: &ObjectShape = &ObjectShape {
    name: "WafGroup",
    fields: &[
        field("id", Kind::Text, "Identifier."),
        field("name", Kind::Text, "The category."),
        field("description", Kind::Text, "Empty."),
        field("rules_count", Kind::Whole, "How many rules have the category."),
        field("modified_rules_count", Kind::Whole, "How many of them have overrides of their own."),
        field("package_id", Kind::Text, "The managed ruleset."),
        field("mode", Kind::Text, "`on` or `off`."),
        field("allowed_modes", Kind::Texts, "What it can be."),
    ],
};

pub(super) const WAF_RULE: &ObjectShape = &ObjectShape {
    name: "WafRule",
    fields: &[
        field("id", Kind::Text, "The managed rule."),
        field("description", Kind::Text, "What it looks for."),
        field("priority", Kind::Text, "Its number or name in its file."),
        field("group", Kind::Any, "Its first category: `id` and `name`."),
        field("package_id", Kind::Text, "The managed ruleset."),
        field("mode", Kind::Text, "`on` or `off`."),
        field("allowed_modes", Kind::Texts, "What it can be."),
    ],
};

pub(super) const WAF_OVERRIDE: &ObjectShape = &ObjectShape {
    name: "WafOverride",
    fields: &[
        field("id", Kind::Text, "Identifier, that of the rule too."),
        field("description", Kind::Text, "What it is for."),
        required("urls", Kind::Texts, "Patterns of URLs."),
        field("rules", Kind::Any, "Ids of managed rules, each `disable` or `default`."),
        field("groups", Kind::Any, "Ids of groups, each `disable` or `default`."),
        field("paused", Kind::Flag, "Whether it is off."),
    ],
};
