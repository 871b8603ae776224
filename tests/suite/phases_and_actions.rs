//! Every action in every phase that has it, from a file and over the API, by HTTP/1 and HTTP/2.

use std::collections::BTreeSet;

use portcullis::ruleset::actions;
use portcullis::ruleset::{Action, Phase};
use serde_json::{Value, json};

use crate::api::{TOKEN, execute, zone};
use crate::listener::tls_listener;
use crate::support::{Api, Edge, Origin, certificate, curl_output, wait_for};

/// What a client and the origins notice of a rule.
const NOTHING: &str = "nothing";

struct Case {
    phase: Phase,
    action: Action,
    /// Of the entry point.
    rules: Vec<Value>,
    /// Of a ruleset that it runs.
    custom: Option<Vec<Value>>,
    sees: &'static str,
}

struct Origins {
    own: Origin,
    other: Origin,
}

impl Origins {
    fn new() -> Self {
        let answer = |name: &'static str| {
            Origin::start(move |_, stream| {
                let text = format!(
                    "HTTP/1.1 404 X\r\ncontent-type: text/plain\r\ncontent-length: 300\r\n\r\n{name}{:295}",
                    "4111 1111 1111 1111"
                );
                std::io::Write::write_all(stream, text.as_bytes()).is_ok()
            })
        };
        Self { own: answer("own: "), other: answer("oth: ") }
    }

    fn port(&self) -> u16 {
        self.other.address.port()
    }
}

/// A rule with an action, as it is in a phase, and what is noticed of it.
fn rule(
    action: Action,
    phase: Phase,
    origins: &Origins,
    managed: &dyn Fn(Phase) -> String,
) -> (Value, &'static str) {
    let field = json!({"headers": {"x-rule": {"operation": "set", "value": "1"}}});
    let (parameters, sees) = match (action, phase) {
        (Action::Execute, _) => {
            return (execute(&managed(phase)), if phase.is_of_response() { NOTHING } else { "blocked" });
        }
        (Action::Block, Phase::HttpRatelimit) => (Value::Null, "limited"),
        (Action::Block, _) => (Value::Null, "blocked"),
        (Action::Challenge | Action::JsChallenge | Action::ManagedChallenge, _) => {
            (Value::Null, "challenged")
        }
        (Action::Log, _) => (Value::Null, NOTHING),
        (Action::Redirect, _) => {
            (json!({"from_value": {"target_url": {"value": "/moved"}, "status_code": 302}}), "redirected")
        }
        (Action::Rewrite, Phase::HttpRequestTransform) => {
            (json!({"uri": {"path": {"value": "/rewritten"}}}), "another path")
        }
        (Action::Rewrite, Phase::HttpResponseHeadersTransform) => (field, "a field of the answer"),
        (Action::Rewrite, _) => (field, "a field of the request"),
        (Action::Route, _) => (json!({"origin": {"port": origins.port()}}), "another origin"),
        (Action::ServeError, _) => (json!({"content": "page", "content_type": "text/plain"}), "a page"),
        (Action::SetConfig, _) => (json!({"true_client_ip_header": true}), "the client's address"),
        (Action::CompressResponse, _) => {
            (json!({"algorithms": [{"name": "auto"}]}), "that codings are chosen")
        }
        (Action::SetCacheSettings, _) => {
            (json!({"cache": true, "edge_ttl": {"mode": "override_origin", "default": 60}}), "a kept answer")
        }
        // No managed rules are there to add to.
        (Action::Score, _) => (json!({"increment": 5}), NOTHING),
        (Action::Skip, _) => (json!({"ruleset": "current"}), NOTHING),
    };
    let mut rule = json!({"action": action.word(), "expression": "not http.host eq \"none.example\""});
    if !parameters.is_null() {
        rule["action_parameters"] = parameters;
    }
    if phase == Phase::HttpRatelimit && action != Action::Skip {
        rule["ratelimit"] = json!({"characteristics": ["ip.src"], "period": 600, "requests_per_period": 1, "mitigation_timeout": 600});
    }
    (rule, sees)
}

