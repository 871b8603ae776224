//! `[[gateways.otel]]`: collectors of a gateway get a span of each of its calls.

use std::io::Write;

use serde_json::{Value, json};

use crate::ai_calls::{CHAT, GATEWAY, call, chat, conf};
use crate::guardrails::api_conf;
use crate::support::{Api, Edge, Origin, refused_by_check};
use crate::tracing::{SPAN, TRACE, attribute, collector, spans, wait_for_spans};

fn away() -> Origin {
    Origin::start(|_, stream| {
        stream.write_all(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n").is_ok()
    })
}

fn otel(collector: &Origin, more: &str) -> String {
    format!("[[gateways.otel]]\nurl = \"{}\"\n{more}", collector.url())
}

#[test]
fn each_collector_gets_a_span_of_each_call() {
    let (provider, first, second, away) =
        (Origin::fixed("application/json", CHAT), collector(), collector(), away());
    let fields = "authorization = \"Bearer own\"\nheaders = { X-Team = \"search\" }\n";
    let gateway = format!("{GATEWAY}{}{}{}", otel(&away, ""), otel(&first, fields), otel(&second, ""));
    let mut edge = Edge::start(&conf(&provider, &gateway));
    let metadata = "svc-aig-metadata: {\"team\":\"a\",\"gen_ai.usage.input_tokens\":7}\r\n";
    assert_eq!(chat(&edge, &format!("traceparent: 00-{TRACE}-{SPAN}-00\r\n{metadata}")).status, 200);
    assert_eq!(provider.last().header("traceparent"), Some(&*format!("00-{TRACE}-{SPAN}-00")));
    for collector in [&first, &second] {
        let spans = wait_for_spans(collector, 1);
        let span = &spans[0];
        assert_eq!((&span["traceId"], &span["parentSpanId"]), (&json!(TRACE), &json!(SPAN)));
        for (name, expected) in [
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "openai"),
            ("gen_ai.request.model", "m-1"),
            ("gen_ai.usage.input_tokens", "19"),
            ("gen_ai.usage.output_tokens", "10"),
            ("portcullis.gateway", "acme/main"),
            ("portcullis.metadata.team", "a"),
            ("portcullis.metadata.gen_ai.usage.input_tokens", "7"),
            ("gen_ai.completion_json", CHAT),
        ] {
            assert_eq!(attribute(span, name), expected, "{name} {span}");
        }
        assert!(attribute(span, "gen_ai.prompt_json").as_str().unwrap().contains("question-canary"));
    }
    let message = first.last();
    assert_eq!(
        (message.header("authorization"), message.header("x-team")),
        (Some("Bearer own"), Some("search"))
    );
    assert_eq!((message.path(), message.header("content-type")), ("/v1/traces", Some("application/json")));
    assert_eq!((second.last().header("authorization"), second.last().header("x-team")), (None, None));
    let failed = edge.wait_for_event("service_failed", |event| event["service"] == "call spans");
    assert!(failed["error"].as_str().unwrap().contains("acme/main"), "{failed}");
    // The ids of its own fields win; texts that are not kept leave with no span; a refused call has one too.
    let parent = "00f067aa0ba902b7";
    let other = "4bf92f3577b34da6a3ce929d0e0e4736";
    let named = format!(
        "traceparent: 00-{TRACE}-{SPAN}-00\r\nsvc-aig-otel-trace-id: {other}\r\n\
         svc-aig-otel-parent-span-id: {parent}\r\nsvc-aig-collect-log-payload: false\r\n"
    );
    let answer = chat(&edge, &named);
    assert_eq!((answer.status, answer.header("svc-aig-warning")), (200, None));
    let spans = wait_for_spans(&second, 2);
    assert_eq!((&spans[1]["traceId"], &spans[1]["parentSpanId"]), (&json!(other), &json!(parent)));
    assert!(!spans[1].to_string().contains("canary"), "{}", spans[1]);
    let warned = chat(&edge, "svc-aig-otel-trace-id: 0\r\n");
    assert!(warned.header("svc-aig-warning").unwrap().contains("otel-trace-id: expected 32"));
    let spans = wait_for_spans(&second, 3);
    assert_eq!(spans[2].get("parentSpanId"), None);
    // What waits goes out when the edge stops, and the one that is away holds nobody up.
    assert_eq!(chat(&edge, "").status, 200);
    edge.signal("TERM");
    edge.wait_for_exit();
    assert_eq!((self::spans(&first).len(), self::spans(&second).len()), (4, 4));
}

