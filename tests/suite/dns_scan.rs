//! Records that a zone had elsewhere: looked for, reviewed, taken. Elsewhere is another edge.

use serde_json::{Value, json};

use crate::dns_server::name_server;
use crate::support::{Api, Edge, wait_for};

/// What the zone has elsewhere.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("A", "@", "192.0.2.1"),
    ("A", "www", "192.0.2.2"),
    ("AAAA", "www", "2001:db8::2"),
    ("CNAME", "shop", "www.example.com"),
    ("TXT", "@", "\"v=spf1 -all\""),
    ("TXT", "_dmarc", "\"v=DMARC1; p=none\""),
    ("A", "*", "192.0.2.99"),
    ("A", "unheard-of", "192.0.2.3"),
];

/// An edge that asks another one, which has the zone too; the path of the zone's records.
fn edges() -> ((Edge, Edge), Api, String) {
    let (elsewhere, other, resolver, others) = name_server("");
    for (record_type, name, content) in ELSEWHERE {
        other.post(&others, &json!({"type": record_type, "name": name, "content": content, "ttl": 600}));
    }
    other.post(
        &others,
        &json!({"type": "MX", "name": "@", "content": "mail.example.net", "priority": 5, "ttl": 600}),
    );
    let service = json!({"priority": 1, "weight": 2, "port": 5060, "target": "sip.example.net"});
    other.post(&others, &json!({"type": "SRV", "name": "_sip._tcp", "data": service, "ttl": 600}));
    let (edge, api, _, records) = name_server(&format!("resolvers = [\"{resolver}\"]\n"));
    ((elsewhere, edge), api, records)
}

fn summary(records: &Value) -> Vec<String> {
    let one = |record: &Value| {
        let [name, record_type, content] =
            ["name", "type", "content"].map(|field| record[field].as_str().unwrap());
        format!("{} {record_type} {content}", name.trim_end_matches("example.com"))
    };
    let mut all: Vec<String> = records.as_array().unwrap().iter().map(one).collect();
    all.sort();
    all
}

const FOUND: [&str; 9] = [
    " A 192.0.2.1",
    " MX mail.example.net",
    " TXT \"v=spf1 -all\"",
    "*. A 192.0.2.99",
    "_dmarc. TXT \"v=DMARC1; p=none\"",
    "_sip._tcp. SRV 2 5060 sip.example.net",
    "shop. CNAME www.example.com",
    "www. A 192.0.2.2",
    "www. AAAA 2001:db8::2",
];

#[test]
fn what_is_found_waits_for_review() {
    let (_edges, api, records) = edges();
    api.post(&records, &json!({"type": "A", "name": "www", "content": "192.0.2.2"}));
    let review = format!("{records}/scan/review");
    assert_eq!(api.get(&review), json!([]), "nothing was looked for");
    assert_eq!(api.post(&format!("{records}/scan/trigger"), &json!({})), Value::Null);
    let found = wait_for("the scan to end", || {
        let found = api.get(&review);
        (!found.as_array().unwrap().is_empty()).then_some(found)
    });
    let expected: Vec<&str> = FOUND.into_iter().filter(|line| *line != "www. A 192.0.2.2").collect();
    assert_eq!(summary(&found), expected, "but for what is there");
    assert!(
        found.as_array().unwrap().iter().all(|record| record["ttl"] == 600 && record["proxied"] == false)
    );
    let of = |name: &str| {
        let all = found.as_array().unwrap();
        all.iter()
            .find(|record| record["name"] == format!("{name}example.com") && record["type"] != "MX")
            .unwrap()
            .clone()
    };
    let mut shop = of("shop.");
    shop["comment"] = json!("as it was");
    let body = json!({"accepts": [shop, of("_dmarc.")], "rejects": [{"id": of("*.")["id"]}]});
    let plan = api.result("POST", &format!("{review}?dry_run=true"), &body);
    assert_eq!(plan["accepts"].as_array().unwrap().len(), 2);
    assert_eq!(summary(&api.get(&review)).len(), 8, "a plan changes nothing");
    let done = api.post(&review, &body);
    assert_eq!(
        (&done["accepts"][0]["comment"], &done["rejects"]),
        (&json!("as it was"), &json!([of("*.")["id"]]))
    );
    assert_eq!(summary(&api.get(&records)).len(), 3);
    assert_eq!(summary(&api.get(&review)).len(), 5);
    let refused =
        api.ask("POST", &review, "", "{\"accepts\":[{\"type\":\"A\",\"name\":\"x\"}],\"rejects\":[{}]}");
    assert!(refused.status == 400 && refused.text().contains("/rejects/0/id"), "{}", refused.text());
    let refused = api.ask("POST", &review, "", "{\"accepts\":[{\"type\":\"A\",\"name\":\"x\"}]}");
    assert!(refused.status == 400 && refused.text().contains("/accepts/0/content"), "{}", refused.text());
}

#[test]
fn what_is_found_is_taken_at_once_by_the_form_of_before() {
    let (_edges, api, records) = edges();
    api.post(&records, &json!({"type": "CNAME", "name": "www", "content": "elsewhere.example"}));
    let taken = api.post(&format!("{records}/scan"), &json!({}));
    // An alias stands at `www`, so that its addresses cannot.
    assert_eq!(taken, json!({"recs_added": 7, "total_records_parsed": 9}));
    assert_eq!(summary(&api.get(&records)).len(), 8);
    assert_eq!(api.post(&format!("{records}/scan"), &json!({}))["recs_added"], 0);
}

/// Who does not answer is asked once, not hundreds of times: clients wait a minute.
#[test]
fn resolvers_that_do_not_answer_are_named() {
    let (_edge, api, _, records) = name_server("resolvers = [\"127.0.0.1:9\"]\n");
    assert_eq!(api.refused("POST", &format!("{records}/scan"), &json!({})), (503, vec![10_023]));
    api.post(&format!("{records}/scan/trigger"), &json!({}));
    let said = wait_for("the scan to end", || {
        let (_, answer) = api.call("GET", &format!("{records}/scan/review"), &Value::Null);
        answer["messages"].as_array().unwrap().iter().find(|item| item["code"] == 10_023).cloned()
    });
    assert!(said["message"].as_str().unwrap().contains("do not answer for `example.com"), "{said}");
}
