//! Custom hostnames over the API, verified against another edge that has the customers' zones, and served.

use std::io::Write;
use std::net::TcpListener;

use serde_json::{Value, json};
use store::{Change, Changeset, SqliteStore, Store};

use crate::api::TOKEN;
use crate::dns_server::{SETTINGS, name_server};
use crate::support::{Api, Client, Edge, Origin, wait_for};

/// A CA that is not there.
pub(crate) const NO_CA: &str =
    "[[certificates.authorities]]\nname = \"nobody\"\ndirectory = \"https://localhost:9/dir\"\n";

/// The edge that serves customers' hostnames, the one that has the customers' zones, and an origin.
pub(crate) struct Saas {
    pub(crate) edge: Edge,
    pub(crate) api: Api,
    /// The path of the zone.
    pub(crate) zone: String,
    pub(crate) customers: Api,
    /// The path of records of the customers' zone, `example.com`.
    pub(crate) records: String,
    _elsewhere: Edge,
    _origin: Origin,
}

/// Answers with the host that it was asked for and what came with it.
fn origin() -> Origin {
    Origin::on(TcpListener::bind("127.0.0.2:0").unwrap(), |request, stream| {
        let metadata = request.header("x-tier").unwrap_or("").to_owned();
        let body = format!("{} {metadata}", request.header("host").unwrap_or(""));
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(head.as_bytes()).is_ok()
    })
}

impl Saas {
    pub(crate) fn start(settings: &str) -> Self {
        let origin = origin();
        let (elsewhere, customers, resolver, records) = name_server("");
        let port = origin.address.port();
        let names = if settings.contains("[custom_hostnames]") {
            ""
        } else {
            "[custom_hostnames]\nnames = \"any\"\n"
        };
        // Nobody outside this machine is asked.
        let section = if settings.contains("[certificates]") { "" } else { "[certificates]\n" };
        let nobody = format!("{section}{NO_CA}");
        let (top, settings) = settings.split_once("---\n").unwrap_or(("", settings));
        let edge = Edge::start(&format!(
            "{top}[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n[dns]\n{SETTINGS}private_origins = true\n\
             http_port = {port}\norigin_scheme = \"http\"\nresolvers = [\"{resolver}\"]\n{names}{settings}\n{nobody}"
        ));
        let api = Api::new(&edge, TOKEN);
        let zone = api.post("/zones", &json!({"name": "saas.dev"}));
        let zone = format!("/zones/{}", zone["id"].as_str().unwrap());
        let proxied = json!({"type": "A", "name": "origin", "content": "127.0.0.2", "proxied": true});
        api.post(&format!("{zone}/dns_records"), &proxied);
        Self { edge, api, zone, customers, records, _elsewhere: elsewhere, _origin: origin }
    }

    pub(crate) fn hostnames(&self) -> String {
        format!("{}/custom_hostnames", self.zone)
    }

    pub(crate) fn set_fallback(&self) {
        let path = format!("{}/fallback_origin", self.hostnames());
        let set = self.api.result("PUT", &path, &json!({"origin": "origin.saas.dev"}));
        assert_eq!((&set["origin"], &set["status"]), (&json!("origin.saas.dev"), &json!("active")));
    }

    /// A record of the customers' zone.
    pub(crate) fn customer_record(&self, kind: &str, name: &str, content: &str) -> Value {
        let record = json!({"type": kind, "name": name, "content": content, "ttl": 60});
        self.customers.post(&self.records, &record)["id"].clone()
    }

    /// Makes a hostname; its path.
    pub(crate) fn make(&self, body: &Value) -> String {
        let made = self.api.post(&self.hostnames(), body);
        format!("{}/{}", self.hostnames(), made["id"].as_str().unwrap())
    }

    pub(crate) fn wait_for_status(&self, path: &str, status: &str) -> Value {
        wait_for(&format!("{path} to be {status}"), || {
            let shown = self.api.get(path);
            (shown["status"] == status).then_some(shown)
        })
    }

    /// Waits until it was looked at, and then is not active for a reason.
    pub(crate) fn wait_for_error(&self, path: &str, error: &str) {
        wait_for(&format!("the error `{error}`"), || {
            let shown = self.api.get(path);
            let errors = shown["verification_errors"].as_array().cloned().unwrap_or_default();
            errors.iter().any(|found| found.as_str().unwrap().contains(error)).then_some(())
        });
    }

    pub(crate) fn ask(&self, host: &str) -> (u16, String) {
        let answer = Client::get(self.edge.proxy[0], host, "/");
        (answer.status, answer.text())
    }
}

