//! What is written of custom hostnames: rules, filters, orders of certificates, uploads.

use serde_json::{Value, json};

use crate::custom_hostnames::Saas;
use crate::support::certificate;

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
        (dv(json!({"custom_csr_id": "x"})), 400, 1430),
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
fn of_several_that_make_one_at_once_one_does() {
    let saas = Saas::start("");
    let path = saas.hostnames();
    // And again, once it is gone.
    for _ in 0..2 {
        let body = json!({"hostname": "shop.customer.dev"});
        let answers: Vec<(u16, Value)> = std::thread::scope(|scope| {
            let asked: Vec<_> =
                (0..12).map(|_| scope.spawn(|| saas.api.call("POST", &path, &body))).collect();
            asked.into_iter().map(|asked| asked.join().unwrap()).collect()
        });
        let (made, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(status, _)| *status < 300);
        assert_eq!((made.len(), refused.len()), (1, 11));
        assert!(refused.iter().all(|(status, answer)| *status == 409 && answer["errors"][0]["code"] == 1406));
        let id = made[0].1["result"]["id"].as_str().unwrap();
        saas.api.result("DELETE", &format!("{path}/{id}"), &Value::Null);
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
