//! Certificates from a CA: each way to show that a name is ours, and what becomes of certificates afterwards.

use serde_json::{Value, json};

use crate::api::TOKEN;
use crate::support::{Api, Edge, Origin, Pebble, PebbleSettings, free_port, wait_for};

/// Listeners where the CA looks, and the admin port.
pub(crate) fn top(pebble: &Pebble) -> String {
    format!("{}{}", plain_listener(pebble), tls_listener(pebble))
}

pub(crate) fn plain_listener(pebble: &Pebble) -> String {
    format!("[[listeners]]\naddress = \"127.0.0.1:{}\"\n", pebble.http)
}

pub(crate) fn tls_listener(pebble: &Pebble) -> String {
    format!("[[listeners]]\naddress = \"127.0.0.1:{}\"\ntls = true\n", pebble.tls)
}

pub(crate) fn admin() -> String {
    format!("[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n")
}

/// `[certificates]` that asks this CA, and `[dns]` that asks its name server.
pub(crate) fn settings(pebble: &Pebble, ca: &str) -> String {
    format!(
        "[custom_hostnames]\nnames = \"any\"\n[dns]\nprivate_origins = true\nresolvers = [\"127.0.0.1:{}\"]\n\
         addresses = [\"127.0.0.1\"]\n[certificates]\nhttp_port = {}\n{ca}",
        pebble.names, pebble.http
    )
}

pub(crate) fn edge(pebble: &Pebble, more: &str) -> Edge {
    Edge::start(&format!("{}{}{}{more}", top(pebble), admin(), settings(pebble, &pebble.conf("pebble"))))
}

pub(crate) fn wait_for_page(pebble: &Pebble, host: &str, page: &str) {
    let root = pebble.root();
    wait_for(&format!("{page} at https://{host}"), || {
        (pebble.https(host, pebble.tls, &root).ok()? == page).then_some(())
    });
}

#[test]
fn one_line_is_enough_for_https() {
    let pebble = Pebble::start(&PebbleSettings::default());
    let origin = Origin::fixed("text/plain", "shop");
    let zone =
        format!("[[zones]]\nname = \"shop.example\"\norigins = [\"{}\"]\ntls = \"auto\"\n", origin.url());
    let mut edge = edge(&pebble, &zone);
    wait_for_page(&pebble, "shop.example", "shop");
    assert_eq!(edge.metric("portcullis_certificates_issued_total{authority=\"pebble\"}"), 1.0);
    wait_for("when it ends", || {
        (edge.metric("portcullis_certificates_soonest_expiry_timestamp_seconds") > 1.7e9).then_some(())
    });
    let output = std::process::Command::new("openssl")
        .args(["s_client", "-connect", &format!("127.0.0.1:{}", pebble.tls), "-servername", "shop.example"])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("TLSv1.3"));
    // A start anew asks for nothing: account and certificate are there.
    let orders = pebble.logged("Issued certificate serial");
    edge.signal("KILL");
    edge.wait_for_exit();
    let edge = edge.again();
    wait_for_page(&pebble, "shop.example", "shop");
    assert_eq!(pebble.logged("Issued certificate serial"), orders);
    // Renewal keeps the account.
    let api = Api::new(&edge, TOKEN);
    let zone = api.get("/zones?name=shop.example")[0]["id"].as_str().unwrap().to_owned();
    let packs = format!("/zones/{zone}/ssl/certificate_packs");
    let pack = api.get(&packs)[0].clone();
    assert_eq!(
        (&pack["type"], &pack["status"], &pack["hosts"]),
        (&json!("universal"), &json!("active"), &json!(["shop.example"]))
    );
    let path = format!("{packs}/{}", pack["id"].as_str().unwrap());
    api.post(&format!("{path}/renew"), &json!({}));
    let renewed = wait_for("the next certificate", || {
        let shown = api.get(&path);
        (shown["primary_certificate"] != pack["primary_certificate"]).then_some(shown)
    });
    assert_eq!(
        (renewed["certificates"].as_array().unwrap().len(), &renewed["status"]),
        (2, &json!("active"))
    );
    assert_eq!(pebble.logged("There are now 1 accounts"), 1, "one account: {:?}", pebble.log());
    assert_eq!(pebble.logged("There are now 2 accounts"), 0);
    wait_for_page(&pebble, "shop.example", "shop");
    // Found by a name in it.
    assert_eq!(api.get(&format!("{packs}?host=shop.example")).as_array().unwrap().len(), 1);
    assert!(api.get(&format!("{packs}?host=other.example")).as_array().unwrap().is_empty());
    assert_eq!(api.get(&format!("/zones/{zone}/ssl/verification"))[0]["certificate_status"], "active");
}

