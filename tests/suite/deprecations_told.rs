//! Rows of an operator's own, counts of uses, recorded clients, cipher suites and keys that end.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::deprecations::{Caller, TOKEN, conf, edge};
use crate::support::{Api, Client, Edge, Origin, wait_for};

#[test]
fn an_operators_own_rows_end_like_those_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let rows = "[[row]]\nid = \"old-comment\"\nwhat = \"request_field\"\nnames = [\"/comment\"]\n\
        operations = [\"POST /zones/{zone_id}/dns_records\"]\ndate = \"2030-01-01\"\nreplacement = \"tags\"\n\
        announced = \"2026-01-01\"\nat_end = \"ignore\"\n\
        [[row]]\nid = \"no-txt\"\nwhat = \"value\"\nnames = [\"/type\"]\nvalues = [\"SPF\", \"TXT\"]\n\
        operations = [\"POST /zones/{zone_id}/dns_records\"]\ndate = \"2030-01-01\"\nreplacement = \"CAA\"\n\
        [[row]]\nid = \"zone-list\"\nwhat = \"route\"\noperations = [\"GET /zones\"]\ndate = \"2030-01-01\"\n\
        announced = \"2026-01-01\"\nreplacement = \"a list of your own\"\ndocumentation = \"https://docs.example/zones\"\n";
    std::fs::write(&file, rows).unwrap();
    let setting = format!("file = \"{}\"", file.display());
    let (_edge, api, ids) = edge(&setting);
    let records = format!("/zones/{}/dns_records", ids.zone);
    let caller = |day: Option<&str>| Caller { api: api.clone(), day: day.map(str::to_owned) };
    let record =
        |nth: u32| json!({"type": "A", "name": format!("n{nth}"), "content": "192.0.2.1", "comment": "c"});
    let (answer, value) = caller(None).ask("POST", &records, &record(1));
    assert_eq!((answer.status, &value["result"]["comment"]), (200, &json!("c")), "{value}");
    assert_eq!(
        value["messages"][0],
        json!({"code": 10_021, "message": "`/comment` ends on 2030-01-01; use tags",
            "documentation_url": "/client/v4/deprecations/old-comment", "source": {"pointer": "/comment"}})
    );
    let (answer, value) = caller(Some("2030-01-01")).ask("POST", &records, &record(2));
    assert_eq!((answer.status, &value["result"]["comment"]), (200, &Value::Null), "ignored: {value}");
    assert_eq!(value["messages"][0]["source"]["pointer"], "/comment");
    let txt = json!({"type": "TXT", "name": "t", "content": "\"x\""});
    assert_eq!(caller(Some("2029-12-31")).ask("POST", &records, &txt).0.status, 200);
    let (answer, value) = caller(Some("2030-01-01")).ask("POST", &records, &txt);
    assert_eq!((answer.status, &value["errors"][0]["source"]["pointer"]), (400, &json!("/type")), "{value}");
    let (answer, _) = caller(None).ask("GET", "/zones", &Value::Null);
    assert_eq!(
        (answer.status, answer.header("link")),
        (200, Some("<https://docs.example/zones>; rel=\"deprecation\""))
    );
    assert_eq!(caller(Some("2030-01-01")).ask("GET", "/zones", &Value::Null).0.status, 410);
    let wrong = rows.replace("GET /zones\"", "GET /zoness\"");
    std::fs::write(&file, wrong).unwrap();
    let refused = crate::support::refused_by_check(&conf(&setting));
    assert!(refused.contains("no operation `GET /zoness`") && refused.contains("mine.toml:"), "{refused}");
}

