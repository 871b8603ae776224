//! The OpenAI Python SDK, unchanged but for base URL and header, against a streaming mock.

use std::path::PathBuf;
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

/// A scratch environment with the SDK, made once; `Err` says why there is none.
fn environment() -> Result<PathBuf, String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("openai-sdk");
    let python = folder.join("bin/python");
    let works = || {
        Command::new(&python)
            .args(["-c", "import openai"])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    if works() {
        return Ok(python);
    }
    let run = |command: &mut Command| {
        let output = command.output().map_err(|error| error.to_string())?;
        if output.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or("").to_owned())
        }
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    run(Command::new(&python).args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--retries",
        "1",
        "openai",
    ]))?;
    Ok(python)
}

#[test]
#[ignore = "needs the Python package index"]
fn the_openai_sdk_works_through_the_gateway() {
    let python = environment().expect("the SDK can be installed");
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