#[test]
fn without_a_plain_listener_the_ca_is_answered_over_tls() {
    let pebble = Pebble::start(&PebbleSettings::default());
    let origin = Origin::fixed("text/plain", "alpn");
    let conf = format!(
        "{}{}{}[[zones]]\nname = \"alpn.example\"\norigins = [\"{}\"]\ntls = \"auto\"\n",
        tls_listener(&pebble),
        admin(),
        settings(&pebble, &pebble.conf("pebble")),
        origin.url()
    );
    let _edge = Edge::start(&conf);
    wait_for_page(&pebble, "alpn.example", "alpn");
}

#[test]
fn wildcards_are_shown_by_records_of_our_own_zones() {
    let names = free_port();
    let pebble = Pebble::start(&PebbleSettings { names: Some(names), ..PebbleSettings::default() });
    let settings = settings(&pebble, &pebble.conf("pebble"));
    let settings = settings.replace(
        "[dns]\n",
        &format!("[dns]\nlisteners = [\"127.0.0.1:{names}\"]\nname_servers = [\"ns1.edge.example\"]\n"),
    );
    let edge = Edge::start(&format!("{}{}{settings}", top(&pebble), admin()));
    let api = Api::new(&edge, TOKEN);
    let origin = Origin::fixed("text/plain", "wild");
    let zone = api.post("/zones", &json!({"name": "wild.example", "origins": [origin.url()]}));
    let zone = format!("/zones/{}", zone["id"].as_str().unwrap());
    api.post(&format!("{zone}/dns_records"), &json!({"type": "TXT", "name": "@", "content": "x"}));
    let universal = format!("{zone}/ssl/universal/settings");
    assert_eq!(api.get(&universal)["enabled"], false);
    assert_eq!(api.result("PATCH", &universal, &json!({"enabled": true}))["enabled"], true);
    wait_for_page(&pebble, "any.wild.example", "wild");
    wait_for_page(&pebble, "wild.example", "wild");
    let records = api.get(&format!("{zone}/dns_records"));
    assert_eq!(records.as_array().unwrap().len(), 1, "what was made for the order is gone: {records}");
    // A claim of one of the names, with a certificate, does not come before the wildcard.
    let other = api.post("/accounts", &json!({"name": "other"}))["id"].clone();
    let rival = api.post("/zones", &json!({"name": "rival.dev", "account": {"id": other}}));
    let claim = claim_with_certificate(edge.folder.path(), "any.wild.example", &json!({}));
    make(
        &api,
        &format!("/zones/{}/custom_hostnames", rival["id"].as_str().unwrap()),
        "any.wild.example",
        &claim,
    );
    assert_eq!(pebble.https("any.wild.example", pebble.tls, &pebble.root()).unwrap(), "wild");
    // An order of names; then it ends with its pack.
    let order = json!({"type": "advanced", "hosts": ["a.wild.example"], "validation_method": "txt", "validity_days": 90});
    let pack = api.post(&format!("{zone}/ssl/certificate_packs/order"), &order);
    let path = format!("{zone}/ssl/certificate_packs/{}", pack["id"].as_str().unwrap());
    wait_for("the order", || (api.get(&path)["status"] == "active").then_some(()));
    api.result("DELETE", &path, &Value::Null);
    assert_eq!(api.refused("GET", &path, &Value::Null), (404, vec![1473]));
    api.result("PATCH", &universal, &json!({"enabled": false}));
    let root = pebble.root();
    wait_for("the certificate to be gone", || pebble.https("any.wild.example", pebble.tls, &root).err());
}

