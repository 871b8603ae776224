//! Directives that reach outside the rules: redirects, databases, other hosts.

use crate::seclang::{GET, Outcome, run};
use crate::support::{Data, mmdb};

#[test]
fn a_redirect_leads_where_the_rule_says() {
    let rules =
        "SecRule ARGS:q \"@rx a\" \"id:1,redirect:'https://help.example/?from=%{REMOTE_ADDR}',status:307\"\n";
    let (outcome, said) = run(rules, GET).unwrap();
    assert_eq!(said, "");
    let location = Some("https://help.example/?from=192.0.2.1".to_owned());
    assert_eq!(outcome, Outcome { matched: vec![1], status: Some(307), location });
    let (outcome, _) = run(&rules.replace(",status:307", ""), GET).unwrap();
    assert_eq!(outcome.status, Some(302));
}

#[test]
fn addresses_are_looked_up_in_a_database() {
    let named = |name| Data::Map(Box::leak(Box::new([("en", Data::Text(name))])));
    let record = Data::Map(&[
        ("city", Data::Map(&[("names", named("Springfield"))])),
        ("continent", Data::Map(&[("code", Data::Text("EU"))])),
        ("country", Data::Map(&[("iso_code", Data::Text("NL")), ("names", named("Netherlands"))])),
        ("location", Data::Map(&[("latitude", Data::Double(52.5)), ("longitude", Data::Double(-4.25))])),
        ("postal", Data::Map(&[("code", Data::Text("1234"))])),
        ("subdivisions", Data::List(&[Data::Map(&[("iso_code", Data::Text("NH"))])])),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("city.mmdb");
    std::fs::write(&path, mmdb(&[192, 0, 2], &record)).unwrap();
    let database = format!("SecGeoLookupDb {}\n", path.display());
    let rules = "SecRule REMOTE_ADDR \"@geoLookup\" \"id:1,phase:1,deny,chain\"\n\
         SecRule GEO:COUNTRY_CODE \"@streq NL\" \"chain\"\n\
         SecRule GEO:CITY|GEO:REGION|GEO:POSTAL_CODE|GEO:COUNTRY_NAME|GEO:COUNTRY_CONTINENT \"@within Springfield NH 1234 Netherlands EU\" \"chain\"\n\
         SecRule GEO:LATITUDE|GEO:LONGITUDE \"@rx ^(?:52\\.500000|-4\\.250000)$\"\n";
    let (outcome, said) = run(&format!("{database}{rules}"), GET).unwrap();
    assert_eq!((said.as_str(), outcome.matched, outcome.status), ("", vec![1], Some(403)));
    // Another network, what is no address, and the country in other words.
    for other in [
        "SecRule SERVER_ADDR \"@geoLookup\" \"id:1,phase:1,deny\"\n",
        "SecRule REQUEST_METHOD \"@geoLookup\" \"id:1,phase:1,deny\"\n",
        "SecRule REMOTE_ADDR \"@geoLookup\" \"id:1,phase:1,deny,chain\"\nSecRule GEO:COUNTRY_CODE \"!@streq NL\"\n",
    ] {
        assert_eq!(run(&format!("{database}{other}"), GET).unwrap().0.status, None, "{other}");
    }
    let (outcome, said) = run(rules, GET).unwrap();
    assert_eq!(outcome.status, None);
    assert!(said.contains("no `SecGeoLookupDb` stands before this line"), "{said}");
    std::fs::write(&path, "not a database").unwrap();
    let refused = run(&format!("{database}{rules}"), GET).unwrap_err();
    assert!(refused.contains("as a MaxMind DB"), "{refused}");
}

#[test]
fn what_is_malformed_or_reads_from_elsewhere_is_refused() {
    for (rules, reason) in [
        ("SecRemoteRules key https://rules.example/x", "rules are read from files only"),
        ("SecRule XML:/* \"@rx a\" \"id:1,xmlns:soap\"", "expected `prefix=address`"),
        ("SecRule XML:/soap:a \"@rx a\" \"id:1\"", "the prefix `soap` needs an action `xmlns:soap=address`"),
        ("SecDefaultAction \"log,pass\"", "needs a `phase`"),
        ("SecDefaultAction \"phase:2,log\"", "needs a disruptive action"),
        ("SecDefaultAction \"phase:2,pass,id:1\"", "cannot have an `id`"),
        ("SecUnicodeMapFile unicode.mapping", "expected a file and a code page"),
        ("SecUnicodeMapFile unicode.mapping first", "expected a file and a code page"),
        ("SecDataset words", "expected a name and the lines"),
        ("SecRule ARGS \"@pmFromDataset words\" \"id:1\"", "there is no `SecDataset words` before this line"),
        ("SecRequestBodyLimitAction Maybe", "expected `Reject` or `ProcessPartial`"),
        ("SecArgumentsLimit many", "expected a number"),
        ("SecAuditEngine Maybe", "expected `On`, `Off` or `RelevantOnly`"),
        ("SecAuditLogType HTTPS", "expected `Serial` or `Concurrent`"),
        ("SecAuditLogParts BH", "expected letters that begin with `A`"),
        ("SecAuditLogRelevantStatus (", "expected a pattern"),
        ("SecAuditLog", "expected a file"),
        ("SecAuditLog |/usr/bin/logger", "records are not piped to programs"),
        ("SecAuditLogStorageDir", "expected a folder"),
        ("SecAuditLogFormat XML", "expected `JSON`"),
        ("SecAuditEngine On", "an audit log needs a file"),
        (
            "SecAuditEngine On\nSecAuditLog a.log\nSecAuditLogType Concurrent",
            "needs a folder for its records",
        ),
    ] {
        let said = run(rules, GET).expect_err(rules);
        assert!(said.contains(reason), "{rules}: {said}");
    }
}
