//! Budgets that count some calls: of models, providers and teams, in files and over the API.

use serde_json::{Value, json};

use crate::budgets::{DEAR, WAYS};
use crate::support::{Api, Edge, Origin, refused_by_check};
use crate::ways_around::{ask, gateway};

const GATEWAYS: &str = "/accounts/acme/ai-gateway/gateways";
const MAIN: &str = "/accounts/acme/ai-gateway/gateways/main";
const BODY: &str = r#"{"model":"m","max_tokens":100}"#;

/// An edge whose models `m` and `n` cost a tenth of a dollar a call.
fn edge(origin: &Origin, gateways: &str) -> Edge {
    let folder = tempfile::tempdir().unwrap();
    let price = json!({"input_cost_per_token": 0.000001, "output_cost_per_token": 0.001});
    let free = json!({"input_cost_per_token": 0, "output_cost_per_token": 0});
    let prices = json!({"m": price, "n": price, "free": free}).to_string();
    std::fs::write(folder.path().join("prices.json"), prices).unwrap();
    let admin = "[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"api-token\"]\n";
    let conf = gateway(origin, gateways);
    let conf = match gateways {
        "" => conf.split("[[gateways]]").next().unwrap().to_owned(),
        _ => conf,
    };
    Edge::start_in(folder, &format!("model_prices = \"prices.json\"\n{conf}{admin}"), &[])
}

/// How many of ten calls pass.
fn passed(edge: &Edge, metadata: &Value, body: &str) -> usize {
    let framing = format!("Content-Length: {}\r\nsvc-aig-metadata: {metadata}", body.len());
    (0..10).filter(|_| ask(edge, &framing, body) == 200).count()
}

#[test]
fn a_budget_counts_the_calls_that_it_names() {
    let origin = Origin::fixed("application/json", DEAR);
    let edge = edge(&origin, "");
    let api = Api::new(&edge, "api-token");
    let rule = json!({
        "limit": 0.5, "limitType": "cost", "window": 2_592_000, "technique": "fixed",
        "model": {"mode": "filter", "values": ["other", "M"]},
        "metadata": {"team": {"mode": "partition"}, "stage": {"mode": "filter", "values": ["live"]}}
    });
    let budgets = json!({"enabled": true, "rules": [rule]});
    let made = api.post(GATEWAYS, &json!({"id": "main", "authentication": false, "spend_limits": budgets}));
    let mut expected = budgets;
    (expected["rules"][0]["id"], expected["rules"][0]["enabled"]) = (json!("rule-1"), json!(true));
    assert_eq!(made["spend_limits"], expected);
    let of = |team: &str| json!({"team": team, "stage": "live"});
    assert_eq!(passed(&edge, &of("a"), BODY), 4, "of the fifth the input is reserved beside the answer");
    assert_eq!(passed(&edge, &of("a"), BODY), 0);
    assert_eq!(passed(&edge, &of("b"), BODY), 4, "another team");
    assert_eq!(passed(&edge, &of("a"), &BODY.replace("\"m\"", "\"n\"")), 10, "another model");
    assert_eq!(passed(&edge, &json!({"team": "a", "stage": "test"}), BODY), 10, "another stage");
    assert_eq!(passed(&edge, &of("a"), &BODY.replace("\"m\"", "\"none\"")), 10, "one without a price");
    // What was spent is known after a restart, and what is raised counts on.
    edge.signal("TERM");
    let mut edge = edge;
    edge.wait_for_exit();
    let edge = edge.again();
    let api = Api::new(&edge, "api-token");
    assert_eq!(passed(&edge, &of("a"), BODY), 0);
    expected["rules"][0]["limit"] = json!(0.75);
    api.result("PATCH", MAIN, &json!({"spend_limits": expected}));
    assert_eq!(passed(&edge, &of("a"), BODY), 3);
    assert_eq!(api.result("PUT", MAIN, &api.get(MAIN))["spend_limits"], expected, "as it is read");
    // It can be put out of force, alone and with all others, and taken away.
    for switch in ["/rules/0/enabled", "/enabled"] {
        let mut off = expected.clone();
        *off.pointer_mut(switch).unwrap() = json!(false);
        assert_eq!(api.result("PATCH", MAIN, &json!({"spend_limits": off}))["spend_limits"], off);
        assert_eq!(passed(&edge, &of("a"), BODY), 10, "{switch}");
        api.result("PATCH", MAIN, &json!({"spend_limits": expected}));
        assert_eq!(passed(&edge, &of("a"), BODY), 0, "{switch}");
    }
    assert_eq!(api.result("PATCH", MAIN, &json!({"spend_limits": null}))["spend_limits"], Value::Null);
    assert_eq!(passed(&edge, &of("a"), BODY), 10);
}

#[test]
fn no_way_around_a_budget_of_one_model() {
    let origin = Origin::fixed("application/json", DEAR);
    let edge = edge(&origin, "");
    let api = Api::new(&edge, "api-token");
    let rule = json!({
        "limit": 0.5, "limitType": "cost", "window": 2_592_000,
        "model": {"mode": "filter", "values": ["m"]}, "metadata": {"way": {"mode": "partition"}}
    });
    api.post(GATEWAYS, &json!({"id": "main", "authentication": false, "spend_limits": {"rules": [rule]}}));
    let more = [
        r#"{"model":"M","max_tokens":100}"#,
        r#"{"model":" m","max_tokens":100}"#,
        r#"{"model":"  ","max_tokens":100}"#,
    ];
    let ways = WAYS.iter().copied().chain(more.map(|body| ("", body)));
    // Whoever asks for a model of another name gets that.
    let ways: Vec<_> = ways.filter(|(_, body)| !body.contains("unknown")).collect();
    for (nth, (fields, body)) in ways.iter().enumerate() {
        origin.forget();
        let framing =
            format!("Content-Length: {}\r\n{fields}svc-aig-metadata: {{\"way\":{nth}}}", body.len());
        (0..12).for_each(|_| _ = ask(&edge, &framing, body));
        let spent = origin.begun().len();
        assert!(spent <= 6, "{spent} calls of 0.1 $ by {fields:?} {body:?}");
    }
    assert_eq!(ways.len(), 47);
}