#[test]
fn spans_of_gateways_and_of_the_edge_are_apart() {
    let (provider, own, of_edge) = (Origin::fixed("application/json", CHAT), collector(), collector());
    let tracing = format!("[tracing]\nendpoint = \"{}\"\nservice_name = \"shop\"\n", of_edge.url());
    let second = GATEWAY.replace("main", "other");
    let edge = Edge::start(&conf(&provider, &format!("{tracing}{second}{GATEWAY}{}", otel(&own, ""))));
    assert_eq!(chat(&edge, &format!("traceparent: 00-{TRACE}-{SPAN}-01\r\n")).status, 200);
    let (spans, of_edge) = (wait_for_spans(&own, 1), wait_for_spans(&of_edge, 2));
    assert_eq!((&spans[0]["traceId"], &spans[0]["parentSpanId"]), (&json!(TRACE), &json!(SPAN)));
    assert!(!of_edge.iter().any(|span| span.to_string().contains("canary")));
    let body: Value = serde_json::from_slice(&own.last().body).unwrap();
    assert_eq!(body["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"], "shop");
    assert_eq!(edge.metric("portcullis_call_spans_total{outcome=\"sent\"}"), 1.0);
}

const GATEWAYS: &str = "/accounts/acme/ai-gateway/gateways";

/// An edge whose gateways are made over the API, with collectors at private addresses.
fn api_edge(provider: &Origin) -> (Edge, Api) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secrets.key"), "0a".repeat(32)).unwrap();
    let secrets = "secrets_key_file = \"secrets.key\"\n";
    let edge = Edge::start_in(folder, &api_conf(provider, secrets, "private_webhooks = true\n"), &[]);
    let api = Api::new(&edge, "api-token");
    (edge, api)
}

#[test]
fn collectors_at_one_address_keep_fields_of_their_own() {
    let (provider, collector) = (Origin::fixed("application/json", CHAT), collector());
    let (edge, api) = api_edge(&provider);
    let of_team = |team: &str| json!({"url": collector.url(), "headers": {"x-team": team}});
    let made = json!({"id": "main", "authentication": false, "otel": [of_team("a"), of_team("b")]});
    api.post(GATEWAYS, &made);
    let one = format!("{GATEWAYS}/main");
    let mut expected = Vec::new();
    for _ in 0..2 {
        assert_eq!(chat(&edge, "").status, 200);
        expected.extend(["a", "b"]);
        wait_for_spans(&collector, expected.len());
        let messages = collector.requests();
        let mut teams: Vec<&str> = messages.iter().filter_map(|message| message.header("x-team")).collect();
        teams.sort_unstable();
        expected.sort_unstable();
        assert_eq!(teams, expected);
        // Also after what was read is written back.
        let read_back = api.get(&one);
        api.result("PATCH", &one, &json!({"otel": read_back["otel"]}));
    }
}

