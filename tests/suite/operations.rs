//! What those who run the edge meet: addresses and folders in use, odd files, figures.

use std::process::{Command, Stdio};

use crate::support::{BINARY, Client, Edge, Origin, refused_by_check, run_cli, wait_for};

fn conf(origin: &str, more: &str) -> String {
    format!("{more}[[zones]]\nname = \"a.example\"\norigins = [\"{origin}\"]\n[zones.waf]\n")
}

/// Starts a second edge, which is expected to end by itself: what it says.
fn refused_to_run(folder: &std::path::Path, file: &str) -> String {
    let output = Command::new(BINARY)
        .args(["run", "--conf", file])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn one_process_has_a_folder_and_an_address() {
    let origin = Origin::echo();
    let edge = Edge::start(&conf(&origin.url(), ""));
    let folder = edge.folder.path();
    let said = refused_to_run(folder, "p.toml");
    assert!(
        said.contains(&format!("in use by process {}", edge.pid())) && said.contains("state_dir"),
        "{said}"
    );
    for (address, admin, place) in [
        (edge.proxy[0].to_string(), "127.0.0.1:0".to_owned(), "listeners.address"),
        ("127.0.0.1:0".to_owned(), edge.admin.to_string(), "admin.address"),
    ] {
        let other = format!(
            "state_dir = \"other\"\n[[listeners]]\naddress = \"{address}\"\n[admin]\naddress = \"{admin}\"\n{}",
            conf(&origin.url(), "")
        );
        std::fs::write(folder.join("other.toml"), other).unwrap();
        let said = refused_to_run(folder, "other.toml");
        assert!(said.contains("cannot listen on") && said.contains(place), "{said}");
    }
    assert_eq!(Client::get(edge.proxy[0], "a.example", "/").status, 200);
}

#[test]
fn files_of_the_state_are_for_their_owner() {
    use std::os::unix::fs::PermissionsExt;
    let origin = Origin::echo();
    let edge = Edge::start(&conf(&origin.url(), ""));
    let folder = edge.folder.path().join("state");
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o077, 0);
    let mut files = 0;
    for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o077, 0, "{entry:?}");
        files += 1;
    }
    assert!(files >= 4, "{files}");
}

#[test]
fn what_is_no_file_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let output = run_cli(&["check", "--conf", &pipe.display().to_string()], b"");
    assert_eq!(output.status.code(), Some(1));
    for file in [pipe.display().to_string(), "/dev/zero".to_owned()] {
        for key in [
            format!("model_prices = \"{file}\"\n"),
            format!("secrets_key_file = \"{file}\"\n"),
            format!("[rules]\nowasp = [\"{file}\"]\n"),
        ] {
            let said = refused_by_check(&format!(
                "{key}[[zones]]\nname = \"a.example\"\norigins = [\"http://127.0.0.1:1\"]\n"
            ));
            assert!(said.contains("expected a file"), "{key}: {said}");
        }
    }
}

#[test]
fn numbers_have_bounds() {
    for (key, value) in [
        ("limits.json_depth", "100000"),
        ("limits.connections", "0"),
        ("limits.arguments", "0"),
        ("limits.header_fields", "100000"),
        ("limits.multipart_parts", "0"),
        ("limits.inspected_body", "\"0B\""),
        ("limits.inspected_body", "\"100GiB\""),
        ("threads", "18446744073709551615"),
        ("scan_threads", "18446744073709551615"),
        ("upstream.pool", "18446744073709551615"),
    ] {
        let said = refused_by_check(&format!("{key} = {value}\n"));
        assert!(said.contains(&format!("`{key}`: expected")), "{key} = {value}: {said}");
    }
}

#[test]
fn an_action_of_log_refuses_nothing() {
    let origin = Origin::fixed("text/html", "<?php phpinfo(); ?>root:x:0:0:root:/root:/bin/bash");
    let rules = "[rules]\nowasp = [\"/etc/modsecurity/crs/crs-setup.conf\", \"/usr/share/modsecurity-crs/rules\", \"early.conf\"]\n";
    let folder = tempfile::tempdir().unwrap();
    let early = "SecAction \"id:900120,phase:1,pass,nolog,setvar:tx.early_blocking=1,setvar:tx.blocking_early=1\"\nSecRule ARGS \"@contains refuse\" \"id:1,phase:1,deny,status:403,msg:'one'\"\n";
    std::fs::write(folder.path().join("early.conf"), early).unwrap();
    let conf = format!("{}action = \"log\"\nresponse_rules = true\n", conf(&origin.url(), rules));
    let mut edge = Edge::start_in(folder, &conf, &[]);
    for target in ["/?q=refuse", "/?q=1'%20UNION%20SELECT%20a%20FROM%20b--", "/?q=../../etc/passwd", "/"] {
        assert_eq!(Client::get(edge.proxy[0], "a.example", target).status, 200, "{target}");
    }
    edge.wait_for_event("security_event", |event| event["Action"] == "log");
    assert!(edge.events().iter().all(|event| event["Action"] != "block"));
}

