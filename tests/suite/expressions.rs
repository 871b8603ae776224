//! Expressions on their own: checked over the API, tried on the command line, and with every function at work.

use serde_json::{Value, json};

use crate::api::{edge, zone};
use crate::support::{Client, Origin, run_cli};

#[test]
fn an_expression_is_checked_without_a_rule() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    api.post("/accounts/acme/rules/lists", &json!({"name": "office", "kind": "ip"}));
    let valid =
        |kind: &str| json!({"valid": true, "kind": kind, "column": null, "message": null, "excerpt": null});
    for owner in [format!("/zones/{id}"), "/accounts/acme".to_owned()] {
        let check = |body: &Value| api.post(&format!("{owner}/expressions/check"), body);
        assert_eq!(check(&json!({"expression": "ip.src in $office"})), valid("condition"));
        assert_eq!(check(&json!({"expression": "lower(http.host)"})), valid("value"));
        let of_response = json!({"expression": "http.response.code eq 200"});
        assert_eq!(check(&of_response)["valid"], false);
        let mut of_phase = of_response.clone();
        of_phase["phase"] = json!("http_response_firewall_managed");
        assert_eq!(check(&of_phase), valid("condition"));
        let wrong = check(&json!({"expression": "true and\nhttp.hst eq \"a\""}));
        assert_eq!((&wrong["valid"], &wrong["column"]), (&json!(false), &json!(10)));
        assert_eq!(wrong["message"], "no field `http.hst`; did you mean `http.host`?");
        assert_eq!(wrong["excerpt"], "http.hst eq \"a\"\n^");
        assert_eq!(api.refused("POST", &format!("{owner}/expressions/check"), &json!({})).0, 400);
        let phase = json!({"expression": "true", "phase": "nope"});
        assert_eq!(api.refused("POST", &format!("{owner}/expressions/check"), &phase), (400, vec![20022]));
    }
    // Lists are of an account.
    let other = api.post("/accounts/other/expressions/check", &json!({"expression": "ip.src in $office"}));
    assert_eq!(other["valid"], false);
}

#[test]
fn an_expression_is_tried_on_a_request_without_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("edge.toml");
    std::fs::write(&conf, "[[lists]]\nname = \"office\"\nkind = \"ip\"\nitems = [\"192.0.2.0/24\"]\n")
        .unwrap();
    let conf = conf.display().to_string();
    let request = b"POST /Shop/../a?x=1 HTTP/1.1\r\nHost: shop.example\r\nCookie: a=b\r\n\r\nbody";
    let test = |expression: &str, more: &[&str]| {
        let arguments = [&["expression", "test", expression, "--request", "-"], more].concat();
        let output = run_cli(&arguments, request);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    for (expression, more, expected) in [
        ("http.request.uri.path eq \"/a\"", &[][..], "it matches\n"),
        ("ip.src eq 127.0.0.1 and ssl", &[], "it does not match\n"),
        ("ip.src in $office", &["--client", "192.0.2.9", "--conf", &conf], "it matches\n"),
        (
            "regex_replace(http.host, \"^(.*)\\\\.example$\", \"${1}.internal\")",
            &[],
            "it gives `shop.internal`\n",
        ),
        ("http.request.cookies[\"b\"][0]", &[], "it gives nothing: a part that it names is missing\n"),
    ] {
        assert_eq!(test(expression, more), (Some(0), expected.to_owned()), "{expression}");
    }
    let (status, said) = test("http.host eq 5", &[]);
    assert_eq!(status, Some(1));
    assert!(
        said.starts_with("http.host eq 5\n             ^\nbyte 14 of the expression: expected a text"),
        "{said}"
    );
    let (status, said) = test("true", &["--phase", "nope"]);
    assert!(
        status == Some(1) && said.contains("unknown phase `nope`; expected one of `http_request_dynamic"),
        "{said}"
    );
}

#[test]
fn functions_work_in_rules_of_every_kind() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let entry_point = |phase: &str| format!("/zones/{id}/rulesets/phases/{phase}/entrypoint");
    let expression =
        "lookup_json_string(url_decode(http.request.uri.args[\"j\"][0]), \"user\", \"role\") eq \"admin\"";
    let block = json!({"rules": [{"action": "block", "expression": expression}]});
    api.result("PUT", &entry_point("http_request_firewall_custom"), &block);
    let path = json!({"uri": {"path": {"expression": "wildcard_replace(http.request.uri.path, \"/old/*/*\", \"/${2}/${1}\")"}}});
    let headers = json!({"headers": {
        "x-id": {"operation": "set", "expression": "uuidv4(ray)"},
        "x-sum": {"operation": "set", "expression": "encode_base64(sha256(http.host))"},
        "x-network": {"operation": "set", "expression": "to_string(cidr(ip.src, 8))"}
    }});
    let rewrites = json!({"rules": [
        {"action": "rewrite", "expression": "true", "action_parameters": path},
        {"action": "rewrite", "expression": "true", "action_parameters": headers},
    ]});
    api.result("PUT", &entry_point("http_request_transform"), &rewrites);
    let get = |target: &str| Client::get(edge.proxy[0], "a.example", target).status;
    assert_eq!(get("/?j=%7B%22user%22%3A%7B%22role%22%3A%22admin%22%7D%7D"), 403);
    assert_eq!(get("/?j=%7B%22user%22%3A%7B%22role%22%3A%22guest%22%7D%7D"), 200);
    assert_eq!(get("/old/a/b/c"), 200);
    let seen = origin.last();
    assert!(seen.line.starts_with("GET /b/c/a HTTP"), "{}", seen.line);
    let field = |name: &str| seen.header(name).unwrap().to_owned();
    assert_eq!(
        (field("x-network").as_str(), field("x-id").len(), field("x-sum").len()),
        ("127.0.0.0", 36, 44)
    );
}
