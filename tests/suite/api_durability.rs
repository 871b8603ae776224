//! What the management API acknowledged is kept: many writers, kills, backups.

use serde_json::{Value, json};

use crate::api::{REQUESTS, TOKEN, edge, execute, managed, status, zone};
use crate::support::{Api, BINARY, Client, Origin, run_cli, wait_for};

/// Fifty writers at once, each with rules of its own: none is lost, and every version was there.
#[test]
fn writers_at_once_lose_nothing() {
    const WRITERS: usize = 50;
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let zone = zone(&api, "new.example", &origin);
    let owasp = managed(&api, REQUESTS);
    let entry_point = format!("/zones/{zone}/rulesets/phases/{REQUESTS}/entrypoint");
    let ruleset = api.result("PUT", &entry_point, &json!({"rules": []}));
    let rules = format!("/zones/{zone}/rulesets/{}/rules", ruleset["id"].as_str().unwrap());
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (api, rules, owasp) = (api.clone(), rules.clone(), owasp.clone());
            scope.spawn(move || {
                let mut rule = execute(&owasp);
                rule["description"] = json!(format!("writer {writer}"));
                api.post(&rules, &rule);
            });
        }
        // The data plane goes on meanwhile.
        scope.spawn(|| {
            for _ in 0..50 {
                assert_eq!(status(&edge, "/"), 200);
            }
        });
    });
    let whole = api.get(&entry_point);
    let mut writers: Vec<_> = whole["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["description"].as_str().unwrap().to_owned())
        .collect();
    writers.sort_unstable();
    writers.dedup();
    assert_eq!((writers.len(), whole["version"].as_str()), (WRITERS, Some("51")));
}

/// Killed while it writes: what was acknowledged is there, and nothing half. `KILLS` says how often.
#[test]
fn what_was_acknowledged_outlasts_a_kill() {
    let kills = std::env::var("KILLS").map_or(8, |kills| kills.parse().unwrap());
    let origin = Origin::echo();
    let (mut edge, mut api) = edge(&origin);
    let mut acknowledged: Vec<String> = Vec::new();
    for kill in 0..kills {
        let (writing, written) = std::sync::mpsc::channel();
        let writer = {
            let (address, url) = (edge.admin, origin.url());
            std::thread::spawn(move || {
                for nth in 0.. {
                    let name = format!("z{kill}-{nth}.example");
                    let body = json!({"name": name, "origins": [url]}).to_string();
                    let request = format!(
                        "POST /client/v4/zones HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\
                         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
                        body.len()
                    );
                    let Ok(mut stream) = std::net::TcpStream::connect(address) else { return };
                    let mut answer = String::new();
                    use std::io::{Read, Write};
                    let _ = stream.write_all(request.as_bytes());
                    let _ = stream.read_to_string(&mut answer);
                    if !answer.contains("\"success\":true") {
                        return;
                    }
                    writing.send(name).unwrap();
                }
            })
        };
        // Not before something was written.
        acknowledged.push(written.recv().unwrap());
        edge.signal("KILL");
        edge.wait_for_exit();
        writer.join().unwrap();
        acknowledged.extend(written.try_iter());
        edge = edge.again();
        api = Api::new(&edge, TOKEN);
    }
    let zones = api.get("/zones?per_page=1000&name=starts_with:z");
    let names: Vec<_> = zones.as_array().unwrap().iter().map(|zone| zone["name"].as_str().unwrap()).collect();
    for name in &acknowledged {
        assert!(names.contains(&name.as_str()), "{name} was acknowledged and is gone");
    }
    // Beside them at most one for each kill: committed, and not yet acknowledged.
    assert!(names.len() <= acknowledged.len() + kills, "{} of {}", names.len(), acknowledged.len());
    let served = wait_for("the first zone to be served", || {
        Some(Client::get(edge.proxy[0], &acknowledged[0], "/").status)
    });
    assert_eq!(served, 200);
}

