//! `portcullis dns`: zone files are checked, and answers explained.

use serde_json::json;

use crate::dns_server::name_server;
use crate::support::run_cli;

#[test]
fn zone_files_are_checked_and_answers_explained_on_the_command_line() {
    let (edge, api, _, records) = name_server("");
    let file = edge.folder.path().join("shop.example.zone");
    let checked = |text: &str| {
        std::fs::write(&file, text).unwrap();
        run_cli(&["dns", "check", file.to_str().unwrap()], b"")
    };
    let sound = checked("@ SOA ns1 a 1 2 3 4 5\n@ NS ns1\nns1 A 192.0.2.1\n");
    assert_eq!(String::from_utf8_lossy(&sound.stdout), "shop.example: 3 records\n", "{sound:?}");
    let wrong = checked("@ SOA ns1 a 1 2 3 4 5\na CNAME b\na A 192.0.2.1\n");
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        wrong.status.code() == Some(1) && said.contains("zone:3: error: `a.shop.example` has a CNAME record"),
        "{said}"
    );
    let malformed = checked("a A 1\nb IN\n");
    let said = String::from_utf8_lossy(&malformed.stderr).into_owned();
    assert!(said.contains("zone:1: expected an IPv4 address") && said.contains("2 mistakes found"), "{said}");
    for record in [
        json!({"type": "CNAME", "name": "www", "content": "web.example.com"}),
        json!({"type": "A", "name": "web", "content": "198.51.100.1", "proxied": true}),
        json!({"type": "TXT", "name": "*.wild", "content": "w"}),
        json!({"type": "NS", "name": "sub", "content": "ns.example.net"}),
        json!({"type": "CNAME", "name": "@", "content": "web.example.com"}),
    ] {
        api.post(&records, &record);
    }
    let conf = edge.folder.path().join("p.toml");
    let explained = |name: &str, kind: &str| {
        let output = run_cli(&["dns", "explain", name, kind, "--conf", conf.to_str().unwrap()], b"");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for (name, kind, parts) in [
        (
            "www.example.com",
            "A",
            &[
                "in the zone example.com",
                "www.example.com: an alias of web.example.com",
                "web.example.com: has A records",
                "proxied",
            ][..],
        ),
        (
            "x.wild.example.com",
            "TXT",
            &["has TXT records, by a wildcard", "*.wild.example.com 300 TXT \"w\""],
        ),
        ("x.wild.example.com", "A", &["exists, without A records, by a wildcard"]),
        ("a.sub.example.com", "A", &["delegated with sub.example.com"]),
        ("none.example.com", "A", &["does not exist"]),
        ("example.com", "A", &["flattened"]),
        ("elsewhere.example", "A", &["no zone here has it"]),
    ] {
        let text = explained(name, kind);
        assert!(parts.iter().all(|part| text.contains(part)), "{name} {kind}: {text}");
    }
}
