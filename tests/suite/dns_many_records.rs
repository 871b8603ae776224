//! Many DNS records at once: lists, batches, desired records, zone files.

use serde_json::{Value, json};

use crate::api::TOKEN;
use crate::dns_records::{examples, id, record, zone};
use crate::support::Api;

#[test]
fn lists_are_filtered_sorted_and_paged() {
    let (_edge, api, records) = zone("", "example.com");
    for (record_type, name, content, comment, tags) in [
        ("A", "www", "192.0.2.1", Some("Front door"), json!(["team:web"])),
        ("A", "api", "192.0.2.2", None, json!(["team:api", "urgent"])),
        ("TXT", "www", "Hello world", None, json!([])),
        ("CNAME", "shop", "www.example.com", Some("back"), json!([])),
    ] {
        let mut body =
            json!({"type": record_type, "name": name, "content": content, "tags": tags, "ttl": 60});
        if let Some(comment) = comment {
            body["comment"] = json!(comment);
        }
        api.post(&records, &body);
    }
    let names = |query: &str| -> Vec<String> {
        let found = api.get(&format!("{records}?{query}"));
        let label = |record: &Value| {
            format!(
                "{}/{}",
                record["type"].as_str().unwrap(),
                record["name"].as_str().unwrap().split('.').next().unwrap()
            )
        };
        found.as_array().unwrap().iter().map(label).collect()
    };
    let filters = include_str!("../data/dns/filters.tsv");
    for row in filters.lines() {
        let (query, expected) = row.split_once('\t').unwrap();
        assert_eq!(names(query), expected.split_terminator(' ').collect::<Vec<_>>(), "{query}");
    }
    assert_eq!(filters.lines().count(), 37);
    for query in [
        "name=contains:x",
        "name=starts_with:x",
        "name=ends_with:x",
        "content=contains:x",
        "type=contains:A",
        "type=NOPE",
        "name=a.example.com,b.example.com",
        "content=192.0.2.1,192.0.2.2",
        "match=some",
        "order=age",
        "direction=up",
        "proxied=x",
    ] {
        assert_eq!(
            api.refused("GET", &format!("{records}?{query}"), &Value::Null),
            (400, vec![10006]),
            "{query}"
        );
    }
    let (_, answer) = api.call("GET", &format!("{records}?per_page=3"), &Value::Null);
    assert_eq!(
        answer["result_info"],
        json!({"page": 1, "per_page": 3, "count": 3, "total_count": 4, "total_pages": 2})
    );
    let (_, answer) = api.call("GET", &format!("{records}?type=MX"), &Value::Null);
    assert_eq!(
        answer["result_info"],
        json!({"page": 1, "per_page": 100, "count": 0, "total_count": 0, "total_pages": 1})
    );
}

#[test]
fn a_batch_is_all_or_nothing() {
    let (_edge, api, records) = zone("", "example.com");
    let batch = format!("{records}/batch");
    let made = api.post(&batch, &json!({"posts": [
        {"type": "A", "name": "a", "content": "192.0.2.1"}, {"type": "A", "name": "b", "content": "192.0.2.2"}]}));
    assert_eq!((made["posts"].as_array().unwrap().len(), &made["deletes"]), (2, &json!([])));
    let (a, b) = (id(&made["posts"][0]), id(&made["posts"][1]));
    let done = api.post(
        &batch,
        &json!({
        "deletes": [{"id": a}], "patches": [{"id": b, "ttl": 60}], "puts": null,
        "posts": [{"type": "CNAME", "name": "a", "content": "b.example.com"}]}),
    );
    assert_eq!((&done["deletes"][0], &done["patches"][0]["ttl"]), (&made["posts"][0], &json!(60)));
    assert_eq!(api.get(&format!("{records}/{}", id(&done["posts"][0]))), done["posts"][0]);
    let before = api.get(&records);
    let (status, refused) = api.call("POST", &batch, &json!({
        "deletes": [{"id": b}], "posts": [{"type": "A", "name": "c", "content": "192.0.2.3"}, {"type": "A", "name": "a", "content": "192.0.2.1"}]}));
    assert_eq!(
        (status, &refused["errors"][0]["code"], &refused["errors"][0]["source"]["pointer"]),
        (400, &json!(81054), &json!("/posts/1/name")),
        "{refused}"
    );
    assert_eq!(api.get(&records), before, "nothing of it is kept");
    let (_, refused) = api.call("POST", &batch, &json!({"deletes": [{}], "puts": [{"id": 5}]}));
    assert_eq!(refused["errors"].as_array().unwrap().len(), 2, "{refused}");
    for id in ["0".repeat(32), "F".repeat(32), "nonsense".to_owned()] {
        let missing = json!({"deletes": [{"id": id}]});
        assert_eq!(api.refused("POST", &batch, &missing), (404, vec![81044]), "{id}");
    }
}

