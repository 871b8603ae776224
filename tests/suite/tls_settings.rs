//! How zones speak TLS: HTTPS always, versions, cipher suites, client certificates, session tickets.

use serde_json::{Value, json};

use crate::api::TOKEN;
use crate::certificates::{admin, claim_with_certificate, make};
use crate::support::{Api, Edge, Origin};

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
            "challenge_ttl",
            "ciphers",
            "client_certificates",
            "http2",
            "http3",
            "ip_geolocation",
            "max_upload",
            "min_tls_version",
            "proxy_read_timeout",
            "security_header",
            "security_level",
            "ssl",
            "tls_1_3",
            "true_client_ip_header",
            "websockets"
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
