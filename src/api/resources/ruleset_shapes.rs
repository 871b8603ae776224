//! The fields of rulesets, as the description of the API shows them.

use crate::api::operation::{Field, Kind, ObjectShape, field, required};

const ACTIONS: Kind = Kind::Words(&[
    "block",
    "managed_challenge",
    "js_challenge",
    "challenge",
    "log",
    "execute",
    "skip",
    "redirect",
    "rewrite",
    "route",
]);
const PHASES: Kind = Kind::Words(&[
    "http_request_dynamic_redirect",
    "http_request_redirect",
    "http_request_transform",
    "http_request_firewall_custom",
    "http_ratelimit",
    "http_request_firewall_managed",
    "http_request_late_transform",
    "http_request_origin",
    "http_response_headers_transform",
    "http_response_firewall_managed",
]);

const OVERRIDE_FIELDS: &[Field] = &[
    field("id", Kind::Text, "The rule, in a list of rules."),
    field("category", Kind::Text, "The tag, in a list of categories."),
    field("enabled", Kind::Flag, "Whether the rules run."),
    field("action", ACTIONS, "What is done at the threshold."),
    field("score_threshold", Kind::Whole, "From which score the last rule acts."),
];

const OVERRIDE: &ObjectShape = &ObjectShape { name: "Override", fields: OVERRIDE_FIELDS };

const OVERRIDES: &ObjectShape = &ObjectShape {
    name: "Overrides",
    fields: &[
        field("enabled", Kind::Flag, "Whether the rules run."),
        field("action", ACTIONS, "What is done at the threshold."),
        field("categories", Kind::Objects(OVERRIDE), "By tag: the last that names a rule wins."),
        field("rules", Kind::Objects(OVERRIDE), "By rule: these win over tags."),
    ],
};

const ACTION_PARAMETERS: &ObjectShape = &ObjectShape {
    name: "ActionParameters",
    fields: &[
        field("id", Kind::Text, "Of `execute`, which needs it: the managed ruleset that is run."),
        field("version", Kind::Text, "Of `execute`: `latest`, or a version that exists."),
        field(
            "overrides",
            Kind::Object(OVERRIDES),
            "Of `execute`: changes to its rules for this deployment.",
        ),
        field("response", Kind::Object(BLOCK_RESPONSE), "Of `block`: the answer, if not a page of the edge."),
        field(
            "from_value",
            Kind::Any,
            "Of `redirect`: `target_url`, `status_code` and `preserve_query_string`.",
        ),
        field("uri", Kind::Any, "Of `rewrite`: `path` and `query`, each with a `value` or an `expression`."),
        field(
            "headers",
            Kind::Any,
            "Of `rewrite`: by the name of a field, `operation` and `value` or `expression`.",
        ),
        field("host_header", Kind::Text, "Of `route`: the `Host` that the origin gets."),
        field("origin", Kind::Any, "Of `route`: `host` and `port` in place of those of the zone's origins."),
        field("sni", Kind::Any, "Of `route`: `value`, the name that TLS asks the origin for."),
        field("content", Kind::Text, "Of `serve_error`: the page; `::RAY_ID::` in it is the request's id."),
        field("content_type", Kind::Text, "Of `serve_error`: as that of `response`."),
        field("status_code", Kind::Whole, "Of `serve_error`: from 400 to 999, if not that of the error."),
        field("ruleset", Kind::Text, "Of `skip`: `current` for the rules behind it in its ruleset."),
        field("phases", Kind::Texts, "Of `skip`: the phases of which nothing runs."),
        field("rulesets", Kind::Texts, "Of `skip`: ids of managed rulesets that do not run."),
        field(
            "rules",
            Kind::Any,
            "Of `skip`: by the id of a managed ruleset, the ids of its rules that do not run.",
        ),
    ],
};

const BLOCK_RESPONSE: &ObjectShape = &ObjectShape {
    name: "BlockResponse",
    fields: &[
        required("status_code", Kind::Whole, "From 400 to 499."),
        required("content", Kind::Text, "The body."),
        required("content_type", Kind::Text, "`text/html`, `text/plain`, `text/xml` or `application/json`."),
    ],
};

const LOGGING: &ObjectShape = &ObjectShape {
    name: "RuleLogging",
    fields: &[field(
        "enabled",
        Kind::Flag,
        "Whether a `skip` rule is told in events; it is if nothing is said.",
    )],
};

const RATE_LIMIT: &ObjectShape = &ObjectShape {
    name: "RateLimit",
    fields: &[
        required(
            "characteristics",
            Kind::Texts,
            "What requests are counted by: expressions such as `ip.src`.",
        ),
        required("period", Kind::Whole, "From 1 to 86400 seconds."),
        field("requests_per_period", Kind::Whole, "How many requests may come in a period."),
        field(
            "counting_expression",
            Kind::Text,
            "Which requests count; fields of the response may be named.",
        ),
        field(
            "mitigation_timeout",
            Kind::Whole,
            "For how many seconds the rule goes on; 0 while the rate is too high.",
        ),
        field("requests_to_origin", Kind::Flag, "Whether only requests count that an origin was asked for."),
        field(
            "score_per_period",
            Kind::Whole,
            "In place of `requests_per_period`: what responses may add up to.",
        ),
        field("score_response_header_name", Kind::Text, "The response field that says what a response adds."),
    ],
};