/// An edge with a zone for customers; the path of its custom hostnames.
pub(crate) fn saas(pebble: &Pebble, more: &str) -> (Edge, Api, String, Origin) {
    let origin = Origin::fixed("text/plain", "customer");
    let edge = edge(pebble, more);
    let api = Api::new(&edge, TOKEN);
    let zone = api.post("/zones", &json!({"name": "saas.dev", "origins": [origin.url()]}));
    let path = format!("/zones/{}/custom_hostnames", zone["id"].as_str().unwrap());
    api.result("PUT", &format!("{path}/fallback_origin"), &json!({"origin": "saas.dev"}));
    (edge, api, path, origin)
}

pub(crate) fn make(api: &Api, path: &str, hostname: &str, ssl: &Value) -> String {
    let made = api.post(path, &json!({"hostname": hostname, "ssl": ssl}));
    format!("{path}/{}", made["id"].as_str().unwrap())
}

/// `ssl` of a custom hostname that brings a certificate which it signs itself.
pub(crate) fn claim_with_certificate(folder: &std::path::Path, host: &str, settings: &Value) -> Value {
    crate::support::certificate(folder, "claim", &[host]);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    json!({"method": "http", "type": "dv", "settings": settings,
        "custom_certificate": read("claim.pem"), "custom_key": read("claim.key")})
}

pub(crate) fn wait_for_ssl(api: &Api, path: &str, status: &str) -> Value {
    wait_for(&format!("the certificate to be {status}"), || {
        let ssl = api.get(path)["ssl"].clone();
        (ssl["status"] == status).then_some(ssl)
    })
}

#[test]
fn a_ca_that_refuses_nonces_is_asked_with_others() {
    // If many more are refused, an order can fail so often that its next try comes after the test has given up.
    let pebble = Pebble::start(&PebbleSettings { refused_nonces: Some(20), ..PebbleSettings::default() });
    let (_edge, api, path, _origin) = saas(&pebble, "");
    let shops: Vec<String> = (0..8)
        .map(|nth| {
            let host = format!("shop-{nth}.customer.dev");
            pebble.tell("set-cname", &json!({"host": host, "target": "saas.dev"}));
            make(&api, &path, &host, &json!({"method": "http", "type": "dv"}))
        })
        .collect();
    for shop in shops {
        wait_for_ssl(&api, &shop, "active");
    }
    assert_eq!(pebble.logged("reject 20% of good nonces"), 1);
}

#[test]
fn a_customer_has_https_by_pointing_here() {
    let pebble = Pebble::start(&PebbleSettings::default());
    let (mut edge, api, path, _origin) = saas(&pebble, "");
    pebble.tell("set-cname", &json!({"host": "shop.customer.dev", "target": "saas.dev"}));
    let http = json!({"method": "http", "type": "dv"});
    let shop = make(&api, &path, "shop.customer.dev", &http);
    let ssl = wait_for_ssl(&api, &shop, "active");
    assert_eq!((&ssl["hosts"], &ssl["signature"]), (&json!(["shop.customer.dev"]), &json!("SHA256WithRSA")));
    assert!(ssl["issuer"].as_str().unwrap().contains("Pebble") && ssl.get("validation_records").is_none());
    wait_for_page(&pebble, "shop.customer.dev", "customer");
    assert_eq!(api.get(&shop)["status"], "active");
    edge.wait_for_event("certificate_issued", |event| event["hosts"] == "shop.customer.dev");
    // A long name, with a name of the service in the subject.
    let long = format!("{}.{}.customer.dev", "a".repeat(50), "b".repeat(30));
    pebble.tell("set-cname", &json!({"host": long, "target": "saas.dev"}));
    let branded = make(&api, &path, &long, &json!({"method": "http", "type": "dv", "svc_branding": true}));
    wait_for_ssl(&api, &branded, "active");
    wait_for_page(&pebble, &long, "customer");
}

