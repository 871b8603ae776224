//! Shapes of gateways, their tokens and calls, for the description of the API.

use crate::api::operation::{Kind, ObjectShape, field, required};

const GATEWAY_LIMIT: &ObjectShape = &ObjectShape {
    name: "GatewayLimit",
    fields: &[
        required("measure", Kind::Words(&["requests", "tokens", "cost"]), "What is counted."),
        field(
            "by",
            Kind::Texts,
            "`token`, `model`, `provider`, `metadata.KEY`: each value has its own counter.",
        ),
        field(
            "only",
            Kind::Any,
            "Lists of values by `token`, `model`, `provider`, `metadata.KEY`: the calls that it counts.",
        ),
        required("limit", Kind::Any, "Requests, tokens or dollars."),
        required("interval", Kind::Whole, "In seconds."),
        field("technique", Kind::Words(&["fixed", "sliding"]), "How intervals are counted."),
    ],
};

const BUDGET_DIMENSION: &ObjectShape = &ObjectShape {
    name: "BudgetDimension",
    fields: &[
        required(
            "mode",
            Kind::Words(&["filter", "partition"]),
            "`filter`: calls with its values are counted; `partition`: each value has its own counter.",
        ),
        field("values", Kind::Texts, "The values of a filter."),
    ],
};

const BUDGET: &ObjectShape = &ObjectShape {
    name: "Budget",
    fields: &[
        field("id", Kind::Text, "Its name among the budgets of the gateway; without it one is made."),
        field("enabled", Kind::Flag, "Whether it is in force."),
        required("limit", Kind::Any, "In dollars."),
        required("limitType", Kind::Words(&["cost"]), "What is counted."),
        required("window", Kind::Whole, "In seconds."),
        field("technique", Kind::Words(&["fixed", "sliding"]), "How windows are counted."),
        field("model", Kind::Object(BUDGET_DIMENSION), "Models; a name stands for its versions too."),
        field("provider", Kind::Object(BUDGET_DIMENSION), "Providers, by slug."),
        field("metadata", Kind::Any, "Keys of the metadata of calls, each with an object as `model` has."),
    ],
};

const BUDGETS: &ObjectShape = &ObjectShape {
    name: "Budgets",
    fields: &[
        field("enabled", Kind::Flag, "Whether any of them is in force."),
        field("rules", Kind::Objects(BUDGET), "The budgets."),
    ],
};

const GUARDRAIL: &ObjectShape = &ObjectShape {
    name: "GatewayGuardrail",
    fields: &[
        required(
            "url",
            Kind::Text,
            "What is asked, with `POST`; at a public address unless `admin.private_webhooks` is set.",
        ),
        field(
            "authorization",
            Kind::Text,
            "The field `Authorization` for it; it is sealed, and never shown.",
        ),
        field("has_authorization", Kind::Flag, "Whether it has one."),
        field("timeout", Kind::Whole, "Longest wait for its answer, in milliseconds."),
        field("on_failure", Kind::Words(&["block", "pass"]), "What becomes of calls if it does not answer."),
        field("stages", Kind::Texts, "What it judges: `request`, `response`."),
    ],
};

const CONTENT_POLICY: &ObjectShape = &ObjectShape {
    name: "ContentPolicy",
    fields: &[
        required("prompt", Kind::Any, "`FLAG` or `BLOCK` by kind, in what is asked: `P1`, `S1` to `S13`."),
        required("response", Kind::Any, "The same in what is answered."),
    ],
};

const DLP_POLICY: &ObjectShape = &ObjectShape {
    name: "DlpPolicy",
    fields: &[
        required("id", Kind::Text, "Its name among the policies of the gateway."),
        field("enabled", Kind::Flag, "Whether it is in force."),
        required(
            "action",
            Kind::Words(&["FLAG", "BLOCK"]),
            "What comes of a call in which something is found.",
        ),
        required("check", Kind::Texts, "What it looks at: `REQUEST`, `RESPONSE`."),
        required(
            "profiles",
            Kind::Texts,
            "What it looks for: categories or ids of rules for sensitive data.",
        ),
    ],
};