#[test]
fn the_records_of_a_zone_become_those_that_are_listed() {
    let (_edge, api, records) = zone("", "example.com");
    let record = |kind: &str, name: &str, content: &str| json!({"type": kind, "name": name, "content": content, "ttl": 300});
    let kept = api.post(&records, &record("A", "www", "192.0.2.1"));
    let changed = api.post(&records, &record("A", "api", "192.0.2.2"));
    api.post(&records, &record("CNAME", "old", "www.example.com"));
    let ds = json!({"type": "DS", "name": "sub", "data": {"key_tag": 1, "algorithm": 13, "digest_type": 2, "digest": "aa"}});
    let wanted = json!({"records": [ds, record("A", "www", "192.0.2.1"), record("A", "api", "192.0.2.3"), record("A", "old", "192.0.2.4"),
        record("NS", "sub", "ns.example.net")]});
    let before = api.get(&records);
    let plan = api.result("PUT", &format!("{records}?dry_run=true"), &wanted);
    let counts = |plan: &Value| ["deletes", "puts", "posts"].map(|part| plan[part].as_array().unwrap().len());
    assert_eq!((counts(&plan), &plan["unchanged"]), ([1, 1, 3], &json!(1)), "{plan}");
    assert_eq!(api.get(&records), before, "a plan changes nothing");
    let done = api.result("PUT", &records, &wanted);
    assert_eq!(
        (counts(&done), &done["puts"][0]["id"], &done["puts"][0]["content"]),
        ([1, 1, 3], &changed["id"], &json!("192.0.2.3"))
    );
    assert_eq!(api.get(&format!("{records}/{}", id(&kept))), kept, "what is wanted as it is stays so");
    assert_eq!(api.get(&records).as_array().unwrap().len(), 5);
    let again = api.result("PUT", &records, &wanted);
    assert_eq!(
        (counts(&again), &again["unchanged"], &again["serial"]),
        ([0, 0, 0], &json!(5), &done["serial"])
    );
    let stale = format!("{records}?if_serial=1");
    assert_eq!(api.refused("PUT", &stale, &wanted), (412, vec![10010]));
    let wrong = json!({"records": [record("A", "www", "x"), record("A", "b", "192.0.2.1"), record("CNAME", "b", "c.example")]});
    let (status, answer) = api.call("PUT", &records, &wrong);
    assert_eq!(
        (status, &answer["errors"][0]["source"]["pointer"]),
        (400, &json!("/records/0/content")),
        "{answer}"
    );
    assert_eq!(api.refused("PUT", &records, &json!({})), (400, vec![10008]));
    assert_eq!(api.get(&records).as_array().unwrap().len(), 5);
    let serial = format!("{records}?if_serial={}", again["serial"]);
    assert_eq!(counts(&api.result("PUT", &serial, &json!({"records": []}))), [5, 0, 0]);
}

#[test]
fn zone_files_are_written_and_read() {
    let (_edge, api, records) = zone("", "example.com");
    for (record_type, name, value, _) in &examples() {
        api.post(&records, &record(record_type, name, value));
    }
    api.post(
        &records,
        &json!({"type": "A", "name": "p", "content": "198.51.100.1", "proxied": true,
        "comment": "says cf_tags=x", "tags": ["a:b,c", "d"]}),
    );
    let file = api.ask("GET", &format!("{records}/export"), "", "");
    assert_eq!(file.header("content-type"), Some("text/plain; charset=utf-8"));
    let export = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with(";;")).map(str::to_owned).collect()
    };
    let (_other, other_api, other) = zone("", "example.com");
    let form = |file: &str, more: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n{file}\r\n{more}--b--\r\n")
    };
    let import = |api: &Api, records: &str, body: &str| -> (u16, Value) {
        let answer = api.ask(
            "POST",
            &format!("{records}/import"),
            "Content-Type: multipart/form-data; boundary=b\r\n",
            body,
        );
        (answer.status, serde_json::from_slice(&answer.body).unwrap())
    };
    let (status, answer) = import(&other_api, &other, &form(&file.text(), ""));
    assert_eq!(
        (status, &answer["result"]),
        (200, &json!({"recs_added": 22, "total_records_parsed": 22})),
        "{answer}"
    );
    let again = other_api.ask("GET", &format!("{other}/export"), "", "");
    assert_eq!(export(&again.text()), export(&file.text()), "what is exported is imported whole");
    let (_, answer) = import(&other_api, &other, &form(&file.text(), ""));
    assert_eq!(answer["result"]["recs_added"], 0, "{answer}");
    let text = "$ORIGIN example.com.\n$TTL 1h\n@ SOA ns1 a 1 2 3 4 5\n@ NS ns1.elsewhere.example.\n$GENERATE 1-2 g$ A 198.51.100.$\n\
                q 30 IN A 198.51.100.9 ; cf_tags=cf-proxied:false\n";
    let proxied = "--b\r\nContent-Disposition: form-data; name=\"proxied\"\r\n\r\ntrue\r\n";
    let (_, answer) = import(&other_api, &other, &form(text, proxied));
    assert_eq!(answer["result"], json!({"recs_added": 3, "total_records_parsed": 5}), "{answer}");
    let found = |name: &str| other_api.get(&format!("{other}?name={name}.example.com"))[0].clone();
    assert_eq!(
        (&found("g1")["proxied"], &found("q")["proxied"], &found("q")["ttl"]),
        (&json!(true), &json!(false), &json!(60))
    );
    for (text, part) in [
        ("$INCLUDE x\n", "$INCLUDE directive not allowed"),
        ("a A 1\nb A 2\n", "line 2"),
        ("a.example.org. A 192.0.2.1\n", "not in the zone"),
        ("www CNAME x.example.\n", "line 1: An A, AAAA, or CNAME record"),
    ] {
        let (status, answer) = import(&other_api, &other, &form(text, ""));
        assert!(status == 400 && answer["errors"].to_string().contains(part), "{answer}");
    }
}

