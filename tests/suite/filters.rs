//! Filter expressions: which requests and responses the rules are for.

use model::RuleId;
use portcullis::ruleset::ManagedRuleset;

use crate::support::{Client, Edge, Origin, refused_by_check};

const ATTACK: &str = "?q=1'%20union%20select%20password%20from%20users--";

fn zone(origin: &Origin, rest: &str) -> String {
    format!("[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n{rest}\n", origin.url())
}

#[test]
fn rules_judge_the_requests_that_their_filter_names() {
    let origin = Origin::fixed("text/plain", "fine");
    let edge = Edge::start(&format!(
        "[limits]\ninspected_body = \"1KiB\"\n{}",
        zone(
            &origin,
            r#"[zones.waf]
expression = 'not starts_with(http.request.uri.path, "/uploads/") or http.request.method eq "DELETE"'"#
        )
    ));
    let get = |path: &str| Client::get(edge.proxy[0], "a.example", &format!("{path}{ATTACK}")).status;
    assert_eq!(
        (get("/"), get("/uploads/x"), get("/uploads/%2e%2e/x"), get("/uploads//../x")),
        (403, 200, 403, 403)
    );
    // What no rule is for is neither held nor measured.
    let long = vec![b'a'; 5000];
    let post = |path| Client::post(edge.proxy[0], "a.example", path, "text/plain", &long).status;
    assert_eq!((post("/"), post("/uploads/x")), (413, 200));
    assert_eq!(origin.last().body.len(), long.len());
}

#[test]
fn responses_are_scanned_where_their_filter_says_so() {
    let card = ["4111", "1111", "1111", "1111"].join(" ");
    let mail = "someone@mail.example";
    let origin = Origin::fixed("text/html", format!("<p>{card} {mail}</p>"));
    let execute = |filter: &str, rule: &str| {
        format!(
            "[[zones.rulesets.rules]]\naction = \"execute\"\nexpression = '{filter}'\n\
             action_parameters = {{ id = \"{}\", overrides = {{ enabled = false, rules = [{{ id = \"{}\", enabled = true }}] }} }}\n",
            ManagedRuleset::sensitive_data_id(),
            RuleId::derived("sensitive data rule", rule)
        )
    };
    let rules = [
        execute(
            r#"http.response.code eq 200 and starts_with(http.request.uri.path, "/cards")"#,
            "financial.credit_card",
        ),
        execute(
            r#"http.response.content_type.media_type eq "text/html" and ends_with(http.request.uri.path, "mail")"#,
            "pii.email",
        ),
    ];
    let mut edge = Edge::start(&zone(
        &origin,
        &format!("[[zones.rulesets]]\nphase = \"http_response_firewall_managed\"\n{}", rules.concat()),
    ));
    let mut found = |path: &str, expected: &[&str]| {
        let ray = Client::get(edge.proxy[0], "a.example", path).header("svc-ray").unwrap().to_owned();
        for reference in expected {
            edge.wait_for_event("sensitive_data", |event| {
                event["RayID"] == ray && event["Ref"] == *reference
            });
        }
        let all = edge.events();
        let of_ray = all.iter().filter(|event| event["event"] == "sensitive_data" && event["RayID"] == ray);
        assert_eq!(of_ray.count(), expected.len(), "{path}");
    };
    found("/", &[]);
    found("/cards/1", &["financial.credit_card"]);
    found("/mail", &["pii.email"]);
    found("/cards/mail", &["financial.credit_card", "pii.email"]);
    edge.wait_for_metric("portcullis_scans_total", 3.0);
}

#[test]
fn a_wrong_filter_is_told_with_its_place() {
    let conf = r#"
[[zones]]
name = "a.example"
origins = ["http://127.0.0.1:9000"]
[zones.waf]
expression = 'http.response.code eq 200'
[zones.sensitive_data]
expression = 'http.hots eq "a.example"'
"#;
    let shown = refused_by_check(conf);
    insta::assert_snapshot!(shown);
}