/// The action whose effect shows that a phase runs.
fn usual(phase: Phase) -> Action {
    match phase {
        Phase::HttpRequestDynamicRedirect | Phase::HttpRequestRedirect => Action::Redirect,
        Phase::HttpRequestFirewallCustom | Phase::HttpRatelimit => Action::Block,
        Phase::HttpRequestFirewallManaged | Phase::HttpResponseFirewallManaged => Action::Execute,
        Phase::HttpRequestTransform
        | Phase::HttpRequestLateTransform
        | Phase::HttpResponseHeadersTransform => Action::Rewrite,
        Phase::HttpConfigSettings => Action::SetConfig,
        Phase::HttpResponseCompression => Action::CompressResponse,
        Phase::HttpRequestOrigin => Action::Route,
        Phase::HttpRequestCacheSettings => Action::SetCacheSettings,
        Phase::HttpCustomErrors => Action::ServeError,
    }
}

/// Every phase with every action that it can have.
fn cases(origins: &Origins, managed: &dyn Fn(Phase) -> String) -> Vec<Case> {
    let mut cases = Vec::new();
    for definition in actions::ALL {
        for (action, phase) in
            definition.actions.iter().flat_map(|a| definition.phases.iter().map(|p| (*a, *p)))
        {
            let (usual_rule, usual_sees) = rule(usual(phase), phase, origins, managed);
            let is_managed = usual(phase) == Action::Execute;
            let (rules, custom, sees) = match action {
                Action::Skip => (vec![rule(action, phase, origins, managed).0, usual_rule], None, NOTHING),
                Action::Execute if !is_managed => {
                    let run = json!({"action": "execute", "action_parameters": {"id": "shared"}});
                    (vec![run], Some(vec![usual_rule]), usual_sees)
                }
                _ => {
                    let (rule, sees) = rule(action, phase, origins, managed);
                    (vec![rule], None, sees)
                }
            };
            cases.push(Case { phase, action, rules, custom, sees });
        }
    }
    cases
}

/// What is noticed of the second of two requests.
fn seen(edge: &Edge, host: &str, version: &str, origins: &Origins) -> &'static str {
    let mut answer = String::new();
    for _ in 0..2 {
        origins.own.forget();
        origins.other.forget();
        let port = edge.proxy[0].port();
        let (url, resolve) = (
            format!("https://{host}:{port}/a?q=1'%20UNION%20SELECT%20password%20FROM%20users--"),
            format!("{host}:{port}:127.0.0.1"),
        );
        let output = curl_output(&["-D", "-", version, "--resolve", &resolve, &url]);
        answer = String::from_utf8(output.stdout).unwrap().to_ascii_lowercase();
    }
    let expected = if version == "--http2" { "http/2 " } else { "http/1.1 " };
    let status =
        answer.strip_prefix(expected).unwrap_or_else(|| panic!("{host} {version}: {answer}"))[..3].to_owned();
    let (own, other) = (origins.own.requests(), origins.other.requests());
    let reached = own.len() + other.len();
    match status.as_str() {
        "403" if answer.contains("svc-mitigated: challenge") && reached == 0 => "challenged",
        "403" if reached == 0 => "blocked",
        "429" if reached == 0 => "limited",
        "302" if answer.contains("location: /moved") && reached == 0 => "redirected",
        "404" if reached == 0 && answer.contains("svc-cache-status: hit") => "a kept answer",
        "404" if reached == 1 && answer.ends_with("page") => "a page",
        "404" if reached == 1 && answer.contains("x-rule: 1") => "a field of the answer",
        "404" if reached == 1 && answer.contains("vary: accept-encoding") => "that codings are chosen",
        "404" if other.len() == 1 => "another origin",
        "404" if reached == 1 && own[0].header("x-rule") == Some("1") => "a field of the request",
        "404" if reached == 1 && own[0].header("true-client-ip") == Some("127.0.0.1") => {
            "the client's address"
        }
        "404" if reached == 1 && own[0].path().starts_with("/rewritten") => "another path",
        "404" if reached == 1 => NOTHING,
        _ => panic!("{host} {version}: {reached} {answer}"),
    }
}