#[test]
fn records_return_to_what_they_were() {
    let (mut edge, api, records) = zone("", "example.com");
    let post = |body: Value| id(&api.post(&records, &body)).to_owned();
    let kept = post(json!({"type": "TXT", "name": "kept", "content": "\"k\"", "comment": "as it is"}));
    let changed = post(json!({"type": "A", "name": "www", "content": "192.0.2.1"}));
    let gone = post(json!({"type": "NS", "name": "sub", "content": "ns.example.net"}));
    post(
        json!({"type": "DS", "name": "sub", "data": {"key_tag": 1, "algorithm": 13, "digest_type": 2, "digest": "AABB"}}),
    );
    let before = api.get(&records);
    let history = format!("{records}/history");
    let serial = api.get(&history)[0]["serial"].clone();
    // The name of one becomes another's, and back.
    api.result("PATCH", &format!("{records}/{changed}"), &json!({"name": "api", "content": "192.0.2.2"}));
    post(json!({"type": "CNAME", "name": "www", "content": "api.example.com"}));
    for record in before.as_array().unwrap().iter().filter(|record| record["name"] == "sub.example.com") {
        api.result("DELETE", &format!("{records}/{}", id(record)), &Value::Null);
    }
    let past = api.get(&format!("{history}?per_page=3"));
    assert_eq!(past.as_array().unwrap().len(), 3);
    assert_eq!((&past[0]["put"], &past[0]["deleted"], &past[2]["put"]), (&json!(0), &json!(1), &json!(1)));
    assert!(
        past[0]["serial"].as_u64() > serial.as_u64() && past[0]["actor"].as_str().unwrap().contains("token"),
        "{past}"
    );
    let of_one = api.get(&format!("{records}/{changed}/history"));
    let names: Vec<_> = of_one.as_array().unwrap().iter().map(|past| &past["record"]["name"]).collect();
    assert_eq!(names, ["api.example.com", "www.example.com"]);
    assert_eq!(api.get(&format!("{records}/{gone}/history"))[0]["record"], Value::Null);
    assert_eq!(api.ask("GET", &format!("{records}/{}/history", "0".repeat(32)), "", "").status, 404);
    // A process that was started anew has few snapshots, and all serials.
    edge.signal("KILL");
    edge.wait_for_exit();
    let edge = edge.again();
    let api = Api::new(&edge, TOKEN);
    let rollback = format!("{records}/rollback");
    let body = json!({ "serial": serial });
    let plan = api.result("POST", &format!("{rollback}?dry_run=true"), &body);
    let count = |part: &str| plan[part].as_array().unwrap().len();
    assert_eq!((count("deletes"), count("puts"), count("posts"), &plan["unchanged"]), (1, 1, 2, &json!(1)));
    assert_eq!(api.get(&records).as_array().unwrap().len(), 3, "a plan changes nothing");
    api.result("POST", &rollback, &body);
    let strip = |list: &Value| -> Vec<Value> {
        let mut list = list.as_array().unwrap().clone();
        list.iter_mut().for_each(|record| drop(record.as_object_mut().unwrap().remove("modified_on")));
        list.sort_by_key(|record| id(record).to_owned());
        list
    };
    assert_eq!(strip(&api.get(&records)), strip(&before), "ids, comments and times of creation, too");
    assert_eq!(api.result("POST", &rollback, &body)["unchanged"], 4);
    assert_eq!(api.get(&format!("{records}/{kept}/history")).as_array().unwrap().len(), 1);
    for body in ["{}", "{\"serial\":0}", "{\"serial\":999999}", "{\"serial\":\"x\"}"] {
        let refused = api.ask("POST", &rollback, "", body);
        assert!(refused.status == 400 && refused.text().contains("/serial"), "{body}: {}", refused.text());
    }
    let stale = api.ask("POST", &rollback, "if-match: \"1\"\r\n", &body.to_string());
    assert_eq!(stale.status, 412, "{}", stale.text());
}
