//! Certificates that somebody uploads: for zones and custom hostnames, with keys of two kinds, for requests made here.

use std::fs;
use std::process::{Command, Stdio};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256,
};
use serde_json::{Value, json};

use crate::api::TOKEN;
use crate::custom_hostnames::NO_CA;
use crate::support::{Api, Edge};

const RSA: &str = "rsa_pss_rsae_sha256:RSA+SHA256";
const ECDSA: &str = "ECDSA+SHA256";

/// A certificate and its key, both in PEM.
struct Made {
    certificate: String,
    key: String,
}

impl Made {
    /// One that signs itself and has its name as the subject.
    fn new(name: &str, algorithm: &'static rcgen::SignatureAlgorithm, hosts: &[&str]) -> Self {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut parameters = CertificateParams::new(hosts).unwrap();
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate_for(algorithm).unwrap();
        let certificate = parameters.self_signed(&key).unwrap().pem();
        Self { certificate, key: key.serialize_pem() }
    }

    fn ecdsa(name: &str, hosts: &[&str]) -> Self {
        Self::new(name, &PKCS_ECDSA_P256_SHA256, hosts)
    }

    fn rsa(name: &str, hosts: &[&str]) -> Self {
        Self::new(name, &PKCS_RSA_SHA256, hosts)
    }

    fn body(&self) -> Value {
        json!({"certificate": self.certificate, "private_key": self.key, "type": "sni_custom"})
    }

    fn pair(&self) -> Value {
        json!({"custom_certificate": self.certificate, "custom_key": self.key})
    }
}

/// An edge with a listener of TLS, whose keys are sealed.
fn edge() -> Edge {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("secrets.key"), "0a".repeat(32)).unwrap();
    let conf = format!(
        "secrets_key_file = \"secrets.key\"\n[[listeners]]\naddress = \"127.0.0.1:0\"\ntls = true\n\
         [admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n[custom_hostnames]\nnames = \"any\"\n\
         [certificates]\n{NO_CA}"
    );
    Edge::start_in(folder, &conf, &[])
}

fn zone(api: &Api, name: &str) -> String {
    let zone = api.post("/zones", &json!({"name": name, "origins": ["http://127.0.0.1:9"]}));
    format!("/zones/{}", zone["id"].as_str().unwrap())
}

fn upload(api: &Api, zone: &str, made: &Made) -> String {
    let path = format!("{zone}/custom_certificates");
    format!("{path}/{}", api.post(&path, &made.body())["id"].as_str().unwrap())
}

/// The subject of the certificate that a client is shown; `None` if it is shown none.
fn subject(edge: &Edge, host: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new("openssl")
        .args(["s_client", "-connect", &edge.proxy[0].to_string(), "-servername", host])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let subject = text.lines().find(|line| line.starts_with("subject="))?;
    Some(subject.split_once("CN = ")?.1.to_owned())
}

