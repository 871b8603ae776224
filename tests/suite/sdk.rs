//! The OpenAI Python SDK, unchanged but for base URL and header, against a streaming mock.

use std::process::Command;

use crate::protocols::Killed;
use crate::support::{BINARY, wait_for};

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
