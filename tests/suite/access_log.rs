//! Requests in a log of their own.

use serde_json::Value;

use crate::support::{Client, Edge, Origin, refused_by_check, wait_for};

fn edge(origin: &Origin, settings: &str) -> Edge {
    Edge::start(&format!(
        "[access_log]\nfile = \"access.log\"\n{settings}[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n",
        origin.url()
    ))
}

fn send(edge: &Edge, target: &str, fields: &str) -> u16 {
    let head = format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n{fields}Connection: close\r\n\r\n");
    Client::once(edge.proxy[0], head).status
}

fn lines(edge: &Edge, file: &str, count: usize) -> Vec<String> {
    wait_for("the lines", || {
        let text = std::fs::read_to_string(edge.folder.path().join(file)).ok()?;
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        (lines.len() >= count).then_some(lines)
    })
}

#[test]
fn lines_are_as_log_tools_read_them_and_follow_a_rotation() {
    let origin = Origin::fixed("text/plain", "12345");
    let mut edge = edge(&origin, "format = \"combined\"\n");
    let fields = "Referer: http://x.example/\r\nUser-Agent: a \"quoted\" \\ agent\r\n";
    assert_eq!(send(&edge, "/page?q=1", fields), 200);
    assert_eq!(send(&edge, "/?q=1'%20UNION%20SELECT%20a%20FROM%20b--", ""), 403);
    let found = lines(&edge, "access.log", 2);
    let (before, after) = found[0].split_once('[').unwrap();
    let (time, after) = after.split_once(']').unwrap();
    assert_eq!(before, "127.0.0.1 - - ");
    assert!(time.len() == 26 && time.ends_with(" +0000"), "{time}");
    assert_eq!(after, r#" "GET /page?q=1 HTTP/1.1" 200 5 "http://x.example/" "a \"quoted\" \\ agent""#);
    assert!(
        found[1].contains(r#""GET /?q=1'%20UNION%20SELECT%20a%20FROM%20b-- HTTP/1.1" 403 "#),
        "{}",
        found[1]
    );
    assert!(found[1].ends_with(r#" "-" "-""#), "{}", found[1]);
    assert!(edge.events().iter().all(|event| event["event"] != "request"), "they are not in both");
    edge.wait_for_event("security_event", |_| true);
    // As logrotate does it.
    let folder = edge.folder.path().to_owned();
    std::fs::rename(folder.join("access.log"), folder.join("access.log.1")).unwrap();
    assert_eq!(send(&edge, "/old", ""), 200);
    assert_eq!(lines(&edge, "access.log.1", 3).len(), 3);
    edge.signal("USR1");
    wait_for("a line in the new file", || {
        send(&edge, "/new", "");
        std::fs::read_to_string(folder.join("access.log")).ok().filter(|text| text.contains("/new"))
    });
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(folder.join("access.log")).unwrap().permissions().mode();
    assert_eq!(mode & 0o137, 0, "not for others");
}

#[test]
fn as_many_requests_as_is_said_have_a_line() {
    let origin = Origin::fixed("text/plain", "12345");
    let edge = edge(&origin, "sample_every = 3\n");
    for nth in 0..7 {
        assert_eq!(send(&edge, &format!("/{nth}"), ""), 200);
    }
    let paths: Vec<Value> = lines(&edge, "access.log", 3)
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["ClientRequestPath"].clone())
        .collect();
    assert_eq!(paths, ["/0", "/3", "/6"]);
    assert!(
        edge.metric("portcullis_requests_total{status=\"200\",verdict=\"pass\",zone=\"a.example\"}") >= 7.0
    );
    let refused = refused_by_check("[access_log]\nfile = \"a\"\nformat = \"apache\"\nsample_every = 0\n");
    assert!(
        refused.contains("expected one of `json`, `common`, `combined`")
            && refused.contains("from 1 to 1000000"),
        "{refused}"
    );
    let common = self::edge(&origin, "format = \"common\"\n");
    assert_eq!(send(&common, "/", "User-Agent: x\r\n"), 200);
    assert!(lines(&common, "access.log", 1)[0].ends_with("\"GET / HTTP/1.1\" 200 5"));
}

#[test]
fn fields_are_chosen_and_named_as_log_tools_know_them() {
    let origin = Origin::fixed("text/plain", "12345");
    let fields = "fields = [\"msg\", \"time\", \"ClientRequestURI\", \"EdgeResponseStatus\", \"ClientRequestUserAgent\", \
                  \"CacheCacheStatus\", \"level\"]\n";
    let edge = edge(&origin, fields);
    assert_eq!(send(&edge, "/a?b=\"c\"", "User-Agent: \"x\\\r\n"), 200);
    let line = lines(&edge, "access.log", 1).remove(0);
    let written: Value = serde_json::from_str(&line).unwrap();
    let start = "{\"msg\":\"request answered\",\"time\":\"2";
    assert!(line.starts_with(start), "in the order that is asked for: {line}");
    assert_eq!(
        (&written["ClientRequestURI"], &written["ClientRequestUserAgent"]),
        (&Value::from("/a?b=%22c%22"), &Value::from("\"x\\"))
    );
    assert_eq!(
        (&written["EdgeResponseStatus"], &written["CacheCacheStatus"]),
        (&Value::from(200), &Value::Null)
    );
    assert_eq!(written.as_object().unwrap().len(), 7);
    // Each line of the log has them too.
    for event in edge.events() {
        let is_text = |name: &str| event[name].as_str().is_some_and(|text| !text.is_empty());
        assert!(["time", "level", "msg", "event"].into_iter().all(is_text), "{event}");
    }
    for (settings, expected) in [
        ("fields = [\"Datetime\"]\n", "unknown field `Datetime`; expected `time`"),
        ("format = \"common\"\nfields = [\"time\"]\n", "is for the format `json`"),
    ] {
        let refused = refused_by_check(&format!("[access_log]\nfile = \"a\"\n{settings}"));
        assert!(refused.contains(expected), "{refused}");
    }
}
