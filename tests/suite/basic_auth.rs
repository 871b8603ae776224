//! Names and passwords for sites that have no sign-in of their own.

use base64::Engine as _;
use serde_json::json;

use crate::support::{Client, Edge, Origin, Response, refused_by_check, wait_for};

fn users(entries: &[(&str, &str)]) -> String {
    entries
        .iter()
        .map(|(name, password)| format!("{name}:{}\n", bcrypt::hash(password, 4).unwrap()))
        .collect()
}

fn basic(credentials: &str) -> String {
    format!("Authorization: Basic {}\r\n", base64::engine::general_purpose::STANDARD.encode(credentials))
}

fn edge(origin: &Origin, more: &str) -> Edge {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("# staff\n\n{}", users(&[("ann", "correct: horse"), ("bör", "x")]));
    std::fs::write(folder.path().join("staff"), file).unwrap();
    let conf = format!(
        "[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n{more}\
         [[zones.basic_auth]]\nexpression = 'starts_with(http.request.uri.path, \"/admin\")'\nrealm = \"Staff only\"\nusers_file = \"staff\"\n",
        origin.url()
    );
    Edge::start_in(folder, &conf, &[])
}

fn send(edge: &Edge, request_line: &str, fields: &str) -> Response {
    let head = format!("{request_line} HTTP/1.1\r\nHost: a.example\r\n{fields}Connection: close\r\n\r\n");
    Client::once(edge.proxy[0], head)
}

#[test]
fn who_has_a_password_goes_on_and_nobody_else_does_by_any_spelling() {
    let origin = Origin::echo();
    let mut edge = edge(&origin, "");
    let right = basic("ann:correct: horse");
    for fields in [
        String::new(),
        basic("ann:wrong"),
        basic("ann:"),
        basic("ann"),
        basic("nobody:correct: horse"),
        basic("ANN:correct: horse"),
        right.replace("Basic", "Bearer"),
        right.replace("Basic ", "Basic"),
        format!("{right}{}", basic("ann:wrong")),
        format!("{right}{right}"),
        right.replace("Authorization", "X-Authorization"),
        right.replace("Authorization", "Proxy-Authorization"),
        "svc-authenticated-user: ann\r\n".to_owned(),
    ] {
        let answer = send(&edge, "GET /admin/x", &fields);
        assert_eq!(answer.status, 401, "{fields}");
        assert_eq!(answer.header("www-authenticate"), Some("Basic realm=\"Staff only\", charset=\"UTF-8\""));
    }
    // Rules see what is in the credentials.
    assert_eq!(send(&edge, "GET /admin/x", &basic("ann:correct: horse\0")).status, 403);
    for target in [
        "/x/../admin",
        "//admin",
        "/%61dmin",
        "/admin;x",
        "/./admin/",
        "/x/..;/admin",
        "/;/admin",
        "/x/..;a=b/admin",
        "/x\\..\\admin",
    ] {
        // A dot segment with a parameter is an attack to the rules, which decide before.
        let expected = if target.contains("..;") { 403 } else { 401 };
        assert_eq!(send(&edge, &format!("GET {target}"), "").status, expected, "{target}");
    }
    assert_eq!(Client::post(edge.proxy[0], "a.example", "/admin", "text/plain", b"abc").status, 401);
    assert_eq!(origin.begun().len(), 0, "nothing of these left");
    for fields in [right.clone(), right.replace("Basic", "bAsIc"), right] {
        assert_eq!(
            send(&edge, "GET /admin/x", &format!("{fields}SVC_Authenticated_User: eve\r\n")).status,
            200
        );
        let asked = origin.last();
        let told: Vec<_> = asked
            .headers
            .iter()
            .filter(|(name, _)| name.replace('_', "-") == "svc-authenticated-user")
            .collect();
        assert_eq!(told.iter().map(|(_, user)| user.as_str()).collect::<Vec<_>>(), ["ann"]);
        assert_eq!(asked.header("authorization"), None, "the password stays here");
    }
    assert_eq!(send(&edge, "GET /admin", &basic("bör:x")).status, 200);
    // Elsewhere nobody is asked, and the field of an origin's own goes on.
    let own = "Authorization: Bearer of-the-origin\r\nsvc-authenticated-user: eve\r\n";
    assert_eq!(send(&edge, "GET /open", own).status, 200);
    let asked = origin.last();
    assert_eq!(
        (asked.header("authorization"), asked.header("svc-authenticated-user")),
        (Some("Bearer of-the-origin"), None)
    );
    edge.wait_for_event("request_refused", |event| event["reason"] == "unauthenticated");
    // Rules decide before: an attack is one, whoever sends it.
    let attack = "GET /admin?q=1'%20UNION%20SELECT%20a%20FROM%20b--";
    assert_eq!((send(&edge, attack, "").status, send(&edge, attack, &basic("bör:x")).status), (403, 403));
}

