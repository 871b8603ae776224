//! `portcullis ai try`: what it says of a gateway that works, and of each that does not.

use std::io::Write as _;
use std::process::{Command, Output};

use crate::ai_steps::conf;
use crate::support::{BINARY, Edge, Origin, run_cli, run_for_gateway, wait_for};

const CHAT: &str = r#"{"choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29}}"#;

fn provider() -> Origin {
    Origin::start(|request, stream| {
        let asked = String::from_utf8_lossy(&request.body).into_owned();
        let (status, kind, text) = match () {
            () if asked.contains("\"bad\"") => {
                (400, "application/json", "{\"error\":\"no\\u001b\u{1b}[31m model\"}")
            }
            () if asked.contains("\"deaf\"") => (200, "application/json", CHAT),
            () if asked.contains("\"stream\":true") => {
                (200, "text/event-stream; charset=utf-8", "data: {\"choices\":[]}\n\ndata: [DONE]\n\n")
            }
            () => (200, "application/json", CHAT),
        };
        let length = text.len();
        write!(
            stream,
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{text}"
        )
        .is_ok()
    })
}

fn try_it(edge: &Edge, gateway: &str, arguments: &[&str], token: &str) -> (bool, String) {
    let url = format!("http://{}/v1/acme/{gateway}", edge.proxy[0]);
    let Output { status, stdout, stderr } = Command::new(BINARY)
        .args(["ai", "try", &url])
        .args(arguments)
        .env("PORTCULLIS_GATEWAY_TOKEN", token)
        .env("PORTCULLIS_PROVIDER_KEY", "provider-key")
        .output()
        .unwrap();
    let said = [String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap()].concat();
    (status.success(), said)
}

#[test]
fn a_gateway_is_tried_as_its_clients_use_it() {
    let provider = provider();
    let limit = "[[gateways.limits]]\nmeasure = \"requests\"\nlimit = 100\ninterval = \"1d\"\n";
    let conf =
        conf(limit, &[("openai", &provider)]).replace("authentication = false", "authentication = true");
    let edge = Edge::start(&conf);
    let made = run_for_gateway(edge.folder.path(), &["token", "create"], &[], b"");
    let token = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let model = ["--host", "gw.example", "--model", "openai/good"];
    let said = wait_for("the token to be known", || {
        let (is_good, said) = try_it(&edge, "main", &model, &token);
        is_good.then_some(said)
    });
    for part in [
        "ok      it asks for a token\n",
        "ok      `openai/good` answered in",
        "19 tokens in, 10 out",
        "requests left: 9",
        "row: ",
        "ok      its stream began after",
        "2 events",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(provider.last().header("authorization"), Some("Bearer provider-key"));
    let of = |model: &'static str| ["--host", "gw.example", "--model", model];
    for (gateway, arguments, token, expected) in [
        ("main", &of("openai/good")[..], "", "set PORTCULLIS_GATEWAY_TOKEN"),
        ("main", &of("openai/good"), "svcgw_0", "does not know the token"),
        ("other", &of("openai/good"), &token, "there is no gateway at"),
        ("main", &["--model", "openai/good"], &token, "`gateway_hosts` of the edge has to name it"),
        ("main", &of("openai/bad"), &token, "the provider answered 400"),
        ("main", &of("openai/deaf"), &token, "a stream of `openai/deaf`"),
        ("main", &of("nowhere/m"), &token, "the gateway answered 400: Invalid provider\n"),
        ("main", &of("dynamic/none"), &token, "the gateway has no route `none`"),
    ] {
        let (is_good, said) = try_it(&edge, gateway, arguments, token);
        assert!(!is_good && said.contains(expected) && !said.contains('\u{1b}'), "{expected}: {said}");
    }
    let nobody = crate::protocols::free_port();
    for (url, expected) in [
        (format!("http://127.0.0.1:{nobody}/v1/acme/main"), "cannot be asked"),
        (format!("https://{}/v1/acme/main", edge.proxy[0]), "cannot be asked"),
        ("ftp://gw.example/".to_owned(), "ftp"),
    ] {
        let failed = run_cli(&["ai", "try", &url, "--model", "openai/m"], b"");
        let said = String::from_utf8_lossy(&failed.stderr).into_owned();
        assert!(!failed.status.success() && said.contains(expected), "{expected}: {said}");
    }
}