#[test]
fn collectors_are_set_over_the_api() {
    let (provider, collector) = (Origin::fixed("application/json", CHAT), collector());
    let (edge, api) = api_edge(&provider);
    let one = format!("{GATEWAYS}/main");
    let url = format!("{}/otlp?for=edge", collector.url());
    let written = json!([{"url": url, "authorization": "Bearer own", "headers": {"X-Team": "search"}, "content_type": "json"}]);
    let made = api.post(GATEWAYS, &json!({"id": "main", "authentication": false, "otel": written}));
    let shown = json!([{"url": url, "authorization": "", "headers": {"x-team": ""}, "content_type": "json"}]);
    assert_eq!(made["otel"], shown, "and never the secrets");
    let mut calls = 0;
    let mut fields = || {
        assert_eq!(chat(&edge, "").status, 200);
        calls += 1;
        wait_for_spans(&collector, calls);
        let message = collector.last();
        [message.header("authorization").map(str::to_owned), message.header("x-team").map(str::to_owned)]
    };
    let own = [Some("Bearer own".to_owned()), Some("search".to_owned())];
    assert_eq!(fields(), own);
    // What was read can be written back; what is not named stays with PATCH and goes with PUT.
    assert_eq!(api.result("PATCH", &one, &json!({"collect_logs": true}))["otel"], shown);
    let read_back = api.get(&one);
    assert_eq!(api.result("PUT", &one, &read_back)["otel"], shown);
    assert_eq!(fields(), own);
    let moved = json!([{"url": format!("{}/other", collector.url()), "authorization": ""}]);
    api.result("PATCH", &one, &json!({"otel": moved}));
    assert_eq!(fields(), [Some("Bearer own".to_owned()), None]);
    let elsewhere = self::collector();
    let pointed = json!([{"url": elsewhere.url(), "authorization": ""}]);
    api.result("PATCH", &one, &json!({"otel": pointed}));
    assert_eq!(chat(&edge, "").status, 200);
    wait_for_spans(&elsewhere, 1);
    assert_eq!((elsewhere.last().header("authorization"), elsewhere.last().path()), (None, "/v1/traces"));
    for (bad, at) in [
        (json!([{}]), "/otel/0/url"),
        (json!([{"url": "ftp://a.example"}]), "/otel/0/url"),
        (json!([{"url": url, "content_type": "protobuf"}]), "/otel/0/content_type"),
        (json!([{"url": url, "authorization": "a\nb"}]), "/otel/0/authorization"),
        (json!([{"url": url, "headers": {"host": "b.example"}}]), "/otel/0/headers"),
        (json!([{"url": url, "headers": {"x-new": ""}}]), "/otel/0/headers"),
        (json!([{"url": url, "headers": ["a"]}]), "/otel/0/headers"),
        (json!(vec![json!({"url": url}); 6]), "/otel"),
        (json!({"url": url}), "/otel"),
    ] {
        let (status, answer) = api.call("PATCH", &one, &json!({"otel": bad}));
        assert_eq!((status, &answer["errors"][0]["source"]["pointer"]), (400, &json!(at)), "{bad} {answer}");
    }
    assert_eq!(api.result("PUT", &one, &json!({"authentication": false}))["otel"], Value::Null);
    api.result("PATCH", &one, &json!({"otel": written}));
    let state: Vec<u8> = std::fs::read_dir(edge.folder.path().join("state"))
        .unwrap()
        .flat_map(|file| std::fs::read(file.unwrap().path()).unwrap_or_default())
        .collect();
    let is_there = |text: &[u8]| memchr::memmem::find(&state, text).is_some();
    assert!(!is_there(b"Bearer own") && is_there(b"/otlp?for=edge"));
    assert_eq!(spans(&collector).len(), calls);
}

#[test]
fn collectors_of_the_api_need_a_key_to_seal_with_and_a_public_address() {
    let (provider, collector) = (Origin::fixed("application/json", CHAT), collector());
    let mut edge = Edge::start(&api_conf(&provider, "", ""));
    let api = Api::new(&edge, "api-token");
    let with = |more: Value| {
        let mut written = json!({"url": collector.url()});
        written.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"id": "main", "authentication": false, "otel": [written]})
    };
    assert_eq!(
        api.refused("POST", GATEWAYS, &with(json!({"authorization": "Bearer own"}))),
        (409, vec![10018])
    );
    api.post(GATEWAYS, &with(json!({})));
    assert_eq!(call(&edge, "openai/v1/chat/completions", "", "{}").status, 200);
    let failed = edge.wait_for_event("service_failed", |event| event["service"] == "call spans");
    assert!(failed["error"].as_str().unwrap().contains("private address"), "{failed}");
    assert!(collector.begun().is_empty());
}

#[test]
fn collectors_of_a_file_that_mean_nothing_are_refused() {
    let provider = Origin::fixed("application/json", CHAT);
    let mut ran = 0;
    for (bad, said) in [
        ("[[gateways.otel]]\n", "url"),
        ("[[gateways.otel]]\nurl = \"a.example\"\n", "gateways.otel.url"),
        ("[[gateways.otel]]\nurl = \"http://a.example\"\nheaders = { host = \"b\" }\n", "is set by the edge"),
        (
            "[[gateways.otel]]\nurl = \"http://a.example\"\nheaders = { \"a b\" = \"b\" }\n",
            "is no name of a field",
        ),
        ("[[gateways.otel]]\nurl = \"http://a.example\"\nheaders = \"b\"\n", "a table of names and values"),
        (
            "[[gateways.otel]]\nurl = \"http://a.example\"\nauthorization = \"a\\nb\"\n",
            "gateways.otel.authorization",
        ),
        (&"[[gateways.otel]]\nurl = \"http://a.example\"\n".repeat(6), "at most 5"),
    ] {
        let refused = refused_by_check(&conf(&provider, &format!("{GATEWAY}{bad}")));
        assert!(refused.contains(said), "{bad}: {refused}");
        ran += 1;
    }
    assert_eq!(ran, 7);
}