/// A backup while the edge writes, and the way back.
#[test]
fn a_backup_is_taken_while_the_edge_runs_and_taken_back() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let kept = zone(&api, "kept.example", &origin);
    let conf = edge.folder.path().join("p.toml").display().to_string();
    let copy = edge.folder.path().join("copy").display().to_string();
    let run = |arguments: &[&str]| {
        let output = run_cli(arguments, b"");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(run(&["backup", "--out", &copy, "--conf", &conf]), (true, String::new()));
    zone(&api, "later.example", &origin);
    let (is_ok, said) = run(&["restore", "--from", &copy, "--conf", &conf]);
    assert!(!is_ok && said.contains("in use by process"), "{said}");
    edge.signal("TERM");
    let mut edge = edge;
    edge.wait_for_exit();
    assert_eq!(run(&["restore", "--from", &copy, "--conf", &conf]), (true, String::new()));
    let edge = edge.again();
    let api = Api::new(&edge, TOKEN);
    assert_eq!(api.get("/zones/kept.example")["id"], kept.as_str());
    assert_eq!(api.refused("GET", "/zones/later.example", &Value::Null).0, 404);
    assert_eq!(Client::get(edge.proxy[0], "kept.example", "/").status, 200);
}

/// A name belongs to one zone: a file that declares one that was made over the API is refused with both places.
#[test]
fn a_name_is_declared_once_by_file_or_api() {
    let origin = Origin::echo();
    let (mut edge, api) = edge(&origin);
    zone(&api, "new.example", &origin);
    let conf = std::fs::read_to_string(edge.folder.path().join("p.toml")).unwrap();
    edge.rewrite(&format!("{conf}\n[[zones]]\nname = \"new.example\"\norigins = [\"http://127.0.0.1:1\"]\n"));
    edge.signal("HUP");
    let refused = edge.wait_for_event("snapshot_refused", |_| true).to_string();
    assert!(refused.contains("new.example") && refused.contains("revision 1 of the store"), "{refused}");
    assert_eq!(status(&edge, "/"), 200, "the zone goes on as it was");
    api.result("DELETE", "/zones/new.example", &Value::Null);
    edge.signal("HUP");
    wait_for("the file's zone to be served", || (status(&edge, "/") == 502).then_some(()));
}

/// The same over the command line, as tables.
#[test]
fn the_command_line_asks_the_api() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    zone(&api, "new.example", &origin);
    let url = format!("http://{}", edge.admin);
    let run = |token: &str, arguments: &[&str]| {
        let output = std::process::Command::new(BINARY)
            .args(["api", "--url", &url])
            .args(arguments)
            .env("PORTCULLIS_API_TOKEN", token)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (status, zones, _) = run(TOKEN, &["zones"]);
    assert_eq!((status, zones.lines().count()), (Some(0), 3), "{zones}");
    assert!(
        zones.starts_with("id  ") && zones.contains("file.example") && zones.contains("new.example"),
        "{zones}"
    );
    let (_, rules, _) = run(TOKEN, &["rules", "file.example"]);
    assert!(rules.contains("execute") && rules.contains("http_response_firewall_managed: none"), "{rules}");
    let (status, _, said) = run(TOKEN, &["post", "/zones", r#"{"name":"new.example"}"#]);
    assert_eq!((status, said.trim()), (Some(1), "error 1061 at `/name`: new.example already exists"));
    let (status, raw, _) =
        run(TOKEN, &["--json", "patch", "/zones/new.example", r#"{"balance":"least_connections"}"#]);
    assert!(status == Some(0) && raw.starts_with("{\"result\":{\"id\""), "{raw}");
    assert_eq!(run(TOKEN, &["delete", "/zones/new.example"]).0, Some(0));
    assert!(run("wrong", &["zones"]).2.contains("Invalid access token"));
    assert!(run("", &["zones"]).2.contains("PORTCULLIS_API_TOKEN"));
    assert!(run(TOKEN, &["events", "file.example", "action=block"]).1.contains("none"));
    // `check --explain` shows the ids that paths have.
    let conf = edge.folder.path().join("p.toml").display().to_string();
    let explained = run_cli(&["check", "--explain", "--conf", &conf], b"");
    let id = api.get("/zones/file.example")["id"].as_str().unwrap().to_owned();
    assert!(String::from_utf8_lossy(&explained.stdout).contains(&format!("zone file.example ({id})")));
}
