//! Servers of tools (MCP) behind a gateway: messages pass untouched, tokens say which tools may be called.

use std::io::{Read as _, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use crate::ai_calls::GATEWAY;
use crate::support::{Api, Client, Edge, Origin, Response, gzip, refused_by_check, run_for_gateway};

/// Two tools of a server of one.
const TOOLS: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"get_issue","inputSchema":{"type":"object"}},{"name":"delete_issue","inputSchema":{"type":"object"}}]}}"#;

/// A server of tools that answers with JSON, or with an event stream where it is asked for `stream`.
fn server() -> Origin {
    Origin::start(|request, stream| {
        if request.line.starts_with("GET") {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            let _ = write!(stream, "{head}c\r\n: listening\n\r\n");
            // Until the client goes.
            let _ = stream.read(&mut [0]);
            return false;
        }
        let asked: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let message = |member: &str, value: Value| {
            json!({"jsonrpc": "2.0", "id": asked["id"], member: value}).to_string()
        };
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        let mut kind = "application/json";
        let mut answer = match (asked["method"].as_str(), asked["params"]["name"].as_str()) {
            (Some("tools/list"), _) => TOOLS.to_owned(),
            // Both are answered with 200.
            (Some("tools/call"), Some("broken")) => {
                message("result", json!({"content": text("no disk"), "isError": true}))
            }
            (Some("tools/call"), Some("unknown")) => {
                message("error", json!({"code": -32602, "message": "no such tool"}))
            }
            (Some("tools/call"), _) => message(
                "result",
                json!({"content": text("done"), "model": "m-1", "usage": {"prompt_tokens": 9}}),
            ),
            _ => message("result", json!({})),
        };
        if request.header("x-stream").is_some() {
            kind = "text/event-stream";
            answer = format!(": first\n\nid: 1\nevent: message\ndata: {answer}\n\n");
        }
        let body = match request.header("accept-encoding") {
            Some("gzip") => gzip(&answer),
            _ => answer.clone().into_bytes(),
        };
        let coding = if body == answer.as_bytes() { "" } else { "content-encoding: gzip\r\n" };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n{coding}mcp-session-id: s-1\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), &body].concat()).is_ok()
    })
}

/// A gateway in front of the server, with settings of its own, of the server, and in front of all.
fn conf(server: &Origin, before: &str, settings: &str, of_server: &str) -> String {
    format!(
        "gateway_hosts = [\"gw.example\"]\n{before}{GATEWAY}{settings}[[gateways.mcp_servers]]\nname = \"tickets\"\n\
         url = \"{}/mcp/\"\nallow_private = true\n{of_server}",
        server.url()
    )
}

fn post(edge: &Edge, fields: &str, body: &str) -> Response {
    let head = format!(
        "POST /v1/acme/main/mcp/tickets HTTP/1.1\r\nHost: gw.example\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n{fields}Content-Length: {}\r\n\r\n",
        body.len()
    );
    Client::once(edge.proxy[0], head + body)
}