#[test]
fn a_hostname_is_served_once_it_leads_to_the_zone_and_moves_when_it_does_not() {
    let mut saas = Saas::start("");
    let path = saas.make(&json!({"hostname": "Shop.Example.com."}));
    let shown = saas.api.get(&path);
    assert_eq!(
        (&shown["hostname"], &shown["status"], &shown["ssl"]),
        (&json!("shop.example.com"), &json!("pending"), &Value::Null)
    );
    saas.wait_for_error(&path, "custom hostname does not CNAME to this zone.");
    saas.wait_for_error(&path, "Zone does not have a fallback origin set.");
    let (status, text) = saas.ask("shop.example.com");
    assert!(
        status == 530 && text.contains("1016") && text.contains("svc-ray") || text.contains("1016"),
        "{text}"
    );
    saas.set_fallback();
    let alias = saas.customer_record("CNAME", "shop", "customers.saas.dev");
    saas.api.result("PATCH", &path, &json!({}));
    let active = saas.wait_for_status(&path, "active");
    assert_eq!(active.get("verification_errors"), None);
    assert_eq!(saas.ask("shop.example.com"), (200, "shop.example.com ".to_owned()));
    assert_eq!(saas.ask("SHOP.example.com.:80").0, 200);
    saas.edge.wait_for_event("hostname_changed", |event| event["to"] == "active");
    // The customer leaves.
    saas.customers.result("DELETE", &format!("{}/{}", saas.records, alias.as_str().unwrap()), &Value::Null);
    saas.api.result("PATCH", &path, &json!({}));
    saas.wait_for_status(&path, "moved");
    assert_eq!(saas.ask("shop.example.com").0, 530);
    // And comes back: PATCH begins again.
    saas.customer_record("CNAME", "shop", "origin.saas.dev");
    let begun = saas.api.result("PATCH", &path, &json!({"ssl": null}));
    assert_eq!(begun["status"], "pending");
    saas.wait_for_status(&path, "active");
    assert_eq!(saas.ask("shop.example.com").0, 200);
    saas.api.result("DELETE", &path, &Value::Null);
    assert_eq!(saas.api.refused("GET", &path, &Value::Null), (404, vec![1436]));
    assert_eq!(saas.ask("shop.example.com").0, 404);
}

#[test]
fn tokens_prove_a_hostname_before_it_leads_anywhere() {
    let saas = Saas::start("");
    saas.set_fallback();
    let path = saas.make(&json!({"hostname": "pre.example.com"}));
    let shown = saas.api.get(&path);
    let proof = &shown["ownership_verification"];
    assert_eq!(
        (&proof["type"], &proof["name"]),
        (&json!("txt"), &json!("_svc-custom-hostname.pre.example.com"))
    );
    saas.wait_for_error(&path, "does not CNAME");
    saas.customer_record("TXT", "_svc-custom-hostname.pre", proof["value"].as_str().unwrap());
    saas.api.result("PATCH", &path, &json!({}));
    saas.wait_for_status(&path, "active");
    // It did not lead here before, so it has not moved.
    saas.api.result("PATCH", &path, &json!({"custom_metadata": {"tier": "gold"}}));
    saas.wait_for_status(&path, "active");
    let wrong = saas.make(&json!({"hostname": "wrong.example.com"}));
    saas.customer_record("TXT", "_svc-custom-hostname.wrong", "00000000-0000-4000-8000-000000000000");
    saas.customer_record("A", "wrong", "192.0.2.77");
    saas.api.result("PATCH", &wrong, &json!({}));
    saas.wait_for_error(&wrong, "None of the A or AAAA records are owned by this account");
    let diagnosis = saas.api.get(&format!("{wrong}/diagnose"));
    let probe = |name: &str| {
        diagnosis["probes"].as_array().unwrap().iter().find(|probe| probe["probe"] == name).unwrap().clone()
    };
    assert_eq!(
        (&probe("addresses")["found"], &probe("addresses")["holds"]),
        (&json!(["192.0.2.77"]), &json!(false))
    );
    assert_eq!(probe("txt")["found"], json!(["00000000-0000-4000-8000-000000000000"]));
    assert_eq!(
        (probe("fallback_origin")["holds"].clone(), diagnosis["attempts_left"].clone()),
        (json!(true), json!(74))
    );
}