const DLP: &ObjectShape = &ObjectShape {
    name: "Dlp",
    fields: &[
        field("enabled", Kind::Flag, "Whether any of them is in force."),
        field(
            "action",
            Kind::Words(&["FLAG", "BLOCK"]),
            "Of one policy for both directions, in place of `policies`.",
        ),
        field("profiles", Kind::Texts, "Of the same."),
        field("policies", Kind::Objects(DLP_POLICY), "The policies."),
    ],
};

const MCP_SERVER: &ObjectShape = &ObjectShape {
    name: "McpServer",
    fields: &[
        required(
            "name",
            Kind::Text,
            "The name in the path of its calls, `/v1/{account}/{gateway}/mcp/{name}`.",
        ),
        required("url", Kind::Text, "Its endpoint: `https` at a public address."),
        field("allow_private", Kind::Flag, "Whether it may be in a private network; only a file may say so."),
        field("tools", Kind::Texts, "Globs of the tools that callers may use; without it all."),
    ],
};

const COLLECTOR: &ObjectShape = &ObjectShape {
    name: "Collector",
    fields: &[
        required(
            "url",
            Kind::Text,
            "Where OTLP is taken over HTTP; without a path, `/v1/traces`. A public address unless `admin.private_webhooks` is set.",
        ),
        field(
            "authorization",
            Kind::Text,
            "The field `Authorization` of each message. Answers have an empty text, which keeps the value for the same host.",
        ),
        field("headers", Kind::Any, "Further fields of each message, by name; in answers with empty texts."),
        field("content_type", Kind::Words(&["json"]), "The form of messages."),
    ],
};

pub(super) const GATEWAY: &ObjectShape = &ObjectShape {
    name: "Gateway",
    fields: &[
        required(
            "id",
            Kind::Text,
            "The name in the path of its calls: letters, digits, hyphens, underscores.",
        ),
        field("account_id", Kind::Text, "Its account."),
        field("authentication", Kind::Flag, "Whether calls need a token of the gateway."),
        field("state", Kind::Text, "`authenticated gateway` or `unauthenticated gateway`."),
        field(
            "cache_invalidate_on_update",
            Kind::Flag,
            "Whether kept answers are given no more after the gateway has changed.",
        ),
        field("cache_ttl", Kind::Any, "How long answers are kept, in seconds; `null` or 0 for not at all."),
        field("collect_logs", Kind::Flag, "Whether calls leave rows in the log."),
        field("rate_limiting_interval", Kind::Any, "The interval of the limit of requests, in seconds."),
        field("rate_limiting_limit", Kind::Any, "How many requests an interval may have."),
        field("rate_limiting_technique", Kind::Words(&["fixed", "sliding"]), "How intervals are counted."),
        field("retry_max_attempts", Kind::Whole, "Attempts at a provider, from 1 to 5."),
        field("retry_delay", Kind::Whole, "Wait before the second attempt, in milliseconds."),
        field(
            "retry_backoff",
            Kind::Words(&["constant", "linear", "exponential"]),
            "How waits between attempts grow.",
        ),
        field("limits", Kind::Objects(GATEWAY_LIMIT), "Limits of requests, tokens and money."),
        field("spend_limits", Kind::Object(BUDGETS), "Budgets; `null` for none."),
        field(
            "log_management",
            Kind::Any,
            "Most rows of calls that are kept; `null` for as many as there is room for.",
        ),
        field(
            "log_management_strategy",
            Kind::Words(&["DELETE_OLDEST", "STOP_INSERTING"]),
            "What becomes of rows past that: the oldest go, or new ones are not written.",
        ),
        field("collect_log_payloads", Kind::Flag, "Whether rows have the beginnings of the bodies."),
        field("log_payload_bytes", Kind::Whole, "How much of each body."),
        field("caller_prices", Kind::Flag, "Whether limits of money go by what callers say a call costs."),
        field("cache_shared", Kind::Flag, "Whether callers get answers to the questions of others."),
        field("include_usage", Kind::Flag, "Whether streams are asked for their usage."),
        field(
            "request_timeout",
            Kind::Whole,
            "Wait for the first byte, in milliseconds; 0 for the edge's own.",
        ),
        field(
            "heartbeat",
            Kind::Whole,
            "Silence of a stream before a comment, in milliseconds; 0 for never.",
        ),
        field(
            "waf_paranoia_level",
            Kind::Any,
            "The level that prompts are scored at; `null` for not at all.",
        ),
        field("sensitive_data", Kind::Any, "`requests` and `responses`: off, log or block."),
        field("dlp", Kind::Object(DLP), "Policies for sensitive data; `null` for none."),
        field("guardrail", Kind::Object(GUARDRAIL), "A service that judges calls; `null` for none."),
        field(
            "guardrails",
            Kind::Object(CONTENT_POLICY),
            "What comes of kinds of content that the guardrail finds; `null` for nothing.",
        ),
        field("otel", Kind::Objects(COLLECTOR), "Collectors that get a span of each call; `null` for none."),
        field("mcp_servers", Kind::Objects(MCP_SERVER), "Servers of tools that models call (MCP)."),
        field("created_at", Kind::Text, "When it was made (RFC 3339)."),
        field("modified_at", Kind::Text, "When it was last changed (RFC 3339)."),
        field("declared_at", Kind::Any, "The place in a file, if a file declares the gateway."),
    ],
};