#[test]
fn a_zone_serves_what_was_uploaded_for_its_names_and_for_no_others() {
    let mut edge = edge();
    let api = Api::new(&edge, TOKEN);
    let (shop, other) = (zone(&api, "shop.dev"), zone(&api, "other.dev"));
    let path = format!("{shop}/custom_certificates");
    let wide = Made::ecdsa("wide", &["shop.dev", "*.shop.dev", "other.dev", "*.other.dev"]);
    let made = api.post(&path, &wide.body());
    assert_eq!(
        (&made["type"], &made["status"], &made["priority"], &made["signature"], &made["bundle_method"]),
        (&json!("sni_custom"), &json!("active"), &json!(0), &json!("ECDSAWithSHA256"), &json!("ubiquitous"))
    );
    assert_eq!(made["hosts"], json!(["shop.dev", "*.shop.dev", "other.dev", "*.other.dev"]));
    assert!(!made.to_string().contains("PRIVATE KEY") && made.get("certificate").is_none());
    let one = format!("{path}/{}", made["id"].as_str().unwrap());
    assert_eq!(api.get(&one), made);
    let shown = |edge: &Edge, host: &str| subject(edge, host, &[]);
    for (host, expected) in [
        ("shop.dev", Some("wide")),
        ("a.shop.dev", Some("wide")),
        ("a.b.shop.dev", None),
        ("other.dev", None),
        ("a.other.dev", None),
    ] {
        assert_eq!(shown(&edge, host).as_deref(), expected, "{host}");
    }
    // It is of its zone alone.
    let id = made["id"].as_str().unwrap();
    let elsewhere = format!("{other}/custom_certificates/{id}");
    for (method, body) in [("GET", Value::Null), ("DELETE", Value::Null), ("PATCH", wide.body())] {
        assert_eq!(api.refused(method, &elsewhere, &body), (404, vec![1475]), "{method}");
    }
    // It is sealed, and there after a kill.
    edge.signal("KILL");
    edge.wait_for_exit();
    for file in
        fs::read_dir(edge.folder.path()).unwrap().filter_map(|entry| fs::read(entry.unwrap().path()).ok())
    {
        assert!(!String::from_utf8_lossy(&file).contains("PRIVATE KEY"));
    }
    let edge = edge.again();
    let api = Api::new(&edge, TOKEN);
    assert_eq!((api.get(&one), shown(&edge, "a.shop.dev").as_deref()), (made, Some("wide")));
    // Another one in its place, and its end.
    let next = Made::rsa("next", &["shop.dev"]);
    let changed =
        api.result("PATCH", &one, &json!({"certificate": next.certificate, "private_key": next.key}));
    assert_eq!((&changed["signature"], &changed["hosts"]), (&json!("SHA256WithRSA"), &json!(["shop.dev"])));
    assert_eq!((shown(&edge, "shop.dev").as_deref(), shown(&edge, "a.shop.dev")), (Some("next"), None));
    api.result("DELETE", &one, &Value::Null);
    assert_eq!(shown(&edge, "shop.dev"), None);
    assert!(api.get(&path).as_array().unwrap().is_empty());
}

#[test]
fn of_several_for_one_name_type_priority_and_time_choose() {
    let edge = edge();
    let api = Api::new(&edge, TOKEN);
    let shop = zone(&api, "shop.dev");
    let path = format!("{shop}/custom_certificates");
    let shown = || subject(&edge, "shop.dev", &[]);
    let first = upload(&api, &shop, &Made::ecdsa("first", &["shop.dev"]));
    let second = upload(&api, &shop, &Made::ecdsa("second", &["shop.dev"]));
    let id = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let prioritize = |priorities: Value| {
        let listed = api.result("PUT", &format!("{path}/prioritize"), &json!({"certificates": priorities}));
        listed
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        prioritize(json!([{"id": id(&first), "priority": 2}, {"id": id(&second), "priority": 1}])),
        [id(&first), id(&second)]
    );
    assert_eq!(shown().as_deref(), Some("first"));
    // A write that changes nothing makes no new revision.
    let tag = || api.ask("GET", &first, "", "").header("etag").map(str::to_owned);
    let before = tag();
    prioritize(json!([{"id": id(&first), "priority": 2}]));
    api.result("PATCH", &first, &json!({"bundle_method": "ubiquitous"}));
    assert!(before.is_some() && tag() == before);
    assert_eq!(prioritize(json!([{"id": id(&second), "priority": "3"}])), [id(&second), id(&first)]);
    assert_eq!(shown().as_deref(), Some("second"));
    // One that is not there changes nothing.
    let missing =
        json!({"certificates": [{"id": id(&first), "priority": 9}, {"id": id(&shop), "priority": 1}]});
    assert_eq!(api.refused("PUT", &format!("{path}/prioritize"), &missing), (404, vec![1475]));
    assert_eq!(shown().as_deref(), Some("second"));
    let legacy = Made::ecdsa("legacy", &["shop.dev"]);
    let body = json!({"certificate": legacy.certificate, "private_key": legacy.key});
    assert_eq!(api.post(&path, &body)["type"], "legacy_custom");
    assert_eq!(shown().as_deref(), Some("legacy"));
    assert_eq!(api.get(&format!("{path}?status=active&match=all")).as_array().unwrap().len(), 3);
    assert!(api.get(&format!("{path}?status=expired")).as_array().unwrap().is_empty());
    // The nearest zone has its name, whatever stands in the certificates of those above it.
    let near = zone(&api, "near.shop.dev");
    let wide = Made::ecdsa("above", &["near.shop.dev", "*.shop.dev", "*.near.shop.dev"]);
    let body = json!({"certificate": wide.certificate, "private_key": wide.key});
    api.post(&path, &body);
    assert_eq!(subject(&edge, "near.shop.dev", &[]).as_deref(), Some("above"), "better than none");
    // How TLS is spoken is said by the zone that has the name, whose certificate it may not be.
    api.result("PATCH", &format!("{near}/settings/min_tls_version"), &json!({"value": "1.3"}));
    for (host, expected) in
        [("near.shop.dev", None), ("x.near.shop.dev", None), ("x.shop.dev", Some("above"))]
    {
        assert_eq!(subject(&edge, host, &["-tls1_2"]).as_deref(), expected, "{host}");
        assert_eq!(subject(&edge, host, &["-tls1_3"]).as_deref(), Some("above"), "{host}");
    }
    upload(&api, &near, &Made::ecdsa("near", &["near.shop.dev"]));
    assert_eq!(subject(&edge, "near.shop.dev", &[]).as_deref(), Some("near"));
}

