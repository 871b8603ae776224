//! What an edge of the matrix does, and what it makes of each body.

use std::io::Write;
use std::path::Path;
use std::sync::LazyLock;

use model::custom_hostname::HostnameOrigin;
use model::{CustomHostname, HostnameId, HostnameStatus, ZoneId};
use store::{Change, Changeset, SqliteStore, Store};
use uuid::Uuid;

use super::content::{Kind, LIMIT};
use super::envelope::Envelope;
use super::origins::Answer;
use super::support::{Origin, run_cli};

/// A configuration, and how it judges.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    pub name: &'static str,
    pub is_gateway: bool,
    /// Within the zone or the gateway.
    pub settings: &'static str,
    /// Before it.
    pub before: &'static str,
    /// Limits besides those of all.
    pub limits: &'static str,
    /// Whether it has to see a body before the origin may.
    pub must_see: bool,
    /// Whether a body with an attack, or a card, is refused.
    pub refuses: u16,
    /// Whether an answer that is too long to be held is refused.
    pub holds_answers: bool,
    /// The target of a call; the answer that is wanted comes behind it.
    pub target: &'static str,
    pub envelope: Envelope,
    /// Whether the origins speak HTTP/2.
    pub has_http2_origin: bool,
    /// Whether the gateway adds a key of its own.
    pub has_stored_key: bool,
    /// Whether the origin is what a proxied DNS record names.
    pub has_record: bool,
    /// Whether the host is a custom hostname of another zone.
    pub is_custom_hostname: bool,
}

/// Where a service lets every request go on.
fn auth_service() -> String {
    static SERVICE: LazyLock<Origin> = LazyLock::new(|| {
        Origin::start(|_, stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nx-user: ann\r\ncontent-length: 2\r\n\r\nok").is_ok()
        })
    });
    SERVICE.url()
}

/// A guardrail that allows every call.
fn guardrail() -> String {
    static SERVICE: LazyLock<Origin> =
        LazyLock::new(|| Origin::fixed("application/json", "{\"action\":\"allow\"}"));
    SERVICE.url()
}

/// The zone that serves the custom hostname.
const SAAS: &str = "saas.example";

/// The custom hostname `a.example`, verified long ago.
fn hostname() -> CustomHostname {
    let origin = HostnameOrigin { server: Some(SAAS.into()), sni: None };
    CustomHostname {
        id: HostnameId(Uuid::from_u128(1)),
        zone: ZoneId::derived("zone", SAAS),
        hostname: "a.example".into(),
        is_wildcard: false,
        status: HostnameStatus::Active,
        since: 0,
        attempts: 0,
        // It is not looked at while the matrix runs.
        next_check: u64::MAX >> 1,
        has_pointed_here: true,
        verification_errors: Box::default(),
        ownership_token: Uuid::from_u128(2),
        origin: Some(Box::new(origin)),
        metadata: None,
        pack: None,
        created_on: "2026-01-01T00:00:00.000000Z".into(),
    }
}

/// The token of the management API where it is asked.
pub const TOKEN: &str = "matrix";

/// The stored key of the gateways that have one.
pub const STORED_KEY: &str = "stored-key";

const ZONE: Feature = Feature {
    name: "off",
    is_gateway: false,
    settings: "",
    before: "",
    limits: "",
    must_see: false,
    refuses: 200,
    holds_answers: false,
    target: "/",
    envelope: Envelope::None,
    has_http2_origin: false,
    has_stored_key: false,
    has_record: false,
    is_custom_hostname: false,
};

const CRS: &str = "[rules]\nowasp = [\"/etc/modsecurity/crs/crs-setup.conf\", \"http3.conf\", \"/usr/share/modsecurity-crs/rules\"]\n";
/// This version of the Core Rule Set is older than HTTP/3.
const HTTP3_OF_CRS: &str = "SecAction \"id:900230,phase:1,nolog,pass,t:none,\\\n\
    setvar:'tx.allowed_http_versions=HTTP/1.0 HTTP/1.1 HTTP/2 HTTP/2.0 HTTP/3 HTTP/3.0'\"\n";
const WAF: &str = "[zones.waf]\n";
const TOLD: &str = "[zones.waf]\n[[zones.rulesets]]\nphase = \"http_request_firewall_custom\"\n\
    [[zones.rulesets.rules]]\naction = \"log\"\n";