/// Uses are counted by row, token and client, kept over a restart, and told before the end.
#[test]
fn who_uses_what_ends_is_shown_and_told_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let (today, file) =
        (jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date(), folder.path().join("m.toml"));
    let soon = today.saturating_add(jiff::Span::new().days(10));
    let rows = format!(
        "[[row]]\nid = \"zone-show\"\nwhat = \"route\"\noperations = [\"GET /zones/{{zone_id}}\"]\n\
         date = \"{soon}\"\nreplacement = \"the list\"\n"
    );
    std::fs::write(&file, rows).unwrap();
    let (edge, api, ids) = edge(&format!("file = \"{}\"", file.display()));
    let zone = format!("/zones/{}", ids.zone);
    for agent in ["one/1.0", "two/2.0", "two/2.0"] {
        assert_eq!(api.ask("GET", &zone, &format!("User-Agent: {agent}\r\n"), "").status, 200);
    }
    let series = "portcullis_deprecated_uses_total{mode=\"warn\",row=\"zone-show\"}";
    assert!((edge.metric(series) - 3.0).abs() < 0.1, "{}", edge.metrics());
    let report = format!("/accounts/{}/deprecations", ids.account);
    let of = |api: &Api, id: &str| {
        let rows = api.get(&report);
        rows.as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone()
    };
    let row = of(&api, "zone-show");
    assert_eq!((&row["mode"], &row["days"], &row["uses"]), (&json!("warn"), &json!(10), &json!(3)), "{row}");
    let by: BTreeMap<&str, u64> = row["used_by"]
        .as_array()
        .unwrap()
        .iter()
        .map(|used| (used["user_agent"].as_str().unwrap(), used["uses"].as_u64().unwrap()))
        .collect();
    assert_eq!(by, BTreeMap::from([("one/1.0", 1), ("two/2.0", 2)]));
    assert_eq!(of(&api, "tunnels")["uses"], 0);
    let other = api.post("/accounts", &json!({"name": "b"}))["id"].as_str().unwrap().to_owned();
    let elsewhere = api.get(&format!("/accounts/{other}/deprecations"));
    assert!(elsewhere.as_array().unwrap().iter().all(|row| row["uses"] == 0), "accounts see their own");
    let listener = Origin::fixed("text/plain", "ok");
    let alerting = format!("/accounts/{}/alerting/v3", ids.account);
    let hook = json!({"name": "ops", "url": format!("{}/hook", listener.url())});
    let webhook = api.post(&format!("{alerting}/destinations/webhooks"), &hook)["id"].clone();
    let policy = json!({"name": "ends", "alert_type": "deprecation_alert", "mechanisms": {"webhooks": [{"id": webhook}]}});
    api.post(&format!("{alerting}/policies"), &policy);
    listener.forget();
    edge.signal("TERM");
    let mut edge = edge;
    edge.wait_for_exit();
    let mut edge = edge.again();
    // Policies are looked at when the edge starts.
    let told = wait_for("the alert", || listener.requests().into_iter().next());
    let message: Value = serde_json::from_slice(&told.body).unwrap();
    assert_eq!(
        message["data"]["deprecations"],
        json!([{"id": "zone-show", "ends": soon.to_string(), "days": 10, "uses": 3}]),
        "{message}"
    );
    let api = Api::new(&edge, TOKEN);
    assert_eq!(of(&api, "zone-show")["uses"], 3, "kept");
    let due = edge.wait_for_event("deprecation_due", |event| event["row"] == "zone-show");
    assert_eq!(
        (&due["ends"], &due["days"], &due["uses"]),
        (&json!(soon.to_string()), &json!(10), &json!(3)),
        "{due}"
    );
    let output = crate::support::run_cli(
        &["deprecations", "--conf", &edge.folder.path().join("p.toml").display().to_string()],
        b"",
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("zone-show\t")).unwrap();
    assert!(line.contains("warn") && line.contains(&soon.to_string()) && line.contains("\t3\t"), "{line}");
    assert_eq!(text.lines().count(), 37 + 1, "a row each, and a head");
}

/// Makes a file of the state no database.
fn damage(state: &std::path::Path, file: &str) {
    std::fs::write(state.join(file), [7; 5_000]).unwrap();
    // A process that ends at once leaves a log of what is to be written. It holds the first page, which would be read instead.
    let _ = std::fs::remove_file(state.join(format!("{file}-wal")));
}