#[test]
fn a_key_stays_here_and_its_request_is_signed_elsewhere() {
    let edge = edge();
    let api = Api::new(&edge, TOKEN);
    let shop = zone(&api, "shop.dev");
    let requests = format!("{shop}/custom_csrs");
    let ask = |key_type: &str| {
        json!({"name": "for the shop", "common_name": "shop.dev", "sans": ["SHOP.dev", "*.shop.dev", "shop.dev"],
            "country": "DE", "state": "Berlin", "locality": "Berlin", "organization": "Shop", "key_type": key_type})
    };
    // A CA of somebody.
    let mut parameters = CertificateParams::new(Vec::<String>::new()).unwrap();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let ca = parameters.self_signed(&key).unwrap().pem();
    let issuer = rcgen::Issuer::new(parameters, key);
    let sign = |request: &Value| {
        let text = request["csr"].as_str().unwrap();
        let request = rcgen::CertificateSigningRequestParams::from_pem(text).unwrap();
        format!("{}{ca}", request.signed_by(&issuer).unwrap().pem())
    };
    let folder = tempfile::tempdir().unwrap();
    for (key_type, signature) in [("rsa2048", RSA), ("p256v1", ECDSA)] {
        let request = api.post(&requests, &ask(key_type));
        assert_eq!(
            (&request["sans"], &request["key_type"], request.get("organizational_unit")),
            (&json!(["shop.dev", "*.shop.dev"]), &json!(key_type), None)
        );
        assert!(!request.to_string().contains("PRIVATE KEY"));
        let file = folder.path().join("request.pem");
        fs::write(&file, request["csr"].as_str().unwrap()).unwrap();
        let output = Command::new("openssl")
            .args(["req", "-verify", "-noout", "-subject", "-in", &file.display().to_string()])
            .output()
            .unwrap();
        let found = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(found.contains("verify OK"), "{found}");
        assert!(found.contains("C = DE, ST = Berlin, L = Berlin, O = Shop, CN = shop.dev"), "{found}");
        let body =
            json!({"certificate": sign(&request), "custom_csr_id": request["id"], "type": "sni_custom"});
        let made = api.post(&format!("{shop}/custom_certificates"), &body);
        assert_eq!(made["custom_csr_id"], request["id"]);
        assert!(subject(&edge, "a.shop.dev", &["-sigalgs", signature]).is_some(), "{key_type}");
        // One of another key does not go with it.
        let other = api.post(&requests, &ask(key_type));
        let body = json!({"certificate": sign(&other), "custom_csr_id": request["id"]});
        assert_eq!(api.refused("POST", &format!("{shop}/custom_certificates"), &body).1, [1429]);
        // What was uploaded has its key without the request.
        api.result("DELETE", &format!("{requests}/{}", request["id"].as_str().unwrap()), &Value::Null);
        assert!(subject(&edge, "a.shop.dev", &["-sigalgs", signature]).is_some(), "{key_type}");
    }
    assert_eq!(api.get(&requests).as_array().unwrap().len(), 2);
    // One of the account is for each of its zones; one of a zone for that zone alone.
    let account = api.get(&shop)["account"]["id"].as_str().unwrap().to_owned();
    let of_account = api.post(&format!("/accounts/{account}/custom_csrs"), &ask("p256v1"));
    let of_zone = api.post(&requests, &ask("p256v1"));
    let rivals = api.post("/accounts", &json!({"name": "rivals"}))["id"].clone();
    let rival = api.post("/zones", &json!({"name": "shop.example", "account": {"id": rivals}}));
    let hostnames = format!("/zones/{}/custom_hostnames", rival["id"].as_str().unwrap());
    for (request, expected) in [(&of_account, 1431), (&of_zone, 1431), (&json!({"id": "x"}), 1430)] {
        let ssl = json!({"custom_certificate": sign(&of_account), "custom_csr_id": request["id"]});
        let body = json!({"hostname": "shop.dev", "ssl": ssl});
        assert_eq!(api.refused("POST", &hostnames, &body).1, [expected]);
    }
    let body = json!({"certificate": sign(&of_account), "custom_csr_id": of_account["id"]});
    api.post(&format!("{shop}/custom_certificates"), &body);
    let id = of_account["id"].as_str().unwrap();
    assert_eq!(api.refused("GET", &format!("{requests}/{id}"), &Value::Null), (404, vec![1431]));
}