#[test]
fn a_text_record_of_the_customer_is_waited_for() {
    let pebble = Pebble::start(&PebbleSettings::default());
    let (_edge, api, path, _origin) = saas(&pebble, "");
    let text = json!({"method": "txt", "type": "dv", "wildcard": true});
    let shop = make(&api, &path, "shop.customer.dev", &text);
    let ssl = wait_for_ssl(&api, &shop, "pending_validation");
    let records = ssl["validation_records"].as_array().unwrap().clone();
    assert_eq!((records.len(), &records[0]["txt_name"]), (2, &json!("_acme-challenge.shop.customer.dev")));
    wait_for("a reason", || {
        let error = api.get(&shop)["ssl"]["validation_errors"][0]["message"].clone();
        error.as_str()?.contains("is not there yet").then_some(())
    });
    assert_eq!(pebble.logged("Issued certificate serial"), 0);
    for record in &records {
        let (host, value) = (record["txt_name"].as_str().unwrap(), &record["txt_value"]);
        pebble.tell("set-txt", &json!({"host": format!("{host}."), "value": value}));
    }
    api.result("PATCH", &shop, &json!({"ssl": text}));
    let ssl = wait_for_ssl(&api, &shop, "active");
    assert_eq!(ssl["hosts"].as_array().unwrap().len(), 2);
}

#[test]
fn caa_records_that_forbid_the_ca_are_named_and_mended() {
    let pebble = Pebble::start(&PebbleSettings::default());
    let (mut edge, api, path, _origin) = saas(&pebble, "");
    pebble.tell("set-cname", &json!({"host": "shop.customer.dev", "target": "saas.dev"}));
    pebble.tell(
        "add-caa",
        &json!({"host": "customer.dev", "policies": [{"tag": "issue", "value": "other.example"}]}),
    );
    let http = json!({"method": "http", "type": "dv"});
    let shop = make(&api, &path, "shop.customer.dev", &http);
    let shown = wait_for("the error", || {
        let shown = api.get(&shop);
        (shown["status"] == "caa_error").then_some(shown)
    });
    let error = shown["ssl"]["validation_errors"][0]["message"].as_str().unwrap();
    assert!(
        error.starts_with("Issuance blocked by a CAA error for shop.customer.dev")
            && error.contains("other.example"),
        "{error}"
    );
    assert_eq!(pebble.logged("There are now 1 orders"), 0, "the CA was not asked");
    edge.wait_for_event("certificate_failed", |event| event["cause"] == "caa");
    pebble.tell(
        "add-caa",
        &json!({"host": "customer.dev", "policies": [{"tag": "issue", "value": "pebble.letsencrypt.org"}]}),
    );
    api.result("PATCH", &shop, &json!({"ssl": http}));
    wait_for_ssl(&api, &shop, "active");
    wait_for("the hostname to be active", || (api.get(&shop)["status"] == "active").then_some(()));
}

