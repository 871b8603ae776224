//! What an edge of the matrix does, and what it makes of each body.

use super::content::{Kind, LIMIT};

/// A configuration, and how it judges.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    pub name: &'static str,
    pub is_gateway: bool,
    /// Within the zone or the gateway.
    pub settings: &'static str,
    /// Before it.
    pub before: &'static str,
    /// Whether it has to see a body before the origin may.
    pub must_see: bool,
    /// Whether a body with an attack, or a card, is refused.
    pub refuses: u16,
    /// The target of a call.
    pub target: &'static str,
}

const ZONE: Feature = Feature {
    name: "off",
    is_gateway: false,
    settings: "",
    before: "",
    must_see: false,
    refuses: 200,
    target: "/",
};

const CRS: &str =
    "[rules]\nowasp = [\"/etc/modsecurity/crs/crs-setup.conf\", \"/usr/share/modsecurity-crs/rules\"]\n";
const WAF: &str = "[zones.waf]\n";

pub const ZONES: &[Feature] = &[
    ZONE,
    Feature { name: "own rules", settings: WAF, must_see: true, refuses: 403, ..ZONE },
    Feature { name: "core rule set", settings: WAF, before: CRS, must_see: true, refuses: 403, ..ZONE },
    Feature {
        name: "response rules",
        settings: "[zones.waf]\nresponse_rules = true\n",
        must_see: true,
        refuses: 403,
        ..ZONE
    },
    Feature { name: "detection", settings: "[zones.sensitive_data]\n", ..ZONE },
    Feature {
        name: "rules and detection",
        settings: "[zones.waf]\n[zones.sensitive_data]\n",
        must_see: true,
        refuses: 403,
        ..ZONE
    },
    Feature { name: "rules that log", settings: "[zones.waf]\naction = \"log\"\n", must_see: true, ..ZONE },
];

const GATEWAY: Feature =
    Feature { name: "gateway", is_gateway: true, target: "/v1/acme/main/openai/x/", ..ZONE };

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
        name: "all at once",
        settings: "cache_ttl = \"60s\"\nretry_max_attempts = 2\nheartbeat = \"5s\"\nunpriced_call_cost = 0.0\n[gateways.sensitive_data]\nrequests = \"block\"\n[[gateways.limits]]\nmeasure = \"cost\"\nlimit = 900000000.0\ninterval = \"1d\"\n",
        must_see: true,
        refuses: 400,
        ..GATEWAY
    },
];

impl Feature {
    /// What becomes of a body, however it is sent.
    pub fn status(&self, kind: Kind, length: usize) -> u16 {
        let is_bad = matches!(kind, Kind::FormAttack | Kind::JsonAttack | Kind::FileAttack | Kind::Card);
        // The Core Rule Set takes the media types of forms and JSON, and judges that by the head.
        let is_other_type = kind == Kind::Text && !self.before.is_empty();
        match () {
            () if self.must_see && length > LIMIT => 413,
            () if is_other_type => 403,
            () if is_bad => self.refuses,
            () => 200,
        }
    }

    pub fn host(&self) -> &'static str {
        if self.is_gateway { "gw.example" } else { "a.example" }
    }

    pub fn kinds(&self) -> &'static [Kind] {
        if self.is_gateway { super::content::OF_GATEWAYS } else { super::content::OF_ZONES }
    }

    /// A configuration with a plain listener, then one with TLS.
    pub fn conf(&self, origin: &str) -> String {
        let Self { settings, before, .. } = self;
        let site = if self.is_gateway {
            format!(
                "[[providers]]\nslug = \"openai\"\nbase_url = \"{origin}\"\n[[gateways]]\naccount = \"acme\"\nid = \"main\"\nauthentication = false\n{settings}"
            )
        } else {
            format!("[[zones]]\nname = \"a.example\"\norigins = [\"{origin}\"]\n{settings}")
        };
        format!(
            "gateway_hosts = [\"gw.example\"]\n{before}[limits]\ninspected_body = \"{LIMIT}\"\nidle_timeout = \"4s\"\n\
             [[listeners]]\naddress = \"127.0.0.1:0\"\n\
             [[listeners]]\naddress = \"127.0.0.2:0\"\n[[listeners.certificates]]\nchain = \"a.pem\"\nkey = \"a.key\"\n{site}"
        )
    }
}
