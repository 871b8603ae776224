//! The audit log that rule files of other engines ask for, through the edge.

use serde_json::Value;

use crate::support::{Client, Edge, Origin, wait_for};

const RULES: &str = "SecRuleEngine On\nSecComponentSignature \"own/1.0\"\nSecAuditLogParts ABCFHZ\nSecAuditLogRelevantStatus \"^(?:5|4(?!04))\"\n\
     SecRule ARGS:q \"@streq attack\" \"id:7,phase:2,deny,status:403,log,auditlog,msg:'an attack',tag:'t1',severity:'CRITICAL',ver:'own/1.0'\"\n\
     SecRule ARGS:q \"@streq odd\" \"id:8,phase:2,pass,log,noauditlog\"\n\
     SecRule ARGS:q \"@streq quiet\" \"id:9,phase:2,pass,nolog,auditlog,msg:'one that is quiet'\"\n";

/// An edge with these rules and `more`, in whose folder the log is `audit.log`.
fn edge(origin: &Origin, more: &str) -> Edge {
    let folder = tempfile::tempdir().unwrap();
    let rules = format!("{RULES}SecAuditLog audit.log\n{more}");
    std::fs::write(folder.path().join("own.conf"), rules).unwrap();
    let conf = format!(
        "[rules]\nowasp = [\"own.conf\"]\n[[zones]]\nname = \"app.example\"\norigins = [\"{}\"]\n[zones.waf]\n",
        origin.url()
    );
    Edge::start_in(folder, &conf, &[])
}

/// Waits until the log has this many lines.
fn lines(edge: &Edge, count: usize) -> Vec<String> {
    let path = edge.folder.path().join("audit.log");
    wait_for("lines of the audit log", || {
        let lines: Vec<String> = std::fs::read_to_string(&path).ok()?.lines().map(str::to_owned).collect();
        (lines.len() >= count).then_some(lines)
    })
}

fn post(edge: &Edge, body: &str) -> u16 {
    let kind = "application/x-www-form-urlencoded";
    Client::post(edge.proxy[0], "app.example", "/a?b=1", kind, body.as_bytes()).status
}

#[test]
fn relevant_requests_have_a_line_of_json() {
    let origin = Origin::fixed("text/plain", "ok");
    let edge = edge(&origin, "SecAuditEngine RelevantOnly\nSecAuditLogType Serial\nSecAuditLogFormat JSON\n");
    // Of the first two neither the status nor a rule asks for a record.
    let sent = ["q=plain", "q=odd", "q=attack", "q=quiet"].map(|body| post(&edge, body));
    assert_eq!(sent, [200, 200, 403, 200]);
    let lines = lines(&edge, 2);
    assert_eq!(lines.len(), 2, "{lines:?}");
    let mut records: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    // A request ends after its answer, so that the next may end before it.
    records.sort_by_key(|record| record["transaction"]["messages"][0]["message"].to_string());
    let transaction = &records[0]["transaction"];
    assert_eq!(transaction["client_ip"], "127.0.0.1");
    assert_eq!(transaction["request"]["method"], "POST");
    assert_eq!(transaction["request"]["http_version"], 1.1);
    assert_eq!(transaction["request"]["uri"], "/a?b=1");
    assert_eq!(transaction["request"]["body"], "q=attack");
    assert_eq!(transaction["request"]["headers"]["Host"], "app.example");
    assert_eq!(transaction["response"]["http_code"], 403);
    assert_eq!(transaction["producer"]["components"][0], "own/1.0");
    let details = &transaction["messages"][0]["details"];
    assert_eq!(transaction["messages"][0]["message"], "an attack");
    assert_eq!(details["match"], "Matched variable `ARGS:q' (Value: `attack' )");
    assert_eq!((&details["ruleId"], &details["lineNumber"]), (&"7".into(), &"5".into()));
    assert_eq!((&details["severity"], &details["tags"][0]), (&"2".into(), &"t1".into()));
    assert!(details["file"].as_str().unwrap().ends_with("own.conf"));
    let refused = edge.events().into_iter().find(|event| event["event"] == "security_event").unwrap();
    assert_eq!(transaction["unique_id"], refused["RayID"]);
    let transaction = &records[1]["transaction"];
    assert_eq!(transaction["messages"][0]["message"], "one that is quiet");
    assert_eq!(transaction["response"]["headers"]["content-type"], "text/plain");
    assert_eq!(edge.metric("portcullis_audit_records_lost_total"), 0.0);
}

#[test]
fn a_concurrent_log_has_a_file_for_each_record_and_a_line_that_says_where() {
    let origin = Origin::fixed("text/plain", "ok");
    let edge =
        edge(&origin, "SecAuditEngine On\nSecAuditLogType Concurrent\nSecAuditLogStorageDir records\n");
    assert_eq!(["q=plain", "q=attack"].map(|body| post(&edge, body)), [200, 403]);
    let lines = lines(&edge, 2);
    let mut bodies = Vec::new();
    for line in &lines {
        assert!(line.starts_with("app.example 127.0.0.1 - ["), "{line}");
        let name = line.split(' ').find(|word| word.starts_with("/2")).unwrap();
        let text = std::fs::read_to_string(edge.folder.path().join("records").join(&name[1..])).unwrap();
        assert!(line.ends_with(&format!(" 0 {}", text.len())), "{line}");
        let record: Value = serde_json::from_str(&text).unwrap();
        bodies.push(record["transaction"]["request"]["body"].as_str().unwrap().to_owned());
    }
    // A request ends after its answer, so that the next may end before it.
    bodies.sort();
    assert_eq!(bodies, ["q=attack", "q=plain"]);
}

#[test]
fn a_log_that_cannot_be_written_is_said_once_and_stops_nothing() {
    let origin = Origin::fixed("text/plain", "ok");
    let mut edge = edge(&origin, "SecAuditEngine On\nSecAuditLog missing/audit.log\n");
    assert_eq!(["q=1", "q=2", "q=3"].map(|body| post(&edge, body)), [200; 3]);
    edge.wait_for_metric("portcullis_audit_records_lost_total", 3.0);
    let failed = edge.wait_for_event("service_failed", |event| event["service"] == "audit log");
    assert!(failed["error"].as_str().unwrap().contains("missing/audit.log"), "{failed}");
    assert_eq!(edge.events().iter().filter(|event| event["event"] == "service_failed").count(), 1);
}

#[test]
fn a_log_that_nobody_reads_does_not_keep_the_process() {
    let origin = Origin::fixed("text/plain", "ok");
    let mut edge = edge(&origin, "SecAuditEngine On\nSecAuditLog pipe\n");
    let made = std::process::Command::new("mkfifo").arg(edge.folder.path().join("pipe")).status().unwrap();
    assert!(made.success());
    assert_eq!(["q=1", "q=2"].map(|body| post(&edge, body)), [200; 2]);
    edge.signal("TERM");
    assert!(edge.wait_for_exit().success());
}