#[test]
fn what_follows_an_answered_challenge_is_no_part_of_it() {
    let pebble = Pebble::start(&PebbleSettings::default());
    // Where the edge itself looks nobody listens, so the order waits.
    let dead = format!("http_port = {}", free_port());
    let own =
        settings(&pebble, &pebble.conf("pebble")).replace(&format!("http_port = {}", pebble.http), &dead);
    let origin = Origin::fixed("text/plain", "page");
    let zone = format!("[[zones]]\nname = \"waits.dev\"\norigins = [\"{}\"]\ntls = \"auto\"\n", origin.url());
    let edge = Edge::start(&format!("{}{}{own}{zone}", plain_listener(&pebble), admin()));
    let api = Api::new(&edge, TOKEN);
    let zone = api.get("/zones?name=waits.dev")[0]["id"].as_str().unwrap().to_owned();
    let (path, token) = wait_for("the challenge", || {
        let record = api.get(&format!("/zones/{zone}/ssl/verification"))[0]["validation_records"][0].clone();
        let path = record["http_url"].as_str()?.strip_prefix("http://waits.dev")?.to_owned();
        Some((path, record["http_body"].as_str()?.to_owned()))
    });
    let hidden = "GET /hidden HTTP/1.1\r\nHost: waits.dev\r\n\r\n";
    let chunk = format!("{:x}\r\n{hidden}\r\n0\r\n\r\n", hidden.len());
    let long = "x".repeat(100_000);
    let mut ran = 0;
    for (framing, body) in [
        (String::new(), ""),
        (format!("Content-Length: {}\r\n", hidden.len()), hidden),
        ("Transfer-Encoding: chunked\r\n".to_owned(), &chunk),
        (format!("Content-Length: {}\r\n", long.len()), &long),
    ] {
        let next = "GET /next HTTP/1.1\r\nHost: waits.dev\r\nConnection: close\r\n\r\n";
        let request = format!("GET {path} HTTP/1.1\r\nHost: waits.dev\r\n{framing}\r\n{body}{next}");
        let mut stream = std::net::TcpStream::connect(edge.proxy[0]).unwrap();
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        let mut answers = Vec::new();
        // A connection that ends with bytes unread may be reset; what came before counts.
        let _ = std::io::Read::read_to_end(&mut stream, &mut answers);
        let answers = String::from_utf8_lossy(&answers);
        assert!(answers.contains(&token), "{framing}: {answers}");
        assert!(answers.matches("HTTP/1.1 200").count() <= 2, "{framing}: {answers}");
        assert!(origin.requests().iter().all(|request| request.path() != "/hidden"), "{framing}");
        ran += 1;
    }
    assert_eq!(ran, 4);
}

#[test]
fn names_below_a_zone_have_certificates_on_demand() {
    let pebble = Pebble::start(&PebbleSettings::default());
    let origin = Origin::fixed("text/plain", "tenant");
    let asked = Origin::start(|request, stream| {
        let status =
            if request.line.contains("domain=good.shop.example") { "200 OK" } else { "404 Not Found" };
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        std::io::Write::write_all(stream, head.as_bytes()).is_ok()
    });
    let ca = format!("ask = \"{}/may\"\n{}", asked.url(), pebble.conf("pebble"));
    let zone =
        format!("[[zones]]\nname = \"shop.example\"\norigins = [\"{}\"]\ntls = \"auto\"\n", origin.url());
    let _edge = Edge::start(&format!("{}{}{}{zone}", top(&pebble), admin(), settings(&pebble, &ca)));
    wait_for_page(&pebble, "shop.example", "tenant");
    let root = pebble.root();
    for name in ["bad.shop.example", "elsewhere.example"] {
        assert!(pebble.https(name, pebble.tls, &root).is_err(), "{name}");
    }
    wait_for_page(&pebble, "good.shop.example", "tenant");
    let lines: Vec<String> = asked.requests().iter().map(|request| request.line.clone()).collect();
    assert_eq!(lines.iter().filter(|line| line.contains("domain=good.")).count(), 1, "{lines:?}");
    assert!(lines.iter().all(|line| line.starts_with("GET /may?domain=")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("elsewhere")), "no zone of ours: {lines:?}");
    assert!(pebble.https("bad.shop.example", pebble.tls, &root).is_err());
    assert_eq!(pebble.logged("Issued certificate serial"), 2);
}

