//! SDKs of others, unchanged but for their base URL: those of an AI provider against a streaming mock, and those of the
//! management API against an edge.

use std::io::Write as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::ai_calls::CHAT;
use crate::protocols::Killed;
use crate::support::{Api, BINARY, Edge, Origin, wait_for};
use crate::{api, deprecations, dns_records};

const SCRIPT: &str = r#"
import os, openai
client = openai.OpenAI(base_url=os.environ["GATEWAY"] + "/openai", api_key="provider-key",
                       default_headers={"svc-aig-token": "Bearer " + os.environ["TOKEN"]}, max_retries=0)
messages = [{"role": "user", "content": "hello"}]
answer = client.chat.completions.create(model="demo", messages=messages)
assert answer.choices[0].message.content == "Hello from the demo model.", answer
assert answer.usage.total_tokens == 10
parts = [chunk.choices[0].delta.content or "" for chunk in client.chat.completions.create(model="demo", messages=messages, stream=True)]
assert "".join(parts) == "Hello from the demo model." and len(parts) == 6, parts
try:
    openai.OpenAI(base_url=os.environ["GATEWAY"] + "/openai", api_key="k", max_retries=0).chat.completions.create(model="demo", messages=messages)
    raise SystemExit("a call without a token was answered")
except openai.AuthenticationError as error:
    assert error.status_code == 401 and error.body is not None, error
print("ok")
"#;