pub(super) const POSITION: &ObjectShape = &ObjectShape {
    name: "Position",
    fields: &[
        field("before", Kind::Text, "The id of the rule it stands before; the first place if empty."),
        field("after", Kind::Text, "The id of the rule it stands behind; the last place if empty."),
        field("index", Kind::Whole, "Its place, from 1."),
    ],
};

pub(super) const RULE: &ObjectShape = &ObjectShape {
    name: "Rule",
    fields: &[
        field("id", Kind::Text, "Identifier of the rule."),
        field("version", Kind::Text, "Counts changes of the rule from 1."),
        field("action", ACTIONS, "What is done if the rule matches."),
        field("action_parameters", Kind::Object(ACTION_PARAMETERS), "What the action does in particular."),
        field("expression", Kind::Text, "Which requests the rule is for; `true` for all."),
        field("description", Kind::Text, "For people."),
        field("score_threshold", Kind::Whole, "On the last rule of a ruleset that scores."),
        field("ref", Kind::Text, "A name that stays when the rule is replaced."),
        field("enabled", Kind::Flag, "Whether the rule runs."),
        field("categories", Kind::Texts, "Tags, on managed rules."),
        field(
            "ratelimit",
            Kind::Object(RATE_LIMIT),
            "In phase `http_ratelimit`: what is counted, and how much may come.",
        ),
        field("logging", Kind::Object(LOGGING), "Of `skip`: whether it is told in events."),
        field("last_updated", Kind::Text, "When it was last changed (RFC 3339)."),
        field("position", Kind::Object(POSITION), "Where a rule is put; at the end if it is not given."),
    ],
};

pub(super) const RULESET: &ObjectShape = &ObjectShape {
    name: "Ruleset",
    fields: &[
        field("id", Kind::Text, "Identifier of the ruleset."),
        field("name", Kind::Text, "For people."),
        field("description", Kind::Text, "For people."),
        field("source", Kind::Text, "`firewall_managed` on managed rulesets."),
        field("kind", Kind::Words(&["managed", "root", "zone"]), "Whose rules they are."),
        field("version", Kind::Text, "Counts changes from 1."),
        field("phase", PHASES, "When the rules run."),
        field("last_updated", Kind::Text, "When it was last changed (RFC 3339)."),
        field("rules", Kind::Objects(RULE), "In order; absent in lists."),
    ],
};

pub(super) const EXPLANATION: &ObjectShape = &ObjectShape {
    name: "Explanation",
    fields: &[
        field("id", Kind::Text, "The managed rule."),
        field("ref", Kind::Text, "Its number or name in its file."),
        field("description", Kind::Text, "What it finds."),
        field("paranoia_level", Kind::Any, "Its level, 1 to 4, if it has one."),
        field("enabled", Kind::Flag, "Whether it runs."),
        field("enabled_by", Kind::Text, "The override that decided, or `default`."),
        field("action", Kind::Any, "What it does, if it acts."),
        field("score_threshold", Kind::Any, "From which score it acts, if it acts."),
    ],
};

pub(super) const TRACED_REQUEST: &ObjectShape = &ObjectShape {
    name: "TracedRequest",
    fields: &[
        required(
            "url",
            Kind::Text,
            "Such as `https://shop.example/a?b=c`; the path is taken as it is written.",
        ),
        field("method", Kind::Text, "`GET` if none is named."),
        field("protocol", Kind::Text, "`HTTP/1.1` if none is named."),
        field("headers", Kind::Any, "Header fields by their names."),
        field("cookies", Kind::Any, "Cookies by their names."),
        field("body", Kind::Any, "One of `plain_text`, `json` and `base64`."),
        field("context", Kind::Any, "`client_ip`, and `skip_challenge` if every challenge is passed."),
    ],
};

pub(super) const TRACE: &ObjectShape = &ObjectShape {
    name: "Trace",
    fields: &[
        field("status_code", Kind::Any, "Of the answer that rules give; null if the origin is asked."),
        field("action", Kind::Text, "`send`, or the action that ends the request."),
        field("zone_name", Kind::Text, "The zone whose rules run."),
        field("location", Kind::Any, "Where a redirect leads; null if there is none."),
        field("target", Kind::Text, "Path and query that the origin is asked for."),
        field("score", Kind::Whole, "What managed rules add up to."),
        field(
            "trace",
            Kind::Any,
            "Phases in order, each with the rules that are asked, and those that they run.",
        ),
    ],
};