const SKIPPED: &str = "[zones.waf]\n[[zones.rulesets]]\nphase = \"http_request_firewall_custom\"\n\
    [[zones.rulesets.rules]]\naction = \"skip\"\n\
    action_parameters = { phases = [\"http_request_firewall_managed\"] }\n";

const RATED: &str = "[zones.waf]\n[[zones.rulesets]]\nphase = \"http_ratelimit\"\n\
    [[zones.rulesets.rules]]\naction = \"block\"\n\
    ratelimit = { characteristics = [\"ip.src\", \"http.request.uri\"], period = 60, requests_per_period = 1000000, \
    counting_expression = \"http.response.code ge 400\" }\n";

const ROUTED: &str = "[zones.waf]\n[[zones.rulesets]]\nphase = \"http_request_origin\"\n[[zones.rulesets.rules]]\n\
    action = \"route\"\naction_parameters = { host_header = \"origin.internal\" }\n";

const CHANGED: &str = "[zones.waf]\n[[zones.rulesets]]\nphase = \"http_request_transform\"\n\
    [[zones.rulesets.rules]]\naction = \"rewrite\"\n\
    action_parameters = { headers = { x-set = { operation = \"set\", expression = \"http.request.uri.path\" } } }\n\
    [[zones.rulesets]]\nphase = \"http_response_headers_transform\"\n[[zones.rulesets.rules]]\naction = \"rewrite\"\n\
    action_parameters = { headers = { x-set = { operation = \"add\", value = \"a\" } } }\n";

const PAGED: &str = "[zones.waf]\n[[zones.rulesets]]\nphase = \"http_custom_errors\"\n[[zones.rulesets.rules]]\n\
    action = \"serve_error\"\nexpression = \"http.response.code ge 400\"\n\
    action_parameters = { content = \"page ::RAY_ID::\", content_type = \"text/plain\" }\n";

const SHARED: &str = "[zones.waf]\n[[zones.rulesets]]\nphase = \"http_request_firewall_custom\"\n\
    [[zones.rulesets.rules]]\naction = \"execute\"\naction_parameters = { id = \"shared\" }\n\
    [[zones.rulesets]]\nid = \"shared\"\nkind = \"custom\"\nphase = \"http_request_firewall_custom\"\n\
    [[zones.rulesets.rules]]\naction = \"log\"\nexpression = 'http.request.method ne \"TRACE\"'\n";

const BODIES: &str = "[zones.waf]\n[[zones.rulesets]]\nphase = \"http_request_firewall_custom\"\n\
    [[zones.rulesets.rules]]\naction = \"log\"\n\
    expression = 'http.request.body.size eq 7 and any(http.request.body.json[\"/a\"][*] eq \"b\")'\n";

const TREATED: &str = "balance = \"cookie\"\ncompression = [\"zstd\", \"gzip\"]\nrulesets = [{ phase = \"http_config_settings\", rules = [\
    { action = \"set_config\", action_parameters = { max_upload = 5, proxy_read_timeout = 2, true_client_ip_header = true } }] }]\n\
    [zones.settings]\nmax_upload = 1\n[[zones.basic_auth]]\nexpression = 'http.request.uri.path eq \"/staff\"'\n\
    users_file = \"staff\"\n[[zones.forward_auth]]\nurl = \"AUTH_SERVICE/check\"\ncopy_headers = [\"x-user\"]\n";

const KEPT: &str =
    "[zones.waf]\nresponse_rules = true\n[zones.sensitive_data]\n[zones.cache]\nttl = \"1h\"\n";