#[test]
fn a_custom_hostname_has_a_certificate_for_each_kind_of_client() {
    let edge = edge();
    let api = Api::new(&edge, TOKEN);
    let saas = zone(&api, "saas.dev");
    let hosts = ["a.customer.dev", "victim.customer.dev"];
    let (rsa, ecdsa) = (Made::rsa("rsa", &hosts), Made::ecdsa("ecdsa", &hosts));
    let path = format!("{saas}/custom_hostnames");
    let body = |bundle: Value| json!({"hostname": "a.customer.dev", "ssl": {"custom_cert_bundle": bundle}});
    for (bundle, code) in [
        (json!([rsa.pair(), Made::rsa("again", &hosts).pair()]), 1441),
        (json!([]), 1441),
        (json!([{"custom_key": rsa.key}]), 1427),
        (json!([{"custom_certificate": rsa.certificate, "custom_key": ecdsa.key}]), 1429),
        (json!([Made::ecdsa("other", &["b.customer.dev"]).pair()]), 1446),
    ] {
        let refused = api.refused("POST", &path, &body(bundle)).1;
        assert!(refused.contains(&code), "{refused:?} has no {code}");
    }
    let made = api.post(&path, &body(json!([ecdsa.pair(), rsa.pair()])));
    let shown = |signature: &str| subject(&edge, "a.customer.dev", &["-sigalgs", signature]);
    assert_eq!((shown(RSA).as_deref(), shown(ECDSA).as_deref()), (Some("rsa"), Some("ecdsa")));
    assert_eq!(subject(&edge, "victim.customer.dev", &[]), None, "a name that was nobody's to upload");
    let one = format!("{path}/{}", made["id"].as_str().unwrap());
    let pack = made["ssl"]["id"].as_str().unwrap();
    let certificates = || api.get(&format!("{saas}/ssl/certificate_packs/{pack}"))["certificates"].clone();
    let of = |signature: &str| {
        let all = certificates();
        let found = all.as_array().unwrap().iter().find(|one| one["signature"] == signature).unwrap();
        format!("{one}/certificate_pack/{pack}/certificates/{}", found["id"].as_str().unwrap())
    };
    let next = Made::rsa("next", &hosts);
    assert_eq!(api.refused("PUT", &of("ECDSAWithSHA256"), &next.pair()).1, [1441], "another kind of key");
    assert_eq!(api.result("PUT", &of("SHA256WithRSA"), &next.pair())["id"], made["id"]);
    assert_eq!((shown(RSA).as_deref(), shown(ECDSA).as_deref()), (Some("next"), Some("ecdsa")));
    let last = of("SHA256WithRSA");
    api.result("DELETE", &of("ECDSAWithSHA256"), &Value::Null);
    assert_eq!((shown(RSA).as_deref(), shown(ECDSA)), (Some("next"), None));
    assert_eq!(api.refused("DELETE", &last, &Value::Null), (409, vec![1477]));
    let elsewhere = last.replace(made["id"].as_str().unwrap(), pack);
    assert_eq!(api.refused("DELETE", &elsewhere, &Value::Null), (404, vec![1436]));
    let unknown = last.replace(last.rsplit('/').next().unwrap(), pack);
    assert_eq!(api.refused("PUT", &unknown, &next.pair()), (404, vec![1475]));
    assert_eq!(shown(RSA).as_deref(), Some("next"));
}

/// Asks with each body, and compares the first code of the refusal.
fn refused_with(api: &Api, path: &str, bodies: &[(Value, u64)]) {
    for (body, code) in bodies {
        let refused = api.refused("POST", path, body);
        assert_eq!((refused.0, refused.1.first()), (400, Some(code)), "{path}: {body}");
    }
    assert!(api.get(path).as_array().unwrap().is_empty());
}

