//! `[tracing]`: traces go on through the edge, and a collector gets the spans.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::ai_calls::{CHAT, GATEWAY, chat, conf};
use crate::support::{Client, Edge, Origin, wait_for};

pub(crate) const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
pub(crate) const SPAN: &str = "b7ad6b7169203331";

/// A collector that takes everything.
pub(crate) fn collector() -> Origin {
    Origin::fixed("application/json", "{}")
}

/// The spans that a collector has, and the attributes of what they are of.
pub(crate) fn spans(collector: &Origin) -> Vec<Value> {
    let messages = collector
        .requests()
        .into_iter()
        .map(|message| serde_json::from_slice::<Value>(&message.body).unwrap());
    let all = messages.flat_map(|message| {
        message["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
    });
    all.collect()
}

pub(crate) fn wait_for_spans(collector: &Origin, count: usize) -> Vec<Value> {
    wait_for("the spans", || Some(spans(collector)).filter(|spans| spans.len() >= count))
}

/// An attribute of a span; null if there is none.
pub(crate) fn attribute(span: &Value, name: &str) -> Value {
    let found = span["attributes"].as_array().unwrap().iter().find(|attribute| attribute["key"] == name);
    found.map_or(Value::Null, |found| found["value"].as_object().unwrap().values().next().unwrap().clone())
}

fn zone(origin: &Origin, tracing: &str) -> String {
    format!("{tracing}[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n", origin.url())
}

fn get(edge: &Edge, target: &str, fields: &str) -> u16 {
    let head = format!(
        "GET {target} HTTP/1.1\r\nHost: a.example\r\nUser-Agent: u/1\r\n{fields}Connection: close\r\n\r\n"
    );
    Client::once(edge.proxy[0], head).status
}

#[test]
fn a_trace_goes_on_through_the_edge() {
    let (origin, collector) = (Origin::echo(), collector());
    let tracing = format!(
        "[tracing]\nendpoint = \"{}\"\nauthorization = \"Bearer t\"\nservice_name = \"shop-edge\"\n",
        collector.url()
    );
    let edge = Edge::start(&zone(&origin, &tracing));
    let told = format!("Traceparent: 00-{TRACE}-{SPAN}-00\r\nTracestate: a=b\r\nTRACE_PARENT: x\r\n");
    assert_eq!(get(&edge, "/a?secret=1", &told), 200);
    let seen = origin.last();
    let passed = seen.header("traceparent").unwrap().to_owned();
    let parts: Vec<&str> = passed.split('-').collect();
    assert_eq!((parts[0], parts[1], parts[3]), ("00", TRACE, "01"));
    assert_ne!(parts[2], SPAN);
    assert_eq!(seen.header("tracestate"), Some("a=b"));
    // What is malformed, or told twice, is no trace: another begins.
    for field in
        ["Traceparent: 00-x-y-01\r\n".to_owned(), format!("{told}Traceparent: 00-{TRACE}-{SPAN}-01\r\n")]
    {
        assert_eq!(get(&edge, "/b", &format!("{field}Tracestate: a=b\r\n")), 200);
        let seen = origin.last();
        let fields: Vec<_> =
            seen.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("traceparent")).collect();
        assert_eq!(fields.len(), 1);
        assert!(!fields[0].1.contains(TRACE), "{fields:?}");
        assert_eq!(seen.header("tracestate"), None);
    }
    assert_eq!(get(&edge, "/c?q=1'%20UNION%20SELECT%20a%20FROM%20b--", ""), 403);
    let spans = wait_for_spans(&collector, 4);
    assert_eq!(spans.len(), 4);
    let of = |path: &str| spans.iter().find(|span| attribute(span, "url.path") == path).unwrap();
    let first = of("/a");
    assert_eq!(
        (&first["traceId"], &first["parentSpanId"], &first["spanId"]),
        (&TRACE.into(), &SPAN.into(), &parts[2].into())
    );
    for (name, expected) in [
        ("http.request.method", "GET"),
        ("http.response.status_code", "200"),
        ("url.scheme", "http"),
        ("server.address", "a.example"),
        ("client.address", "127.0.0.1"),
        ("network.protocol.version", "1.1"),
        ("user_agent.original", "u/1"),
        ("portcullis.zone", "a.example"),
        ("portcullis.verdict", "pass"),
    ] {
        assert_eq!(attribute(first, name), expected, "{name}");
    }
    assert_eq!((&first["kind"], &first["name"]), (&2.into(), &"GET".into()));
    let nanoseconds = |name: &str| first[name].as_str().unwrap().parse::<u128>().unwrap();
    assert!(nanoseconds("startTimeUnixNano") < nanoseconds("endTimeUnixNano"));
    assert!(!first.to_string().contains("secret"), "queries stay here");
    let refused = of("/c");
    assert_eq!(refused.get("parentSpanId"), None);
    assert_eq!(
        (attribute(refused, "error.type"), attribute(refused, "portcullis.verdict")),
        ("rules".into(), "block".into())
    );
    let message = collector.last();
    assert_eq!((message.path(), message.header("authorization")), ("/v1/traces", Some("Bearer t")));
    let body: Value = serde_json::from_slice(&message.body).unwrap();
    assert_eq!(body["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"], "shop-edge");
}