#[test]
fn rule_files_of_debian_load_as_they_are() {
    let load = "/usr/share/modsecurity-crs/owasp-crs.load";
    assert!(std::path::Path::new(load).exists(), "the package modsecurity-crs is installed");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    let conf = format!(
        "[rules]\nowasp = [\"{load}\"]\n[[zones]]\nname = \"a.example\"\norigins = [\"http://127.0.0.1:1\"]\n[zones.waf]\n"
    );
    std::fs::write(&file, conf).unwrap();
    let output = run_cli(&["check", "--conf", &file.display().to_string()], b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn failures_have_reasons_and_figures_are_shown() {
    let port = crate::protocols::free_port();
    let mut edge = Edge::start(&conf(&format!("http://127.0.0.1:{port}"), ""));
    assert_eq!(Client::get(edge.proxy[0], "a.example", "/").status, 502);
    let request = edge.wait_for_event("request", |event| event["EdgeResponseStatus"] == 502);
    assert!(request["error"].as_str().is_some_and(|error| error.contains("Connect")), "{request}");
    let metrics = edge.metrics();
    for name in [
        "portcullis_request_duration_seconds_bucket{zone=\"a.example\",le=\"0.01\"}",
        "portcullis_build_info{version=",
        "process_resident_memory_bytes",
        "process_open_fds",
    ] {
        assert!(metrics.contains(name), "{name}");
    }
    // One line tells of a request that rules refuse, beside its own.
    let attack = "/?q=1'%20UNION%20SELECT%20a%20FROM%20b--";
    assert_eq!(Client::get(edge.proxy[0], "a.example", attack).status, 403);
    let ray = edge.wait_for_event("request", |event| event["EdgeResponseStatus"] == 403)["RayID"].clone();
    let lines = edge.events().iter().filter(|event| event["RayID"] == ray).count();
    assert_eq!(lines, 2);
    // Signals for statistics and log rotation end nothing.
    edge.signal("USR1");
    edge.signal("USR2");
    wait_for("the edge to answer", || {
        (Client::get(edge.proxy[0], "a.example", attack).status == 403).then_some(())
    });
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the deadline runs in real time")]
fn the_admin_port_waits_for_no_one_and_knows_its_filters() {
    let origin = Origin::echo();
    let admin = "[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"api\"]\n";
    let edge = Edge::start(&conf(&origin.url(), admin));
    // More connections than the port serves at once. None ever sends a whole head.
    let begun = std::time::Instant::now();
    let mut silent: Vec<Client> = (0..300)
        .map(|_| {
            let mut client = Client::connect(edge.admin);
            client.send("GET /metr");
            client
        })
        .collect();
    // It waits behind them, and is answered because their 10 s run out.
    assert_eq!(crate::support::http_get(edge.admin, "/health/live").status, 200);
    assert!(begun.elapsed().as_secs() >= 9, "served beyond the cap");
    assert!(silent[0].is_closed(), "a client that sends no head is let go");
    drop(silent);
    // Two readings of where a request ends are one too many.
    let mut client = Client::connect(edge.admin);
    client.send(
        "GET /health/live HTTP/1.1\r\nHost: x\r\nContent-Length: 43\r\nTransfer-Encoding: chunked\r\n\r\n\
         0\r\n\r\nGET /health/ready HTTP/1.1\r\nHost: x\r\n\r\n",
    );
    assert_eq!(client.receive().unwrap().status, 400);
    assert!(client.is_closed(), "a second request was read");
    let logs = |query: &str| {
        let path = format!("/client/v4/accounts/acme/ai-gateway/gateways/main/logs{query}");
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer api\r\nConnection: close\r\n\r\n"
        );
        Client::once(edge.admin, head)
    };
    assert_eq!((logs("").status, logs("?page=2&success=true").status), (200, 200));
    for query in ["?colour=red", "?page=two"] {
        let refused = logs(query);
        let text = refused.text();
        assert!(refused.status == 400 && text.contains("\"code\":10006"), "{query}: {text}");
    }
}

#[test]
fn series_of_zones_that_are_gone_go() {
    let origin = Origin::echo();
    let two = format!(
        "{}[[zones]]\nname = \"b.example\"\norigins = [\"{}\"]\n",
        conf(&origin.url(), ""),
        origin.url()
    );
    let edge = Edge::start(&two);
    for host in ["a.example", "b.example"] {
        assert_eq!(Client::get(edge.proxy[0], host, "/").status, 200);
    }
    wait_for("both zones", || edge.metrics().contains("zone=\"b.example\"").then_some(()));
    edge.rewrite(&conf(&origin.url(), ""));
    edge.signal("HUP");
    wait_for("the series to go", || (!edge.metrics().contains("zone=\"b.example\"")).then_some(()));
    assert!(edge.metrics().contains("zone=\"a.example\""));
}
