//! The fields of resources, as the description of the API shows them.

pub(super) use super::gateway_shapes::{CALL_TOTALS, GATEWAY, GATEWAY_TOKEN, LOG, LOG_ANNOTATION};
pub(super) use super::ruleset_shapes::{EXPLANATION, RULE, RULESET, TRACE, TRACED_REQUEST};
use crate::api::operation::{Kind, ObjectShape, field, required};

pub(super) const ACCOUNT: &ObjectShape = &ObjectShape {
    name: "Account",
    fields: &[
        field("id", Kind::Text, "Identifier of the account."),
        required("name", Kind::Text, "What people call it."),
        field("type", Kind::Text, "Always `standard`."),
        field("settings", Kind::Any, "Settings of the account."),
        field("created_on", Kind::Text, "When it was made (RFC 3339)."),
    ],
};

const REFERENCE: &ObjectShape = &ObjectShape {
    name: "Reference",
    fields: &[field("id", Kind::Text, "Identifier."), field("name", Kind::Text, "Name.")],
};

pub(super) const ZONE: &ObjectShape = &ObjectShape {
    name: "Zone",
    fields: &[
        field("id", Kind::Text, "Identifier of the zone."),
        required("name", Kind::Text, "The host name; names below it belong to the zone too."),
        field("status", Kind::Text, "Always `active`: a zone is served as soon as it is made."),
        field("paused", Kind::Flag, "Always `false`."),
        field("type", Kind::Text, "Always `full`."),
        field("development_mode", Kind::Whole, "Always 0."),
        field("name_servers", Kind::Texts, "Name servers of the zone."),
        field(
            "vanity_name_servers",
            Kind::Texts,
            "Names below the zone that are its name servers, each with an address.",
        ),
        field("original_name_servers", Kind::Any, "Not known."),
        field("original_registrar", Kind::Any, "Not known."),
        field("original_dnshost", Kind::Any, "Not known."),
        field("modified_on", Kind::Text, "When it was last changed (RFC 3339)."),
        field("created_on", Kind::Text, "When it was made (RFC 3339)."),
        field("activated_on", Kind::Text, "When it was first served (RFC 3339)."),
        field("meta", Kind::Any, "Quotas and flags that clients read."),
        field("owner", Kind::Any, "The account that owns the zone."),
        field("account", Kind::Object(REFERENCE), "The account of the zone."),
        field("permissions", Kind::Texts, "What the token may do with the zone."),
        field("plan", Kind::Any, "The one plan there is."),
        field("origins", Kind::Texts, "Where requests go: URLs without a path."),
        field("origin_protocol", Kind::Words(&["http1", "http2"]), "What is spoken to origins."),
        field(
            "balance",
            Kind::Words(&["round_robin", "least_connections", "client_address", "cookie"]),
            "How the next origin is chosen.",
        ),
        field("declared_at", Kind::Any, "The place in a file, if a file declares the zone."),
    ],
};

pub(super) const PERMISSION_GROUP: &ObjectShape = &ObjectShape {
    name: "PermissionGroup",
    fields: &[
        field("id", Kind::Text, "Identifier of the group."),
        field("name", Kind::Text, "Its name."),
        field("scopes", Kind::Texts, "The kinds of resources it is about."),
    ],
};

const POLICY: &ObjectShape = &ObjectShape {
    name: "Policy",
    fields: &[
        field("id", Kind::Text, "Identifier of the policy."),
        required("effect", Kind::Words(&["allow", "deny"]), "Whether permissions are given or taken away."),
        required("permission_groups", Kind::Objects(PERMISSION_GROUP), "Groups, by id."),
        required("resources", Kind::Any, "Names of resources, each with `*`."),
    ],
};

pub(super) const API_TOKEN: &ObjectShape = &ObjectShape {
    name: "ApiToken",
    fields: &[
        field("id", Kind::Text, "Identifier of the token."),
        required("name", Kind::Text, "What it is for."),
        field("status", Kind::Words(&["active", "disabled", "expired"]), "Whether it may be used."),
        field("issued_on", Kind::Text, "When it was made (RFC 3339)."),
        field("modified_on", Kind::Text, "When it was last changed (RFC 3339)."),
        field("not_before", Kind::Text, "From when on it is valid (RFC 3339)."),
        field("expires_on", Kind::Text, "Until when it is valid (RFC 3339)."),
        required("policies", Kind::Objects(POLICY), "What it may do, and where."),
        field("condition", Kind::Any, "`request_ip` with `in` and `not_in`: networks of clients."),
        field(
            "deprecations",
            Kind::Object(super::deprecations::DEPRECATION_SETTINGS),
            "How its bearer has what ends.",
        ),
        field("value", Kind::Text, "The token itself, shown once."),
    ],
};

pub(super) const TOKEN_STATUS: &ObjectShape = &ObjectShape {
    name: "TokenStatus",
    fields: &[
        field("id", Kind::Text, "Identifier of the token."),
        field("status", Kind::Text, "`active`."),
        field("not_before", Kind::Text, "From when on it is valid (RFC 3339)."),
        field("expires_on", Kind::Text, "Until when it is valid (RFC 3339)."),
    ],
};