#[test]
fn calls_of_providers_are_spans_below_their_request() {
    let (provider, collector) = (Origin::fixed("application/json", CHAT), collector());
    let tracing = format!("[tracing]\nendpoint = \"{}/otlp/v1/traces\"\n", collector.url());
    let edge = Edge::start(&conf(&provider, &format!("{tracing}{GATEWAY}")));
    assert_eq!(chat(&edge, &format!("traceparent: 00-{TRACE}-{SPAN}-01\r\n")).status, 200);
    let spans = wait_for_spans(&collector, 2);
    let of_kind = |kind: u8| spans.iter().find(|span| span["kind"] == kind).unwrap();
    let (request, call) = (of_kind(2), of_kind(3));
    assert_eq!((&request["traceId"], &request["parentSpanId"]), (&TRACE.into(), &SPAN.into()));
    assert_eq!((&call["traceId"], &call["parentSpanId"]), (&TRACE.into(), &request["spanId"]));
    for (name, expected) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.usage.input_tokens", "19"),
        ("portcullis.gateway", "acme/main"),
    ] {
        assert_eq!(attribute(call, name), expected, "{name} {call}");
    }
    assert!(!spans.iter().any(|span| span.to_string().contains("canary")), "no text of a call is in a span");
    let seen = provider.last();
    assert!(
        seen.header("traceparent")
            .unwrap()
            .starts_with(&format!("00-{TRACE}-{}", request["spanId"].as_str().unwrap()))
    );
    assert_eq!(collector.last().path(), "/otlp/v1/traces");
}

/// What a step says of a trace is in its caller's hands; what the edge says is of the request that came.
#[test]
fn steps_of_universal_calls_are_of_the_trace_of_their_request() {
    let (provider, collector) = (Origin::fixed("application/json", CHAT), collector());
    let tracing = format!("[tracing]\nendpoint = \"{}/v1/traces\"\n", collector.url());
    let step = serde_json::json!([{"provider": "openai", "endpoint": "v1/chat/completions",
        "headers": {"Authorization": "Bearer k", "traceparent": "00-1-2-03", "tracestate": "of=step"},
        "query": {"model": "gpt-4o", "messages": []}}])
    .to_string();
    let call = |edge: &Edge| {
        let mut client = Client::connect(edge.proxy[0]);
        client.send(format!(
            "POST /v1/acme/main HTTP/1.1\r\nHost: gw.example\r\nContent-Type: application/json\r\n\
             traceparent: 00-{TRACE}-{SPAN}-01\r\ntracestate: a=b\r\nContent-Length: {}\r\n\r\n{step}",
            step.len()
        ));
        assert_eq!(client.receive().unwrap().status, 200);
        provider.last()
    };
    let edge = Edge::start(&conf(&provider, &format!("{tracing}{GATEWAY}")));
    let seen = call(&edge);
    let spans = wait_for_spans(&collector, 2);
    let request = spans.iter().find(|span| span["kind"] == 2).unwrap();
    let passed = seen.header("traceparent").unwrap();
    assert!(passed.starts_with(&format!("00-{TRACE}-{}", request["spanId"].as_str().unwrap())), "{passed}");
    assert_eq!(seen.header("tracestate"), Some("a=b"));
    // Without traces of its own the edge leaves a step as it is.
    let seen = call(&Edge::start(&conf(&provider, GATEWAY)));
    assert_eq!((seen.header("traceparent"), seen.header("tracestate")), (Some("00-1-2-03"), Some("of=step")));
}

#[test]
fn one_in_so_many_requests_has_spans() {
    let (origin, collector) = (Origin::echo(), collector());
    let tracing = format!("[tracing]\nendpoint = \"{}\"\nsample_every = 3\n", collector.url());
    let mut edge = Edge::start(&zone(&origin, &tracing));
    let sampled = format!("traceparent: 00-{TRACE}-{SPAN}-01\r\n");
    for nth in 0..7 {
        // Who is not trusted cannot have spans kept.
        assert_eq!(get(&edge, &format!("/{nth}"), &sampled), 200);
        let is_sampled = origin.last().header("traceparent").unwrap().ends_with("-01");
        assert_eq!(is_sampled, nth % 3 == 0);
    }
    // When the edge stops, what waits is sent first.
    edge.signal("TERM");
    edge.wait_for_exit();
    let mut paths: Vec<Value> = spans(&collector).iter().map(|span| attribute(span, "url.path")).collect();
    paths.sort_by_key(Value::to_string);
    assert_eq!(paths, ["/0", "/3", "/6"]);
}

