//! Custom hostnames over the API, verified against another edge that has the customers' zones, and served.

use std::io::Write;
use std::net::TcpListener;

use serde_json::{Value, json};
use store::{Change, Changeset, SqliteStore, Store};

use crate::api::TOKEN;
use crate::dns_server::{SETTINGS, name_server};
use crate::support::{Api, Client, Edge, Origin, certificate, wait_for};

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

    fn set_fallback(&self) {
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
    fn wait_for_error(&self, path: &str, error: &str) {
        wait_for(&format!("the error `{error}`"), || {
            let shown = self.api.get(path);
            let errors = shown["verification_errors"].as_array().cloned().unwrap_or_default();
            errors.iter().any(|found| found.as_str().unwrap().contains(error)).then_some(())
        });
    }

    fn ask(&self, host: &str) -> (u16, String) {
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
fn a_held_zone_blocks_hostnames_until_it_is_released() {
    let mut saas = Saas::start("");
    saas.set_fallback();
    let other = saas.api.post("/accounts", &json!({"name": "other"}));
    let held = saas.api.post("/zones", &json!({"name": "example.com", "account": {"id": other["id"]}}));
    let hold = format!("/zones/{}/hold", held["id"].as_str().unwrap());
    saas.api.post(&format!("{hold}?include_subdomains=true"), &json!({}));
    saas.customer_record("CNAME", "shop", "saas.dev");
    let path = saas.make(&json!({"hostname": "shop.example.com"}));
    let blocked = saas.wait_for_status(&path, "blocked");
    let error = "The hostname is associated with a held zone. Please contact the owner of this domain to have the hold \
                 removed.";
    assert_eq!(blocked["verification_errors"], json!([error]));
    assert_ne!(saas.ask("shop.example.com").0, 200);
    saas.api.result("DELETE", &hold, &Value::Null);
    saas.api.result("PATCH", &path, &json!({}));
    saas.wait_for_status(&path, "active");
    saas.edge.wait_for_event("hostname_changed", |event| event["to"] == "blocked");
    assert_eq!(saas.ask("shop.example.com").0, 200);
}

#[test]
fn of_two_zones_the_last_that_is_verified_has_the_name() {
    let saas = Saas::start("");
    saas.set_fallback();
    saas.customer_record("CNAME", "shop", "saas.dev");
    let first = saas.make(&json!({"hostname": "shop.example.com"}));
    saas.wait_for_status(&first, "active");
    let other = saas.api.post("/accounts", &json!({"name": "other"}));
    let zone = saas.api.post(
        "/zones",
        &json!({"name": "rival.dev", "account": {"id": other["id"]}, "origins": ["http://127.0.0.1:9"]}),
    );
    let zone = format!("/zones/{}", zone["id"].as_str().unwrap());
    saas.api.result(
        "PUT",
        &format!("{zone}/custom_hostnames/fallback_origin"),
        &json!({"origin": "rival.dev"}),
    );
    let made = saas.api.post(&format!("{zone}/custom_hostnames"), &json!({"hostname": "shop.example.com"}));
    let second = format!("{zone}/custom_hostnames/{}", made["id"].as_str().unwrap());
    wait_for("a look at it", || (saas.api.get(&format!("{second}/diagnose"))["attempts"] != 0).then_some(()));
    assert_eq!(saas.api.get(&first)["status"], "active", "a claim alone takes nothing");
    let token = made["ownership_verification"]["value"].as_str().unwrap();
    saas.customer_record("TXT", "_svc-custom-hostname.shop", token);
    saas.api.result("PATCH", &second, &json!({}));
    saas.wait_for_status(&second, "active");
    assert_eq!(saas.api.get(&first)["status"], "moved");
    assert_eq!(saas.ask("shop.example.com").0, 502, "the origin of the other zone");
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

/// A name that is too long for the subject of a certificate.
fn long_name() -> String {
    format!("{}.{}.dev", "a".repeat(40), "b".repeat(30))
}

/// Bodies that are refused, with status and code.
fn refused_bodies() -> Vec<(Value, u16, u64)> {
    let dv = |more: Value| {
        let mut ssl = json!({"method": "http", "type": "dv"});
        ssl.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"hostname": "a.customer.dev", "ssl": ssl})
    };
    vec![
        (json!({}), 400, 10008),
        (json!({"hostname": "192.0.2.1"}), 400, 1407),
        (json!({"hostname": "*.customer.dev"}), 400, 1407),
        (json!({"hostname": "a b.customer.dev"}), 400, 1407),
        (json!({"hostname": "shöp.customer.dev"}), 400, 1408),
        (json!({"hostname": "shop.test"}), 400, 1409),
        (json!({"hostname": "co.uk"}), 400, 1410),
        (json!({"hostname": "www.example.com"}), 400, 1411),
        (json!({"hostname": "saas.dev"}), 403, 1471),
        (json!({"hostname": "a.customer.dev", "custom_metadata": "gold"}), 400, 1401),
        (json!({"hostname": "a.customer.dev", "custom_metadata": {"a": "x".repeat(5_000)}}), 400, 1401),
        (
            json!({"hostname": "a.customer.dev", "custom_metadata": {"a": 1}, "ssl": {"method": "txt", "type": "dv", "wildcard": true}}),
            400,
            1412,
        ),
        (json!({"hostname": "a.customer.dev", "custom_origin_server": "192.0.2.1"}), 400, 1415),
        (json!({"hostname": "a.customer.dev", "custom_origin_server": "é.saas.dev"}), 400, 1416),
        (json!({"hostname": "a.customer.dev", "custom_origin_server": "*.saas.dev"}), 400, 1420),
        (json!({"hostname": "a.customer.dev", "custom_origin_server": "gone.saas.dev"}), 400, 1421),
        (json!({"hostname": "a.customer.dev", "custom_origin_server": "origin.other.dev"}), 400, 1421),
        (dv(json!({"settings": {"http2": "yes"}})), 400, 1422),
        (dv(json!({"settings": {"tls_1_3": true}})), 400, 10008),
        (dv(json!({"settings": {"tls_1_3": "maybe"}})), 400, 1424),
        (dv(json!({"settings": {"min_tls_version": "1.4"}})), 400, 1425),
        (dv(json!({"settings": {"ciphers": ["RC4-MD5"]}})), 400, 1442),
        (
            dv(json!({"settings": {"ciphers": ["ECDHE-RSA-AES128-GCM-SHA256"], "min_tls_version": "1.3"}})),
            400,
            1443,
        ),
        (dv(json!({"method": "pigeon"})), 400, 1432),
        (dv(json!({"method": "email"})), 400, 1432),
        (dv(json!({"type": "ev"})), 400, 1433),
        (dv(json!({"certificate_authority": "somebody"})), 400, 1434),
        (dv(json!({"custom_certificate": "junk", "custom_key": "junk"})), 400, 1426),
        (dv(json!({"custom_key": "junk"})), 400, 1427),
        (dv(json!({"custom_csr_id": "x"})), 404, 1431),
        (dv(json!({"wildcard": true})), 400, 1448),
        (dv(json!({"bundle_method": "all"})), 400, 1449),
        (json!({"hostname": long_name(), "ssl": {"method": "http", "type": "dv"}}), 400, 1469),
    ]
}

#[test]
fn every_rule_of_hostnames_refuses_by_its_code_and_place() {
    let saas = Saas::start("[custom_hostnames]\nquota = 2\n");
    let path = saas.hostnames();
    let long = long_name();
    let mut ran = 0;
    for (body, status, code) in refused_bodies() {
        assert_eq!(saas.api.refused("POST", &path, &body), (status, vec![code]), "{body}");
        ran += 1;
    }
    assert_eq!(ran, 33);
    assert!(saas.api.get(&path).as_array().unwrap().is_empty(), "nothing was made");
    // All mistakes at once, with their places.
    let (_, answer) = saas.api.call(
        "POST",
        &path,
        &json!({"hostname": "shop.test", "ssl": {"type": "ev", "method": "pigeon"}}),
    );
    let places: Vec<_> = answer["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["source"]["pointer"].as_str().unwrap())
        .collect();
    assert_eq!(places, ["/hostname", "/ssl/type", "/ssl/method"]);
    // Branding lets long names in, at either place.
    let branded = json!({"hostname": long, "svc_branding": true, "ssl": {"method": "http", "type": "dv"}});
    assert_eq!(saas.api.post(&path, &branded)["ssl"]["svc_branding"], true);
    let made = saas.make(&json!({"hostname": "a.customer.dev"}));
    assert_eq!(saas.api.refused("POST", &path, &json!({"hostname": "b.customer.dev"})), (403, vec![1405]));
    let quota = saas.api.get(&format!("{path}/quota"));
    assert_eq!(quota, json!({"allocated": 2, "used": 2, "exceeded": true, "hard_cap": true}));
    assert_eq!(saas.api.refused("PATCH", &made, &json!({"hostname": "other.dev"})), (409, vec![1439]));
    assert_eq!(saas.api.refused("GET", &format!("{path}/nothing"), &Value::Null), (400, vec![1435]));
    let unknown = format!("{path}/00000000-0000-4000-8000-000000000000");
    assert_eq!(saas.api.refused("DELETE", &unknown, &Value::Null), (404, vec![1436]));
    saas.api.result("DELETE", &made, &Value::Null);
    saas.make(&json!({"hostname": "a.customer.dev"}));
    let (status, codes) = saas.api.refused("POST", &path, &json!({"hostname": "A.customer.dev."}));
    assert!(status == 403 && codes == [1405], "the quota comes first");
    let fallback = format!("{path}/fallback_origin");
    for (origin, code) in
        [("192.0.2.1", 1415), ("*.saas.dev", 1420), ("other.dev", 1421), ("é.saas.dev", 1416)]
    {
        assert_eq!(
            saas.api.refused("PUT", &fallback, &json!({"origin": origin})),
            (400, vec![code]),
            "{origin}"
        );
    }
}

#[test]
fn duplicates_are_found_and_lists_are_filtered() {
    let saas = Saas::start("");
    let path = saas.hostnames();
    for nth in 0..25 {
        saas.make(&json!({"hostname": format!("h{nth}.customer.dev")}));
    }
    let secure =
        json!({"hostname": "tls.customer.dev", "ssl": {"method": "txt", "type": "dv", "wildcard": true}});
    let made = saas.make(&secure);
    let id = made.rsplit('/').next().unwrap();
    assert_eq!(saas.api.refused("POST", &path, &secure), (409, vec![1406]));
    let names = |query: &str| -> Vec<String> {
        let found = saas.api.get(&format!("{path}?{query}"));
        found.as_array().unwrap().iter().map(|one| one["hostname"].as_str().unwrap().to_owned()).collect()
    };
    let mut ran = 0;
    for (query, count) in [
        ("", 20),
        ("page=2", 6),
        ("page=9", 0),
        ("per_page=50", 26),
        ("hostname=h7.customer.dev", 1),
        ("hostname.exact=H7.customer.dev", 1),
        ("hostname.contain=h2&per_page=50", 6),
        ("hostname.startsWith=h1&per_page=50", 11),
        ("ssl=1", 1),
        ("ssl=0&per_page=50", 25),
        ("ssl_status=active", 0),
        ("hostname_status=active", 0),
        ("hostname_status=pending&per_page=50", 26),
        ("wildcard=true", 1),
        ("certificate_authority=lets_encrypt", 0),
        ("custom_origin_server=origin.saas.dev", 0),
    ] {
        assert_eq!(names(query).len(), count, "{query}");
        ran += 1;
    }
    assert_eq!(ran, 16);
    assert_eq!(names(&format!("id={id}")), ["tls.customer.dev"]);
    assert_eq!(names("order=ssl&direction=desc&per_page=1"), ["tls.customer.dev"]);
    for (query, code) in [
        (format!("id={id}&ssl=1"), 1438),
        ("hostname.contain=a&hostname=b".to_owned(), 1437),
        ("hostname.contain=a%20b".to_owned(), 1437),
        ("id=x".to_owned(), 1435),
        ("order=name".to_owned(), 10006),
        ("ssl=2".to_owned(), 10006),
    ] {
        assert_eq!(saas.api.refused("GET", &format!("{path}?{query}"), &Value::Null).1, [code], "{query}");
    }
    let dry = format!("{path}?dry_run=true");
    saas.api.post(&dry, &json!({"hostname": "dry.customer.dev"}));
    assert!(names("hostname=dry.customer.dev").is_empty());
}

#[test]
fn certificates_are_ordered_fifteen_times_a_minute() {
    let saas = Saas::start("");
    let path = saas.hostnames();
    let body = |nth: usize| json!({"hostname": format!("h{nth}.customer.dev"), "ssl": {"method": "http", "type": "dv"}});
    for nth in 0..15 {
        saas.make(&body(nth));
        // What is refused does not count, and neither do dry runs and hostnames without a certificate.
        saas.api.refused("POST", &path, &body(nth));
        saas.api.post(&format!("{path}?dry_run=true"), &body(99));
        saas.make(&json!({"hostname": format!("plain{nth}.customer.dev")}));
    }
    let refused = saas.api.ask("POST", &path, "", &body(15).to_string());
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!(refused.status == 429 && (25..=30).contains(&seconds), "{seconds}");
    assert!(refused.text().contains("\"code\":1472"));
    saas.make(&json!({"hostname": "plain.customer.dev"}));
    let more = Saas::start("[certificates]\nissuance_rate = 16\n");
    for nth in 0..16 {
        more.make(&body(nth));
    }
    assert_eq!(more.api.refused("POST", &more.hostnames(), &body(16)).0, 429);
}

#[test]
fn uploaded_certificates_are_shown_by_name_with_their_settings() {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "c", &["tls.customer.dev", "*.tls.customer.dev"]);
    certificate(folder.path(), "other", &["other.customer.dev"]);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let saas = Saas::start(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[[listeners]]\naddress = \"127.0.0.1:0\"\ntls = true\n",
    );
    let upload = |chain: &str, key: &str, settings: Value| {
        json!({"hostname": "tls.customer.dev", "ssl": {"method": "http", "type": "dv", "wildcard": true,
            "custom_certificate": read(chain), "custom_key": read(key), "settings": settings}})
    };
    for (chain, key, code) in
        [("c.pem", "other.key", 1429), ("other.pem", "other.key", 1446), ("c.pem", "c.pem", 1428)]
    {
        assert_eq!(saas.api.refused("POST", &saas.hostnames(), &upload(chain, key, json!({}))).1, [code]);
    }
    let path = saas.make(&upload("c.pem", "c.key", json!({"min_tls_version": "1.3", "http2": "off"})));
    let ssl = saas.api.get(&path)["ssl"].clone();
    assert_eq!(
        (&ssl["status"], &ssl["hosts"]),
        (&json!("active"), &json!(["tls.customer.dev", "*.tls.customer.dev"]))
    );
    assert!(
        ssl.get("custom_key").is_none()
            && ssl["custom_certificate"].as_str().unwrap().contains("BEGIN CERTIFICATE")
    );
    let tls = |name: &str, arguments: &[&str]| {
        let output = std::process::Command::new("openssl")
            .args(["s_client", "-connect", &saas.edge.proxy[1].to_string(), "-servername", name])
            .args(arguments)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let found = tls("tls.customer.dev", &["-alpn", "h2,http/1.1"]);
    assert!(found.contains("TLSv1.3") && found.contains("ALPN protocol: http/1.1"), "{found}");
    assert!(tls("a.tls.customer.dev", &[]).contains("BEGIN CERTIFICATE"), "the wildcard");
    assert!(!tls("tls.customer.dev", &["-tls1_2"]).contains("BEGIN CERTIFICATE"), "the version is too low");
    assert!(!tls("unknown.customer.dev", &[]).contains("BEGIN CERTIFICATE"), "nobody has this name");
    saas.api.result("PATCH", &path, &json!({"ssl": {"settings": {"min_tls_version": "1.2", "http2": "on"}}}));
    let found = tls("tls.customer.dev", &["-tls1_2", "-alpn", "h2,http/1.1"]);
    assert!(found.contains("BEGIN CERTIFICATE") && found.contains("ALPN protocol: h2"), "{found}");
    let ciphers = json!({"ssl": {"settings": {"ciphers": ["ECDHE-ECDSA-AES256-GCM-SHA384"]}}});
    saas.api.result("PATCH", &path, &ciphers);
    assert!(tls("tls.customer.dev", &["-tls1_2"]).contains("Cipher is ECDHE-ECDSA-AES256-GCM-SHA384"));
    assert!(
        !tls("tls.customer.dev", &["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"])
            .contains("BEGIN CERT")
    );
    saas.api.result("DELETE", &path, &Value::Null);
    assert!(!tls("tls.customer.dev", &[]).contains("BEGIN CERTIFICATE"), "deleted with its hostname");
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

#[test]
fn a_claim_alone_takes_nothing_from_who_has_a_name() {
    let saas = Saas::start("gateway_hosts = [\"gw.example.com\"]\n---\n");
    saas.set_fallback();
    // Hosts of this server are nobody's.
    assert_eq!(
        saas.api.refused("POST", &saas.hostnames(), &json!({"hostname": "gw.example.com"})),
        (403, vec![1471])
    );
    // A name of a zone of another account, which leads to this edge as all proxied names do.
    let other = saas.api.post("/accounts", &json!({"name": "victim"}));
    let victim = saas.api.post("/zones", &json!({"name": "example.com", "account": {"id": other["id"]}}));
    let records = format!("/zones/{}/dns_records", victim["id"].as_str().unwrap());
    let own = json!({"type": "A", "name": "www", "content": "127.0.0.2", "proxied": true});
    let record = saas.api.post(&records, &own)["id"].as_str().unwrap().to_owned();
    saas.customer_record("A", "www", "192.0.2.53");
    assert_eq!(saas.ask("www.example.com").0, 200);
    let claim = saas.make(&json!({"hostname": "www.example.com", "ssl": {"method": "http", "type": "dv"}}));
    let token = saas.api.get(&claim)["ownership_verification"]["value"].clone();
    saas.customer_record("TXT", "_svc-custom-hostname.www", token.as_str().unwrap());
    saas.api.result("PATCH", &claim, &json!({}));
    saas.wait_for_error(&claim, "is in a zone of this service");
    wait_for("the order to wait", || {
        let error = saas.api.get(&claim)["ssl"]["validation_errors"][0]["message"].clone();
        error.as_str()?.contains("is not verified").then_some(())
    });
    assert_eq!(
        saas.api.get(&claim)["ssl"]["status"],
        "initializing",
        "no CA is asked for a name that is not shown"
    );
    assert_eq!(saas.ask("www.example.com").0, 200);
    // The zone gives it away by its own record.
    saas.api.result("DELETE", &format!("{records}/{record}"), &Value::Null);
    saas.api.post(
        &records,
        &json!({"type": "CNAME", "name": "www", "content": "customers.saas.dev", "proxied": true}),
    );
    saas.api.result("PATCH", &claim, &json!({}));
    saas.wait_for_status(&claim, "active");
}

#[test]
fn addresses_of_the_edge_prove_nothing_against_who_is_served() {
    let saas = Saas::start("");
    saas.set_fallback();
    saas.customer_record("A", "apex", "192.0.2.53");
    let first = saas.make(&json!({"hostname": "apex.example.com"}));
    saas.wait_for_status(&first, "active");
    let rival = json!({"name": "rival.dev", "origins": ["http://127.0.0.1:9"]});
    let zone = format!("/zones/{}/custom_hostnames", saas.api.post("/zones", &rival)["id"].as_str().unwrap());
    saas.api.result("PUT", &format!("{zone}/fallback_origin"), &json!({"origin": "rival.dev"}));
    let made = saas.api.post(&zone, &json!({"hostname": "apex.example.com"}));
    let second = format!("{zone}/{}", made["id"].as_str().unwrap());
    saas.wait_for_error(&second, "is served by another zone");
    assert_eq!((&saas.api.get(&first)["status"], saas.ask("apex.example.com").0), (&json!("active"), 200));
    let token = made["ownership_verification"]["value"].as_str().unwrap();
    saas.customer_record("TXT", "_svc-custom-hostname.apex", token);
    saas.api.result("PATCH", &second, &json!({}));
    saas.wait_for_status(&second, "active");
    assert_eq!(saas.api.get(&first)["status"], "moved");
}