const KEPT_BY_KEY: &str = "rulesets = [{ phase = \"http_request_cache_settings\", rules = [\
    { action = \"set_cache_settings\", action_parameters = { cache = true, edge_ttl = { mode = \"respect_origin\", default = 3600 }, \
    cache_key = { ignore_query_strings_order = true, custom_key = { query_string = { exclude = { list = [\"utm_source\"] } }, \
    header = { include = [\"x-plan\"], exclude_origin = true }, cookie = { include = [\"theme\"] }, user = { lang = true } } } } }] }]\n\
    [zones.waf]\nresponse_rules = true\n[zones.sensitive_data]\n";

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
    Feature { name: "off, HTTP/2 origin", has_http2_origin: true, ..ZONE },
    Feature {
        name: "own rules, HTTP/2 origin",
        settings: WAF,
        must_see: true,
        refuses: 403,
        has_http2_origin: true,
        ..ZONE
    },
    Feature {
        name: "own rules, proxied record",
        settings: WAF,
        must_see: true,
        refuses: 403,
        has_record: true,
        ..ZONE
    },
    Feature {
        name: "own rules, custom hostname",
        settings: WAF,
        must_see: true,
        refuses: 403,
        is_custom_hostname: true,
        ..ZONE
    },
    Feature { name: "custom rules that log", settings: TOLD, must_see: true, refuses: 403, ..ZONE },
    Feature { name: "custom rules that skip", settings: SKIPPED, ..ZONE },
    Feature { name: "rate limits by answers", settings: RATED, must_see: true, refuses: 403, ..ZONE },
    Feature { name: "rules that change fields", settings: CHANGED, must_see: true, refuses: 403, ..ZONE },
    Feature { name: "rules that route", settings: ROUTED, must_see: true, refuses: 403, ..ZONE },
    Feature { name: "pages for errors", settings: PAGED, must_see: true, refuses: 403, ..ZONE },
    Feature { name: "rules over bodies", settings: BODIES, must_see: true, refuses: 403, ..ZONE },
    Feature { name: "rulesets that are run", settings: SHARED, must_see: true, refuses: 403, ..ZONE },
    Feature {
        name: "challenges at the threshold",
        settings: "[zones.waf]\naction = \"managed_challenge\"\n",
        must_see: true,
        refuses: 403,
        ..ZONE
    },
    Feature { name: "rules that log", settings: "[zones.waf]\naction = \"log\"\n", must_see: true, ..ZONE },
    Feature { name: "compressed answers and settings", settings: TREATED, ..ZONE },
    Feature { name: "kept answers", settings: KEPT, must_see: true, refuses: 403, ..ZONE },
    Feature { name: "kept answers by a key", settings: KEPT_BY_KEY, must_see: true, refuses: 403, ..ZONE },
    Feature {
        name: "kept answers, waited for",
        settings: KEPT,
        limits: "cache_lock_timeout = \"10s\"\n",
        must_see: true,
        refuses: 403,
        ..ZONE
    },
    Feature {
        name: "kept answers, HTTP/2 origin",
        settings: KEPT,
        must_see: true,
        refuses: 403,
        has_http2_origin: true,
        ..ZONE
    },
    Feature {
        name: "compressed answers, HTTP/2 origin",
        settings: "compression = [\"gzip\"]\n[zones.waf]\n[zones.sensitive_data]\n",
        must_see: true,
        refuses: 403,
        has_http2_origin: true,
        ..ZONE
    },
];

pub const GATEWAY: Feature =
    Feature { name: "gateway", is_gateway: true, target: "/v1/acme/main/openai/x/", ..ZONE };

impl Feature {
    /// The status of the answer to a body of `length` bytes, whatever its framing.
    pub fn status(&self, kind: Kind, length: usize) -> u16 {
        // The Core Rule Set takes the media types of forms and JSON without a coding, and judges that by the head.
        let has_bad_head = (kind == Kind::Text || kind.is_coded()) && !self.before.is_empty();
        match () {
            () if self.must_see && length > LIMIT => 413,
            () if has_bad_head => 403,
            () if kind.is_bad() => self.refuses,
            () => 200,
        }
    }

    /// Whether such a body can be sent.
    pub fn takes(&self, kind: Kind, answer: Answer) -> bool {
        match self.envelope {
            Envelope::None => true,
            Envelope::Universal | Envelope::Fallback | Envelope::Mcp => !kind.is_coded(),
            // Its path is not up to the caller.
            Envelope::Compatible | Envelope::Route => !kind.is_coded() && answer == Answer::Length,
        }
    }

