use std::net::IpAddr;
use std::time::Duration;

use super::*;
use body::head::{RequestHead, ResponseHead};

const REQUEST: Phase = Phase::HttpRequestFirewallManaged;
const RESPONSE: Phase = Phase::HttpResponseFirewallManaged;

/// Places of every address.
struct Everywhere;

impl PlaceSource for Everywhere {
    fn find(&self, _: IpAddr) -> ClientPlace {
        ClientPlace { country: Some("FR".to_owned()), continent: None, asn: Some(64_496) }
    }
}

/// Whether a text matches one request and its response.
pub(crate) fn matches(text: &str) -> bool {
    let expression = Expression::parse(text, RESPONSE).unwrap_or_else(|mistake| panic!("{text}: {mistake}"));
    with_facts(|facts| expression.matches(facts))
}

fn with_facts<T>(ask: impl FnOnce(&Facts<'_>) -> T) -> T {
    let headers: [(&[u8], &[u8]); 7] = [
        (b"Host", b"Shop.example:8080"),
        (b"User-Agent", b"curl/8.1"),
        (b"Cookie", b"session=abc; theme=dark; flag"),
        (b"X-Probe", b"one"),
        (b"x-probe", b"TWO"),
        (b"Referer", b"https://a.example/"),
        (b"X-Forwarded-For", b"192.0.2.7"),
    ];
    let request = RequestHead {
        method: b"POST",
        target: b"/up/%2e./App.Tar.GZ?q=a%20b&q=c&n&x=%3Cb",
        protocol: "HTTP/1.1",
        headers: &headers,
        client: "192.0.2.33".parse().unwrap(),
        server: None,
        request_id: "1",
        received: Duration::from_secs(1_700_000_000),
    };
    let response = ResponseHead {
        status: 404,
        protocol: "HTTP/1.1",
        headers: &[(b"Content-Type", b"Text/HTML; charset=utf-8"), (b"X-Cache", b"hit")],
    };
    let mut facts = Facts::new(&request, "shop.example");
    (facts.tls, facts.response, facts.score) =
        (true, Some(&response), Some(AnomalyScore { all: 7, sqli: 4, xss: 3, rce: 0 }));
    facts.hostname_metadata = Some(r#"{"tier":"gold"}"#);
    let body = ReadBody::new("a=b&c={\"x\":[3]}", true, b"Text/Plain; charset=utf-8");
    ask(&facts.with_body(Some(&body)).with_places(Some(&Everywhere)))
}

/// Asks something of a request without a response.
pub(crate) fn with_request<T>(
    host: &str,
    target: &str,
    client: IpAddr,
    ask: impl FnOnce(&Facts<'_>) -> T,
) -> T {
    let request = RequestHead {
        method: b"GET",
        target: target.as_bytes(),
        protocol: "HTTP/1.1",
        headers: &[(b"X-A", b"b")],
        client,
        server: None,
        request_id: "1",
        received: Duration::ZERO,
    };
    ask(&Facts::new(&request, host))
}

#[test]
fn each_field_reads_what_its_name_says() {
    let cases = [
        ("http.host", r#"eq "shop.example""#),
        ("http.cookie", r#"contains "theme=dark""#),
        ("http.referer", r#"eq "https://a.example/""#),
        ("http.user_agent", r#"wildcard "CURL/*""#),
        ("http.x_forwarded_for", r#"eq "192.0.2.7""#),
        ("http.request.method", r#"in {"GET" "POST"}"#),
        ("http.request.version", r#"eq "HTTP/1.1""#),
        ("http.request.full_uri", r#"eq "https://shop.example/App.Tar.GZ?q=a%20b&q=c&n&x=%3Cb""#),
        ("http.request.uri", r#"eq "/App.Tar.GZ?q=a%20b&q=c&n&x=%3Cb""#),
        ("http.request.uri.path", r#"eq "/App.Tar.GZ""#),
        ("http.request.uri.path.extension", r#"eq "gz""#),
        ("http.request.uri.query", r#"eq "q=a%20b&q=c&n&x=%3Cb""#),
        ("http.request.uri.args", r#"["q"][0] eq "a b""#),
        ("http.request.headers", r#"["X-PROBE"][1] eq "TWO""#),
        ("http.request.headers.names", r#"[0] eq "host""#),
        ("http.request.cookies", r#"["session"][0] eq "abc""#),
        ("http.request.timestamp.sec", "gt 1699999999"),
        ("http.request.body.raw", r#"contains "b&c""#),
        ("http.request.body.size", "eq 15"),
        ("http.request.body.truncated", ""),
        ("http.request.body.mime", r#"eq "text/plain""#),
        ("http.request.body.form", r#"["a"][0] eq "b""#),
        ("http.request.body.multipart", r#"["a"][0] ne "b""#),
        ("http.request.body.json", r#"["/x/0"][0] ne "3""#),
        ("raw.http.request.uri", r#"eq "/up/%2e./App.Tar.GZ?q=a%20b&q=c&n&x=%3Cb""#),
        ("raw.http.request.uri.path", r#"eq "/up/%2e./App.Tar.GZ""#),
        ("raw.http.request.uri.query", r#"eq "q=a%20b&q=c&n&x=%3Cb""#),
        ("ip.src", "in {192.0.2.0/24}"),
        ("ip.src.country", "eq \"FR\""),
        ("ip.src.continent", "ne \"EU\""),
        ("ip.src.asnum", "in {64496..64500}"),
        ("svc.hostname.metadata", r#"contains "gold""#),
        ("ray", "eq \"1\""),
        ("ssl", ""),
        ("waf.score", "eq 7"),
        ("waf.score.sqli", "eq 4"),
        ("waf.score.xss", "in {1..3}"),
        ("waf.score.rce", "lt 1"),
        ("http.response.code", "in {200 400..499}"),
        ("http.response.headers", r#"["x-cache"][0] eq "hit""#),
        ("http.response.headers.names", r#"[1] eq "x-cache""#),
        ("http.response.content_type.media_type", r#"eq "text/html""#),
    ];
    let sets = NamedSets::default().with_places(PlaceKinds { countries: true, asns: true });
    for (field, test) in cases {
        let glue = if test.starts_with('[') { "" } else { " " };
        let parse = |phase, sets| Expression::parse_with(&format!("{field}{glue}{test}"), phase, sets);
        // Where all is known but responses.
        let of_request = Phase::HttpRequestLateTransform;
        let phase = if field.starts_with("http.response") { RESPONSE } else { of_request };
        let expression = parse(phase, &sets).unwrap();
        assert!(with_facts(|facts| expression.matches(facts)), "{field} {test}");
        let is_of_body = field.starts_with("http.request.body.");
        assert_eq!(expression.reads_body(), is_of_body);
        let is_late = field.starts_with("http.response") || field.starts_with("waf.score");
        assert_eq!(parse(REQUEST, &sets).is_ok(), !is_late, "{field}");
        assert_eq!(parse(RESPONSE, &sets).is_ok(), !is_of_body, "{field}");
        let is_of_place = field.starts_with("ip.src.");
        assert_eq!(parse(phase, &NamedSets::default()).is_ok(), !is_of_place, "{field}");
    }
    let tested: Vec<_> = cases.iter().map(|(field, _)| *field).collect();
    let known: Vec<_> = field::FIELDS.iter().map(|field| field.name).collect();
    assert_eq!(tested, known);
}

#[test]
fn conditions_join_as_they_are_written() {
    for (text, expected) in [
        ("true", true),
        ("false", false),
        ("not false", true),
        ("!false && !!true", true),
        ("true or true and false", true),
        ("(true or true) and false", false),
        ("true xor true or false", false),
        ("true ^^ false ^^ false", true),
        ("true xor true and false", true),
        ("not ssl", false),
        ("ssl == true and ssl ne false", true),
        ("http.response.code lt 500 and http.response.code >= 404 and http.response.code != 200", true),
        ("http.response.code le 403 or http.response.code > 404", false),
        ("http.response.code in {-1 0x194}", true),
        ("ip.src eq 192.0.2.33 and ip.src ne 192.0.2.34", true),
        ("ip.src in {2001:db8::/32 192.0.2.30..192.0.2.40}", true),
        ("ip.src in {2001:db8::1..2001:db8::9 192.0.2.32}", false),
        (r#"http.host lt "t" and http.host > "shop""#, true),
        (r#"http.host matches "^shop\\.[a-z]+$" and http.host ~ r"^shop\.""#, true),
        (r##"http.host in {"a" r#"shop.example"#}"##, true),
        (r#"http.host strict wildcard "Shop.*""#, false),
        (r#"http.host wildcard "Shop.*""#, true),
        (r#"http.host wildcard "shop?example" or http.host wildcard "shop""#, false),
    ] {
        assert_eq!(matches(text), expected, "{text}");
    }
}

#[test]
fn addresses_of_ipv4_are_met_however_they_are_written() {
    for text in [
        "ip.src eq ::ffff:192.0.2.33",
        "ip.src in {::ffff:192.0.2.33}",
        "ip.src in {::ffff:192.0.2.0/120}",
        "ip.src in {::ffff:192.0.2.1..::ffff:192.0.2.40}",
        "ip.src in {::ffff:192.0.2.1..192.0.2.40}",
        "not ip.src in {::/0}",
    ] {
        assert!(matches(text), "{text}");
    }
}

#[test]
fn what_is_missing_is_only_unlike_something() {
    for (text, expected) in [
        (r#"http.request.headers["x-none"][0] eq """#, false),
        (r#"http.request.headers["x-none"][0] ne "a""#, true),
        (r#"http.request.headers["x-probe"][2] contains """#, false),
        (r#"lower(http.request.headers["x-none"][0]) ne "a""#, true),
        (r#"starts_with(http.request.headers["x-none"][0], "")"#, false),
        (r#"http.request.uri.args["n"][0] eq """#, true),
        (r#"http.request.uri.args["Q"][0] eq "a b""#, false),
        (r#"http.request.cookies["flag"][0] eq """#, false),
    ] {
        assert_eq!(matches(text), expected, "{text}");
    }
}

#[test]
fn any_and_all_look_at_each_value() {
    for (text, expected) in [
        (r#"any(http.request.headers["x-probe"][*] eq "TWO")"#, true),
        (r#"all(http.request.headers["x-probe"][*] eq "TWO")"#, false),
        (r#"any(http.request.headers["x-none"][*] eq "TWO")"#, false),
        (r#"all(http.request.headers["x-none"][*] eq "TWO")"#, true),
        (r#"any(lower(http.request.headers["x-probe"][*])[*] in {"two"})"#, true),
        (r#"all(len(http.request.headers["x-probe"][*])[*] eq 3)"#, true),
        (r#"any(starts_with(http.request.headers.names[*], "x-p"))"#, true),
        (r#"all(starts_with(http.request.headers.names[*], "x-p")[*])"#, false),
        (
            r#"not any(http.request.uri.args["q"][*] eq "d") and any(http.request.uri.args["q"][*] eq "c")"#,
            true,
        ),
        (r#"lower(http.request.headers["x-probe"][*])[1] eq "two""#, true),
    ] {
        assert_eq!(matches(text), expected, "{text}");
    }
}

#[test]
fn mistakes_say_where_and_what_to_do() {
    for (text, at, message) in [
        ("", 0, "blank"),
        ("  ", 0, "blank"),
        ("TRUE", 0, "no field `TRUE`"),
        ("http.hots eq \"a\"", 0, "did you mean `http.host`?"),
        ("lowr(http.host) eq \"a\"", 0, "did you mean `lower`?"),
        ("http.host", 9, "expected one of `eq ne lt le gt ge contains matches wildcard in`, found the end"),
        ("http.host eq shop", 13, "expected a text in quotes, found `shop`"),
        ("http.host eq \"shop", 13, "no closing quote"),
        ("http.host eq r#\"shop\"", 13, "no closing quote"),
        ("http.host eq \"\\d\"", 14, "an escape"),
        ("http.host eq \"\\xg0\"", 14, "two hex digits"),
        ("http.host eq \"a\" or", 19, "expected a field"),
        ("http.host eq \"a\" http.host", 17, "expected `and`, `or`, `xor` or the end"),
        ("(ssl", 4, "expected `)`, found the end"),
        ("ssl and ()", 9, "expected a field"),
        ("ssl gt true", 6, "has no order"),
        ("ssl eq 1", 7, "expected `true` or `false`"),
        ("http.response.code eq \"a\"", 22, "expected a number"),
        ("http.response.code in {9..1}", 23, "ends before it begins"),
        ("http.response.code eq 99999999999999999999", 22, "expected a number"),
        ("http.response.code in {1, 2}", 25, "without commas"),
        ("http.response.code in {}", 23, "expected a number"),
        ("ip.src eq 192.0.2", 10, "expected an address"),
        ("ip.src in {192.0.2.0/33}", 11, "longer than its address"),
        ("ip.src in {192.0.2.9..192.0.2.1}", 11, "same family"),
        ("ip.src in $office", 11, "no list `office`; there is none"),
        ("http.host matches \"(\"", 18, ""),
        ("http.request.headers eq \"a\"", 0, "cannot be compared as a whole"),
        ("http.request.headers[0] eq \"a\"", 21, "expected a text in quotes"),
        ("http.request.headers[\"a\"][-1] eq \"a\"", 26, "counted from 0"),
        ("http.request.headers[\"a\"][*] eq \"a\"", 0, "put the comparison into any"),
        ("any(http.host eq \"a\")", 4, "take a list with `[*]`"),
        ("any(http.request.headers[\"a\"][*][0] eq \"a\")", 33, "nothing follows"),
        ("http.host[0] eq \"a\"", 10, "has no parts"),
        ("lower() eq \"a\"", 6, "expected a field"),
        ("lower(http.host, \"a\") eq \"a\"", 17, "takes at most 1"),
        ("starts_with(http.host)", 0, "takes at least 2"),
        ("lower(1) eq \"a\"", 6, "does not take a number"),
    ] {
        let mistake = Expression::parse(text, RESPONSE).expect_err(text);
        assert!(mistake.message.contains(message) && mistake.at == at, "{text}: {mistake:?}");
    }
}

#[test]
fn a_request_knows_nothing_of_its_response() {
    let mistake = Expression::parse("http.response.code eq 200", REQUEST).unwrap_err();
    assert!(mistake.message.contains("such as `http_response_firewall_managed`, only"), "{mistake}");
    assert!(Expression::parse("http.host eq \"a\"", REQUEST).is_ok());
}

#[test]
fn long_and_deep_texts_are_refused() {
    let deep = |levels: usize| format!("{}true{}", "(".repeat(levels), ")".repeat(levels));
    assert!(Expression::parse(&deep(32), REQUEST).is_ok());
    for text in [deep(33), "!".repeat(4000), "lower(".repeat(600), "not ".repeat(900), "a".repeat(4097)] {
        assert!(Expression::parse(&text, REQUEST).is_err());
    }
}

#[test]
fn pieces_of_expressions_are_expressions_or_mistakes_inside_them() {
    let text = r##"not any(lower(http.request.headers["a\x41"][*])[*] in {r#"b"# "ü"}) xor (ip.src in {192.0.2.1..192.0.2.9 ::/0} && !ssl) or len(http.host) ge -0x1f and http.host strict wildcard "*\\*""##;
    assert_eq!(Expression::parse(text, REQUEST).err(), None);
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut pieces = 0;
    for (index, from) in places.iter().enumerate() {
        for to in &places[index..] {
            let without = format!("{}{}", &text[..*from], &text[*to..]);
            for piece in [&text[*from..*to], &without] {
                if let Err(mistake) = Expression::parse(piece, REQUEST) {
                    assert!(mistake.at <= piece.len(), "{piece}: {mistake}");
                }
                pieces += 1;
            }
        }
    }
    assert!(pieces > 30_000, "{pieces}");
}

#[test]
fn only_a_constant_needs_not_be_asked() {
    assert!(Expression::parse(" true ", REQUEST).unwrap().is_everything());
    assert!(Expression::parse("(true)", REQUEST).unwrap().is_everything());
    assert!(!Expression::parse("false", REQUEST).unwrap().is_everything());
    assert!(!Expression::parse("ssl", REQUEST).unwrap().is_everything());
}

#[test]
fn what_the_request_decides_is_known_before_the_response() {
    let decided = |text: &str| {
        let expression = Expression::parse(text, Phase::HttpResponseFirewallManaged).unwrap();
        with_facts(|facts| expression.decided(facts))
    };
    let (yes, no) = ("http.request.method eq \"POST\"", "http.request.method eq \"PUT\"");
    let later = "http.response.code eq 401";
    for (text, expected) in [
        (format!("{yes} and {later}"), None),
        (format!("{no} and {later}"), Some(false)),
        (format!("{yes} or {later}"), Some(true)),
        (format!("{no} or not {later}"), None),
        (format!("{yes} xor {later}"), None),
        (format!("{yes} xor {no}"), Some(true)),
        (format!("not ({no} and {later})"), Some(true)),
        ("len(lower(http.response.headers[\"x\"][0])) eq 0".to_owned(), None),
        ("any(http.response.headers.names[*] eq \"x\") or true".to_owned(), Some(true)),
        ("true".to_owned(), Some(true)),
    ] {
        assert_eq!(decided(&text), expected, "{text}");
    }
}

#[test]
fn keys_of_values_differ_as_the_values_do() {
    let key = |texts: &[&str]| {
        let mut key = Vec::new();
        for text in texts {
            let value = ValueExpression::parse(text, Phase::HttpRatelimit, &NamedSets::default()).unwrap();
            with_facts(|facts| value.add_to_key(facts, &mut key));
        }
        key
    };
    let texts: [&[&str]; 9] = [
        &["\"ab\""],
        &["\"a\"", "\"b\""],
        &["\"b\"", "\"a\""],
        &["\"\""],
        &["http.request.headers[\"no\"][0]"],
        &["http.request.headers[\"no\"]"],
        &["1"],
        &["\"1\""],
        &["ip.src"],
    ];
    let mut keys: Vec<_> = texts.iter().map(|texts| key(texts)).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), texts.len());
    let refused = |text: &str| {
        ValueExpression::parse(text, Phase::HttpRatelimit, &NamedSets::default()).unwrap_err().message
    };
    assert!(refused("http.request.headers[\"a\"][*]").contains("stands for many"));
    assert!(refused("ip.src eq 192.0.2.1").contains("expected the end"));
    assert!(
        ValueExpression::text("ip.src", Phase::HttpRatelimit, &NamedSets::default())
            .unwrap_err()
            .message
            .contains("expected a text")
    );
}

#[test]
fn sets_are_asked_by_their_names_and_for_what_they_hold() {
    let mut sets = NamedSets::default();
    sets.insert("office_ips".to_owned(), NamedSet::of(model::ListKind::Ip, ["192.0.2.0/24"]));
    sets.insert("shops".to_owned(), NamedSet::of(model::ListKind::Hostname, ["*.example"]));
    let parse = |text: &str| Expression::parse_with(text, RESPONSE, &sets);
    for (text, expected) in [
        ("ip.src in $office_ips", true),
        ("not ip.src in $office_ips", false),
        ("http.host in $shops and ip.src in $office_ips", true),
        ("http.user_agent in $shops", false),
        ("any(http.request.headers[\"host\"][*] in $shops)", true),
    ] {
        let head = RequestHead {
            method: b"GET",
            target: b"/",
            protocol: "HTTP/1.1",
            headers: &[(b"Host", b"a.example")],
            client: "192.0.2.7".parse().unwrap(),
            server: None,
            request_id: "0",
            received: Duration::ZERO,
        };
        assert_eq!(parse(text).unwrap().matches(&Facts::of_request(&head)), expected, "{text}");
    }
    for (text, at, message) in [
        ("ip.src in $office_ip", 11, "did you mean `office_ips`?"),
        ("ip.src in $shops", 11, "is of the kind `hostname`; expected one of `ip`"),
        ("http.host in $office_ips", 14, "is of the kind `ip`"),
        ("http.response.code in $shops", 23, "expected one of `asn`"),
        ("ip.src in $", 11, "no list"),
    ] {
        let mistake = parse(text).expect_err(text);
        assert!(mistake.message.contains(message) && mistake.at == at, "{text}: {mistake:?}");
    }
    assert!(Expression::parse_with("ip.src in $any", RESPONSE, &NamedSets::open()).is_ok());
}

#[test]
fn a_mistake_is_shown_where_it_stands() {
    for (text, expected) in [
        ("http.host eq 5", "http.host eq 5\n             ^"),
        ("true and\n\thttp.hst eq \"a\"\nand true", "\thttp.hst eq \"a\"\n\t^"),
        ("http.host eq \"ä\" und", "http.host eq \"ä\" und\n                 ^"),
        ("http.host eq", "http.host eq\n            ^"),
    ] {
        let mistake = Expression::parse(text, RESPONSE).expect_err(text);
        assert_eq!(mistake.excerpt(text), expected);
    }
    let beyond = Mistake { at: 99, message: String::new() };
    assert_eq!(beyond.excerpt("ä"), "ä\n ^");
}

/// What an expression saw of the request, in one line.
pub(crate) fn told(text: &str) -> String {
    let expression = Expression::parse(text, RESPONSE).unwrap();
    let told = with_facts(|facts| expression.values(facts));
    told.iter().map(|told| format!("{}={}", told.name, told.value)).collect::<Vec<_>>().join(" ")
}
