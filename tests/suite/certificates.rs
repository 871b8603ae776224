//! Certificates from a CA: each way to show that a name is ours, what goes wrong on the way, and kills in the middle.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::api::TOKEN;
use crate::support::{Api, Edge, Origin, Pebble, PebbleSettings, free_port, wait_for};

/// Listeners where the CA looks, and the admin port.
fn top(pebble: &Pebble) -> String {
    format!("{}{}", plain_listener(pebble), tls_listener(pebble))
}

fn plain_listener(pebble: &Pebble) -> String {
    format!("[[listeners]]\naddress = \"127.0.0.1:{}\"\n", pebble.http)
}

fn tls_listener(pebble: &Pebble) -> String {
    format!("[[listeners]]\naddress = \"127.0.0.1:{}\"\ntls = true\n", pebble.tls)
}

fn admin() -> String {
    format!("[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n")
}

/// `[certificates]` that asks this CA, and `[dns]` that asks its name server.
fn settings(pebble: &Pebble, ca: &str) -> String {
    format!(
        "[custom_hostnames]\nnames = \"any\"\n[dns]\nprivate_origins = true\nresolvers = [\"127.0.0.1:{}\"]\n\
         addresses = [\"127.0.0.1\"]\n[certificates]\nhttp_port = {}\n{ca}",
        pebble.names, pebble.http
    )
}

fn edge(pebble: &Pebble, more: &str) -> Edge {
    Edge::start(&format!("{}{}{}{more}", top(pebble), admin(), settings(pebble, &pebble.conf("pebble"))))
}

