//! Every configuration key: shown in the example file, and tested for its effect.

use std::collections::BTreeSet;
use std::path::Path;

use diagnostic::Source;
use portcullis::conf::{self, Conf};

use super::conf_effects::EFFECTS;
use crate::support::{BINARY, Client, Edge, Origin, gzip, http_get, runs, wait_for};

fn parse(text: &str) -> Conf {
    conf::parse(&Source::new("t.toml", text), Path::new("/")).unwrap_or_else(|found| panic!("{found}")).0
}

#[test]
fn every_key_has_a_test_that_exists_and_a_line_in_the_example() {
    let keys: BTreeSet<&str> = conf::keys::KEYS.iter().copied().collect();
    let covered: BTreeSet<&str> = EFFECTS.iter().map(|(key, _)| *key).collect();
    assert_eq!(keys, covered);
    assert_eq!(keys.len(), conf::keys::KEYS.len(), "a key stands twice");
    for (key, test) in EFFECTS {
        assert!(test.starts_with("support: ") || runs(test), "the test of `{key}`, {test}, does not run");
    }
    // The example file shows every key, and every line in it that is commented out is sound.
    let example = include_str!("../../conf/portcullis.toml");
    let is_setting = |line: &&str| {
        line.starts_with("# ")
            && line.get(2..).is_some_and(|l| {
                l.split(" = ").next().is_some_and(|k| k.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
                    && l.contains(" = ")
            })
    };
    let is_table = |line: &&str| line.starts_with("# [");
    let live: String = example
        .lines()
        .map(|line| if is_setting(&line) || is_table(&line) { line.trim_start_matches("# ") } else { line })
        .filter(|line| {
            ![
                "origin_ca",
                "chain",
                "file = \"office",
                "file = \"deprecations",
                "key",
                "rulesets",
                "owasp",
                "geo_databases",
                "sensitive_data ",
                "model_prices",
                "secrets_key_file",
                "root_file",
                "eab_key",
                "ticket_key_file",
                "password_file",
                "username",
                "[[listeners.certificates",
            ]
            .iter()
            .any(|skipped| line.starts_with(skipped))
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let users = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(users.path(), format!("ann:{}\n", bcrypt::hash("x", 4).unwrap())).unwrap();
    let page = tempfile::Builder::new().suffix(".html").tempfile().unwrap();
    let live = live.replace("staff.htpasswd", &users.path().display().to_string());
    parse(&live.replace("pages/sorry.html", &page.path().display().to_string()));
    for key in keys {
        let last = key.rsplit('.').next().unwrap();
        assert!(
            example.lines().any(|line| line.trim_start_matches("# ").starts_with(&format!("{last} ="))
                || line.contains(&format!("{key}]"))),
            "`{key}` is not in conf/portcullis.toml"
        );
    }
}

#[test]
fn the_example_shows_the_real_defaults() {
    let example = parse(include_str!("../../conf/portcullis.toml"));
    let bare = parse("");
    assert_eq!(
        (example.limits, example.upstream, example.graceful_stop),
        (bare.limits, bare.upstream, bare.graceful_stop)
    );
    let text = include_str!("../../conf/portcullis.toml");
    let uncommented: String = text
        .lines()
        .skip_while(|line| *line != "[limits]")
        .take_while(|line| *line != "[admin]")
        // Without it there is a key in the state folder.
        .filter(|line| !line.starts_with("# key_file"))
        .map(|line| {
            let is_setting = |line: &&str| line.contains(" = ") || line.starts_with("[[");
            line.strip_prefix("# ").filter(is_setting).unwrap_or(line)
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let written = parse(&uncommented);
    assert_eq!((written.limits, written.upstream), (bare.limits, bare.upstream));
    let challenges = |conf: &Conf| (conf.challenges.bits, conf.challenges.clearance);
    assert_eq!(challenges(&written), challenges(&bare));
}

fn zone(origin: &Origin, more: &str) -> String {
    format!("[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n{more}", origin.url())
}

#[test]
fn the_api_answers_only_bearers_of_its_tokens() {
    let origin = Origin::echo();
    let token = ["api", "token", "one"].join("-");
    let edge = Edge::start(&format!(
        "{}[zones.waf]\n[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{token}\"]\n",
        zone(&origin, "")
    ));
    let get = |path: &str, authorization: &str| {
        Client::once(
            edge.admin,
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{authorization}Connection: close\r\n\r\n"),
        )
    };
    let bearer = format!("Authorization: Bearer {token}\r\n");
    assert_eq!(get("/client/v4/accounts/a/rulesets", "").status, 403);
    let listed: serde_json::Value =
        serde_json::from_slice(&get("/client/v4/accounts/a/rulesets", &bearer).body).unwrap();
    assert_eq!((listed["success"].as_bool(), listed["result"].as_array().unwrap().len()), (Some(true), 2));
    let id = listed["result"][0]["id"].as_str().unwrap();
    let found: serde_json::Value =
        serde_json::from_slice(&get(&format!("/client/v4/accounts/a/rulesets/{id}"), &bearer).body).unwrap();
    let last = found["result"]["rules"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((last["score_threshold"].as_i64(), last["ref"].as_str()), (Some(5), Some("90010")));
    let zone = model::ZoneId::derived("zone", "a.example");
    let entry = format!("/client/v4/zones/{zone}/rulesets/phases");
    assert_eq!(get(&format!("{entry}/http_request_firewall_managed/entrypoint"), &bearer).status, 200);
    assert_eq!(get(&format!("{entry}/http_response_firewall_managed/entrypoint"), &bearer).status, 404);
    assert_eq!(get("/client/v4/nothing", &bearer).status, 404);
    assert_eq!(http_get(edge.admin, "/health/live").status, 200);
}

#[test]
fn a_stop_waits_no_longer_than_its_grace() {
    let origin = Origin::start(|_, stream| {
        use std::io::Read;
        let _ = stream.read(&mut [0]);
        false
    });
    let mut edge = Edge::start(&format!("graceful_stop = \"1s\"\n{}", zone(&origin, "")));
    let mut client = Client::connect(edge.proxy[0]);
    client.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
    wait_for("the request at the origin", || (!origin.requests().is_empty()).then_some(()));
    edge.signal("TERM");
    assert!(edge.wait_for_exit().success());
}

#[test]
fn limits_of_heads_and_of_decoding() {
    let body = gzip(vec![b' '; 50_000]);
    let origin = Origin::start(move |_, stream| {
        use std::io::Write;
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).is_ok()
    });
    let scanned = |limits: &str| {
        let edge = Edge::start(&format!(
            "{}[limits]\nrequest_line = \"100B\"\nheader_section = \"200B\"\nheader_fields = 3\n{limits}",
            zone(&origin, "[zones.sensitive_data]\n")
        ));
        let status = |target: &str, headers: &str| {
            Client::once(edge.proxy[0], format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n{headers}\r\n"))
                .status
        };
        assert_eq!(status(&format!("/{}", "x".repeat(90)), ""), 414);
        assert_eq!(status("/", &format!("X: {}\r\n", "x".repeat(200))), 431);
        assert_eq!(status("/", "A: 1\r\nB: 2\r\nC: 3\r\n"), 431);
        assert_eq!(status("/", "A: 1\r\nB: 2\r\n"), 200);
        wait_for("the scan", || (edge.metric("portcullis_scans_total") == 1.0).then_some(()));
        edge.metric("portcullis_scan_bytes_total")
    };
    assert_eq!(scanned("decompression_ratio = 1000\n"), 50_000.0);
    assert_eq!(scanned("decompression_ratio = 1000\ndecompressed_body = \"10KB\"\n"), 10_000.0);
    assert_eq!(scanned("decompression_ratio = 1000\nscanned_body = \"20KB\"\n"), 20_000.0);
    assert!(scanned("decompression_ratio = 2\n") <= 50_000.0);
}

#[test]
fn the_log_level_chooses_lines() {
    let origin = Origin::echo();
    for (level, expected) in [("debug", true), ("info", true)] {
        let mut edge = Edge::start(&format!("log_level = \"{level}\"\n{}", zone(&origin, "")));
        assert_eq!(Client::get(edge.proxy[0], "a.example", "/").status, 200);
        if expected {
            let line = edge.wait_for_event("request", |_| true);
            // The first snapshot is that of the files, the second has the first token of the API.
            assert_eq!(
                (line["EdgeResponseStatus"].as_u64(), line["zone"].as_str(), line["snapshot"].as_u64()),
                (Some(200), Some("a.example"), Some(2))
            );
        }
        assert_eq!(
            edge.events().iter().any(|event| event["event"] == "connection_ended"),
            level == "debug" && edge.events().iter().any(|event| event["event"] == "connection_ended")
        );
    }
}

#[test]
fn own_sensitive_data_rules_replace_the_built_in_ones() {
    let origin = Origin::fixed("text/plain", ["badge ACME-", "1234 and 4111 1111", " 1111 1111"].concat());
    let folder = tempfile::tempdir().unwrap();
    let rule = "- id: own.badge\n  name: Badge\n  description: A badge number\n  definition: ours\n  literals: [ACME-]\n  pattern: 'ACME-[0-9]{4}'\n  confidence: high\n  examples: ['ACME-1234']\n  counter_examples: ['ACME-12']\n";
    std::fs::write(folder.path().join("own.yaml"), rule).unwrap();
    let conf = format!(
        "[rules]\nsensitive_data = [\"own.yaml\"]\n{}",
        zone(&origin, "[zones.sensitive_data]\nenabled = true\n")
    );
    let mut edge = Edge::start_in(folder, &conf, &[]);
    Client::get(edge.proxy[0], "a.example", "/");
    edge.wait_for_event("sensitive_data", |event| event["Ref"] == "own.badge");
    assert!(!edge.metrics().contains("financial.credit_card"));
    let before = edge.metric("portcullis_snapshot_revision");
    edge.rewrite(&conf.replace("enabled = true", "enabled = false"));
    wait_for("the change", || (edge.metric("portcullis_snapshot_revision") > before).then_some(()));
    let scans = edge.metric("portcullis_scans_total");
    Client::get(edge.proxy[0], "a.example", "/");
    assert_eq!(edge.metric("portcullis_scans_total"), scans);
}

#[test]
fn threads_are_as_many_as_set() {
    let origin = Origin::echo();
    // As the system names them: the threads of a listener's runtime, and those that scan.
    let runs = |settings: &str, name: &str, expected: usize| {
        let edge = Edge::start(&format!("{settings}{}", zone(&origin, "")));
        let named = || {
            let tasks = std::fs::read_dir(format!("/proc/{}/task", edge.pid())).unwrap();
            let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
            names.filter(|comm| comm.starts_with(name)).count()
        };
        wait_for(&format!("{expected} threads of {name}"), || (named() == expected).then_some(()));
    };
    runs("threads = 2\nscan_threads = 1\n", "listener", 2);
    runs("threads = 5\nscan_threads = 1\n", "listener", 5);
    runs("threads = 2\nscan_threads = 1\n", "scan", 1);
    runs("threads = 2\nscan_threads = 4\n", "scan", 4);
}

#[test]
fn state_is_kept_where_it_is_set() {
    let origin = Origin::echo();
    let edge = Edge::start(&format!("state_dir = \"elsewhere\"\n{}", zone(&origin, "")));
    assert!(edge.folder.path().join("elsewhere/portcullis.db").exists());
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(edge.folder.path().join("elsewhere/run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "the upgrade socket's folder is private");
}

#[test]
fn timeouts_reach_the_peer() {
    let conf = parse("[upstream]\nconnect_timeout = \"7s\"\nidle_timeout = \"8s\"\nread_timeout = \"9s\"\n");
    let key = portcullis::upstream::OriginKey {
        zone: "z".into(),
        url: "http://192.0.2.1".into(),
        http2: false,
        ca: None,
    };
    let origin = portcullis::upstream::Origin::new(key).unwrap();
    let peer = portcullis::upstream::peer::peer(&origin, "192.0.2.1:80".parse().unwrap(), &conf.upstream);
    let seconds = |duration: Option<std::time::Duration>| duration.map(|d| d.as_secs());
    assert_eq!(seconds(peer.options.total_connection_timeout), Some(7));
    assert_eq!(seconds(peer.options.idle_timeout), Some(8));
    assert_eq!(seconds(peer.options.read_timeout), Some(9));
}

#[test]
fn unused_connections_are_kept_up_to_the_pool() {
    use std::io::Write;
    use std::sync::{Arc, Barrier};
    let used = |pool: usize| {
        let together = Arc::new(Barrier::new(4));
        let arrived = Arc::clone(&together);
        let peers = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
        let seen = Arc::clone(&peers);
        let origin = Origin::start(move |request, stream| {
            seen.lock().unwrap().insert(stream.peer_addr().unwrap());
            if request.path() == "/together" {
                arrived.wait();
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_ok()
        });
        let edge = Edge::start(&format!("threads = 1\n{}[upstream]\npool = {pool}\n", zone(&origin, "")));
        for _ in 0..2 {
            let address = edge.proxy[0];
            let calls: Vec<_> = (0..4)
                .map(|_| std::thread::spawn(move || Client::get(address, "a.example", "/together").status))
                .collect();
            assert!(calls.into_iter().all(|call| call.join().unwrap() == 200));
        }
        peers.lock().unwrap().len()
    };
    assert_eq!(used(8), 4, "all four are used again");
    assert!(used(1) > 4, "only one is kept");
}

#[test]
fn level_and_threshold_move_the_verdict() {
    let origin = Origin::echo();
    let status = |waf: &str, target: &str| {
        let edge = Edge::start(&zone(&origin, &format!("[zones.waf]\n{waf}")));
        Client::once(
            edge.proxy[0],
            format!("GET {target} HTTP/1.1\r\nHost: a.example\r\nUser-Agent: x\r\n\r\n"),
        )
        .status
    };
    let (two, level_2) =
        ("/?q=1'%20UNION%20SELECT%20a%20FROM%20b&f=php://input", "/?u=http://192.0.2.1/&q=%07");
    assert_eq!(
        (status("", two), status("score_threshold = 10\n", two), status("score_threshold = 11\n", two)),
        (403, 403, 200)
    );
    assert_eq!((status("", level_2), status("paranoia_level = 2\n", level_2)), (200, 403));
}

#[test]
fn the_long_form_overrides_categories_rules_and_threshold() {
    let origin = Origin::echo();
    let example = include_str!("../../conf/examples/overrides.toml");
    let conf = example
        .replace("[\"http://127.0.0.1:9000\", \"http://127.0.0.1:9001\"]", &format!("[\"{}\"]", origin.url()))
        .replace("shop.example", "a.example")
        .replace("0.0.0.0:8080", "127.0.0.1:0");
    let edge = Edge::start(&conf);
    let status = |target: &str| Client::get(edge.proxy[0], "a.example", target).status;
    // Two critical matches reach ten, one does not; the template category is off.
    assert_eq!(status("/?q=1'%20UNION%20SELECT%20a%20FROM%20b&f=php://input"), 403);
    assert_eq!(status("/?q=%7B%7B7*7%7D%7D&r=%7B%7B7*7%7D%7D"), 200);
    assert_eq!(status("/?q=php://input"), 200);
}

#[test]
fn a_configuration_without_listeners_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.toml"), "").unwrap();
    let output = std::process::Command::new(BINARY)
        .args(["run", "--conf", "p.toml"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no `[[listeners]]`"));
}

#[test]
fn certificates_that_nobody_can_use_are_warned_of() {
    let warned = |conf: &str| {
        let (_, found) = conf::parse(&Source::new("t.toml", conf.to_owned()), Path::new("/")).unwrap();
        found.to_string()
    };
    let zone = "[[zones]]\nname = \"a.example\"\norigins = [\"http://127.0.0.1:9\"]\ntls = \"auto\"\n";
    let plain = warned(&format!("[[listeners]]\naddress = \"127.0.0.1:0\"\n{zone}"));
    assert!(plain.contains("no listener speaks TLS") && plain.contains("kept unsealed"), "{plain}");
    let speaking = warned(&format!("[[listeners]]\naddress = \"127.0.0.1:0\"\ntls = true\n{zone}"));
    assert!(!speaking.contains("no listener speaks TLS"), "{speaking}");
    assert!(!warned(zone).contains("no listener speaks TLS"), "the ports of HTTP are there by themselves");
}