#[test]
fn spans_wait_for_a_collector_that_is_away_and_requests_do_not() {
    let origin = Origin::echo();
    let is_away = Arc::new(AtomicBool::new(true));
    let away = Arc::clone(&is_away);
    let collector = Origin::start(move |_, stream| {
        let status = if away.load(Ordering::Relaxed) { "503 Service Unavailable" } else { "200 OK" };
        stream.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes()).is_ok()
    });
    let tracing = format!("[tracing]\nendpoint = \"{}\"\n", collector.url());
    let mut edge = Edge::start(&zone(&origin, &tracing));
    assert_eq!(get(&edge, "/", ""), 200);
    let failed = edge.wait_for_event("service_failed", |event| event["service"] == "tracing");
    assert!(failed["error"].as_str().unwrap().contains("answered with 503"), "{failed}");
    assert_eq!(get(&edge, "/", ""), 200);
    assert!(edge.metric("portcullis_spans_total{outcome=\"failed\"}") >= 1.0);
    is_away.store(false, Ordering::Relaxed);
    edge.wait_for_metric("portcullis_spans_total{outcome=\"sent\"}", 2.0);
}

#[test]
fn without_tracing_the_fields_of_a_trace_pass_as_they_are() {
    let origin = Origin::echo();
    let edge = Edge::start(&zone(&origin, ""));
    let field = format!("00-{TRACE}-{SPAN}-01");
    assert_eq!(get(&edge, "/", &format!("traceparent: {field}\r\ntracestate: a=b\r\n")), 200);
    let seen = origin.last();
    assert_eq!((seen.header("traceparent"), seen.header("tracestate")), (Some(&*field), Some("a=b")));
    assert_eq!(get(&edge, "/", ""), 200);
    assert_eq!(origin.last().header("traceparent"), None);
}

#[test]
fn lines_of_the_log_reach_a_collector_with_their_trace() {
    let (origin, spans_go, logs_go) = (Origin::echo(), collector(), collector());
    let tracing = format!(
        "[tracing]\nendpoint = \"{}\"\nlogs_endpoint = \"{}\"\nauthorization = \"Bearer t\"\nservice_name = \"shop-edge\"\n",
        spans_go.url(),
        logs_go.url()
    );
    let mut edge = Edge::start(&zone(&origin, &tracing));
    assert_eq!(get(&edge, "/a", &format!("Traceparent: 00-{TRACE}-{SPAN}-01\r\n")), 200);
    assert_eq!(get(&edge, "/?q=1'%20UNION%20SELECT%20a%20FROM%20b--", ""), 403);
    let records = |message: &Value| {
        message["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap().clone()
    };
    let all = || -> Vec<Value> {
        let messages = logs_go.requests().into_iter();
        messages.flat_map(|message| records(&serde_json::from_slice(&message.body).unwrap())).collect()
    };
    let of =
        |event: &str, all: &[Value]| all.iter().find(|record| attribute(record, "event") == event).cloned();
    let found = wait_for("the lines", || Some(all()).filter(|all| of("security_event", all).is_some()));
    let request = of("request", &found).unwrap();
    assert_eq!(
        (
            &request["traceId"],
            &request["severityText"],
            &request["severityNumber"],
            &request["body"]["stringValue"]
        ),
        (&TRACE.into(), &"info".into(), &9.into(), &"request answered".into())
    );
    assert_eq!(attribute(&request, "EdgeResponseStatus"), "200");
    assert!(request["timeUnixNano"].as_str().unwrap().len() == 19, "{request}");
    let sent = logs_go.last();
    assert!(sent.line.starts_with("POST /v1/logs "), "{}", sent.line);
    assert_eq!(sent.header("authorization"), Some("Bearer t"));
    let resource: Value = serde_json::from_slice(&sent.body).unwrap();
    assert_eq!(attribute(&resource["resourceLogs"][0]["resource"], "service.name"), "shop-edge");
    // They are in the log as well, and the last of them are sent at a stop.
    assert!(edge.events().iter().any(|event| event["event"] == "request"));
    assert_eq!(get(&edge, "/last", ""), 200);
    edge.signal("TERM");
    edge.wait_for_exit();
    let paths: Vec<Value> = all().iter().map(|record| attribute(record, "ClientRequestPath")).collect();
    assert!(paths.contains(&"/last".into()), "{paths:?}");
    assert!(spans_go.requests().iter().all(|message| message.line.starts_with("POST /v1/traces ")));
}