#[test]
fn budgets_that_mean_nothing_are_refused() {
    let origin = Origin::fixed("application/json", DEAR);
    let edge = edge(&origin, "");
    let api = Api::new(&edge, "api-token");
    api.post(GATEWAYS, &json!({"id": "main", "authentication": false}));
    let sound = json!({"limit": 1, "limitType": "cost", "window": 60});
    let with = |member: &str, value: Value| {
        let mut rule = sound.clone();
        rule[member] = value;
        json!({"rules": [rule]})
    };
    let rows = [
        (json!([]), "/spend_limits"),
        (json!({"rules": {}}), "/spend_limits/rules"),
        (json!({"rules": vec![sound.clone(); 33]}), "/spend_limits/rules"),
        (json!({"rules": [{"limitType": "cost", "window": 60}]}), "/spend_limits/rules/0/limit"),
        (with("limit", json!(-1)), "/spend_limits/rules/0/limit"),
        (with("limit", json!("1")), "/spend_limits/rules/0/limit"),
        (with("limitType", json!("tokens")), "/spend_limits/rules/0/limitType"),
        (with("window", json!(0)), "/spend_limits/rules/0/window"),
        (with("window", json!(null)), "/spend_limits/rules/0/window"),
        (with("technique", json!("daily")), "/spend_limits/rules/0/technique"),
        (with("id", json!("")), "/spend_limits/rules/0/id"),
        (with("model", json!({})), "/spend_limits/rules/0/model/mode"),
        (with("model", json!({"mode": "filter"})), "/spend_limits/rules/0/model/values"),
        (with("model", json!({"mode": "filter", "values": []})), "/spend_limits/rules/0/model/values"),
        (
            with("provider", json!({"mode": "partition", "values": ["a"]})),
            "/spend_limits/rules/0/provider/values",
        ),
        (with("metadata", json!({"": {"mode": "partition"}})), "/spend_limits/rules/0/metadata"),
        (with("metadata", json!({"team": {"mode": "sum"}})), "/spend_limits/rules/0/metadata/team/mode"),
    ];
    for (budgets, pointer) in &rows {
        let (status, answer) = api.call("PATCH", MAIN, &json!({"spend_limits": budgets}));
        let pointers: Vec<&str> = answer["errors"]
            .as_array()
            .map(|errors| errors.iter().filter_map(|error| error["source"]["pointer"].as_str()).collect())
            .unwrap_or_default();
        assert_eq!((status, pointers.contains(pointer)), (400, true), "{budgets}: {answer}");
    }
    let twice = json!({"rules": [with("id", json!("a"))["rules"][0], with("id", json!("a"))["rules"][0]]});
    assert_eq!(api.call("PATCH", MAIN, &json!({"spend_limits": twice})).0, 400);
    // One without an id gets one that nobody has.
    let named = json!({"rules": [sound, with("id", json!("rule-1"))["rules"][0]]});
    let made = api.result("PATCH", MAIN, &json!({"spend_limits": named}));
    let ids: Vec<&str> = made["spend_limits"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["id"].as_str().unwrap())
        .collect();
    assert_eq!((ids, made["spend_limits"]["enabled"].clone()), (vec!["rule-2", "rule-1"], json!(true)));
}

#[test]
fn a_limit_of_a_file_counts_the_calls_that_it_names() {
    let origin = Origin::fixed("application/json", DEAR);
    let limit = "[[gateways.limits]]\nmeasure = \"requests\"\nlimit = 3\ninterval = \"30d\"\n";
    let only = "only = { model = [\"m\"], \"metadata.team\" = [\"a\"] }\n";
    let edge = edge(&origin, &format!("{limit}{only}"));
    let (a, b) = (json!({"team": "a"}), json!({"team": "b"}));
    assert_eq!(passed(&edge, &b, BODY), 10);
    assert_eq!(passed(&edge, &a, &BODY.replace("\"m\"", "\"n\"")), 10);
    assert_eq!((passed(&edge, &a, BODY), passed(&edge, &a, "no JSON")), (3, 0), "and what cannot be read");
    let shown = Api::new(&edge, "api-token").get(MAIN);
    assert_eq!(shown["limits"][0]["only"], json!({"model": ["m"], "metadata.team": ["a"]}));
    assert_eq!(shown["rate_limiting_limit"], Value::Null, "that one counts all calls");
    for (only, message) in [
        ("{ modell = [\"m\"] }", "expected `token`, `model`, `provider` or `metadata.KEY`, found `modell`"),
        ("{ model = [] }", "expected 1 to 256 values of `model`, found 0"),
        ("{ model = \"m\" }", "a list"),
    ] {
        let conf = gateway(&origin, &format!("{limit}only = {only}\n"));
        let told = refused_by_check(&conf);
        assert!(told.contains(message), "{told}");
    }
}
