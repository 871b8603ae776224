//! CAs: which one is asked, what it is told, and what becomes of an order if it or the edge is gone.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::api::TOKEN;
use crate::certificates::{admin, make, saas, settings, top, wait_for_page, wait_for_ssl};
use crate::support::{Api, Edge, Origin, Pebble, PebbleSettings, free_port, wait_for};

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