#[test]
fn addresses_of_the_edge_and_pages_prove_a_hostname_too() {
    let saas = Saas::start("");
    saas.set_fallback();
    let apex = saas.make(&json!({"hostname": "apex.example.com"}));
    saas.customer_record("A", "apex", "192.0.2.53");
    saas.api.result("PATCH", &apex, &json!({}));
    saas.wait_for_status(&apex, "active");
    // A web server of the customer shows the page.
    let listener = TcpListener::bind("127.0.0.3:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let other = Saas::start(&format!("[certificates]\nhttp_port = {port}\n"));
    other.set_fallback();
    let path = other.make(&json!({"hostname": "page.example.com"}));
    let proof = other.api.get(&path)["ownership_verification_http"].clone();
    let id = path.rsplit('/').next().unwrap();
    assert_eq!(
        proof["http_url"],
        format!("http://page.example.com/.well-known/svc-custom-hostname-challenge/{id}")
    );
    let (page, target) = (
        proof["http_body"].as_str().unwrap().to_owned(),
        format!("/.well-known/svc-custom-hostname-challenge/{id}"),
    );
    let _web = Origin::on(listener, move |request, stream| {
        let body = if request.path() == target { page.as_str() } else { "no" };
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(head.as_bytes()).is_ok()
    });
    other.customer_record("A", "page", "127.0.0.3");
    other.api.result("PATCH", &path, &json!({}));
    other.wait_for_status(&path, "active");
}

#[test]
fn each_cause_of_error_1016_has_its_page() {
    let saas = Saas::start("");
    // The fallback origin has no record yet.
    let fallback = format!("{}/fallback_origin", saas.hostnames());
    assert_eq!(saas.api.refused("GET", &fallback, &Value::Null), (404, vec![1470]));
    let set = saas.api.result("PUT", &fallback, &json!({"origin": "later.saas.dev"}));
    assert_eq!(set["status"], "pending_deployment");
    assert!(set["errors"][0].as_str().unwrap().contains("no proxied A, AAAA or CNAME record"));
    let path = saas.make(&json!({"hostname": "shop.example.com"}));
    saas.customer_record("CNAME", "shop", "saas.dev");
    saas.api.result("PATCH", &path, &json!({}));
    saas.wait_for_error(&path, "Fallback origin is in a status of `pending_deployment`.");
    assert!(saas.ask("shop.example.com").1.contains("custom hostname say what is missing"));
    saas.set_fallback();
    saas.api.result("PATCH", &path, &json!({}));
    saas.wait_for_status(&path, "active");
    saas.api.result("DELETE", &fallback, &Value::Null);
    let (status, text) = saas.ask("shop.example.com");
    assert!(status == 530 && text.contains("1016") && text.contains("fallback origin"), "{status} {text}");
    saas.set_fallback();
    assert_eq!(saas.ask("shop.example.com").0, 200);
    // A wildcard, and a zone of its own below it.
    let wildcard =
        json!({"hostname": "wild.example.com", "ssl": {"method": "txt", "type": "dv", "wildcard": true}});
    let wild = saas.make(&wildcard);
    saas.customer_record("CNAME", "wild", "saas.dev");
    saas.api.result("PATCH", &wild, &json!({}));
    saas.wait_for_status(&wild, "active");
    assert_eq!(saas.ask("a.wild.example.com"), (200, "a.wild.example.com ".to_owned()));
    let other = saas.api.post("/accounts", &json!({"name": "other"}));
    saas.api.post("/zones", &json!({"name": "b.wild.example.com", "account": {"id": other["id"]}}));
    for host in ["b.wild.example.com", "c.b.wild.example.com"] {
        let (status, text) = saas.ask(host);
        assert!(
            status == 530 && text.contains("1016") && text.contains("zone of its own"),
            "{host}: {status} {text}"
        );
    }
    assert_eq!(saas.ask("a.wild.example.com").0, 200, "others are served as before");
    // Its own custom hostname comes before the zone.
    let own = saas.make(&json!({"hostname": "b.wild.example.com"}));
    saas.customer_record("CNAME", "b.wild", "saas.dev");
    saas.api.result("PATCH", &own, &json!({}));
    saas.wait_for_status(&own, "active");
    assert_eq!(saas.ask("b.wild.example.com").0, 200);
}

#[test]
fn origins_of_their_own_and_metadata_are_used_by_rules() {
    let saas = Saas::start("");
    let own = json!({"hostname": "vip.example.com", "custom_origin_server": "origin.saas.dev", "custom_metadata": {"tier": "gold"}});
    saas.customer_record("CNAME", "vip", "saas.dev");
    let path = saas.make(&own);
    saas.wait_for_status(&path, "active");
    let transform = json!({"rules": [{
        "action": "rewrite", "expression": "lookup_json_string(svc.hostname.metadata, \"tier\") eq \"gold\"",
        "action_parameters": {"headers": {"x-tier": {"operation": "set", "expression": "lookup_json_string(svc.hostname.metadata, \"tier\")"}}}
    }]});
    saas.api.result(
        "PUT",
        &format!("{}/rulesets/phases/http_request_late_transform/entrypoint", saas.zone),
        &transform,
    );
    assert_eq!(saas.ask("vip.example.com"), (200, "vip.example.com gold".to_owned()));
    let asked = json!({"url": "http://vip.example.com/", "method": "GET"});
    let trace = saas.api.post("/accounts/default/request-tracer/trace", &asked);
    assert!(trace.to_string().contains("\"matched\":true"), "{trace}");
    let shown = saas.api.get(&path);
    assert_eq!(
        (&shown["custom_metadata"], &shown["custom_origin_server"]),
        (&json!({"tier": "gold"}), &json!("origin.saas.dev"))
    );
    let changed = saas.api.result(
        "PATCH",
        &path,
        &json!({"custom_metadata": {"tier": "tin"}, "custom_origin_sni": ":request_host_header:"}),
    );
    assert_eq!(
        (&changed["status"], &changed["custom_origin_sni"]),
        (&json!("active_redeploying"), &json!(":request_host_header:"))
    );
    assert_eq!(
        saas.ask("vip.example.com"),
        (200, "vip.example.com ".to_owned()),
        "served at once, as it is now"
    );
    let cleared =
        saas.api.result("PATCH", &path, &json!({"custom_metadata": null, "custom_origin_server": null}));
    assert_eq!((cleared.get("custom_metadata"), cleared.get("custom_origin_server")), (None, None));
    assert_eq!(saas.ask("vip.example.com").0, 530, "without any origin");
}

#[test]
fn moved_hostnames_are_deleted_after_seven_days() {
    let mut saas = Saas::start("");
    saas.set_fallback();
    let alias = saas.customer_record("CNAME", "shop", "saas.dev");
    let path = saas.make(&json!({"hostname": "shop.example.com", "ssl": {"method": "http", "type": "dv"}}));
    saas.wait_for_status(&path, "active");
    saas.customers.result("DELETE", &format!("{}/{}", saas.records, alias.as_str().unwrap()), &Value::Null);
    saas.api.result("PATCH", &path, &json!({}));
    saas.wait_for_status(&path, "moved");
    saas.edge.signal("KILL");
    saas.edge.wait_for_exit();
    // Somebody else's clock: it has moved an hour less than seven days ago, then an hour more.
    for (hours, is_there) in [(7 * 24 - 1, true), (7 * 24 + 1, false)] {
        age(&saas.edge, hours);
        saas.edge = std::mem::replace(&mut saas.edge, Edge::start("")).again();
        saas.api = Api::new(&saas.edge, TOKEN);
        wait_for("the hostname to be looked at", || {
            let (status, shown) = saas.api.call("GET", &path, &Value::Null);
            let diagnosis = saas.api.call("GET", &format!("{path}/diagnose"), &Value::Null).1;
            let is_looked_at = diagnosis["result"]["looked_at"].is_string();
            match is_there {
                true => (status == 200 && shown["result"]["status"] == "moved" && is_looked_at).then_some(()),
                false => (status == 404).then_some(()),
            }
        });
        saas.edge.signal("KILL");
        saas.edge.wait_for_exit();
    }
    let store = SqliteStore::open(&saas.edge.folder.path().join("state")).unwrap();
    assert!(store.load().unwrap().1.packs.is_empty(), "its certificates went with it");
}

/// Lets the hostname of an edge that has ended have its status for so long, and be due.
fn age(edge: &Edge, hours: u64) {
    let mut store = SqliteStore::open(&edge.folder.path().join("state")).unwrap();
    let (revision, resources) = store.load().unwrap();
    let mut hostname = resources.hostnames.values().next().unwrap().value.clone();
    let now = portcullis::clock::Clock::real().unix().as_secs();
    (hostname.since, hostname.next_check) = (now - hours * 3_600, now);
    let change = Change::PutHostname { hostname: Box::new(hostname) };
    store.commit(revision, &Changeset::new("test", vec![change])).unwrap();
}

#[test]
fn hostnames_survive_a_kill_and_go_with_their_zone() {
    let mut saas = Saas::start("");
    saas.set_fallback();
    saas.customer_record("CNAME", "shop", "saas.dev");
    let path = saas.make(&json!({"hostname": "shop.example.com", "ssl": {"method": "http", "type": "dv"}}));
    saas.wait_for_status(&path, "active");
    let before = saas.api.get(&path);
    saas.edge.signal("KILL");
    saas.edge.wait_for_exit();
    let elsewhere = std::mem::replace(&mut saas.edge, Edge::start(""));
    saas.edge = elsewhere.again();
    saas.api = Api::new(&saas.edge, TOKEN);
    let after = saas.api.get(&path);
    assert_eq!(
        (&after["id"], &after["status"], &after["ssl"]["id"]),
        (&before["id"], &before["status"], &before["ssl"]["id"])
    );
    assert_eq!(saas.ask("shop.example.com").0, 200);
    saas.api.result("DELETE", &saas.zone, &Value::Null);
    wait_for("the name to be gone", || (saas.ask("shop.example.com").0 == 404).then_some(()));
}
