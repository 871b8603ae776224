//! What gateways have.

use super::envelope::{Envelope, route};
use super::features::{Feature, GATEWAY};

pub const GATEWAYS: &[Feature] = &[
    GATEWAY,
    Feature {
        name: "limit of requests",
        settings: "[[gateways.limits]]\nmeasure = \"requests\"\nlimit = 1000000\ninterval = \"1d\"\n",
        ..GATEWAY
    },
    Feature {
        name: "limit of tokens",
        settings: "[[gateways.limits]]\nmeasure = \"tokens\"\nlimit = 1000000000000\ninterval = \"1d\"\n",
        must_see: true,
        ..GATEWAY
    },
    Feature {
        name: "limit of money",
        settings: "unpriced_call_cost = 0.0\n[[gateways.limits]]\nmeasure = \"cost\"\nlimit = 900000000.0\ninterval = \"1d\"\n",
        must_see: true,
        ..GATEWAY
    },
    Feature {
        name: "limit by model",
        settings: "[[gateways.limits]]\nmeasure = \"requests\"\nlimit = 1000000\ninterval = \"1d\"\nby = [\"model\"]\n",
        must_see: true,
        ..GATEWAY
    },
    Feature { name: "cache", settings: "cache_ttl = \"60s\"\n", ..GATEWAY },
    Feature { name: "attempts", settings: "retry_max_attempts = 3\n", ..GATEWAY },
    Feature { name: "time-out", settings: "request_timeout = \"30s\"\n", ..GATEWAY },
    Feature { name: "heartbeat", settings: "heartbeat = \"5s\"\n", ..GATEWAY },
    Feature { name: "usage", settings: "include_usage = true\n", ..GATEWAY },
    Feature { name: "scan and log", settings: "[gateways.sensitive_data]\nrequests = \"log\"\n", ..GATEWAY },
    Feature {
        name: "scan and block",
        settings: "[gateways.sensitive_data]\nrequests = \"block\"\n",
        must_see: true,
        refuses: 400,
        ..GATEWAY
    },
    Feature {
        name: "guardrail",
        settings: "[gateways.guardrail]\nurl = \"GUARDRAIL/judge\"\n",
        must_see: true,
        ..GATEWAY
    },
    Feature {
        name: "guardrail of answers",
        settings: "[gateways.guardrail]\nurl = \"GUARDRAIL/judge\"\nstages = [\"request\", \"response\"]\non_failure = \"pass\"\n",
        must_see: true,
        ..GATEWAY
    },
    Feature {
        name: "answers scanned and held back",
        settings: "[gateways.sensitive_data]\nrequests = \"block\"\nresponses = \"block\"\n\
            [[gateways.dlp_policies]]\nid = \"keys\"\nprofiles = [\"credential\"]\n",
        must_see: true,
        refuses: 400,
        holds_answers: true,
        ..GATEWAY
    },
    Feature {
        name: "budget of a model",
        settings: "unpriced_call_cost = 0.0\n[[gateways.limits]]\nmeasure = \"cost\"\nlimit = 900000000.0\ninterval = \"1d\"\nonly = { model = [\"m\"] }\n",
        must_see: true,
        ..GATEWAY
    },
    Feature {
        name: "collectors, one of them away",
        settings: "[[gateways.otel]]\nurl = \"GUARDRAIL/traces\"\n[[gateways.otel]]\nurl = \"http://127.0.0.1:1\"\n",
        ..GATEWAY
    },
    Feature { name: "stored key", has_stored_key: true, ..GATEWAY },
    Feature { name: "universal", envelope: Envelope::Universal, must_see: true, ..GATEWAY },
    Feature {
        name: "universal, scan and block",
        settings: "[gateways.sensitive_data]\nrequests = \"block\"\n",
        envelope: Envelope::Universal,
        must_see: true,
        refuses: 400,
        ..GATEWAY
    },
    Feature { name: "fallback", envelope: Envelope::Fallback, must_see: true, ..GATEWAY },
    Feature { name: "compatible", envelope: Envelope::Compatible, must_see: true, ..GATEWAY },
    Feature {
        name: "dynamic route",
        settings: route!("", "count"),
        envelope: Envelope::Route,
        must_see: true,
        ..GATEWAY
    },
    Feature {
        name: "dynamic route, cost, stored key",
        settings: route!("cache_ttl = \"60s\"\ninclude_usage = true\nunpriced_call_cost = 0.0\n", "cost"),
        envelope: Envelope::Route,
        must_see: true,
        has_stored_key: true,
        ..GATEWAY
    },
    Feature {
        name: "tools",
        settings: "[[gateways.mcp_servers]]\nname = \"tools\"\nurl = \"ORIGIN/mcp\"\nallow_private = true\ntools = [\"g*\"]\n",
        envelope: Envelope::Mcp,
        must_see: true,
        ..GATEWAY
    },
    Feature {
        name: "tools, scan and block, guardrail of answers",
        settings: "heartbeat = \"5s\"\n[gateways.sensitive_data]\nrequests = \"block\"\n\
            [gateways.guardrail]\nurl = \"GUARDRAIL/judge\"\nstages = [\"response\"]\non_failure = \"pass\"\n\
            [[gateways.mcp_servers]]\nname = \"tools\"\nurl = \"ORIGIN/mcp\"\nallow_private = true\n",
        envelope: Envelope::Mcp,
        must_see: true,
        refuses: 400,
        ..GATEWAY
    },
    Feature {
        name: "all at once",
        settings: "cache_ttl = \"60s\"\nretry_max_attempts = 2\nheartbeat = \"5s\"\nunpriced_call_cost = 0.0\n[gateways.sensitive_data]\nrequests = \"block\"\n[[gateways.limits]]\nmeasure = \"cost\"\nlimit = 900000000.0\ninterval = \"1d\"\n",
        must_see: true,
        refuses: 400,
        ..GATEWAY
    },
];
