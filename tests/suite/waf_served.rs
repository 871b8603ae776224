//! Rules as the running edge and the command line show them.

use crate::support::{Client, Edge, Origin, certificate, curl, run_cli};

#[test]
fn a_ray_id_leads_to_the_rules() {
    let origin = Origin::echo();
    let mut edge = Edge::start(&format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n",
        origin.url()
    ));
    let refused = Client::get(edge.proxy[0], "a.example", "/?id=1'%20or%20'1'='1");
    let ray = refused.header("svc-ray").unwrap().to_owned();
    let event = edge.wait_for_event("security_event", |event| event["RayID"] == ray.as_str());
    let log = format!("not a line of ours\n{event}\n");
    let output = run_cli(&["waf", "why", &ray], log.as_bytes());
    let shown = String::from_utf8(output.stdout).unwrap();
    for part in ["GET a.example/: block, 403", "rule 42001 (+5)", "ARGS:id", "42-sqli.conf:", "\"!ARGS:id\""]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let output = run_cli(&["waf", "why", "0000000000000000-1"], log.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no rule acted on ray"));
}

/// In every phase, with a body and without, over both protocols; what a client sent stays within the address.
#[test]
fn a_redirect_reaches_the_client() {
    let origin = Origin::fixed("text/html", "secret");
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "edge", &["a.example"]);
    let rules = "SecRule ARGS_GET:r \"@rx 1\" \"id:1,phase:1,redirect:'https://b.example/?from=%{ARGS_GET.from}'\"\n\
        SecRule ARGS_POST:r \"@rx 2\" \"id:2,phase:2,redirect:'/two',status:307\"\n\
        SecRule ARGS_GET:r \"@rx 3\" \"id:3,phase:3,redirect:'/three',status:303\"\n";
    std::fs::write(folder.path().join("r.conf"), rules).unwrap();
    let conf = format!(
        "[rules]\nowasp = [\"r.conf\"]\n[[listeners]]\naddress = \"127.0.0.1:0\"\n\
         [[listeners]]\naddress = \"127.0.0.1:0\"\ncertificates = [{{ chain = \"edge.pem\", key = \"edge.key\" }}]\n\
         [[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\nresponse_rules = true\n",
        origin.url()
    );
    let edge = Edge::start_in(folder, &conf, &[]);
    let from = "x%0D%0ASet-Cookie:%20a=b%20%C3%A9";
    let url = format!("https://a.example:{}/?r=1&from={from}", edge.proxy[1].port());
    let resolve = format!("a.example:{}:127.0.0.1", edge.proxy[1].port());
    for (method, body, target, status, location) in [
        ("GET", "", format!("/?r=1&from={from}"), 302, format!("https://b.example/?from={from}")),
        ("HEAD", "", format!("/?r=1&from={from}"), 302, format!("https://b.example/?from={from}")),
        ("POST", "r=2", "/".to_owned(), 307, "/two".to_owned()),
        ("GET", "", "/?r=3".to_owned(), 303, "/three".to_owned()),
    ] {
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: a.example\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut client = Client::connect(edge.proxy[0]);
        client.send(&request);
        let answer = client.head().unwrap();
        assert_eq!(
            (answer.status, answer.header("location")),
            (status, Some(location.as_str())),
            "{request}"
        );
        assert_eq!(answer.header("set-cookie"), None);
        let rest = client.receive_all();
        assert!(!String::from_utf8_lossy(&rest).contains("secret"), "{request}");
        assert_eq!(rest.is_empty(), method == "HEAD", "{request}");
    }
    let (_, shown) = curl(&["--http2", "-k", "-i", "--resolve", &resolve, &url]);
    assert!(shown.starts_with("HTTP/2 302"), "{shown}");
    assert!(shown.contains(&format!("location: https://b.example/?from={from}\r\n")), "{shown}");
}

/// What is learnt from a log lets the request pass that it was learnt from, and nothing on other paths.
#[test]
fn what_is_learnt_lets_the_logged_request_pass() {
    let origin = Origin::echo();
    let conf = |rules: &str| {
        format!(
            "[rules]\nowasp = [{rules}]\n[[listeners]]\naddress = \"127.0.0.1:0\"\n[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n",
            origin.url()
        )
    };
    let mut edge = Edge::start(&conf("\"builtin:owasp\""));
    let target = "/editor?html=%3Cscript%3Edraw()%3C/script%3E";
    let refused = Client::get(edge.proxy[0], "a.example", target);
    assert_eq!(refused.status, 403);
    let event = edge.wait_for_event("security_event", |event| event["ClientRequestPath"] == "/editor");
    let log = format!("not a line of ours\n{event}\n");
    let attacks = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/owasp/attacks");
    let output = run_cli(&["waf", "learn", "--attacks", attacks], log.as_bytes());
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.starts_with("with these, 1 of 1 requests pass"), "{shown}");
    assert!(
        shown.contains("# lets in ") && shown.contains("attacks that are refused in ARGS:html"),
        "{shown}"
    );

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learnt.conf");
    std::fs::write(&path, shown.split_once('\n').unwrap().1).unwrap();
    let edge = Edge::start(&conf(&format!("{:?}, \"builtin:owasp\"", path.display().to_string())));
    let status = |target: &str| Client::get(edge.proxy[0], "a.example", target).status;
    assert_eq!(status(target), 200);
    assert_eq!(status(&target.replace("editor", "other")), 403);
    assert_eq!(status(&target.replace("html", "text")), 403);
    assert_eq!(status("/editor?html=1'%20or%20'1'='1"), 403);

    let output = run_cli(&["waf", "learn"], b"nothing\n");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("no request in standard input reached a score of 5")
    );
}