#[test]
#[ignore = "needs SDK_PYTHON, a Python that has the SDK: `make test-sdk`"]
fn the_openai_sdk_works_through_the_gateway() {
    let python = std::env::var("SDK_PYTHON").expect("SDK_PYTHON names a Python that has the SDK");
    let demo = Command::new(BINARY)
        .args(["demo", "--port", "0", "--admin-port", "0", "--json"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut demo = Killed(demo);
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(demo.0.stdout.take().unwrap()), &mut line)
        .unwrap();
    let addresses: Value = serde_json::from_str(&line).unwrap();
    let mut keys: Vec<_> = addresses.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["admin", "gateway", "proxy", "token"]);
    let output = Command::new(python)
        .args(["-c", SCRIPT])
        .env("GATEWAY", addresses["gateway"].as_str().unwrap())
        .env("TOKEN", addresses["token"].as_str().unwrap())
        .output()
        .unwrap();
    Command::new("kill").args(["-INT", &demo.0.id().to_string()]).status().unwrap();
    wait_for("the demo to end", || demo.0.try_wait().unwrap());
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "ok\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Runs a script that asks the management API, and ends with `ok`.
fn asks(program: &str, script: &str) {
    let origin = Origin::echo();
    asks_edge(program, script, &api::edge(&origin).0);
}

fn asks_edge(program: &str, script: &str, edge: &Edge) {
    let output = Command::new(program)
        .arg(script)
        .env("API", format!("http://{}/client/v4", edge.admin))
        .env("TOKEN", api::TOKEN)
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(out, "ok\n", "{err}");
}

/// Zones, rulesets, gateways and tokens; every field of every answer is validated.
#[test]
#[ignore = "needs SDK_PYTHON, a Python that has the SDK: `make test-sdk`"]
fn the_management_sdk_for_python_works() {
    let python = std::env::var("SDK_PYTHON").expect("SDK_PYTHON names a Python that has the SDK");
    asks(&python, concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sdk/management.py"));
}

/// Custom hostnames, certificate packs and settings; every field of every answer is validated.
#[test]
#[ignore = "needs SDK_PYTHON, a Python that has the SDK: `make test-sdk`"]
fn the_management_sdk_for_python_makes_custom_hostnames() {
    let python = std::env::var("SDK_PYTHON").expect("SDK_PYTHON names a Python that has the SDK");
    asks(&python, concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sdk/hostnames.py"));
}

/// Records of every type; every field of every answer is validated.
#[test]
#[ignore = "needs SDK_PYTHON, a Python that has the SDK: `make test-sdk`"]
fn the_management_sdk_for_python_writes_records_of_every_type() {
    let python = std::env::var("SDK_PYTHON").expect("SDK_PYTHON names a Python that has the SDK");
    asks(&python, concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sdk/records.py"));
}

/// Peers, keys, zones that are handed over and received, scans, DNSSEC.
#[test]
#[ignore = "needs SDK_PYTHON, a Python that has the SDK: `make test-sdk`"]
fn the_management_sdk_for_python_hands_zones_over() {
    let python = std::env::var("SDK_PYTHON").expect("SDK_PYTHON names a Python that has the SDK");
    let (edge, ..) =
        dns_records::zone("private_peers = true\nresolvers = [\"127.0.0.1:9\"]\n", "example.com");
    asks_edge(&python, concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sdk/transfers.py"), &edge);
}

/// A zone of 3,000 records. The edge takes the parts of SRV names that the client still sends.
#[test]
#[ignore = "needs SDK_PYTHON, a Python that has octodns-cloudflare: `make test-sdk`"]
fn octodns_plans_applies_and_dumps_a_zone() {
    let python = std::env::var("SDK_PYTHON").expect("SDK_PYTHON names a Python that has octodns-cloudflare");
    let (edge, ..) =
        dns_records::zone("[deprecations]\nmodes = { srv-record-data = \"warn\" }\n", "example.com");
    asks_edge(&python, concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sdk/octodns_zone.py"), &edge);
}

#[test]
#[ignore = "needs SDK_NODE, a folder with the SDK in `node_modules`: `make test-sdk`"]
fn the_management_sdk_for_javascript_works() {
    let folder = std::env::var("SDK_NODE").expect("SDK_NODE names a folder with the SDK in `node_modules`");
    // Packages are looked for beside the script.
    let script = std::path::Path::new(&folder).join("management.mjs");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sdk/management.mjs"), &script).unwrap();
    asks("node", script.to_str().unwrap());
}

/// Whatever is sent: no error of the server, and no answer that the description does not have.
#[test]
#[ignore = "needs SDK_SCHEMATHESIS, the program `st`: `make test-sdk`"]
fn schemathesis_finds_nothing() {
    let origin = Origin::echo();
    let (edge, api) = api::edge(&origin);
    let zone = api::zone(&api, "new.example", &origin);
    let ids = deprecations::Ids { account: "acme".to_owned(), zone };
    // Nobody answers for names elsewhere here, and an error of 503 says so.
    let but = ["--exclude-path-regex", "dns_records/scan$"];
    schemathesis(&edge, &api, (api::TOKEN, &ids), &but, 180);
}

/// The same of operations that end, before they do.
#[test]
#[ignore = "needs SDK_SCHEMATHESIS, the program `st`: `make test-sdk`"]
fn schemathesis_finds_nothing_in_what_ends() {
    let (edge, api, ids) = deprecations::edge("as_of = \"2019-12-31\"");
    let paths = "firewall/|/filters|rate_limits|/settings|dns_settings/|organizations|access/apps|custom_ns|dns_records$";
    schemathesis(&edge, &api, (deprecations::TOKEN, &ids), &["--include-path-regex", paths], 70);
}

/// Runs the program over operations of which it may ask what it finds in the description. Zone and account are those there
/// are: in others it would meet nothing but that they are unknown.
fn schemathesis(
    edge: &Edge,
    api: &Api,
    (token, ids): (&str, &deprecations::Ids),
    more: &[&str],
    least_operations: usize,
) {
    let program = std::env::var("SDK_SCHEMATHESIS").expect("SDK_SCHEMATHESIS names the program `st`");
    let known = [("zone_id", &ids.zone), ("account_id", &ids.account), ("organization_id", &ids.account)];
    let mut document: Value = serde_json::from_slice(&api.ask("GET", "/openapi.json", "", "").body).unwrap();
    let paths = document["paths"].as_object_mut().unwrap();
    // Deletions of these would end all other calls.
    let ends_all = ["/zones/{zone_id}", "/accounts/{account_id}"];
    *paths = std::mem::take(paths)
        .into_iter()
        .map(|(path, mut methods)| {
            if ends_all.contains(&path.as_str()) {
                methods.as_object_mut().unwrap().remove("delete");
            }
            for operation in methods.as_object_mut().unwrap().values_mut() {
                let parameters = operation["parameters"].as_array_mut().unwrap();
                parameters.retain(|parameter| known.iter().all(|(name, _)| parameter["name"] != *name));
            }
            let fill = |path: String, (name, id): &(&str, &String)| path.replace(&format!("{{{name}}}"), id);
            (known.iter().fold(path, fill), methods)
        })
        .collect();
    let file = edge.folder.path().join("openapi.json");
    std::fs::write(&file, document.to_string()).unwrap();
    let (url, header) =
        (format!("http://{}/client/v4", edge.admin), format!("Authorization: Bearer {token}"));
    let checks =
        "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";
    // It keeps what it found for its next run, in the folder that it runs in.
    let scratch = tempfile::tempdir().unwrap();
    // It would send methods that the description does not have, and so delete the zone.
    let methods = "[phases.coverage]\nunexpected-methods = [\"OPTIONS\", \"TRACE\"]\n";
    std::fs::write(scratch.path().join("schemathesis.toml"), methods).unwrap();
    let output = Command::new(program)
        .current_dir(scratch.path())
        .args(["run", file.to_str().unwrap(), "--url", &url, "-H", &header, "--checks", checks])
        .args(["--max-examples", "10", "--phases", "examples,coverage,fuzzing", "--request-timeout", "60"])
        .args(more)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    let operations = said.lines().find_map(|line| line.trim().strip_prefix("Operations:")).unwrap();
    let selected = operations.split_whitespace().next().and_then(|count| count.parse::<usize>().ok());
    assert!(selected.is_some_and(|count| count >= least_operations), "{operations}");
}

/// Calls of the AI SDK by way of universal requests, arrays of models that stand in for each other among them.
#[test]
#[ignore = "needs SDK_NODE, a folder with `ai` and `ai-gateway-provider`: `make test-sdk`"]
fn the_ai_sdk_for_javascript_works_through_the_gateway() {
    let folder = std::env::var("SDK_NODE").expect("SDK_NODE names a folder with the SDK in `node_modules`");
    let script = std::path::Path::new(&folder).join("ai_gateway.mjs");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sdk/ai_gateway.mjs"), &script).unwrap();
    let provider = |name: &'static str| {
        Origin::start(move |request, stream| {
            let asked = String::from_utf8_lossy(&request.body).into_owned();
            let key = format!("Bearer {name}-key");
            let (status, kind, text) = if request.header("authorization") != Some(key.as_str()) {
                (401, "application/json", "{}".to_owned())
            } else if asked.contains("\"broken\"") {
                (500, "application/json", r#"{"error":{"message":"broken"}}"#.to_owned())
            } else if asked.contains("\"stream\":true") {
                let chunk = |text: &str| {
                    let delta = json!({"content": text});
                    let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "demo",
                        "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
                    format!("data: {chunk}\n\n")
                };
                let end = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"demo\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
                let chunks = ["from ", "a ", "stream"].map(chunk).concat();
                (200, "text/event-stream", chunks + end)
            } else {
                (
                    200,
                    "application/json",
                    CHAT.replace("answer-canary", &format!("from {name}"))
                        .replace("\"index\":0,", "\"index\":0,\"finish_reason\":\"stop\",")
                        .replace("\"object\"", "\"created\":1,\"object\""),
                )
            };
            let length = text.len();
            write!(
                stream,
                "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{text}"
            )
            .is_ok()
        })
    };
    let (openai, deepseek) = (provider("openai"), provider("deepseek"));
    let edge = Edge::start(&format!(
        "gateway_hosts = [\"localhost\"]\n[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{}\"]\n\
         [[gateways]]\naccount = \"acme\"\nid = \"main\"\n\
         [[providers]]\nslug = \"openai\"\nbase_url = \"{}\"\nallow_private = true\n\
         [[providers]]\nslug = \"deepseek\"\nbase_url = \"{}\"\nallow_private = true\n",
        api::TOKEN,
        openai.url(),
        deepseek.url()
    ));
    let made = Api::new(&edge, api::TOKEN)
        .post("/accounts/acme/ai-gateway/gateways/main/tokens", &json!({"name": "sdk"}));
    let output = Command::new("node")
        .arg(script)
        .env("GATEWAY", format!("http://localhost:{}", edge.proxy[0].port()))
        .env("TOKEN", made["token"].as_str().or(made["value"].as_str()).unwrap())
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "ok\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