/// Looks at every case of an edge whose zones are named by their numbers.
fn look(edge: &Edge, api: &Api, cases: &[Case], origins: &Origins) -> usize {
    let mut looked = 0;
    for version in ["--http1.1", "--http2"] {
        for (nth, case) in cases.iter().enumerate() {
            let seen = seen(edge, &format!("c{nth}.example"), version, origins);
            assert_eq!(seen, case.sees, "{:?} in {:?}, {version}", case.action, case.phase);
            looked += 1;
        }
    }
    let events = |nth: usize, action: &str| {
        let id = api.get(&format!("/zones?name=c{nth}.example"))[0]["id"].as_str().unwrap().to_owned();
        api.get(&format!("/zones/{id}/security/events?action={action}")).as_array().unwrap().len()
    };
    // What nobody notices is told: of each log, and of each leak of which a scan was not passed over.
    for (nth, case) in cases.iter().enumerate() {
        let least = match (case.action, case.phase) {
            (Action::Log, Phase::HttpRatelimit) => 3,
            (Action::Log, _) => 4,
            // Of a path only a sample is scanned, the first among it.
            (Action::Execute, Phase::HttpResponseFirewallManaged) => 1,
            _ => 0,
        };
        wait_for("the events", || (events(nth, "log") >= least).then_some(()));
        if (case.action, case.phase) == (Action::Skip, Phase::HttpResponseFirewallManaged) {
            assert_eq!(events(nth, "log"), 0);
        }
    }
    looked
}

#[test]
fn every_action_does_in_every_phase_what_it_says() {
    let origins = Origins::new();
    let admin = format!("[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n");
    let start = |zones: &str| {
        let folder = tempfile::tempdir().unwrap();
        certificate(folder.path(), "c", &["c0.example"]);
        let edge = Edge::start_in(folder, &format!("{}{admin}{zones}", tls_listener(&["c"])), &[]);
        let api = Api::new(&edge, TOKEN);
        (edge, api)
    };
    let (edge, api) = start("[[gateways]]\naccount = \"acme\"\nid = \"main\"\n");
    let rulesets = api.get("/accounts/acme/rulesets");
    let managed = |phase: Phase| {
        let is_it = |ruleset: &&Value| ruleset["phase"] == phase.word();
        rulesets.as_array().unwrap().iter().find(is_it).unwrap()["id"].as_str().unwrap().to_owned()
    };
    let cases = cases(&origins, &managed);
    let phases: BTreeSet<Phase> = cases.iter().map(|case| case.phase).collect();
    let words: BTreeSet<&str> = cases.iter().map(|case| case.action.word()).collect();
    assert_eq!((phases.len(), words.len()), (Phase::ALL.len(), Action::ALL.len()), "all are there");
    // Over the API, where an id is given.
    for (nth, Case { phase, rules, custom, .. }) in cases.iter().enumerate() {
        let owner = format!("/zones/{}", zone(&api, &format!("c{nth}.example"), &origins.own));
        let mut rules = rules.clone();
        if let Some(custom) = custom {
            let body = json!({"kind": "custom", "phase": phase.word(), "rules": custom});
            rules[0]["action_parameters"]["id"] = api.post(&format!("{owner}/rulesets"), &body)["id"].clone();
            rules[0]["expression"] = json!("true");
        }
        let path = format!("{owner}/rulesets/phases/{}/entrypoint", phase.word());
        api.result("PUT", &path, &json!({"rules": rules}));
    }
    let mut looked = look(&edge, &api, &cases, &origins);
    // From a file, with the same rules.
    let zones = cases.iter().enumerate().map(|(nth, Case { phase, rules, custom, .. })| {
        let phase = phase.word();
        let mut rulesets = vec![json!({"phase": phase, "rules": rules})];
        if let Some(rules) = custom {
            rulesets.push(json!({"id": "shared", "kind": "custom", "phase": phase, "rules": rules}));
        }
        let zone =
            json!({"name": format!("c{nth}.example"), "origins": [origins.own.url()], "rulesets": rulesets});
        json!({"zones": [zone]})
    });
    let zones: String = zones.map(|zone| toml::to_string(&zone).unwrap()).collect();
    let (edge, api) = start(&zones);
    looked += look(&edge, &api, &cases, &origins);
    assert_eq!(looked, 4 * cases.len());
    assert!(cases.len() >= 36, "{}", cases.len());
}