#[test]
fn a_changed_file_holds_at_once_and_guesses_are_bounded_by_a_rate() {
    let origin = Origin::echo();
    let rate = json!({"rulesets": [{"phase": "http_ratelimit", "rules": [{"action": "block", "expression": "http.request.uri.path eq \"/admin\"",
        "ratelimit": {"characteristics": ["ip.src"], "period": 600, "requests_per_period": 3, "mitigation_timeout": 600,
            "counting_expression": "http.request.uri.path eq \"/admin\" and http.response.code eq 401"}}]}]});
    let rate = toml::to_string(&rate)
        .unwrap()
        .replace("[[rulesets", "[[zones.rulesets")
        .replace("[rulesets", "[zones.rulesets");
    let edge = edge(&origin, &rate);
    let right = basic("ann:correct: horse");
    let status = |fields: &str| send(&edge, "GET /admin", fields).status;
    assert_eq!((status(&right), status(&right)), (200, 200));
    std::fs::write(edge.folder.path().join("staff"), users(&[("ann", "another")])).unwrap();
    wait_for("the new password", || {
        (send(&edge, "GET /admin/other", &basic("ann:another")).status == 200).then_some(())
    });
    assert_eq!(
        send(&edge, "GET /admin/other", &right).status,
        401,
        "the old one was remembered with the old hash"
    );
    let guesses: Vec<u16> = (0..6).map(|nth| status(&basic(&format!("ann:{nth}")))).collect();
    assert_eq!(guesses, [401, 401, 401, 429, 429, 429]);
    assert_eq!(status(&basic("ann:another")), 429, "also if the next one is right");
}

#[test]
fn a_users_file_with_a_mistake_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let hash = bcrypt::hash("x", 4).unwrap();
    let check = |text: &str, more: &str| {
        let path = folder.path().join("users");
        std::fs::write(&path, text).unwrap();
        refused_by_check(&format!(
            "[[zones]]\nname = \"a.example\"\norigins = [\"http://127.0.0.1:9\"]\n[[zones.basic_auth]]\nusers_file = {:?}\n{more}",
            path.display().to_string()
        ))
    };
    for (text, expected) in [
        ("", "there are no users"),
        ("ann\n", "line 1 is no `name:hash`"),
        (":x\n", "line 1 is no `name:hash`"),
        ("# x\nann:plain\n", "line 2 has no password hash that is taken"),
        ("ann:$apr1$abcdefgh$0123456789012345678901\n", "expected one of bcrypt"),
        (&format!("ann:{hash}\nann:{hash}\n"), "line 2 has the name `ann` again"),
        (&format!("ann:{}\n", hash.replacen("$04$", "$31$", 1)), "has the cost 31; expected 14 at most"),
    ] {
        let refused = check(text, "");
        assert!(refused.contains(expected), "{refused}");
    }
    let good = format!("ann:{hash}\n");
    assert!(check(&good, "realm = 'a\"b'\n").contains("`zones.basic_auth.realm` takes"));
    assert!(check(&good, "expression = 'http.response.code eq 1'\n").contains("http.response.code"));
    assert!(check(&good, "expression = 'http.request.body.size eq 1'\n").contains("cannot ask for the body"));
}
