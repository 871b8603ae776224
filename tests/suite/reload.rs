//! Snapshots swapped while requests run.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{Client, Edge, Origin, wait_for};

fn conf(origin: &str, action: &str) -> String {
    format!(
        "log_level = \"warn\"\n[[zones]]\nname = \"127.0.0.1\"\norigins = [\"{origin}\"]\n[zones.waf]\naction = \"{action}\"\n"
    )
}

const ATTACK: &str = "/?q=1'%20UNION%20SELECT%20a%20FROM%20b";

#[test]
fn a_changed_file_and_sighup_take_effect_and_a_broken_file_changes_nothing() {
    let origin = Origin::echo();
    let mut edge = Edge::start(&conf(&origin.url(), "block").replace("warn", "info"));
    let status = |edge: &Edge| Client::get(edge.proxy[0], "127.0.0.1", ATTACK).status;
    assert_eq!(status(&edge), 403);
    edge.rewrite(&conf(&origin.url(), "log").replace("warn", "info"));
    wait_for("the file's change", || (status(&edge) == 200).then_some(()));
    let logged = edge.wait_for_event("security_event", |event| event["Action"] == "log");
    assert_eq!(logged["EdgeResponseStatus"], 200);

    edge.rewrite("[[zones]]\nname = \"127.0.0.1\"\norigin = []\nthreads = \"many\"\n");
    let refused = edge.wait_for_event("snapshot_refused", |_| true);
    let text = refused["diagnostics"].to_string();
    assert!(
        text.contains("unknown key `zones.origin`") && text.contains("`zones.origins` is missing"),
        "{text}"
    );
    assert_eq!(status(&edge), 200, "the old snapshot goes on");
    assert!(edge.metric("portcullis_snapshots_refused_total") >= 1.0);

    edge.rewrite(&conf(&origin.url(), "block").replace("warn", "info"));
    edge.signal("HUP");
    wait_for("the reload", || (status(&edge) == 403).then_some(()));
    edge.wait_for_event("snapshot_published", |event| event["revision"].as_u64() > Some(2));
}

#[test]
fn rule_files_are_watched_and_their_mistakes_located() {
    let origin = Origin::echo();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("rules")).unwrap();
    let file = folder.path().join("rules/own.conf");
    let rule = |word: &str| {
        format!("SecRule ARGS \"@contains {word}\" \"id:1,phase:2,deny,status:418,msg:'own'\"\n")
    };
    std::fs::write(&file, rule("needle")).unwrap();
    let conf = format!(
        "[rules]\nowasp = [\"rules\"]\n[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n",
        origin.url()
    );
    let mut edge = Edge::start_in(folder, &conf, &[]);
    let status =
        |edge: &Edge, word: &str| Client::get(edge.proxy[0], "a.example", &format!("/?q={word}")).status;
    assert_eq!((status(&edge, "needle"), status(&edge, "hay")), (418, 200));
    std::fs::write(&file, rule("hay")).unwrap();
    wait_for("the new rule", || (status(&edge, "hay") == 418).then_some(()));
    std::fs::write(&file, "SecRule ARGZ \"@rx (\" \"id:1,deny\"\n").unwrap();
    let refused = edge.wait_for_event("snapshot_refused", |_| true);
    let text = refused["diagnostics"].to_string();
    assert!(text.contains("own.conf:1:9") && text.contains("did you mean `ARGS`?"), "{text}");
    assert_eq!(status(&edge, "hay"), 418);
}

