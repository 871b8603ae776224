//! SDKs of others, unchanged but for their base URL: those of an AI provider against a streaming mock, and those of the
//! management API against an edge.

use std::process::Command;

use crate::protocols::Killed;
use crate::support::{BINARY, Edge, Origin, wait_for};
use crate::{api, dns_records};

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
    let addresses: serde_json::Value = serde_json::from_str(&line).unwrap();
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
    let program = std::env::var("SDK_SCHEMATHESIS").expect("SDK_SCHEMATHESIS names the program `st`");
    let origin = Origin::echo();
    let (edge, api) = api::edge(&origin);
    let document = edge.folder.path().join("openapi.json");
    std::fs::write(&document, api.ask("GET", "/openapi.json", "", "").body).unwrap();
    let (url, header) =
        (format!("http://{}/client/v4", edge.admin), format!("Authorization: Bearer {}", api::TOKEN));
    let checks =
        "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";
    // It keeps what it found for its next run, in the folder that it runs in.
    let scratch = tempfile::tempdir().unwrap();
    let output = Command::new(program)
        .current_dir(scratch.path())
        .args(["run", document.to_str().unwrap(), "--url", &url, "-H", &header, "--checks", checks])
        .args(["--max-examples", "10", "--phases", "examples,coverage,fuzzing"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