fn wait_for_page(pebble: &Pebble, host: &str, page: &str) {
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
fn saas(pebble: &Pebble, more: &str) -> (Edge, Api, String, Origin) {
    let origin = Origin::fixed("text/plain", "customer");
    let edge = edge(pebble, more);
    let api = Api::new(&edge, TOKEN);
    let zone = api.post("/zones", &json!({"name": "saas.dev", "origins": [origin.url()]}));
    let path = format!("/zones/{}/custom_hostnames", zone["id"].as_str().unwrap());
    api.result("PUT", &format!("{path}/fallback_origin"), &json!({"origin": "saas.dev"}));
    (edge, api, path, origin)
}

fn make(api: &Api, path: &str, hostname: &str, ssl: &Value) -> String {
    let made = api.post(path, &json!({"hostname": hostname, "ssl": ssl}));
    format!("{path}/{}", made["id"].as_str().unwrap())
}

/// `ssl` of a custom hostname that brings a certificate which it signs itself.
fn claim_with_certificate(folder: &std::path::Path, host: &str, settings: &Value) -> Value {
    crate::support::certificate(folder, "claim", &[host]);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    json!({"method": "http", "type": "dv", "settings": settings,
        "custom_certificate": read("claim.pem"), "custom_key": read("claim.key")})
}

fn wait_for_ssl(api: &Api, path: &str, status: &str) -> Value {
    wait_for(&format!("the certificate to be {status}"), || {
        let ssl = api.get(path)["ssl"].clone();
        (ssl["status"] == status).then_some(ssl)
    })
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
fn accounts_that_a_ca_has_already_are_used() {
    let key = URL_SAFE_NO_PAD.encode("k".repeat(48));
    let external = Some(("kid-1".to_owned(), key.clone()));
    let pebble = Pebble::start(&PebbleSettings { external_account: external, ..PebbleSettings::default() });
    let file = pebble.folder.path().join("eab.key");
    std::fs::write(&file, format!("{key}\n")).unwrap();
    let ca =
        format!("{}eab_key_id = \"kid-1\"\neab_key_file = \"{}\"\n", pebble.conf("pebble"), file.display());
    let origin = Origin::fixed("text/plain", "eab");
    let zone =
        format!("[[zones]]\nname = \"eab.example\"\norigins = [\"{}\"]\ntls = \"auto\"\n", origin.url());
    let _edge = Edge::start(&format!("{}{}{}{zone}", top(&pebble), admin(), settings(&pebble, &ca)));
    wait_for_page(&pebble, "eab.example", "eab");
}

#[test]
fn another_ca_is_asked_if_the_first_is_not_there() {
    let pebble = Pebble::start(&PebbleSettings::default());
    let dead = "[[certificates.authorities]]\nname = \"dead\"\ndirectory = \"https://localhost:9/dir\"\n";
    let ca = format!("{dead}{}", pebble.conf("pebble"));
    let origin = Origin::fixed("text/plain", "second");
    let zone =
        format!("[[zones]]\nname = \"second.example\"\norigins = [\"{}\"]\ntls = \"auto\"\n", origin.url());
    let mut edge = Edge::start(&format!("{}{}{}{zone}", top(&pebble), admin(), settings(&pebble, &ca)));
    edge.wait_for_event("certificate_failed", |event| event["cause"] == "unreachable");
    // The next attempt follows in a minute; somebody does not want to wait.
    let api = Api::new(&edge, TOKEN);
    let zone = api.get("/zones?name=second.example")[0]["id"].as_str().unwrap().to_owned();
    let packs = format!("/zones/{zone}/ssl/certificate_packs");
    let pack = wait_for("the error in the pack", || {
        let pack = api.get(&format!("{packs}?status=all"))[0].clone();
        let error = pack["validation_errors"][0]["message"].as_str()?;
        error.contains("`dead` cannot be reached").then_some(pack)
    });
    api.post(&format!("{packs}/{}/renew", pack["id"].as_str().unwrap()), &json!({}));
    wait_for_page(&pebble, "second.example", "second");
    assert_eq!(edge.metric("portcullis_certificates_issued_total{authority=\"pebble\"}"), 1.0);
}

#[test]
fn the_contact_is_told_to_the_ca() {
    let pebble = Pebble::start(&PebbleSettings::default());
    let ca = format!("contact = [\"carrier-pigeon:coop\"]\n{}", pebble.conf("pebble"));
    let zone = "[[zones]]\nname = \"told.example\"\norigins = [\"http://127.0.0.1:9\"]\ntls = \"auto\"\n";
    let conf = format!("{}{}{}{zone}", top(&pebble), admin(), settings(&pebble, &ca));
    let mut edge = Edge::start(&conf);
    let failed = edge.wait_for_event("certificate_failed", |event| event["cause"] == "refused");
    assert!(failed["error"].as_str().unwrap().contains("carrier-pigeon"), "{failed}");
    edge.rewrite(&conf.replace("carrier-pigeon:coop", "mailto:ops@shop.dev"));
    let api = Api::new(&edge, TOKEN);
    let zone = api.get("/zones?name=told.example")[0]["id"].as_str().unwrap().to_owned();
    let packs = format!("/zones/{zone}/ssl/certificate_packs");
    let pack = api.get(&format!("{packs}?status=all"))[0]["id"].as_str().unwrap().to_owned();
    wait_for("the certificate", || {
        api.post(&format!("{packs}/{pack}/renew"), &json!({}));
        (api.get(&format!("{packs}/{pack}"))["status"] == "active").then_some(())
    });
}

#[test]
fn a_named_ca_is_asked_and_no_other() {
    let (first, second) =
        (Pebble::start(&PebbleSettings::default()), Pebble::start(&PebbleSettings::default()));
    let origin = Origin::fixed("text/plain", "customer");
    let cas = format!("{}{}", first.conf("first"), second.conf("second"));
    // The second looks where the first would, so it cannot see that the name is ours: it is enough that it is asked.
    let edge = Edge::start(&format!("{}{}{}", top(&first), admin(), settings(&first, &cas)));
    let api = Api::new(&edge, TOKEN);
    let zone = api.post("/zones", &json!({"name": "saas.dev", "origins": [origin.url()]}));
    let path = format!("/zones/{}/custom_hostnames", zone["id"].as_str().unwrap());
    api.result("PUT", &format!("{path}/fallback_origin"), &json!({"origin": "saas.dev"}));
    let ssl = |ca: &str| json!({"method": "http", "type": "dv", "certificate_authority": ca});
    let named = make(&api, &path, "named.customer.dev", &ssl("second"));
    wait_for("the second to be asked", || (second.logged("Added order") == 1).then_some(()));
    assert_eq!(first.logged("Added order"), 0);
    assert_eq!(api.get(&named)["ssl"]["certificate_authority"], "second");
    let any = make(&api, &path, "any.customer.dev", &ssl(""));
    wait_for_ssl(&api, &any, "active");
    assert_eq!((first.logged("Added order"), second.logged("Added order")), (1, 1));
    // A change of the CA goes with type and method.
    let change = json!({"ssl": {"certificate_authority": "first"}});
    assert_eq!(api.refused("PATCH", &named, &change), (400, vec![1440]));
    api.result("PATCH", &named, &json!({"ssl": ssl("first")}));
    wait_for_ssl(&api, &named, "active");
    assert_eq!(first.logged("Added order"), 2);
}

#[test]
fn a_ca_that_sees_another_answer_says_so() {
    let wrong = Origin::fixed("text/plain", "not the token");
    let other = wrong.address.port();
    let pebble = Pebble::start(&PebbleSettings { http: Some(other), ..PebbleSettings::default() });
    // The edge itself is elsewhere, and sees its own answer.
    let own = free_port();
    let conf = format!(
        "[[listeners]]\naddress = \"127.0.0.1:{own}\"\n{}{}[[zones]]\nname = \"wrong.example\"\norigins = [\"http://127.0.0.1:9\"]\ntls = \"auto\"\n",
        admin(),
        settings(&pebble, &pebble.conf("pebble"))
            .replace(&format!("http_port = {other}"), &format!("http_port = {own}"))
    );
    let mut edge = Edge::start(&conf);
    let failed = edge.wait_for_event("certificate_failed", |event| event["cause"] == "not_validated");
    let error = failed["error"].as_str().unwrap();
    assert!(error.starts_with("Domain validation failed for wrong.example"), "{error}");
}

#[test]
fn kills_in_the_middle_of_orders_lose_no_key_and_order_nothing_twice() {
    let pebble = Pebble::start(&PebbleSettings::default());
    let (mut edge, api, path, _origin) = saas(&pebble, "");
    let http = json!({"method": "http", "type": "dv"});
    let mut hostnames = Vec::new();
    let mut api = api;
    for nth in 0..50 {
        let host = format!("h{nth}.customer.dev");
        pebble.tell("set-cname", &json!({"host": host, "target": "saas.dev"}));
        if nth % 10 == 0 {
            // Fifteen may be ordered in a minute.
            hostnames.push((make(&api, &path, &host, &http), host.clone()));
        } else {
            // The CA may have looked while nobody was there: somebody tries again.
            let (shown, _) = hostnames.last().unwrap();
            api.result("PATCH", shown, &json!({"ssl": http}));
            let pack = api.get(shown)["ssl"]["id"].as_str().unwrap().to_owned();
            let zone = path.trim_end_matches("/custom_hostnames");
            api.post(&format!("{zone}/ssl/certificate_packs/{pack}/renew"), &json!({}));
        }
        // Each time at another step: an order has about a dozen lines in the log of the CA.
        let (lines, issued) = (pebble.log().len(), pebble.logged("Issued certificate serial"));
        let (shown, _) = hostnames.last().unwrap();
        wait_for("the next step", || {
            let is_there = pebble.log().len() >= lines + nth % 14;
            let is_over = || {
                let ssl = api.get(&format!("{shown}/diagnose"))["ssl"].clone();
                ssl["order"] == Value::Null && (ssl["status"] == "active" || ssl["attempts"] != 0)
            };
            (is_there || pebble.logged("Issued certificate serial") > issued || is_over()).then_some(())
        });
        edge.signal("KILL");
        edge.wait_for_exit();
        edge = edge.again();
        api = Api::new(&edge, TOKEN);
    }
    for (shown, host) in &hostnames {
        wait_for(&format!("the certificate of {host}"), || {
            let ssl = api.get(&format!("{shown}/diagnose"))["ssl"].clone();
            if ssl["attempts"] != 0 {
                api.result("PATCH", shown, &json!({"ssl": http}));
            }
            (ssl["status"] == "active").then_some(())
        });
        wait_for_page(&pebble, host, "customer");
    }
    assert_eq!(hostnames.len(), 5);
    // Each order has at most one certificate.
    let mut orders: Vec<String> = pebble
        .log()
        .iter()
        .filter_map(|line| {
            let (_, rest) = line.split_once("Issued certificate serial ")?;
            Some(rest.split_once("order ")?.1.to_owned())
        })
        .collect();
    let issued = orders.len();
    orders.sort();
    orders.dedup();
    assert!(orders.len() == issued && issued >= 5, "{issued} certificates for {} orders", orders.len());
}

/// An edge with and without TLS, a zone, and the path of its settings.
fn secure_zone() -> (Edge, Api, String, Origin) {
    let folder = tempfile::tempdir().unwrap();
    crate::support::certificate(folder.path(), "c", &["secure.dev", "*.secure.dev"]);
    let conf = format!(
        "trusted_proxies = [\"127.0.0.9/32\"]\n[[listeners]]\naddress = \"127.0.0.1:0\"\n[[listeners]]\naddress = \"127.0.0.1:0\"\n\
         [[listeners.certificates]]\nchain = \"c.pem\"\nkey = \"c.key\"\n{}",
        admin()
    );
    let edge = Edge::start_in(folder, &conf, &[]);
    let api = Api::new(&edge, TOKEN);
    let origin = Origin::fixed("text/plain", "page");
    let zone = api.post("/zones", &json!({"name": "secure.dev", "origins": [origin.url()]}));
    let settings = format!("/zones/{}/settings", zone["id"].as_str().unwrap());
    (edge, api, settings, origin)
}

#[test]
fn zones_lead_to_https_and_say_so() {
    let (edge, api, settings, _origin) = secure_zone();
    let shown = api.get(&settings);
    let ids: Vec<_> = shown.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(
        ids,
        [
            "always_use_https",
            "ciphers",
            "client_certificates",
            "http2",
            "min_tls_version",
            "security_header",
            "tls_1_3"
        ]
    );
    let set =
        |id: &str, value: Value| api.result("PATCH", &format!("{settings}/{id}"), &json!({"value": value}));
    let ask = |method: &str, target: &str| {
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: a.secure.dev\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        crate::support::Client::once(edge.proxy[0], request)
    };
    assert_eq!(ask("GET", "/a?b=c").status, 200);
    assert_eq!(set("always_use_https", json!("on"))["value"], "on");
    let mut ran = 0;
    for (method, target, status, location) in [
        ("GET", "/a?b=c", 301, "https://a.secure.dev/a?b=c"),
        ("GET", "/", 301, "https://a.secure.dev/"),
        ("POST", "/form", 308, "https://a.secure.dev/form"),
        ("GET", "//evil.example/", 301, "https://a.secure.dev//evil.example/"),
        ("GET", "/%20x", 301, "https://a.secure.dev/%20x"),
    ] {
        let answer = ask(method, target);
        assert_eq!((answer.status, answer.header("location")), (status, Some(location)), "{method} {target}");
        ran += 1;
    }
    assert_eq!(ran, 5);
}

#[test]
fn zones_speak_tls_as_they_are_set() {
    let (edge, api, settings, _origin) = secure_zone();
    let set =
        |id: &str, value: Value| api.result("PATCH", &format!("{settings}/{id}"), &json!({"value": value}));
    let header =
        json!({"strict_transport_security": {"enabled": true, "max_age": 600, "include_subdomains": true}});
    set("security_header", header);
    let over_tls = |path: &str, arguments: &[&str]| {
        let port = edge.proxy[1].port();
        let output = std::process::Command::new("curl")
            .args([
                "-sk",
                "-D",
                "-",
                "-o",
                "/dev/null",
                "--resolve",
                &format!("a.secure.dev:{port}:127.0.0.1"),
            ])
            .args(arguments)
            .arg(format!("https://a.secure.dev:{port}{path}"))
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).to_ascii_lowercase()
    };
    assert!(over_tls("/", &[]).contains("strict-transport-security: max-age=600; includesubdomains\r\n"));
    assert!(over_tls("/", &[]).starts_with("http/2 200"));
    set("http2", json!("off"));
    assert!(over_tls("/", &[]).starts_with("http/1.1 200"));
    set("min_tls_version", json!("1.3"));
    assert!(over_tls("/", &["--tls-max", "1.2"]).is_empty());
    assert_eq!(api.refused("PATCH", &format!("{settings}/tls_1_3"), &json!({"value": "off"})).0, 400);
    set("min_tls_version", json!("1.0"));
    set("tls_1_3", json!("off"));
    assert!(over_tls("/", &["--tlsv1.3"]).is_empty() && over_tls("/", &[]).starts_with("http/1.1 200"));
    // Sessions are resumed, and who names no host gets the first certificate.
    let resumed = |arguments: &[&str]| {
        let output = std::process::Command::new("openssl")
            .current_dir(edge.folder.path())
            .args(["s_client", "-connect", &edge.proxy[1].to_string()])
            .args(arguments)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let named = ["-servername", "a.secure.dev", "-tls1_2"];
    assert!(resumed(&[&named[..], &["-sess_out", "session.pem"]].concat()).contains("New, TLSv1.2"));
    assert!(resumed(&[&named[..], &["-sess_in", "session.pem"]].concat()).contains("Reused, TLSv1.2"));
    assert!(resumed(&["-noservername", "-tls1_2"]).contains("BEGIN CERTIFICATE"));
    assert!(!resumed(&["-servername", "a.secure.dev", "-tls1_1"]).contains("BEGIN CERTIFICATE"));
    for (id, value) in [
        ("http2", json!("yes")),
        ("min_tls_version", json!("1.9")),
        ("ciphers", json!(["RC4"])),
        ("security_header", json!({})),
    ] {
        assert_eq!(
            api.refused("PATCH", &format!("{settings}/{id}"), &json!({"value": value})),
            (400, vec![10008]),
            "{id}"
        );
    }
    assert_eq!(api.refused("GET", &format!("{settings}/mirage"), &Value::Null).0, 404);
}

#[test]
fn clients_are_taken_by_their_certificates() {
    let (edge, api, settings, _origin) = secure_zone();
    let folder = edge.folder.path().to_owned();
    let made = client_certificates(&folder);
    let set = |value: &Value| {
        api.result("PATCH", &format!("{settings}/client_certificates"), &json!({"value": value}))
    };
    let ask = |host: &str, sni: &str, arguments: &[&str]| {
        let port = edge.proxy[1].port();
        let output = std::process::Command::new("curl")
            .current_dir(&folder)
            .args([
                "-sk",
                "-o",
                "/dev/null",
                "-w",
                "%{http_code}",
                "--resolve",
                &format!("{sni}:{port}:127.0.0.1"),
            ])
            .args(["-H", &format!("host: {host}")])
            .args(arguments)
            .arg(format!("https://{sni}:{port}/"))
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let (mine, others) =
        (["--cert", "mine.pem", "--key", "mine.key"], ["--cert", "others.pem", "--key", "others.key"]);
    assert_eq!(ask("a.secure.dev", "a.secure.dev", &[]), "200");
    assert_eq!(set(&json!({"ca": made}))["value"]["required"], true);
    let mut ran = 0;
    for (host, sni, arguments, expected) in [
        ("a.secure.dev", "a.secure.dev", &[][..], "403"),
        ("a.secure.dev", "a.secure.dev", &mine, "200"),
        ("b.secure.dev", "a.secure.dev", &mine, "200"),
        // Another CA's is no certificate at all.
        ("a.secure.dev", "a.secure.dev", &others, "000"),
        // A connection for a name that asks for none does not count, whatever it shows.
        ("a.secure.dev", "other.dev", &mine, "403"),
        ("a.secure.dev", "other.dev", &[], "403"),
        ("a.secure.dev", "a.secure.dev", &["--http1.1", "--tls-max", "1.2"], "403"),
    ] {
        assert_eq!(ask(host, sni, arguments), expected, "{host} {sni} {arguments:?}");
        ran += 1;
    }
    assert_eq!(ran, 7);
    let plain = crate::support::Client::get(edge.proxy[0], "a.secure.dev", "/");
    assert_eq!(plain.status, 403, "without TLS nobody shows anything");
    set(&json!({"ca": made, "required": false}));
    assert_eq!(ask("a.secure.dev", "a.secure.dev", &[]), "200");
    set(&json!({"ca": ""}));
    assert_eq!(ask("a.secure.dev", "a.secure.dev", &others), "200");
    // A version that is too old for a name is not let in by way of another name.
    api.result("PATCH", &format!("{settings}/min_tls_version"), &json!({"value": "1.3"}));
    assert_eq!(ask("a.secure.dev", "other.dev", &["--tls-max", "1.2"]), "421");
    assert_eq!(ask("a.secure.dev", "other.dev", &[]), "200");
}

#[test]
fn the_certificate_of_a_claim_settles_nothing_for_who_has_the_name() {
    let (edge, api, settings, _origin) = secure_zone();
    let folder = edge.folder.path().to_owned();
    let ca = client_certificates(&folder);
    let set =
        |id: &str, value: Value| api.result("PATCH", &format!("{settings}/{id}"), &json!({"value": value}));
    set("client_certificates", json!({"ca": ca}));
    set("min_tls_version", json!("1.3"));
    let ask = |arguments: &[&str]| {
        let port = edge.proxy[1].port();
        let output = std::process::Command::new("curl")
            .current_dir(&folder)
            .args(["-sk", "-o", "/dev/null", "-w", "%{http_code}"])
            .args(["--resolve", &format!("a.secure.dev:{port}:127.0.0.1")])
            .args(["--cert", "mine.pem", "--key", "mine.key"])
            .args(arguments)
            .arg(format!("https://a.secure.dev:{port}/"))
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!((ask(&[]), ask(&["--tls-max", "1.2"])), ("200".to_owned(), "000".to_owned()));
    // Another account says that the name is its own, brings a certificate, and has it spoken as it likes.
    let other = api.post("/accounts", &json!({"name": "other"}))["id"].clone();
    let zone = api.post("/zones", &json!({"name": "rival.dev", "account": {"id": other}}));
    let claim =
        claim_with_certificate(&folder, "a.secure.dev", &json!({"min_tls_version": "1.2", "http2": "off"}));
    make(&api, &format!("/zones/{}/custom_hostnames", zone["id"].as_str().unwrap()), "a.secure.dev", &claim);
    assert_eq!((ask(&[]), ask(&["--tls-max", "1.2"])), ("200".to_owned(), "000".to_owned()));
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
fn a_ca_that_never_answers_holds_up_no_other() {
    let pebble = Pebble::start(&PebbleSettings::default());
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ca = format!(
        "[[certificates.authorities]]\nname = \"silent\"\ndirectory = \"https://localhost:{}/dir\"\n{}",
        silent.local_addr().unwrap().port(),
        pebble.conf("pebble")
    );
    let origin = Origin::fixed("text/plain", "page");
    let zone = format!("[[zones]]\nname = \"held.dev\"\norigins = [\"{}\"]\ntls = \"auto\"\n", origin.url());
    let edge = Edge::start(&format!("{}{}{}{zone}", top(&pebble), admin(), settings(&pebble, &ca)));
    // The order of the zone is at the silent CA now.
    let _held = silent.accept().unwrap();
    let api = Api::new(&edge, TOKEN);
    let zone = api.get("/zones?name=held.dev")[0]["id"].as_str().unwrap().to_owned();
    let order = json!({"type": "advanced", "hosts": ["www.held.dev"], "validation_method": "http",
        "validity_days": 90, "certificate_authority": "pebble"});
    api.post(&format!("/zones/{zone}/ssl/certificate_packs/order"), &order);
    wait_for_page(&pebble, "www.held.dev", "page");
}

/// A CA and a client's certificate of it, and one of another CA; the first CA as PEM.
fn client_certificates(folder: &std::path::Path) -> String {
    let made = ["mine", "others"].map(|name| {
        let mut parameters = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = rcgen::KeyPair::generate().unwrap();
        let ca = parameters.self_signed(&key).unwrap();
        let issuer = rcgen::Issuer::from_params(&parameters, &key);
        let client_key = rcgen::KeyPair::generate().unwrap();
        let mut client = rcgen::CertificateParams::new(vec![format!("{name}.client.dev")]).unwrap();
        client.extended_key_usages.push(rcgen::ExtendedKeyUsagePurpose::ClientAuth);
        let client = client.signed_by(&client_key, &issuer).unwrap();
        std::fs::write(folder.join(format!("{name}.pem")), client.pem()).unwrap();
        std::fs::write(folder.join(format!("{name}.key")), client_key.serialize_pem()).unwrap();
        ca.pem()
    });
    let [mine, _] = made;
    mine
}

#[test]
fn nodes_take_each_others_session_tickets() {
    let keys = tempfile::tempdir().unwrap();
    let (one, other) = (keys.path().join("one.key"), keys.path().join("other.key"));
    std::fs::write(&one, "0a".repeat(32)).unwrap();
    std::fs::write(&other, "0b".repeat(32)).unwrap();
    crate::support::certificate(keys.path(), "c", &["a.example"]);
    let node = |key: &std::path::Path| {
        let folder = keys.path().display();
        Edge::start(&format!(
            "[[listeners]]\naddress = \"127.0.0.1:0\"\n[[listeners.certificates]]\nchain = \"{folder}/c.pem\"\n\
             key = \"{folder}/c.key\"\n[certificates]\nticket_key_file = \"{}\"\n",
            key.display()
        ))
    };
    let (first, second, stranger) = (node(&one), node(&one), node(&other));
    let resumes = |edge: &Edge, version: &str, session: &[&str]| {
        let output = std::process::Command::new("openssl")
            .current_dir(keys.path())
            .args(["s_client", "-servername", "a.example", version, "-connect", &edge.proxy[0].to_string()])
            .args(session)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).contains("Reused, TLS")
    };
    let version = "-tls1_2";
    assert!(!resumes(&first, version, &["-sess_out", "s.pem"]));
    for (edge, expected) in [(&first, true), (&second, true), (&stranger, false)] {
        assert_eq!(resumes(edge, version, &["-sess_in", "s.pem"]), expected);
    }
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