/// Snapshots of two small alternating rule sets while wrk runs: no request fails, memory stays. `RELOADS` says how many;
/// `make soak` makes 10,000.
#[test]
fn many_reloads_under_load() {
    let reloads: u64 = std::env::var("RELOADS").map_or(500, |text| text.parse().unwrap());
    let origin = Origin::fixed("text/plain", "fine");
    let folder = tempfile::tempdir().unwrap();
    for (name, word) in [("a.conf", "needle"), ("b.conf", "hay")] {
        let rules = format!(
            "SecRule ARGS \"@contains {word}\" \"id:1,phase:2,deny,msg:'one'\"\nSecRule ARGS \"@rx ^{word}$\" \"id:2,phase:2,deny,msg:'two'\"\n"
        );
        std::fs::write(folder.path().join(name), rules).unwrap();
    }
    std::fs::copy(folder.path().join("a.conf"), folder.path().join("own.conf")).unwrap();
    let conf = format!(
        "log_level = \"error\"\n[rules]\nowasp = [\"own.conf\"]\n[[zones]]\nname = \"127.0.0.1\"\norigins = [\"{}\"]\n[zones.waf]\n",
        origin.url()
    );
    let edge = Edge::start_in(folder, &conf, &[]);
    let script = edge.folder.path().join("wrk.lua");
    // wrk itself counts only 4xx and 5xx in all; each must be told apart from a socket error.
    std::fs::write(&script, "done = function(s) io.write(string.format('bad=%d\\n', s.errors.connect + s.errors.read + s.errors.write + s.errors.status + s.errors.timeout)) end\n").unwrap();
    let mut wrk = Command::new("wrk")
        .args(["-t1", "-c8", "-d600s", "-s"])
        .arg(&script)
        .arg(format!("http://{}/?q=other", edge.proxy[0]))
        .stdout(Stdio::piped())
        .spawn()
        .expect("wrk is installed");
    let revision = || edge.metric("portcullis_snapshot_revision") as u64;
    // Memory at a moment says little; many moments, early and late, do.
    let mut memory: Vec<(u64, u64)> = Vec::new();
    let (mut at, mut turn) = (revision(), 0);
    while at < reloads {
        turn += 1;
        let (from, to) = (["a.conf", "b.conf"][turn % 2], edge.folder.path().join("own.conf.next"));
        std::fs::copy(edge.folder.path().join(from), &to).unwrap();
        std::fs::rename(&to, edge.folder.path().join("own.conf")).unwrap();
        edge.signal("HUP");
        at = wait_for("a reload", || Some(revision()).filter(|now| *now > at));
        if (turn as u64).is_multiple_of((reloads / 500).max(1)) {
            memory.push((at, edge.resident_kib()));
        }
    }
    let sorted = |range: std::ops::Range<u64>| {
        let mut kib: Vec<u64> =
            memory.iter().filter(|(at, _)| range.contains(at)).map(|(_, kib)| *kib).collect();
        kib.sort_unstable();
        kib
    };
    // The most it had once pools and caches were full, against what it has in the end.
    let early = *sorted(reloads / 10..reloads * 3 / 10).last().unwrap();
    let last = sorted(reloads * 8 / 10..reloads);
    let late = last[last.len() / 2];
    Command::new("kill").args(["-INT", &wrk.id().to_string()]).status().unwrap();
    wait_for("wrk to end", || wrk.try_wait().unwrap());
    let mut text = String::new();
    std::io::Read::read_to_string(&mut wrk.stdout.take().unwrap(), &mut text).unwrap();
    assert!(text.contains("bad=0"), "{text}");
    assert!(late as f64 <= early as f64 * 1.05, "memory grew from {early} to {late} KiB");
    let answered =
        edge.metric("portcullis_requests_total{status=\"200\",verdict=\"pass\",zone=\"127.0.0.1\"}");
    assert!(answered > reloads as f64, "{answered} requests");
    let _ = writeln!(std::io::stderr(), "{reloads} reloads, {answered} requests, {early} to {late} KiB");
}

#[test]
fn sigterm_finishes_what_is_under_way() {
    let (release, waiting) = std::sync::mpsc::channel::<()>();
    let waiting = std::sync::Mutex::new(waiting);
    let origin = Origin::start(move |_, stream| {
        let _ = waiting.lock().unwrap().recv();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").is_ok()
    });
    let mut edge = Edge::start(&conf(&origin.url(), "block"));
    let mut idle = Client::connect(edge.proxy[0]);
    let mut client = Client::connect(edge.proxy[0]);
    client.send("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    wait_for("the request at the origin", || (!origin.requests().is_empty()).then_some(()));
    edge.signal("TERM");
    assert!(idle.is_closed());
    release.send(()).unwrap();
    assert_eq!(client.receive().unwrap().text(), "ok");
    drop(client);
    assert!(edge.wait_for_exit().success());
}
