use super::FUNCTIONS;
use crate::tests::matches;
use crate::{Expression, Phase};

#[test]
fn each_function_does_what_its_name_says() {
    let cases = [
        (
            "cidr",
            r#"cidr(ip.src, 24) eq 192.0.2.0 and cidr(ip.src, 32, 64) eq 192.0.2.33 and cidr(ip.src, 0) eq 0.0.0.0 and not cidr(ip.src, 33) eq 192.0.2.33"#,
        ),
        ("concat", r#"concat(http.host, "/", lower("X")) eq "shop.example/x""#),
        (
            "encode_base64",
            r#"encode_base64(">>>??") eq "Pj4+Pz8=" and encode_base64(">>>??", "u") eq "Pj4-Pz8""#,
        ),
        ("ends_with", r#"ends_with(http.request.uri.path, ".GZ")"#),
        (
            "is_timed_hmac_valid_v0",
            r#"is_timed_hmac_valid_v0("secret", "/a.txt?verify=1700000000-X5X%2ByL5Sd3ixeD4Xh8UaNjajHDaqg9haC1XI0EfkZ3E%3D", 60, 1700000060, 8) and is_timed_hmac_valid_v0("secret", "/a.txt?verify=1700000000-X5X-yL5Sd3ixeD4Xh8UaNjajHDaqg9haC1XI0EfkZ3E", 60, 1700000000, 8, "s")"#,
        ),
        (
            "join",
            r#"join(http.request.headers["x-probe"], "+") eq "one+TWO" and join(split("a,b,c", ","), "") eq "abc""#,
        ),
        (
            "len",
            r#"len(http.host) eq 12 and len(http.request.headers["x-probe"]) eq 2 and len(http.request.uri.args) == 4"#,
        ),
        (
            "lookup_json_integer",
            r#"lookup_json_integer("{\"a\":[1,-7]}", "a", 1) eq -7 and not lookup_json_integer("[1.5]", 0) eq 1 and not lookup_json_integer("[1", 0) eq 1"#,
        ),
        (
            "lookup_json_string",
            r#"lookup_json_string("{\"a\":{\"b\":\"c\"}}", "a", "b") eq "c" and lookup_json_string("[]", 0) ne "" and lookup_json_string("{\"a\":1}", "a") ne "1""#,
        ),
        ("lower", r#"lower(http.request.uri.path) eq "/app.tar.gz""#),
        ("remove_bytes", r#"remove_bytes(http.host, "pe.") eq "shoxaml""#),
        (
            "sha256",
            r#"sha256("abc") eq "\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23\xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad""#,
        ),
        (
            "split",
            r#"split(http.host, ".")[1] eq "example" and split("a,b,c", ",", 2)[1] eq "b,c" and len(split("", ",")) eq 1 and len(split("ab", "")) eq 1 and any(split("a,b", ",")[*] eq "b")"#,
        ),
        ("starts_with", r#"starts_with(http.request.uri.path, "/App")"#),
        (
            "substring",
            r#"substring(http.host, 0, 4) eq "shop" and substring(http.host, -7) eq "example" and substring("a", 5, 1) eq """#,
        ),
        (
            "to_string",
            r#"to_string(ip.src) eq "192.0.2.33" and to_string(len("ab")) eq "2" and to_string(ssl) eq "true""#,
        ),
        ("upper", r#"upper(http.host) eq "SHOP.EXAMPLE""#),
        ("url_decode", r#"url_decode(http.request.uri.query) contains "x=<b""#),
        (
            "uuidv4",
            r#"uuidv4("a") matches "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$" and uuidv4(ray) eq "6b86b273-ff34-4ce1-9d6b-804eff5a3f57""#,
        ),
        (
            "wildcard_replace",
            r#"wildcard_replace("HTTP://a.b/c", "http*://*.b/*", "$$-${2}-${3}-${1}-${4}") eq "$-a-c--" and wildcard_replace("a", "b*", "c") eq "a" and wildcard_replace("A", "a", "b", "s") eq "A" and wildcard_replace("a*b", "a\\*b", "c") eq "c""#,
        ),
    ];
    for (name, text) in cases {
        assert!(matches(text), "{name}: {text}");
    }
    let tested: Vec<_> = cases.iter().map(|(name, _)| *name).collect();
    let known: Vec<_> = FUNCTIONS.iter().map(|function| function.name).collect();
    assert_eq!(tested, known);
}

#[test]
fn a_signed_message_holds_for_its_time_its_key_and_its_text_alone() {
    let signed = "/a.txt?verify=1700000000-X5X%2ByL5Sd3ixeD4Xh8UaNjajHDaqg9haC1XI0EfkZ3E%3D";
    let valid = |key: &str, message: &str, lifetime: i64, now: i64, separator: i64, flags: &str| {
        matches(&format!(
            "is_timed_hmac_valid_v0(\"{key}\", \"{message}\", {lifetime}, {now}, {separator}, \"{flags}\")"
        ))
    };
    assert!(valid("secret", signed, 60, 1_700_000_000, 8, ""));
    for (key, message, lifetime, now, separator, flags) in [
        ("other", signed, 60, 1_700_000_000, 8, ""),
        ("secret", signed, 60, 1_700_000_061, 8, ""),
        ("secret", signed, 60, 1_699_999_999, 8, ""),
        ("secret", signed, 60, 1_700_000_000, 7, ""),
        ("secret", signed, 60, 1_700_000_000, -1, ""),
        ("secret", signed, 60, 1_700_000_000, 9_000_000, ""),
        ("secret", signed, -1, 1_700_000_000, 8, ""),
        ("secret", signed, 60, i64::MIN + 1, 8, ""),
        ("secret", signed, 60, 1_700_000_000, 8, "s"),
        ("secret", &signed.replace("a.txt", "b.txt"), 60, 1_700_000_000, 8, ""),
        ("secret", &signed.replace("1700000000", "1700000001"), 60, 1_700_000_001, 8, ""),
        ("secret", &signed[..signed.len() - 3], 60, 1_700_000_000, 8, ""),
        ("secret", "1700000000-", 60, 1_700_000_000, 0, ""),
        ("secret", "", 60, 1_700_000_000, 0, ""),
        ("", "9999999999-A%", 60, 9_999_999_999, 0, ""),
    ] {
        assert!(!valid(key, message, lifetime, now, separator, flags), "{key} {message} {now} {separator}");
    }
}

#[test]
fn patterns_are_replaced_once_with_their_groups() {
    for (text, expected) in [
        (r#"regex_replace(http.host, "^(shop)\\.(.+)$", "${2}.${1}")"#, "example.shop"),
        (r#"regex_replace("aaa", "a", "b")"#, "baa"),
        (r#"regex_replace("abc", "x", "y")"#, "abc"),
        (r#"regex_replace("abc", "(b)(x)?", "[${1}|${2}|${3}|$$|${x}|$]")"#, "a[b|||$|${x}|$]c"),
        (r#"regex_replace(lower("ABC"), "b.*", "")"#, "a"),
        (r#"concat(regex_replace("a", "", "-"), "!")"#, "-a!"),
    ] {
        assert!(matches(&format!("{text} eq \"{expected}\"")), "{text} is not {expected}");
    }
    for (text, at, message) in [
        (r#"regex_replace(http.host, "(", "x") eq "a""#, 25, ""),
        (r#"regex_replace(http.host, http.host, "x") eq "a""#, 25, "text in quotes"),
        (r#"regex_replace(len(http.host), "a", "x") eq "a""#, 14, "one text first"),
        (r#"split(http.request.headers["a"][*], ",")[0] eq "a""#, 0, "takes no `[*]`"),
        (r#"regex_replac(http.host, "a", "b") eq "a""#, 0, "did you mean `regex_replace`?"),
    ] {
        let mistake = Expression::parse(text, Phase::HttpRequestFirewallManaged).expect_err(text);
        assert!(mistake.message.contains(message) && mistake.at == at, "{text}: {mistake:?}");
    }
}