pub(super) const DELETED_ROWS: &ObjectShape =
    &ObjectShape { name: "DeletedRows", fields: &[field("deleted", Kind::Whole, "How many rows are gone.")] };

pub(super) const ALERT_POLICY: &ObjectShape = &ObjectShape {
    name: "AlertPolicy",
    fields: &[
        field("id", Kind::Text, "Identifier of the policy."),
        required("name", Kind::Text, "What it is called in messages."),
        field("description", Kind::Text, "For people."),
        field("enabled", Kind::Flag, "Whether it is looked at."),
        required(
            "alert_type",
            Kind::Words(&["security_events_alert", "advanced_security_events_alert"]),
            "What is watched for.",
        ),
        required("mechanisms", Kind::Any, "`webhooks`: a list of objects with the `id` of a webhook."),
        field("filters", Kind::Any, "`zones`: ids or names; `services`, such as `Data Loss Protection`."),
        field("created", Kind::Text, "When it was made (RFC 3339)."),
        field("modified", Kind::Text, "When it was last changed (RFC 3339)."),
    ],
};

pub(super) const ALERT_WEBHOOK: &ObjectShape = &ObjectShape {
    name: "AlertWebhook",
    fields: &[
        field("id", Kind::Text, "Identifier of the webhook."),
        required("name", Kind::Text, "For people."),
        required("url", Kind::Text, "Where messages are sent: a URL, its query included."),
        field("secret", Kind::Text, "Sent with each message as `svc-webhook-auth`; never shown."),
        field("has_secret", Kind::Flag, "Whether there is one."),
        field("type", Kind::Text, "Always `generic`."),
        field("created_at", Kind::Text, "When it was made (RFC 3339)."),
    ],
};

pub(super) const PAST_ALERT: &ObjectShape = &ObjectShape {
    name: "PastAlert",
    fields: &[
        field("policy_id", Kind::Text, "The policy."),
        field("sent", Kind::Text, "When it was sent (RFC 3339)."),
        field("text", Kind::Text, "What was said."),
        field("delivered", Kind::Text, "The webhooks that took it."),
        field("failed", Kind::Text, "Why others did not."),
    ],
};

pub(super) const EXPRESSION: &ObjectShape = &ObjectShape {
    name: "Expression",
    fields: &[
        required("expression", Kind::Text, "The text."),
        field(
            "phase",
            Kind::Text,
            "The phase whose rule it is for; `http_request_firewall_custom` if none is named.",
        ),
    ],
};

pub(super) const CHECKED_EXPRESSION: &ObjectShape = &ObjectShape {
    name: "CheckedExpression",
    fields: &[
        field("valid", Kind::Flag, "Whether a rule can have it."),
        field("kind", Kind::Any, "`condition` or `value`; null if it is neither."),
        field("column", Kind::Any, "The byte where the mistake shows, from 1; null if there is none."),
        field("message", Kind::Any, "What the mistake is; null if there is none."),
        field("excerpt", Kind::Any, "The line with a caret below; null if there is no mistake."),
    ],
};

pub(super) const NAMED_LIST: &ObjectShape = &ObjectShape {
    name: "NamedList",
    fields: &[
        field("id", Kind::Text, "Identifier of the list."),
        required("name", Kind::Text, "What expressions call it, behind `$`: a-z, 0-9 and `_`."),
        field("description", Kind::Text, "For people."),
        required("kind", Kind::Words(&["ip", "hostname", "asn"]), "What it holds."),
        field("num_items", Kind::Whole, "How many values it has."),
        field("num_referencing_filters", Kind::Whole, "How many rules name it."),
        field("created_on", Kind::Text, "When it was made (RFC 3339)."),
        field("modified_on", Kind::Text, "When it was last changed (RFC 3339)."),
    ],
};

pub(super) const LIST_ITEM: &ObjectShape = &ObjectShape {
    name: "ListItem",
    fields: &[
        field("id", Kind::Text, "Identifier of the value."),
        field("ip", Kind::Text, "An address or a network, in lists of the kind `ip`."),
        field("hostname", Kind::Text, "A host, or `*.` and one, in lists of the kind `hostname`."),
        field("asn", Kind::Whole, "The number of an autonomous system, in lists of the kind `asn`."),
        field("comment", Kind::Text, "For people."),
        field("created_on", Kind::Text, "When it was added (RFC 3339)."),
        field("modified_on", Kind::Text, "When it was last changed (RFC 3339)."),
    ],
};

pub(super) const LIST_ITEM_IDS: &ObjectShape = &ObjectShape {
    name: "ListItemIds",
    fields: &[required("items", Kind::Objects(LIST_ITEM), "Objects with the `id` of a value.")],
};

pub(super) const LIST_OPERATION: &ObjectShape = &ObjectShape {
    name: "ListOperation",
    fields: &[field("operation_id", Kind::Text, "The change, which holds when this is answered.")],
};

pub(super) const BULK_OPERATION: &ObjectShape = &ObjectShape {
    name: "BulkOperation",
    fields: &[
        field("id", Kind::Text, "The change."),
        field("status", Kind::Text, "Always `completed`: changes hold when they are answered."),
    ],
};