/// Counts are worth less than an edge: one whose file is damaged starts without them and says so. State that counts more is
/// named and refused.
#[test]
fn damaged_counts_are_set_aside_and_damaged_state_is_named() {
    let (edge, api, ids) = edge("");
    let report = format!("/accounts/{}/deprecations", ids.account);
    let used = |api: &Api| {
        let rows = api.get(&report);
        rows.as_array().unwrap().iter().map(|row| row["uses"].as_u64().unwrap()).sum::<u64>()
    };
    let flattening = format!("/zones/{}/settings/cname_flattening", ids.zone);
    assert_eq!(api.call("GET", &flattening, &Value::Null).0, 410);
    assert_eq!(used(&api), 1);
    let stop = |mut edge: Edge| {
        edge.signal("TERM");
        edge.wait_for_exit();
        edge
    };
    let edge = stop(edge);
    let state = edge.folder.path().join("state");
    damage(&state, "deprecations.db");
    let mut edge = edge.again();
    let said = edge.wait_for_event("service_failed", |event| event["service"] == "deprecations");
    assert!(said["error"].as_str().unwrap().contains("deprecations.db.damaged"), "{said}");
    let api = Api::new(&edge, TOKEN);
    assert_eq!((used(&api), api.call("GET", &flattening, &Value::Null).0, used(&api)), (0, 410, 1));
    let edge = stop(edge);
    let state = edge.folder.path().join("state");
    assert_eq!(std::fs::read(state.join("deprecations.db.damaged")).unwrap(), [7; 5_000]);
    let conf = edge.folder.path().join("p.toml").display().to_string();
    for file in ["events.db", "records.db"] {
        let kept = std::fs::read(state.join(file)).unwrap();
        damage(&state, file);
        let output = crate::support::run_cli(&["run", "--conf", &conf], b"");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(&format!("`{file}`: file is not a database")), "{error}");
        std::fs::write(state.join(file), kept).unwrap();
    }
}

/// Requests of clients that were written before a day work at that day, and get an error that helps without it.
#[test]
fn clients_recorded_before_a_day_work_at_their_day() {
    let (_edge, api, ids) = edge("");
    let records = format!("/zones/{}/dns_records", ids.zone);
    for (name, content) in [("www", "192.0.2.1"), ("api", "192.0.2.2")] {
        api.post(&records, &json!({"type": "A", "name": name, "content": content}));
    }
    let recorded = include_str!("../data/deprecations/recorded.jsonl");
    let mut count = 0;
    for line in recorded.lines() {
        let request: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let text = |name: &str| request[name].as_str().unwrap();
        let (method, path) = (text("method"), text("path"));
        let path = path.replace("{zone}", &ids.zone).replace("{account}", &ids.account);
        let then = Caller { api: api.clone(), day: Some(text("day").to_owned()) };
        let (answer, value) = then.ask(method, &path, &request["body"]);
        assert_eq!(answer.status, 200, "{line}: {value}");
        for (pointer, expected) in request["expect"].as_object().unwrap() {
            assert_eq!(value.pointer(pointer), Some(expected), "{pointer} of {value}");
        }
        let now = Caller { api: api.clone(), day: None };
        let (answer, value) = now.ask(method, &path, &request["body"]);
        match request["now"].as_u64().unwrap() {
            // Ignored, and told.
            200 => {
                assert!(answer.status == 200 && value["messages"].to_string().contains("ended on"), "{value}")
            }
            status => {
                assert_eq!(u64::from(answer.status), status, "{line}: {value}");
                let mut messages = value["errors"].as_array().unwrap().iter();
                let helps = |text: &str| text.contains("ended on") && text.contains("; use ");
                assert!(messages.any(|error| helps(error["message"].as_str().unwrap())), "{value}");
            }
        }
        count += 1;
    }
    assert_eq!(count, 20);
}