/// One with an RSA key that is longer than is taken.
fn long_key() -> Value {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:4352", "-nodes", "-keyout", "long.key", "-out", "long.pem"])
        .args(["-days", "9", "-subj", "/CN=long", "-addext", "subjectAltName=DNS:shop.dev"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success());
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    json!({"certificate": read("long.pem"), "private_key": read("long.key")})
}

#[test]
fn bodies_of_certificates_are_refused_by_field() {
    let edge = edge();
    let api = Api::new(&edge, TOKEN);
    let shop = zone(&api, "shop.dev");
    let (mine, other) = (Made::ecdsa("mine", &["shop.dev"]), Made::ecdsa("other", &["other.dev"]));
    let with = |field: &str, value: Value| {
        let mut body = mine.body();
        body[field] = value;
        body
    };
    let mut over = CertificateParams::new(vec!["shop.dev".to_owned()]).unwrap();
    over.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let key = KeyPair::generate().unwrap();
    let mut of_over = with("certificate", json!(over.self_signed(&key).unwrap().pem()));
    of_over["private_key"] = json!(key.serialize_pem());
    let names: Vec<String> = (0..251).map(|nth| format!("h{nth}.shop.dev")).collect();
    let many = Made::ecdsa("many", &names.iter().map(String::as_str).collect::<Vec<_>>());
    let path = format!("{shop}/custom_certificates");
    refused_with(
        &api,
        &path,
        &[
            (with("certificate", json!("junk")), 1426),
            (with("certificate", json!("")), 1427),
            (with("certificate", Value::Null), 10008),
            (with("private_key", json!("junk")), 1428),
            (with("private_key", Value::Null), 1428),
            (with("private_key", json!(other.key)), 1429),
            (with("custom_csr_id", json!("x")), 1430),
            (with("custom_csr_id", json!("c1fe3c6d-6a45-4f0a-9f0c-0d2f6a1f0b11")), 1428),
            (with("type", json!("keyless")), 1474),
            (with("bundle_method", json!("any")), 1449),
            (with("deploy", json!("staging")), 1474),
            (with("geo_restrictions", json!({"label": "eu"})), 1474),
            (with("policy", json!("(country: DE)")), 1474),
            (other.body(), 1446),
            (of_over, 1426),
            (many.body(), 1426),
            (long_key(), 1426),
        ],
    );
    let many = json!({"certificates": vec![json!({"id": "x", "priority": 1}); 1_001]});
    assert_eq!(api.refused("PUT", &format!("{path}/prioritize"), &many), (400, vec![1474]));
}

#[test]
fn bodies_of_requests_are_refused_by_field() {
    let edge = edge();
    let api = Api::new(&edge, TOKEN);
    let shop = zone(&api, "shop.dev");
    let with = |field: &str, value: Value| {
        let mut body = json!({"common_name": "shop.dev", "sans": ["shop.dev"], "country": "DE", "state": "Berlin",
            "locality": "Berlin", "organization": "Shop"});
        body[field] = value;
        body
    };
    let names = |count: usize| json!((0..count).map(|nth| format!("h{nth}.shop.dev")).collect::<Vec<_>>());
    refused_with(
        &api,
        &format!("{shop}/custom_csrs"),
        &[
            (with("country", json!("Germany")), 1476),
            (with("country", json!("de")), 1476),
            (with("country", Value::Null), 10008),
            (with("common_name", json!("a b")), 1476),
            (with("common_name", json!("a".repeat(60) + ".shop.dev")), 1476),
            (with("sans", json!([])), 1476),
            (with("sans", json!(["*"])), 1476),
            (with("sans", names(101)), 1476),
            // What is too long is not compared with itself.
            (with("sans", names(100_000)), 1476),
            (with("organization", json!("")), 1476),
            (with("organization", json!("a\nb")), 1476),
            (with("key_type", json!("rsa512")), 1476),
            (with("name", json!("x".repeat(1_025))), 1476),
        ],
    );
    let order =
        json!({"type": "advanced", "hosts": names(100_000), "validation_method": "txt", "validity_days": 90});
    assert_eq!(api.refused("POST", &format!("{shop}/ssl/certificate_packs/order"), &order).1, [1474]);
}