pub(super) const ZONE_HOLD: &ObjectShape = &ObjectShape {
    name: "ZoneHold",
    fields: &[
        field("hold", Kind::Flag, "Whether the zone is held now."),
        field("include_subdomains", Kind::Flag, "Whether zones below it are held too."),
        field("hold_after", Kind::Text, "From when on it is held (RFC 3339)."),
    ],
};

pub(super) const PURGE: &ObjectShape = &ObjectShape {
    name: "CachePurge",
    fields: &[
        field("purge_everything", Kind::Flag, "Whether all of them are dropped."),
        field("files", Kind::Any, "URLs, as texts or as objects with a `url`."),
        field("hosts", Kind::Texts, "Hosts all of whose responses are dropped."),
        field("prefixes", Kind::Texts, "Hosts with what paths begin with, such as `shop.example/images/`."),
        field("tags", Kind::Texts, "Words of the field `Cache-Tag` of responses."),
    ],
};

pub(super) const PURGED: &ObjectShape =
    &ObjectShape { name: "CachePurged", fields: &[field("id", Kind::Text, "Identifier of the zone.")] };

pub(super) const PROVIDER_KEY: &ObjectShape = &ObjectShape {
    name: "ProviderConfig",
    fields: &[
        field("id", Kind::Text, "Provider and alias."),
        required("provider_slug", Kind::Text, "The provider."),
        field("alias", Kind::Text, "The name that callers choose the key by."),
        field("weight", Kind::Whole, "How often it is taken among the keys of its provider."),
        field("authority", Kind::Text, "The host that the key is sent to."),
        required("secret", Kind::Text, "The key; it is sealed, and never shown."),
    ],
};

pub(super) const CUSTOM_PROVIDER: &ObjectShape = &ObjectShape {
    name: "CustomProvider",
    fields: &[
        required("slug", Kind::Text, "The name in the path of calls."),
        required("base_url", Kind::Text, "Where its paths are added to."),
        field("allow_private", Kind::Flag, "Always `false` over the API: only files may name private hosts."),
    ],
};

pub(super) const PAST: &ObjectShape = &ObjectShape {
    name: "PastRuleset",
    fields: &[
        field("revision", Kind::Whole, "Of the store."),
        field("at", Kind::Text, "When it was written (RFC 3339)."),
        field("actor", Kind::Text, "Who wrote it."),
        field("version", Kind::Any, "The version of the ruleset; `null` if it was deleted."),
    ],
};

pub(super) const SECURITY_EVENT: &ObjectShape = &ObjectShape {
    name: "SecurityEvent",
    fields: &[
        field("Datetime", Kind::Text, "When it was (RFC 3339)."),
        field("RayID", Kind::Text, "The id of the request."),
        field("Action", Kind::Text, "What was done."),
        field("Source", Kind::Text, "`firewallmanaged`, `dlp` or `edge`."),
        field("Service", Kind::Text, "What people call the source."),
        field("RulesetID", Kind::Text, "The ruleset."),
        field("RuleID", Kind::Text, "The rule."),
        field("Ref", Kind::Text, "Its number or name in its file, or the reason of a refusal."),
        field("Description", Kind::Text, "What was found."),
        field("ClientIP", Kind::Text, "The client."),
        field("ClientRequestMethod", Kind::Text, "The method."),
        field("ClientRequestHost", Kind::Text, "The host."),
        field("ClientRequestPath", Kind::Text, "The path."),
        field("ClientRequestUserAgent", Kind::Text, "What the client calls itself."),
        field("EdgeResponseStatus", Kind::Whole, "The status of the answer."),
        field("zone", Kind::Text, "The name of the zone."),
        field("score", Kind::Whole, "The anomaly score."),
        field(
            "values",
            Kind::Any,
            "What the expression of a rule saw, by how it names that; secrets are masked.",
        ),
        field(
            "contributions",
            Kind::Any,
            "Rules that made up the score: `RuleID`, `Ref`, `Description`, `score` and the `variable`, never its value.",
        ),
        field("count", Kind::Whole, "How often it was found."),
    ],
};

pub(super) const TOP_VALUE: &ObjectShape = &ObjectShape {
    name: "TopValue",
    fields: &[
        field("value", Kind::Text, "A value of the field."),
        field("count", Kind::Whole, "How many events have it."),
    ],
};

pub(super) const ERROR_CODE: &ObjectShape = &ObjectShape {
    name: "ErrorCode",
    fields: &[
        field("code", Kind::Whole, "In `errors` of an answer."),
        field("status", Kind::Whole, "The HTTP status."),
        field("cause", Kind::Text, "Why it is given."),
    ],
};

pub(super) const USER: &ObjectShape = &ObjectShape {
    name: "User",
    fields: &[field("id", Kind::Text, "Identifier."), field("email", Kind::Any, "Their e-mail address.")],
};

pub(super) const DELETED: &ObjectShape =
    &ObjectShape { name: "Deleted", fields: &[field("id", Kind::Text, "What is gone.")] };