/// A hello of TLS 1.2 that offers two cipher suites.
fn hello(suites: [u16; 2]) -> Vec<u8> {
    let name = b"file.example";
    let server_name: Vec<u8> = [
        &[0, 0],
        &(name.len() as u16 + 5).to_be_bytes()[..],
        &(name.len() as u16 + 3).to_be_bytes()[..],
        &[0],
        &(name.len() as u16).to_be_bytes()[..],
        &name[..],
    ]
    .concat();
    let groups = [0, 10, 0, 4, 0, 2, 0, 23];
    let signatures = [0, 13, 0, 8, 0, 6, 4, 3, 8, 4, 4, 1];
    let extensions = [&server_name[..], &groups, &signatures].concat();
    let suites: Vec<u8> = suites.iter().flat_map(|suite| suite.to_be_bytes()).collect();
    let body = [
        &[3, 3][..],
        &[7; 32],
        &[0],
        &(suites.len() as u16).to_be_bytes(),
        &suites,
        &[1, 0],
        &(extensions.len() as u16).to_be_bytes(),
        &extensions,
    ]
    .concat();
    let handshake = [&[1, 0][..], &(body.len() as u16).to_be_bytes(), &body].concat();
    [&[22, 3, 1][..], &(handshake.len() as u16).to_be_bytes(), &handshake].concat()
}

#[test]
fn draft_suites_are_not_spoken_and_those_of_the_standard_are() {
    use std::io::{Read, Write};
    let folder = tempfile::tempdir().unwrap();
    let key = rcgen::generate_simple_self_signed(["file.example".to_owned()]).unwrap();
    let (chain, private) = (folder.path().join("c.pem"), folder.path().join("k.pem"));
    std::fs::write(&chain, key.cert.pem()).unwrap();
    std::fs::write(&private, key.signing_key.serialize_pem()).unwrap();
    let edge = Edge::start(&format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[[listeners.certificates]]\nchain = \"{}\"\nkey = \"{}\"\n\
         [admin]\naddress = \"127.0.0.1:0\"\n[[zones]]\nname = \"file.example\"\norigins = [\"http://127.0.0.1:9\"]\n",
        chain.display(),
        private.display()
    ));
    // The first byte of an answer: 22 goes on with the handshake, 21 is an alert.
    let answered = |suites| {
        let mut socket = std::net::TcpStream::connect(edge.proxy[0]).unwrap();
        socket.write_all(&hello(suites)).unwrap();
        let mut first = [0];
        socket.read_exact(&mut first).unwrap();
        first[0]
    };
    assert_eq!(answered([0xCCA9, 0xCCA8]), 22, "RFC 7905");
    assert_ne!(answered([0xCC14, 0xCC13]), 22, "the drafts");
    let both = "GET / HTTP/1.1\r\nHost: file.example\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(Client::once(edge.admin, both).status, 400);
}

/// A key of the configuration that ends is told with what takes its place, and rewritten on demand.
#[test]
fn keys_that_end_are_told_and_rewritten() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.toml");
    let before = "# What this edge is.\n[dns] # names\n# Old clients send them.\nsrv_names = \"ignore\" # why\n\
        txt_content = \"as_sent\"\n\n[[zones]]\nname = \"a.example\"   # the shop\norigins = [\"http://127.0.0.1:9\"]\n";
    std::fs::write(&file, before).unwrap();
    let path = file.display().to_string();
    let check = |more: &[&str]| {
        let output = crate::support::run_cli(&[&["check", "--conf", &path], more].concat(), b"");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let told = check(&[]);
    assert!(told.contains("conf/deprecated") && told.contains("p.toml:4:"), "{told}");
    assert!(told.contains("`dns.srv_names` ends with the first release from 2027-12-01 on"), "{told}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before, "only told");
    let fixed = check(&["--fix"]);
    let after = std::fs::read_to_string(&file).unwrap();
    assert!(fixed.contains("rewrote `dns.srv_names`"), "{fixed}");
    for kept in [
        "# What this edge is.",
        "[dns] # names",
        "# Old clients send them.",
        "# the shop",
        "txt_content = \"as_sent\"",
    ] {
        assert!(after.contains(kept), "{kept} is gone from\n{after}");
    }
    assert!(
        !after.contains("srv_names")
            && after.contains(
                "\n[deprecations.modes]\n# Old clients send them.\nsrv-record-data = \"warn\" # why\n"
            ),
        "{after}"
    );
    let again = check(&["--fix"]);
    assert!(!again.contains("deprecated") && !again.contains("rewrote"), "{again}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), after);
}