pub(super) const GATEWAY_TOKEN: &ObjectShape = &ObjectShape {
    name: "GatewayToken",
    fields: &[
        field("id", Kind::Text, "Identifier of the token."),
        field("name", Kind::Text, "What it is for."),
        field("permissions", Kind::Texts, "Always `Run`."),
        field("created_on", Kind::Text, "When it was made (RFC 3339)."),
        field("expires_on", Kind::Text, "Until when it is valid (RFC 3339)."),
        field(
            "tools",
            Kind::Texts,
            "Globs of `server/tool`: the tools that its callers may use; without it all.",
        ),
        field("value", Kind::Text, "The token itself, shown once."),
    ],
};

pub(super) const LOG: &ObjectShape = &ObjectShape {
    name: "Log",
    fields: &[
        field("id", Kind::Text, "Identifier of the call."),
        field("created_at", Kind::Text, "When it ended (RFC 3339)."),
        field("provider", Kind::Text, "The provider's slug."),
        field("model", Kind::Any, "The model."),
        field(
            "success",
            Kind::Flag,
            "Whether the provider answered with 2xx and no error was in its answer.",
        ),
        field("cached", Kind::Flag, "Whether the answer was kept from an earlier call."),
        field("status_code", Kind::Whole, "Of the answer."),
        field("duration", Kind::Whole, "In milliseconds."),
        field("tokens_in", Kind::Any, "Tokens of what was asked."),
        field("tokens_out", Kind::Any, "Tokens of what was answered."),
        field("cost", Kind::Any, "In dollars."),
    ],
};

pub(super) const LOG_ANNOTATION: &ObjectShape = &ObjectShape {
    name: "LogAnnotation",
    fields: &[
        field("feedback", Kind::Any, "-1, 0 or 1."),
        field("score", Kind::Any, "A number."),
        field("metadata", Kind::Any, "An object that replaces the metadata of the call."),
    ],
};

pub(super) const CALL_TOTALS: &ObjectShape = &ObjectShape {
    name: "CallTotals",
    fields: &[
        field("value", Kind::Text, "A value; empty for calls that have none."),
        field("calls", Kind::Whole, "How many calls have it."),
        field("failed", Kind::Whole, "How many of these failed."),
        field("cached", Kind::Whole, "How many were answered from the cache."),
        field("tokens_in", Kind::Whole, "Tokens of what was asked."),
        field("tokens_out", Kind::Whole, "Tokens of what was answered."),
        field("cost", Kind::Any, "In dollars, of calls that have a price."),
    ],
};