fn call_of(tool: &str) -> String {
    // As no program would write it, so that a change shows.
    format!(
        "{{ \"jsonrpc\":\"2.0\", \"id\":7,\"method\":\"tools/call\" ,\"params\":{{\"name\":\"{tool}\",\"arguments\":{{\"n\":1.0}}}}}}"
    )
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

#[test]
fn messages_pass_untouched_and_calls_of_tools_leave_rows() {
    let server = server();
    let mut edge = Edge::start(&conf(&server, "", "", ""));
    let sent = call_of("get_issue");
    for stream in ["", "X-Stream: 1\r\n"] {
        let fields = format!(
            "Mcp-Session-Id: s-1\r\nMcp-Protocol-Version: 2025-06-18\r\nAuthorization: Bearer own\r\nsvc-aig-metadata: {{\"team\":\"a\"}}\r\n{stream}"
        );
        let answer = post(&edge, &fields, &sent);
        assert_eq!((answer.status, answer.header("mcp-session-id")), (200, Some("s-1")), "{}", answer.text());
        assert!(answer.text().contains("done"));
        let asked = server.last();
        assert_eq!((asked.line.as_str(), &asked.body), ("POST /mcp/ HTTP/1.1", &sent.clone().into_bytes()));
        assert_eq!(
            (asked.header("mcp-session-id"), asked.header("authorization"), asked.header("svc-aig-metadata")),
            (Some("s-1"), Some("Bearer own"), None)
        );
        let id = answer.header("svc-aig-request-id").unwrap().to_owned();
        let row = edge.wait_for_event("ai_call", move |row| row["id"] == id.as_str());
        for (field, expected) in [
            ("provider", json!("mcp:tickets")),
            ("model", json!("get_issue")),
            ("model_type", json!("execute_tool")),
            ("request_type", json!("mcp")),
            ("tokens_in", Value::Null),
            ("success", json!(true)),
            ("metadata", json!({"team": "a"})),
        ] {
            assert_eq!(row[field], expected, "{field}");
        }
    }
    // A list is not touched if all tools may be used, nor is its coding.
    let list = post(&edge, "Accept-Encoding: gzip\r\n", LIST);
    assert_eq!((list.header("content-encoding"), &list.body), (Some("gzip"), &gzip(TOOLS)));
    // A query of the address is its operator's.
    let asked = |edge: &Edge, query: &str| {
        let line = format!("DELETE /v1/acme/main/mcp/tickets{query} HTTP/1.1");
        Client::once(edge.proxy[0], format!("{line}\r\nHost: gw.example\r\nConnection: close\r\n\r\n")).status
    };
    let with_query = Edge::start(&conf(&server, "", "", "").replace("/mcp/\"", "/mcp?set=read\""));
    assert_eq!((asked(&edge, "?a=b"), server.last().line.as_str()), (200, "DELETE /mcp/?a=b HTTP/1.1"));
    assert_eq!((asked(&with_query, ""), server.last().line.as_str()), (200, "DELETE /mcp?set=read HTTP/1.1"));
    assert_eq!(asked(&with_query, "?set=all"), 400);
    // The stream of notifications, the end of a session.
    let mut listener = Client::connect(edge.proxy[0]);
    listener.send(
        "GET /v1/acme/main/mcp/tickets HTTP/1.1\r\nHost: gw.example\r\nAccept: text/event-stream\r\n\r\n",
    );
    assert_eq!(listener.head().unwrap().header("content-type"), Some("text/event-stream"));
    assert_eq!(listener.line().as_deref(), Some("C"), "it comes at once");
    let end = "DELETE /v1/acme/main/mcp/tickets HTTP/1.1\r\nHost: gw.example\r\nMcp-Session-Id: s-1\r\nConnection: close\r\n\r\n";
    assert_eq!(Client::once(edge.proxy[0], end).status, 200);
    assert!(server.last().line.starts_with("DELETE /mcp/ "));
}

#[test]
fn a_tool_that_fails_is_no_success_though_its_answer_is() {
    let server = server();
    let mut edge = Edge::start(&conf(&server, "", "", ""));
    for (tool, success, error) in [
        ("get_issue", true, Value::Null),
        ("broken", false, json!("tool_error")),
        ("unknown", false, json!("provider_error")),
    ] {
        for fields in
            ["", "X-Stream: 1\r\n", "Accept-Encoding: gzip\r\n", "X-Stream: 1\r\nAccept-Encoding: gzip\r\n"]
        {
            let answer = post(&edge, fields, &call_of(tool));
            let id = answer.header("svc-aig-request-id").unwrap().to_owned();
            let row = edge.wait_for_event("ai_call", move |row| row["id"] == id.as_str());
            assert_eq!(
                (answer.status, &row["status_code"], &row["success"], &row["error"]),
                (200, &json!(200), &json!(success), &error),
                "{tool} {fields}"
            );
        }
    }
}

#[test]
fn only_the_endpoint_is_served_and_only_messages_are_taken() {
    let server = server();
    let edge = Edge::start(&conf(&server, "", "", ""));
    let asked = |line: &str, more: &str| {
        let request = format!("{line} HTTP/1.1\r\nHost: gw.example\r\nConnection: close\r\n{more}\r\n");
        Client::once(edge.proxy[0], request)
    };
    for path in
        ["mcp", "mcp/", "mcp/other", "mcp/tickets/", "mcp/tickets/admin", "mcp/tickets%2fx", "mcp:tickets"]
    {
        let answer = asked(&format!("GET /v1/acme/main/{path}"), "");
        assert_eq!((answer.status, answer.header("svc-aig-error")), (400, Some("2008")), "{path}");
    }
    let put = asked("PUT /v1/acme/main/mcp/tickets", "Content-Length: 0\r\n");
    assert_eq!((put.status, put.header("allow")), (405, Some("DELETE, GET, POST")));
    for (line, more) in [
        ("GET /v1/acme/main/mcp/tickets", "Content-Length: 2\r\n\r\n{}"),
        (
            "GET /v1/acme/main/mcp/tickets",
            "Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        ),
    ] {
        assert_eq!(asked(line, more).status, 400, "{line}");
    }
    for (fields, body) in [
        ("", "{}]"),
        ("", "[]"),
        ("", r#"{"id":1,"method":"ping","Method":"tools/call"}"#),
        ("Content-Type: text/plain\r\n", LIST),
        ("Content-Encoding: lzma\r\n", LIST),
        ("Mcp-Name: other\r\n", LIST),
    ] {
        let answer = post(&edge, fields, body);
        assert_eq!(answer.status, 400, "{fields}{body}");
        assert!(answer.header("svc-aig-warning").is_some(), "{fields}{body}");
    }
    assert!(server.begun().is_empty(), "{:?}", server.begun());
    // Neither a universal request nor a model's name leads there.
    let steps = r#"[{"provider":"mcp:tickets","endpoint":"","query":{}},{"provider":"mcp","endpoint":"tickets","query":{}}]"#;
    let universal = format!(
        "POST /v1/acme/main HTTP/1.1\r\nHost: gw.example\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{steps}",
        steps.len()
    );
    assert_eq!(Client::once(edge.proxy[0], universal).status, 400);
    assert!(server.begun().is_empty());
    for (of_server, expected) in [
        ("tools = [\"[\"]\n", "`gateways.mcp_servers.tools`: `[` is no glob"),
        (
            "[[gateways.mcp_servers]]\nname = \"tickets\"\nurl = \"https://mcp.example.com\"\n",
            "declared twice",
        ),
        ("[[gateways.mcp_servers]]\nname = \"a/b\"\nurl = \"https://mcp.example.com\"\n", "mcp_servers.name"),
        (
            "[[gateways.mcp_servers]]\nname = \"b\"\nurl = \"http://192.0.2.1\"\n",
            "`allow_private` in a file allows others",
        ),
        ("[[providers]]\nslug = \"mcp\"\nbase_url = \"https://mcp.example.com\"\n", "stands for"),
    ] {
        let refused = refused_by_check(&conf(&server, "", "", of_server));
        assert!(refused.contains(expected), "{refused}");
    }
}

/// A token of the gateway that may use some tools.
fn token(folder: &Path, tools: &[&str]) -> String {
    let globs: Vec<&str> = tools.iter().flat_map(|glob| ["--tools", glob]).collect();
    let made = run_for_gateway(folder, &["token", "create"], &globs, b"");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

#[test]
fn tokens_and_servers_say_which_tools_may_be_called() {
    let server = server();
    let mut edge = Edge::start(
        &conf(&server, "[limits]\ninspected_body = \"1MiB\"\n", "", "tools = [\"get_*\", \"find\"]\n")
            .replace("authentication = false\n", ""),
    );
    let (all, few) =
        (token(edge.folder.path(), &[]), token(edge.folder.path(), &["tickets/get_*", "*/delete_*"]));
    let none = token(edge.folder.path(), &["other/*"]);
    let bad = run_for_gateway(edge.folder.path(), &["token", "create"], &["--tools", "get_*"], b"");
    assert!(String::from_utf8_lossy(&bad.stderr).contains("expected `SERVER/TOOL`"));
    // As clients of MCP send it, and as those of gateways do. The server gets neither.
    let fields = |token: &str| {
        [format!("Authorization: Bearer {token}\r\n"), format!("svc-aig-authorization: Bearer {token}\r\n")]
    };
    crate::support::wait_for("the last token", || {
        (post(&edge, &fields(&none)[0], LIST).status == 200).then_some(())
    });
    assert_eq!(post(&edge, "", LIST).status, 401);
    assert_eq!(post(&edge, "Authorization: Bearer own\r\n", LIST).status, 401);
    let before = server.requests().len();
    let mut refused = 0;
    for (token, tool, is_allowed) in [
        (&all, "get_issue", true),
        (&all, "find", true),
        (&all, "delete_issue", false),
        (&few, "get_issue", true),
        (&few, "find", false),
        (&few, "delete_issue", false),
        (&few, "GET_issue", false),
        (&none, "get_issue", false),
    ] {
        for field in fields(token) {
            let answer = post(&edge, &field, &call_of(tool));
            let body: Value = serde_json::from_slice(&answer.body).unwrap();
            assert_eq!((answer.status, &body["id"]), (200, &json!(7)), "{tool}");
            assert_eq!(body["error"].is_null(), is_allowed, "{tool}: {body}");
            if is_allowed {
                assert_eq!(server.last().header("authorization"), None);
            } else {
                refused += 1;
                assert_eq!(body["error"]["code"], -32602);
                assert!(body["error"]["message"].as_str().unwrap().contains(tool));
                assert_eq!(answer.header("svc-aig-error"), Some("7014"));
            }
        }
    }
    assert_eq!((server.requests().len() - before, refused), (6, 10));
    let row = edge.wait_for_event("ai_call", |row| row["error"] == "tool_forbidden");
    assert_eq!((&row["model"], &row["success"]), (&json!("delete_issue"), &json!(false)));
    // What hides a tool from who reads it: codings, chunks, lists, fields, other spellings of the method.
    let coded = gzip(call_of("delete_issue"));
    let head = format!(
        "POST /v1/acme/main/mcp/tickets HTTP/1.1\r\nHost: gw.example\r\nContent-Type: application/json\r\nConnection: close\r\n{}",
        fields(&all)[0]
    );
    let whole = [
        format!("{head}Content-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", coded.len()).as_bytes(),
        &coded,
    ]
    .concat();
    let text = call_of("delete_issue");
    let chunks = format!(
        "{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n",
        70,
        &text[..70],
        text.len() - 70,
        &text[70..]
    );
    for request in [whole, chunks.into_bytes()] {
        assert_eq!(Client::once(edge.proxy[0], request).header("svc-aig-error"), Some("7014"));
    }
    let field = &fields(&all)[0];
    let list = format!("[{{\"id\":1,\"method\":\"ping\"}},{}]", call_of("delete_issue"));
    assert_eq!(post(&edge, field, &list).header("svc-aig-error"), Some("7014"));
    for body in [
        format!("[{},{}]", call_of("get_issue"), call_of("delete_issue")),
        call_of("delete_issue").replace("tools/call", "Tools/Call"),
        call_of("delete_issue").replace("\"method\"", "\"method\":\"ping\",\"Method\""),
        call_of("delete_issue").replace("\"name\"", "\"name\":\"get_issue\",\"Name\""),
        call_of("get_issue\",\"name\":\"delete_issue"),
        // Longer than what is read.
        call_of("get_issue").replace("1.0", &format!("\"{}\"", "x".repeat(2 << 20))),
    ] {
        let answer = post(&edge, field, &body);
        assert!(answer.header("svc-aig-error").is_some(), "{}", &body[..100]);
    }
    assert_eq!(server.requests().len() - before, 6, "the server heard of none of these");
}

#[test]
fn lists_have_only_tools_that_may_be_called() {
    let server = server();
    for (settings, origin) in [
        ("", "tools = [\"get_*\"]\n"),
        ("retry_max_attempts = 3\ncache_ttl = \"60s\"\nheartbeat = \"5s\"\n", "tools = [\"get_*\"]\n"),
    ] {
        let edge = Edge::start(&conf(&server, "", settings, origin));
        for stream in ["", "X-Stream: 1\r\n", "Accept-Encoding: gzip\r\n"] {
            let before = server.requests().len();
            for _ in 0..2 {
                let answer = post(&edge, stream, LIST);
                let text = answer.text();
                assert_eq!((answer.status, answer.header("mcp-session-id")), (200, Some("s-1")));
                assert!(text.contains("get_issue") && !text.contains("delete_issue"), "{text}");
                assert_eq!(
                    text.starts_with(": first\n\nid: 1\nevent: message\ndata: {"),
                    stream.contains("Stream"),
                    "{text}"
                );
            }
            assert_eq!(server.requests().len(), before + 2, "nothing is kept");
        }
        // What is no list is not touched.
        let answer = post(&edge, "", &call_of("get_issue"));
        assert!(answer.text().contains("\"done\"") && answer.header("svc-aig-cache-status").is_none());
    }
}

#[test]
fn limits_scans_keys_and_guardrails_hold_for_tools() {
    let server = server();
    let limits = "[[gateways.limits]]\nmeasure = \"requests\"\nlimit = 1\ninterval = \"1d\"\nby = [\"model\"]\n\
                  [[gateways.limits]]\nmeasure = \"cost\"\nlimit = 1.0\ninterval = \"1d\"\n\
                  [gateways.sensitive_data]\nrequests = \"block\"\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secrets.key"), "ab".repeat(32)).unwrap();
    let written = conf(&server, "secrets_key_file = \"secrets.key\"\n", limits, "");
    std::fs::write(folder.path().join("p.toml"), &written).unwrap();
    let key = |provider: &str| {
        run_for_gateway(folder.path(), &["key", "add"], &["--provider", provider], b"tickets-key\n")
    };
    assert!(String::from_utf8_lossy(&key("mcp:other").stderr).contains("has no MCP server `other`"));
    assert!(key("mcp:tickets").status.success());
    let edge = Edge::start_in(folder, &written, &[]);
    assert_eq!(post(&edge, "", &call_of("get_issue")).status, 200);
    assert_eq!(server.last().header("authorization"), Some("Bearer tickets-key"));
    assert_eq!(post(&edge, "", &call_of("get_issue")).status, 429, "the second call of this tool");
    assert_eq!(post(&edge, "", &call_of("find")).status, 200);
    let card = ["4111", "1111", "1111", "1111"].join(" ");
    let blocked = post(&edge, "", &call_of("other").replace("1.0", &format!("\"card {card}\"")));
    assert_eq!((blocked.status, blocked.header("svc-aig-error")), (400, Some("2029")));
    let judge = Origin::fixed("application/json", "{\"action\":\"block\",\"reason\":\"no\"}");
    for (stages, status) in [("request", 424), ("response", 424)] {
        let guardrail =
            format!("[gateways.guardrail]\nurl = \"{}/judge\"\nstages = [\"{stages}\"]\n", judge.url());
        let edge = Edge::start(&conf(&server, "", &guardrail, ""));
        assert_eq!(post(&edge, "", &call_of("get_issue")).status, status, "{stages}");
        let told: Value = serde_json::from_slice(&judge.last().body).unwrap();
        assert_eq!((&told["provider"], &told["stage"]), (&json!("mcp:tickets"), &json!(stages)));
        if stages == "response" {
            // What goes on for as long as the client likes is not waited for.
            let listening = Client::get(edge.proxy[0], "gw.example", "/v1/acme/main/mcp/tickets");
            let subscribed = post(&edge, "", r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}"#);
            assert_eq!((listening.status, subscribed.status), (405, 400));
        }
    }
}

#[test]
fn servers_and_tokens_are_written_over_the_api() {
    let server = server();
    let written = conf(&server, "[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"api-token\"]\n", "", "");
    let edge = Edge::start(&written);
    let api = Api::new(&edge, "api-token");
    let gateways = "/accounts/acme/ai-gateway/gateways";
    let servers = json!([{"name": "files", "url": "https://mcp.example.com/mcp", "tools": ["read_*"]}]);
    let made = api.post(gateways, &json!({"id": "second", "mcp_servers": servers}));
    let shown = json!([{"name": "files", "url": "https://mcp.example.com/mcp", "allow_private": false, "tools": ["read_*"]}]);
    assert_eq!(made["mcp_servers"], shown);
    let one = format!("{gateways}/second");
    assert_eq!(api.result("PATCH", &one, &json!({"collect_logs": false}))["mcp_servers"], shown, "it stays");
    for servers in [
        json!([{"name": "files", "url": "http://127.0.0.1:1"}]),
        json!([{"name": "files", "url": "https://a.example", "allow_private": true}]),
        json!([{"name": "a b", "url": "https://a.example"}]),
        json!([{"name": "a", "url": "https://a.example", "tools": ["["]}]),
        json!([{"name": "a", "url": "https://a.example"}, {"name": "a", "url": "https://b.example"}]),
        json!([{"name": "a"}]),
    ] {
        assert_eq!(api.call("PATCH", &one, &json!({"mcp_servers": servers})).0, 400, "{servers}");
    }
    let token = api.post(&format!("{one}/tokens"), &json!({"name": "reader", "tools": ["files/read_*"]}));
    assert_eq!(token["tools"], json!(["files/read_*"]));
    assert_eq!(api.get(&format!("{one}/tokens"))[0]["tools"], json!(["files/read_*"]));
    assert_eq!(api.call("POST", &format!("{one}/tokens"), &json!({"tools": ["read_*"]})).0, 400);
    assert_eq!(api.get(&format!("{gateways}/main"))["mcp_servers"][0]["allow_private"], json!(true));
}
