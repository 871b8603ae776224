//! Several zones that claim one hostname: who has it, and what a claim takes from others.

use serde_json::{Value, json};

use crate::custom_hostnames::Saas;
use crate::support::wait_for;

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
