//! Named lists: over the API and by file, as rules ask them.

use serde_json::{Value, json};

use crate::api::{edge, zone};
use crate::support::{Api, Client, Edge, Origin, refused_by_check};

const CUSTOM: &str = "http_request_firewall_custom";
const LISTS: &str = "/accounts/acme/rules/lists";

fn make(api: &Api, name: &str, kind: &str) -> String {
    let made = api.post(LISTS, &json!({"name": name, "kind": kind, "description": "for tests"}));
    assert_eq!((&made["num_items"], &made["num_referencing_filters"]), (&json!(0), &json!(0)));
    made["id"].as_str().unwrap().to_owned()
}

fn block(api: &Api, zone: &str, expression: &str) {
    let rules = json!({"rules": [{"action": "block", "expression": expression}]});
    api.result("PUT", &format!("/zones/{zone}/rulesets/phases/{CUSTOM}/entrypoint"), &rules);
}

fn status(edge: &Edge, host: &str) -> u16 {
    Client::get(edge.proxy[0], host, "/").status
}

/// The values of a list, in order.
fn values(api: &Api, id: &str, kind: &str) -> Vec<String> {
    let items = api.get(&format!("{LISTS}/{id}/items"));
    items.as_array().unwrap().iter().map(|item| item[kind].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_rule_asks_a_list_and_a_change_of_the_list_is_served_at_once() {
    let origin = Origin::echo();
    let (mut edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let list = make(&api, "office_ips", "ip");
    block(&api, &id, "ip.src in $office_ips");
    assert_eq!(status(&edge, "a.example"), 200);
    let items = format!("{LISTS}/{list}/items");
    let body =
        json!([{"ip": "127.0.0.0/8", "comment": "here"}, {"ip": "2001:DB8::/32"}, {"ip": "127.0.0.9/8"}]);
    let done = api.post(&items, &body);
    assert_eq!(status(&edge, "a.example"), 403, "what is answered holds");
    let operation = done["operation_id"].as_str().unwrap();
    let asked = api.get(&format!("{LISTS}/bulk_operations/{operation}"));
    assert_eq!(asked, json!({"id": operation, "status": "completed"}));
    assert_eq!(values(&api, &list, "ip"), ["127.0.0.0/8", "2001:db8::/32"], "in normal form, each once");
    let shown = api.get(&format!("{LISTS}/{list}"));
    assert_eq!((&shown["num_items"], &shown["num_referencing_filters"]), (&json!(2), &json!(1)));
    // A value that stays keeps its id.
    let before = api.get(&items)[1]["id"].clone();
    api.result("PUT", &items, &json!([{"ip": "192.0.2.1"}, {"ip": "2001:db8::/32"}]));
    assert_eq!(status(&edge, "a.example"), 200);
    assert_eq!(api.get(&items)[1]["id"], before);
    api.post(&items, &json!([{"ip": "::ffff:127.0.0.1"}]));
    assert_eq!(status(&edge, "a.example"), 403);
    let added = api.get(&format!("{items}?search=127.0"))[0].clone();
    assert_eq!(api.get(&format!("{items}/{}", added["id"].as_str().unwrap())), added);
    api.result("DELETE", &items, &json!({"items": [{"id": added["id"]}]}));
    assert_eq!(status(&edge, "a.example"), 200);
    // A list that rules name stays, and so does everything after a restart.
    assert_eq!(api.refused("DELETE", &format!("{LISTS}/{list}"), &Value::Null), (409, vec![10017]));
    api.post(&items, &json!([{"ip": "127.0.0.1"}]));
    edge.signal("KILL");
    edge.wait_for_exit();
    let edge = edge.again();
    let api = Api::new(&edge, crate::api::TOKEN);
    assert_eq!(status(&edge, "a.example"), 403);
    block(&api, &id, "false");
    assert_eq!(api.result("DELETE", &format!("{LISTS}/{list}"), &Value::Null), json!({"id": list}));
    assert_eq!(api.get(LISTS), json!([]));
}

#[test]
fn mistakes_of_lists_are_named_and_change_nothing() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let list = make(&api, "hosts", "hostname");
    let items = format!("{LISTS}/{list}/items");
    api.post(&items, &json!([{"hostname": "*.Shop.example"}]));
    for body in [
        json!({"name": "Hosts", "kind": "ip"}),
        json!({"name": "a", "kind": "redirect"}),
        json!({"kind": "ip"}),
        json!({"name": "x".repeat(51), "kind": "ip"}),
    ] {
        assert_eq!(api.refused("POST", LISTS, &body).0, 400, "{body}");
    }
    assert_eq!(api.refused("POST", LISTS, &json!({"name": "hosts", "kind": "ip"})), (409, vec![10017]));
    // Numbers are numbers, also where they are written as texts.
    let systems = make(&api, "systems", "asn");
    let path = format!("{LISTS}/{systems}/items");
    api.post(&path, &json!([{"asn": 64496}, {"asn": "AS64496"}, {"asn": "64511"}]));
    let numbers: Vec<Value> =
        api.get(&path).as_array().unwrap().iter().map(|item| item["asn"].clone()).collect();
    assert_eq!(numbers, [json!(64496), json!(64511)]);
    for bad in [json!([{"asn": 4_294_967_296_u64}]), json!([{"asn": -1}]), json!([{"asn": "x"}])] {
        assert_eq!(api.refused("POST", &path, &bad).0, 400, "{bad}");
    }
    for (body, pointers) in [
        (json!([{"ip": "192.0.2.1"}, {"hostname": "a b"}]), &["/0/hostname", "/1/hostname"][..]),
        (json!([1]), &["/0"]),
    ] {
        let (status, answer) = api.call("POST", &items, &body);
        let found: Vec<_> = answer["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| e["source"]["pointer"].as_str().unwrap())
            .collect();
        assert_eq!((status, found.as_slice()), (400, pointers), "{answer}");
    }
    assert_eq!(api.refused("POST", &items, &json!({})).0, 400);
    assert_eq!(api.refused("DELETE", &items, &json!({"items": [{"id": "none"}]})).0, 404);
    assert_eq!(api.refused("GET", &format!("{items}?cursor=none"), &Value::Null).0, 400);
    assert_eq!(
        api.refused("GET", &format!("{LISTS}/bulk_operations/{}", "f".repeat(32)), &Value::Null).0,
        404
    );
    assert_eq!(api.refused("GET", &format!("/accounts/other/rules/lists/{list}"), &Value::Null).0, 404);
    assert_eq!(values(&api, &list, "hostname"), ["*.shop.example"]);
    // Rules that name no list, one of another kind, or one of another account.
    let path = format!("/zones/{id}/rulesets/phases/{CUSTOM}/entrypoint");
    for expression in ["ip.src in $hosts", "http.host in $host", "http.host in $"] {
        let rules = json!({"rules": [{"action": "block", "expression": expression}]});
        let (status, answer) = api.call("PUT", &path, &rules);
        assert_eq!((status, &answer["errors"][0]["source"]["pointer"]), (400, &json!("/rules/0/expression")));
    }
    let dry = api.call("POST", &format!("{items}?dry_run=true"), &json!([{"hostname": "b.example"}]));
    assert_eq!((dry.0, values(&api, &list, "hostname").len()), (200, 1));
}

#[test]
fn lists_of_files_are_asked_and_read_again_when_they_change() {
    let origin = Origin::echo();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("office.txt");
    std::fs::write(&path, "# the office\n192.0.2.0/24 # west\n\n").unwrap();
    let conf = format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"api\"]\n\
         [[lists]]\nname = \"office\"\nkind = \"ip\"\ndescription = \"people\"\nfile = {path:?}\n\
         [[lists]]\nname = \"shops\"\nkind = \"hostname\"\nitems = [\"*.shop.example\"]\n\
         [[zones]]\nname = \"example\"\norigins = [\"{}\"]\n[zones.waf]\nexpression = 'not ip.src in $office'\n\
         [[rulesets]]\nphase = \"{CUSTOM}\"\n[[rulesets.rules]]\naction = \"block\"\n\
         expression = 'http.host in $shops and not ip.src in $office'\n",
        origin.url()
    );
    let edge = Edge::start(&conf);
    let revision = |edge: &Edge| edge.metric("portcullis_snapshot_revision");
    assert_eq!((status(&edge, "a.shop.example"), status(&edge, "shop.example")), (403, 200));
    let api = Api::new(&edge, "api");
    let lists = api.get("/accounts/default/rules/lists");
    let office = lists.as_array().unwrap().iter().find(|list| list["name"] == "office").unwrap();
    assert_eq!((&office["num_items"], &office["num_referencing_filters"]), (&json!(1), &json!(1)));
    let items = format!("/accounts/default/rules/lists/{}/items", office["id"].as_str().unwrap());
    assert_eq!(api.refused("POST", &items, &json!([{"ip": "192.0.2.1"}])), (409, vec![10009]));
    let before = revision(&edge);
    std::fs::write(&path, "192.0.2.0/24\n127.0.0.1\n").unwrap();
    crate::support::wait_for("the reload", || (revision(&edge) > before).then_some(()));
    assert_eq!(status(&edge, "a.shop.example"), 200);
    for (lists, message) in [
        ("[[lists]]\nname = \"A\"\nkind = \"ip\"\nitems = []", "is no name of a list"),
        ("[[lists]]\nname = \"a\"\nkind = \"redirect\"\nitems = []", "expected `ip`, `hostname` or `asn`"),
        ("[[lists]]\nname = \"a\"\nkind = \"ip\"", "either `items` or a `file`"),
        (
            "[[lists]]\nname = \"a\"\nkind = \"ip\"\nitems = [\"a.example\"]",
            "expected an address or a network",
        ),
        ("[[lists]]\nname = \"a\"\nkind = \"ip\"\nfile = \"nowhere.txt\"", "cannot read"),
        (
            "[[lists]]\nname = \"a\"\nkind = \"ip\"\nitems = []\n[[lists]]\nname = \"a\"\nkind = \"ip\"\nitems = []",
            "declared twice",
        ),
    ] {
        let refused = refused_by_check(&format!(
            "{lists}\n[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n",
            origin.url()
        ));
        assert!(refused.contains(message), "{refused}");
    }
}

#[test]
fn a_hundred_thousand_values_are_taken_paged_and_asked() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let list = make(&api, "many", "ip");
    let items = format!("{LISTS}/{list}/items");
    let value = |nth: u32| json!({"ip": std::net::Ipv4Addr::from(0x0a00_0000 + nth * 2).to_string()});
    for part in 0..2 {
        let body: Vec<Value> = (part * 50_000..(part + 1) * 50_000).map(value).collect();
        api.post(&items, &Value::Array(body));
    }
    assert_eq!(api.refused("POST", &items, &json!([{"ip": "192.0.2.1"}])), (400, vec![10008]));
    block(&api, &id, "ip.src in $many");
    assert_eq!(status(&edge, "a.example"), 200);
    let (mut seen, mut cursor) = (0, String::new());
    for _ in 0..3 {
        let (_, page) = api.call("GET", &format!("{items}?per_page=400{cursor}"), &Value::Null);
        seen += page["result"].as_array().unwrap().len();
        cursor = format!("&cursor={}", page["result_info"]["cursors"]["after"].as_str().unwrap());
    }
    assert_eq!(seen, 1200);
    let last = api.call("GET", &format!("{items}?search=10.3.13.62"), &Value::Null).1;
    assert_eq!((last["result"].as_array().unwrap().len(), &last["result_info"]["cursors"]), (1, &json!({})));
}