#[test]
fn a_revoked_certificate_is_replaced_by_one_with_another_key() {
    let pebble = Pebble::start(&PebbleSettings::default());
    let origin = Origin::fixed("text/plain", "shop");
    let zone =
        format!("[[zones]]\nname = \"shop.example\"\norigins = [\"{}\"]\ntls = \"auto\"\n", origin.url());
    let mut edge = edge(&pebble, &zone);
    wait_for_page(&pebble, "shop.example", "shop");
    let api = Api::new(&edge, TOKEN);
    let zone = api.get("/zones?name=shop.example")[0]["id"].as_str().unwrap().to_owned();
    let packs = format!("/zones/{zone}/ssl/certificate_packs");
    let before = api.get(&packs)[0].clone();
    let path = format!("{packs}/{}", before["id"].as_str().unwrap());
    api.post(&format!("{path}/revoke"), &json!({}));
    edge.wait_for_event("certificate_revoked", |event| event["hosts"] == "shop.example");
    let after = wait_for("the next certificate", || {
        let shown = api.get(&path);
        (shown["status"] == "active" && shown["primary_certificate"] != before["primary_certificate"])
            .then_some(shown)
    });
    assert_eq!(after["certificates"].as_array().unwrap().len(), 1, "the revoked one is gone");
    wait_for_page(&pebble, "shop.example", "shop");
    let serial = before["certificates"][0]["serial_number"].as_str().unwrap();
    let shown = pebble.certificate_status(serial);
    assert!(shown.contains("Revoked"), "{shown}");
}

#[test]
fn validation_is_delegated_by_an_alias() {
    let names = free_port();
    let pebble = Pebble::start(&PebbleSettings { names: Some(names), ..PebbleSettings::default() });
    let settings = settings(&pebble, &pebble.conf("pebble"));
    let listening =
        format!("[dns]\nlisteners = [\"127.0.0.1:{names}\"]\nname_servers = [\"ns1.edge.example\"]\n");
    let edge =
        Edge::start(&format!("{}{}{}", top(&pebble), admin(), settings.replace("[dns]\n", &listening)));
    let api = Api::new(&edge, TOKEN);
    let zone = |name: &str, account: &Value| {
        let zone = api.post(
            "/zones",
            &json!({"name": name, "origins": ["http://127.0.0.1:9"], "account": {"id": account}}),
        );
        let zone = format!("/zones/{}", zone["id"].as_str().unwrap());
        api.post(&format!("{zone}/dns_records"), &json!({"type": "TXT", "name": "@", "content": "x"}));
        zone
    };
    let other = api.post("/accounts", &json!({"name": "other"}))["id"].clone();
    let (saas, customer) = (zone("saas.dev", &json!("default")), zone("customer.dev", &other));
    let path = format!("{saas}/custom_hostnames");
    let text = json!({"method": "txt", "type": "dv", "wildcard": true});
    let shop = make(&api, &path, "shop.customer.dev", &text);
    let delegation = api.get(&shop)["ssl"]["dcv_delegation_records"][0].clone();
    let label = api.get(&format!("{saas}/dcv_delegation/uuid"))["uuid"].as_str().unwrap().to_owned();
    assert_eq!(delegation["cname"], "_acme-challenge.shop.customer.dev");
    assert_eq!(delegation["cname_target"], format!("shop.customer.dev.{label}.dcv.saas.dev"));
    wait_for_ssl(&api, &shop, "pending_validation");
    let records = api.get(&format!("{customer}/dns_records"));
    assert_eq!(records.as_array().unwrap().len(), 1, "nothing is written into the zone of another account");
    let alias =
        json!({"type": "CNAME", "name": "_acme-challenge.shop", "content": delegation["cname_target"]});
    api.post(&format!("{customer}/dns_records"), &alias);
    // A new order puts its record where the alias leads.
    api.result("PATCH", &shop, &json!({"ssl": {"method": "txt", "type": "dv", "wildcard": false}}));
    // The CA of the test does not follow aliases from one zone to another as resolvers do, and sees nothing.
    wait_for("the record to have been there", || {
        let history = api.get(&format!("{saas}/dns_records/history"));
        let is_ours = |change: &&Value| change["actor"] == "certificates";
        (history.as_array().unwrap().iter().filter(is_ours).count() >= 2).then_some(())
    });
    assert_eq!(
        api.get(&format!("{saas}/dns_records")).as_array().unwrap().len(),
        1,
        "it is taken away again"
    );
}