    /// The target and the body of a call that asks for an answer.
    pub fn call(&self, body: &[u8], answer: Answer) -> (String, Vec<u8>) {
        let step = |provider: &str| {
            let head = format!(r#"{{"provider":"{provider}","endpoint":"x/{answer:?}","query":"#);
            [head.as_bytes(), body, b"}"].concat()
        };
        match self.envelope {
            Envelope::None => (format!("{}{answer:?}", self.target), body.to_vec()),
            Envelope::Universal => ("/v1/acme/main".into(), [b"[", &step("openai")[..], b"]"].concat()),
            Envelope::Fallback => {
                let steps = [b"[", &step("gone")[..], b",", &step("openai"), b"]"].concat();
                ("/v1/acme/main".into(), steps)
            }
            Envelope::Mcp => {
                let head =
                    br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":"#;
                (format!("/v1/acme/main/mcp/tools?{answer:?}"), [&head[..], body, b"}}"].concat())
            }
            Envelope::Compatible | Envelope::Route => {
                let model = if self.envelope == Envelope::Route { "dynamic/matrix" } else { "openai/gpt-4o" };
                let body = String::from_utf8(body.to_vec()).unwrap().replacen("gpt-4o", model, 1);
                ("/v1/acme/main/compat/chat/completions".into(), body.into())
            }
        }
    }

    /// What a request line at the origin has in it that asks for an answer.
    pub fn asks_for(&self, answer: Answer) -> String {
        if self.envelope.has_own_path() { "chat/completions".into() } else { format!("{answer:?}") }
    }

    /// Makes what the configuration names, in the folder where it will be.
    pub fn prepare(&self, folder: &Path, conf: &str) {
        std::fs::write(folder.join("http3.conf"), HTTP3_OF_CRS).unwrap();
        std::fs::write(folder.join("staff"), format!("ann:{}\n", bcrypt::hash("x", 4).unwrap())).unwrap();
        if self.is_custom_hostname {
            let mut store = SqliteStore::open(&folder.join("state")).unwrap();
            let change = Change::PutHostname { hostname: Box::new(hostname()) };
            store.commit(0, &Changeset::new("matrix", vec![change])).unwrap();
        }
        if !self.has_stored_key {
            return;
        }
        std::fs::write(folder.join("secrets.key"), "0a".repeat(32)).unwrap();
        let file = folder.join("p.toml");
        std::fs::write(&file, conf).unwrap();
        let file = file.display().to_string();
        let key = ["key", "add", "--account", "acme", "--gateway", "main", "--provider", "openai", "--conf"];
        let added = run_cli(&[&key[..], &[file.as_str()]].concat(), STORED_KEY.as_bytes());
        assert!(added.status.success(), "{added:?}");
    }

    pub fn host(&self) -> &'static str {
        if self.is_gateway { "gw.example" } else { "a.example" }
    }

    pub fn kinds(&self) -> &'static [Kind] {
        if self.is_gateway { super::content::OF_GATEWAYS } else { super::content::OF_ZONES }
    }

    /// A configuration with a plain listener, then one with TLS.
    pub fn conf(&self, origin: &str) -> String {
        let (before, limits) = (self.before, self.limits);
        let settings = self
            .settings
            .replace("AUTH_SERVICE", &auth_service())
            .replace("GUARDRAIL", &guardrail())
            .replace("ORIGIN", origin);
        let site = if self.is_gateway {
            format!(
                "[[providers]]\nslug = \"openai\"\nbase_url = \"{origin}\"\n\
                 [[providers]]\nslug = \"gone\"\nbase_url = \"http://127.0.0.1:1\"\n\
                 [[gateways]]\naccount = \"acme\"\nid = \"main\"\nauthentication = false\n{settings}"
            )
        } else if self.has_record {
            let port = origin.rsplit(':').next().unwrap();
            format!(
                "[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n[dns]\naddresses = [\"192.0.2.53\"]\n\
                 private_origins = true\norigin_scheme = \"http\"\nhttp_port = {port}\n[[zones]]\nname = \"a.example\"\n\
                 origins = [\"http://127.0.0.1:1\"]\n{settings}"
            )
        } else {
            let protocol = if self.has_http2_origin { "origin_protocol = \"http2\"\n" } else { "" };
            let name = if self.is_custom_hostname { SAAS } else { "a.example" };
            format!("[[zones]]\nname = \"{name}\"\norigins = [\"{origin}\"]\n{protocol}{settings}")
        };
        let secrets = if self.has_stored_key { "secrets_key_file = \"secrets.key\"\n" } else { "" };
        format!(
            "{secrets}gateway_hosts = [\"gw.example\"]\n{before}[limits]\ninspected_body = \"{LIMIT}\"\nidle_timeout = \"4s\"\n{limits}\
             [[listeners]]\naddress = \"127.0.0.1:0\"\n\
             [[listeners]]\naddress = \"127.0.0.2:0\"\nhttp3 = true\n[[listeners.certificates]]\nchain = \"a.pem\"\nkey = \"a.key\"\n{site}"
        )
    }
}
