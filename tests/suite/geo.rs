//! Where clients are, by databases that an operator names.

use crate::support::{Client, Data, Edge, Origin, mmdb_of, refused_by_check, run_cli};

const COUNTRY: Data<'_> = Data::Map(&[
    ("continent", Data::Map(&[("code", Data::Text("EU"))])),
    ("country", Data::Map(&[("iso_code", Data::Text("FR"))])),
]);
const ASN: Data<'_> = Data::Map(&[("autonomous_system_number", Data::Count(64_496))]);

fn conf(origin: &Origin, databases: &str, expression: &str) -> String {
    format!(
        "geo_databases = [{databases}]\ntrusted_proxies = [\"127.0.0.0/8\"]\n\
         [[listeners]]\naddress = \"127.0.0.1:0\"\n[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n\
         rulesets = [{{ phase = \"http_request_firewall_custom\", rules = [{{ action = \"block\", expression = '{expression}' }}] }}]\n",
        origin.url()
    )
}

#[test]
fn rules_ask_where_clients_are() {
    let origin = Origin::echo();
    let write = |folder: &std::path::Path, asn: &Data<'_>| {
        std::fs::write(folder.join("country.mmdb"), mmdb_of("Test-Country", &[192, 0, 2], &COUNTRY)).unwrap();
        std::fs::write(folder.join("asn.mmdb"), mmdb_of("Test-ASN", &[192, 0], asn)).unwrap();
    };
    for (expression, near, far) in [
        ("ip.src.country eq \"FR\"", 403, 200),
        ("ip.src.country in {\"DE\" \"FR\"} and ip.src.continent eq \"EU\"", 403, 200),
        ("ip.src.country ne \"FR\"", 200, 403),
        ("ip.src.asnum eq 64496", 403, 200),
        ("len(ip.src.country) eq 2 and ip.src.asnum in {64000..65000}", 403, 200),
    ] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &ASN);
        let edge = Edge::start_in(folder, &conf(&origin, "\"country.mmdb\", \"asn.mmdb\"", expression), &[]);
        let from = |address: &str| {
            let request = format!(
                "GET / HTTP/1.1\r\nHost: a.example\r\nX-Forwarded-For: {address}\r\nConnection: close\r\n\r\n"
            );
            Client::once(edge.proxy[0], request).status
        };
        assert_eq!((from("192.0.2.7"), from("198.51.100.7")), (near, far), "{expression}");
        assert_eq!((from("::ffff:192.0.2.7"), from("2001:db8::1")), (near, far), "{expression}");
    }
    // On the command line, with the configuration's databases.
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &ASN);
    let file = folder.path().join("p.toml");
    std::fs::write(&file, conf(&origin, "\"country.mmdb\", \"asn.mmdb\"", "true")).unwrap();
    let file = file.display().to_string();
    let arguments =
        ["expression", "test", "ip.src.country", "--request", "-", "--client", "192.0.2.1", "--conf", &file];
    let output = run_cli(&arguments, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "it gives `FR`\n");
}

#[test]
fn lists_of_autonomous_systems_are_asked() {
    let (origin, folder) = (Origin::echo(), tempfile::tempdir().unwrap());
    std::fs::write(folder.path().join("asn.mmdb"), mmdb_of("Test-ASN", &[192, 0], &ASN)).unwrap();
    let list = "[[lists]]\nname = \"clouds\"\nkind = \"asn\"\nitems = [\"AS64511\", \"64496\"]\n";
    let conf = conf(&origin, "\"asn.mmdb\"", "ip.src.asnum in $clouds");
    let edge = Edge::start_in(folder, &conf.replace("[[zones]]", &format!("{list}[[zones]]")), &[]);
    let from = |address: &str| {
        let request = format!(
            "GET / HTTP/1.1\r\nHost: a.example\r\nX-Forwarded-For: {address}\r\nConnection: close\r\n\r\n"
        );
        Client::once(edge.proxy[0], request).status
    };
    assert_eq!((from("192.0.2.7"), from("198.51.100.7")), (403, 200));
    let bad =
        refused_by_check(&conf.replace("[[zones]]", &format!("{}[[zones]]", list.replace("64511", "x"))));
    assert!(bad.contains("the number of an autonomous system"), "{bad}");
}

#[test]
fn without_a_database_there_is_a_clear_error() {
    let origin = Origin::echo();
    let missing = refused_by_check(&conf(&origin, "", "ip.src.country eq \"FR\""));
    assert!(missing.contains("is known with a database of countries in `geo_databases` only"), "{missing}");
    let unread = refused_by_check(&conf(&origin, "\"none.mmdb\"", "true"));
    assert!(unread.contains("cannot read"), "{unread}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mmdb");
    for (bytes, words) in [
        (b"nothing of this kind".to_vec(), "no MaxMind DB file"),
        (mmdb_of("Test-Domain", &[192, 0, 2], &COUNTRY), "a database of the type `Test-Domain`"),
        (mmdb_of("Test-ASN", &[192, 0, 2], &ASN), "a database of countries"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let refused =
            refused_by_check(&conf(&origin, &format!("\"{}\"", path.display()), "ip.src.country eq \"FR\""));
        assert!(refused.contains(words), "{refused}");
    }
}
