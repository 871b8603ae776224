//! Dynamic routes over the API and in files: made, versioned, deployed, renamed, deleted, and refused with every place.

use serde_json::{Value, json};

use crate::ai_steps::{call, conf};
use crate::api::TOKEN;
use crate::dynamic_routes::{COMPAT, ask, end, good, in_file, model, provider, restarted, start};
use crate::support::{Api, Edge, refused_by_check};

const ROUTES: &str = "/accounts/acme/ai-gateway/gateways/main/routes";

fn with_api(conf: &str) -> String {
    format!("{conf}[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n")
}

#[test]
fn routes_are_made_versioned_deployed_and_deleted_over_the_api() {
    let (a, b) = (good(), good());
    let declared = "[[gateways]]\naccount = \"acme\"\nid = \"main\"\nauthentication = false\n";
    let edge = Edge::start(&with_api(&conf("", &[("a", &a), ("b", &b)])).replace(declared, ""));
    let api = Api::new(&edge, TOKEN);
    let gateway = json!({"id": "main", "authentication": false, "cache_ttl": null, "collect_logs": true,
        "rate_limiting_interval": null, "rate_limiting_limit": null, "cache_invalidate_on_update": false});
    api.post("/accounts/acme/ai-gateway/gateways", &gateway);
    let of = |id: &str| json!([start(id), model(id, "end"), end()]);
    let tried = api.post(&format!("{ROUTES}?dry_run=true"), &json!({"name": "support", "elements": of("a")}));
    assert_eq!((tried["name"].as_str(), ask(&edge, "").status), (Some("support"), 404));
    let route = api.post(ROUTES, &json!({"name": "support", "elements": of("a")}));
    let id = route["id"].as_str().unwrap();
    assert_eq!((route["gateway_id"].as_str(), &route["elements"]), (Some("main"), &of("a")));
    assert_eq!(route["version"]["version_id"], route["deployment"]["version_id"]);
    assert_eq!((&route["version"]["active"], &route["is_valid"]), (&json!("true"), &json!(true)));
    assert_eq!(serde_json::from_str::<Value>(route["version"]["data"].as_str().unwrap()).unwrap(), of("a"));
    assert_eq!(provider(&ask(&edge, "")), "a", "with the next call");

    let one = format!("{ROUTES}/{id}");
    let version = api.post(&format!("{one}/versions"), &json!({"elements": of("b")}));
    assert_eq!((&version["active"], &version["elements"]), (&json!("false"), &of("b")));
    assert_eq!(provider(&ask(&edge, "")), "a", "until it is deployed");
    let second = version["version_id"].clone();
    let deployed = api.post(&format!("{one}/deployments"), &json!({"version_id": second}));
    assert_eq!((&deployed["version_id"], &deployed["elements"]), (&second, &of("b")));
    assert_eq!(provider(&ask(&edge, "")), "b");
    let first = route["version_id"].as_str().unwrap();
    let shown = api.get(&format!("{one}/versions/{first}"));
    assert_eq!((&shown["elements"], &shown["active"]), (&of("a"), &json!("false")));
    api.post(&format!("{one}/deployments"), &json!({"version_id": first}));
    assert_eq!(provider(&ask(&edge, "")), "a", "rolled back");

    let (_, versions) = api.call("GET", &format!("{one}/versions"), &Value::Null);
    let listed = |list: &Value| {
        list.as_array().unwrap().iter().map(|one| one["version_id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&versions["result"]), [second.clone(), json!(first)]);
    assert_eq!(listed(&versions["data"]["versions"]), [second.clone(), json!(first)]);
    let (_, deployments) = api.call("GET", &format!("{one}/deployments"), &Value::Null);
    assert_eq!(listed(&deployments["data"]["deployments"]), [json!(first), second, json!(first)]);
    let (_, routes) = api.call("GET", ROUTES, &Value::Null);
    assert_eq!(
        (&routes["data"]["routes"][0]["id"], &routes["result"][0]["id"]),
        (&route["id"], &route["id"])
    );
    assert_eq!(routes["result_info"]["total_count"], 1);

    let (status, renamed) = api.call("PATCH", &one, &json!({"name": "help"}));
    assert_eq!(
        (status, &renamed["route"]["name"], &renamed["result"]["name"]),
        (200, &json!("help"), &json!("help"))
    );
    assert_eq!(ask(&edge, "").status, 404);
    let help = r#"{"model":"dynamic/help","messages":[]}"#;
    assert_eq!(call(&edge, COMPAT, "", help).status, 200);
    let edge = restarted(edge);
    assert_eq!(call(&edge, COMPAT, "", help).status, 200, "after a restart");
    let api = Api::new(&edge, TOKEN);
    assert_eq!(api.result("DELETE", &one, &Value::Null)["name"], "help");
    assert_eq!(call(&edge, COMPAT, "", help).status, 404);
    api.post(ROUTES, &json!({"name": "support", "elements": of("a")}));
    api.result("DELETE", "/accounts/acme/ai-gateway/gateways/main", &Value::Null);
    api.post("/accounts/acme/ai-gateway/gateways", &gateway);
    assert_eq!(api.get(ROUTES), json!([]), "routes go with their gateway");
}

#[test]
fn what_is_no_route_is_refused_with_every_place() {
    let a = good();
    let of = json!([start("a"), model("a", "end"), end()]);
    let in_file = in_file("declared", of.as_array().unwrap());
    let edge = Edge::start(&with_api(&conf(&in_file, &[("a", &a)])));
    let api = Api::new(&edge, TOKEN);
    let bad = json!({"name": "a b", "elements": [start("none"), {"id": "x", "type": "rate", "outputs": {}}, {"id": "x", "type": "loop"}]});
    let (status, answer) = api.call("POST", ROUTES, &bad);
    let places: Vec<&str> = answer["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["source"]["pointer"].as_str().unwrap())
        .collect();
    assert_eq!(status, 400);
    for place in [
        "/name",
        "/elements/0/outputs/next/elementId",
        "/elements/1/properties/key",
        "/elements/1/properties/limitType",
        "/elements/1/outputs/success",
        "/elements/2/id",
        "/elements/2/type",
    ] {
        assert!(places.contains(&place), "{place}: {places:?}");
    }
    let long = json!({"name": "long", "elements": [start("end"), end(), {"id": "x", "type": "end", "x": "y".repeat(70_000)}]});
    let one = |body: &Value| api.call("POST", ROUTES, body).0;
    assert_eq!((one(&long), one(&json!({"name": "x"})), one(&json!({"elements": of}))), (400, 400, 400));
    assert_eq!(one(&json!({"name": "declared", "elements": of})), 409);
    let declared = api.get(ROUTES)[0].clone();
    let path = format!("{ROUTES}/{}", declared["id"].as_str().unwrap());
    assert!(declared["declared_at"].as_str().unwrap().contains("p.toml:"));
    for (method, path, body) in [
        ("DELETE", path.clone(), Value::Null),
        ("PATCH", path.clone(), json!({"name": "other"})),
        ("POST", format!("{path}/versions"), json!({"elements": of})),
    ] {
        assert_eq!(api.call(method, &path, &body).0, 409, "{method} {path}");
    }
    for path in [format!("{ROUTES}/none"), format!("{path}/versions/none"), ROUTES.replace("main", "none")] {
        assert_eq!(api.call("GET", &path, &Value::Null).0, 404, "{path}");
    }
    let made = api.post(ROUTES, &json!({"name": "own", "elements": of}));
    let own = format!("{ROUTES}/{}", made["id"].as_str().unwrap());
    assert_eq!(api.call("POST", &format!("{own}/deployments"), &json!({"version_id": "none"})).0, 404);
    assert_eq!(api.call("PATCH", &own, &json!({"name": "declared"})).0, 409);
    for _ in 0..60 {
        api.post(&format!("{own}/versions"), &json!({"elements": of}));
    }
    let (_, versions) = api.call("GET", &format!("{own}/versions?per_page=50"), &Value::Null);
    assert_eq!(versions["result_info"]["total_count"], 50);
    assert!(versions["result"].as_array().unwrap().iter().any(|version| version["active"] == "true"));
}

#[test]
fn a_file_with_a_bad_route_is_refused_with_its_place() {
    let origin = good();
    let said = refused_by_check(&conf(&in_file("a b", &[start("none"), end()]), &[("a", &origin)]));
    assert!(said.contains("/0/outputs/next/elementId") && said.contains("found `a b`"), "{said}");
    let twice = in_file("a", &[start("end"), end()]).repeat(2);
    assert!(refused_by_check(&conf(&twice, &[("a", &origin)])).contains("declared twice"));
    let said = refused_by_check(&conf("", &[("dynamic", &origin)]));
    assert!(said.contains("stands for"), "{said}");
}
