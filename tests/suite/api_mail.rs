//! Mails of alerts: sent by the operator's server, to whom a policy names, never in the clear with a password.

use std::path::Path;

use serde_json::{Value, json};

use crate::api::TOKEN;
use crate::api_alerts::{again, edge, keep};
use crate::support::{Api, Edge, MailServer, Origin, refused_by_check, wait_for};

const POLICIES: &str = "/accounts/default/alerting/v3/policies";

fn policy(api: &Api, mechanisms: &Value) -> Value {
    api.post(
        POLICIES,
        &json!({"name": "spike", "alert_type": "security_events_alert", "mechanisms": mechanisms}),
    )
}

fn history(edge: &Edge) -> Value {
    let api = Api::new(edge, TOKEN);
    wait_for("the alert in the history", || {
        let past = api.get("/accounts/default/alerting/v3/history");
        past.as_array().unwrap().first().cloned()
    })
}

#[test]
fn alerts_are_mailed_to_those_who_asked() {
    let (origin, server) = (Origin::echo(), MailServer::start(None, false));
    let mail = format!(
        "[mail]\nserver = \"{}\"\nsecurity = \"none\"\nfrom = \"Edge <edge@example.com>\"\n",
        server.address
    );
    let edge = edge(&origin, &mail);
    let api = Api::new(&edge, TOKEN);
    let made = policy(
        &api,
        &json!({"email": [{"id": "ops@example.com"}, {"id": "ops@example.com"}, {"id": "a.b@example.org"}]}),
    );
    let emails = json!([{"id": "ops@example.com"}, {"id": "a.b@example.org"}]);
    assert_eq!(made["mechanisms"], json!({"email": emails, "webhooks": []}));
    keep(&edge, "a.example", "firewallmanaged", 250);
    let edge = again(edge);
    let past = history(&edge);
    assert_eq!(
        (&past["delivered"], &past["failed"]),
        (&json!("ops@example.com, a.b@example.org"), &json!("")),
        "{past}"
    );
    let received = server.received(2);
    assert_eq!(received.len(), 2);
    for (conversation, to) in received.iter().zip(["ops@example.com", "a.b@example.org"]) {
        let has = |text: &str| conversation.iter().any(|line| line.contains(text));
        for text in [
            "MAIL FROM:<edge@example.com>",
            &format!("RCPT TO:<{to}>"),
            &format!("To: {to}"),
            "From: Edge <edge@example.com>",
            "Subject: Alert: spike",
            "Auto-Submitted: auto-generated",
            "spike: 250 security events in five minutes",
            "\"events\": 250",
        ] {
            assert!(has(text), "{text} is not in {conversation:#?}");
        }
        assert!(!has("AUTH"), "there is nothing to show");
    }
    // The field that ended in 2023 names addresses with commas between.
    let api = Api::new(&edge, TOKEN);
    let old = json!({"name": "old", "alert_type": "security_events_alert", "notification_email": "x@example.com, y@example.com"});
    let answer = api.ask("POST", POLICIES, "api-version: 2023-04-02\r\n", &old.to_string());
    let value: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(
        value["result"]["mechanisms"]["email"],
        json!([{"id": "x@example.com"}, {"id": "y@example.com"}]),
        "{value}"
    );
    for (mechanisms, pointer) in [
        (json!({"email": [{"id": "ops"}]}), "/mechanisms/email/0/id"),
        (json!({"email": [{"id": "a@b.example\r\nBcc: c@d.example"}]}), "/mechanisms/email/0/id"),
        (json!({"email": [{}]}), "/mechanisms/email/0/id"),
        (json!({"email": []}), "/mechanisms"),
        (
            json!({"email": (0..21).map(|nth| json!({"id": format!("u{nth}@example.com")})).collect::<Vec<_>>()}),
            "/mechanisms",
        ),
    ] {
        let body = json!({"name": "x", "alert_type": "security_events_alert", "mechanisms": mechanisms});
        let (status, answer) = api.call("POST", POLICIES, &body);
        assert_eq!((status, &answer["errors"][0]["source"]["pointer"]), (400, &json!(pointer)), "{answer}");
    }
}

#[test]
fn passwords_go_only_to_a_server_that_shows_who_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (root, password) = (folder.path().join("ca.pem"), folder.path().join("password"));
    std::fs::write(&root, key.cert.pem()).unwrap();
    std::fs::write(&password, ["pass", "word\n"].concat()).unwrap();
    let identity = (key.cert.pem(), key.signing_key.serialize_pem());
    for security in ["tls", "starttls"] {
        let server = MailServer::start(Some(identity.clone()), security == "starttls");
        shows_a_password(&server, security, (&root, &password));
    }
}

fn shows_a_password(server: &MailServer, security: &str, (root, password): (&Path, &Path)) {
    let mail = |root_file: &str| {
        format!(
            "[mail]\nserver = \"localhost:{}\"\nsecurity = \"{security}\"\nfrom = \"edge@example.com\"\nusername = \"edge\"\n\
             password_file = \"{}\"\n{root_file}",
            server.address.port(),
            password.display()
        )
    };
    for (root_file, is_known, conversations) in
        [(String::new(), false, 1), (format!("root_file = \"{}\"\n", root.display()), true, 2)]
    {
        let origin = Origin::echo();
        let edge = edge(&origin, &mail(&root_file));
        policy(&Api::new(&edge, TOKEN), &json!({"email": [{"id": "ops@example.com"}]}));
        keep(&edge, "a.example", "firewallmanaged", 250);
        let edge = again(edge);
        let past = history(&edge);
        let said: Vec<String> = server.received(conversations).concat();
        let shows_password = said.iter().any(|line| line.starts_with("AUTH PLAIN "));
        assert_eq!(shows_password, is_known, "{security}: {said:?}");
        if security == "starttls" {
            let asked = said.iter().position(|line| line == "STARTTLS").unwrap();
            assert!(
                !said[..asked].iter().any(|line| line.starts_with("AUTH") || line.starts_with("MAIL")),
                "{said:?}"
            );
        }
        assert_eq!(past["delivered"] == "ops@example.com", is_known, "{past}");
        let reason = past["failed"].as_str().unwrap();
        assert_eq!(reason.starts_with("mail to `ops@example.com`: "), !is_known, "{past}");
    }
}

#[test]
fn mistakes_of_the_mail_server_are_found_at_the_start() {
    let with = |mail: &str| refused_by_check(&format!("[mail]\n{mail}"));
    let good = "server = \"smtp.example.com\"\nfrom = \"edge@example.com\"\n";
    for (mail, expected) in [
        ("from = \"edge@example.com\"\n".to_owned(), "`mail.server` is missing"),
        ("server = \"smtp.example.com\"\n".to_owned(), "`mail.from` is missing"),
        (good.replace("smtp.example.com", "smtp example"), "`mail.server` takes a host"),
        (good.replace("smtp.example.com", "smtp.example.com:0"), "`mail.server` takes a host"),
        (good.replace("edge@example.com", "edge"), "`mail.from` takes an address"),
        (format!("{good}username = \"a\"\n"), "`mail.username` and `mail.password_file` go together"),
        (format!("{good}security = \"ssl\"\n"), "`mail.security`"),
        (format!("{good}password_file = \"none\"\nusername = \"a\"\n"), "cannot read"),
        (
            format!("{good}security = \"none\"\npassword_file = \"/dev/null\"\nusername = \"a\"\n"),
            "expected a file, found a pipe or device",
        ),
    ] {
        let refused = with(&mail);
        assert!(refused.contains(expected), "{mail}: {refused}");
    }
    let folder = tempfile::tempdir().unwrap();
    let password = folder.path().join("password");
    std::fs::write(&password, "x").unwrap();
    let clear =
        format!("{good}security = \"none\"\npassword_file = \"{}\"\nusername = \"a\"\n", password.display());
    assert!(with(&clear).contains("a password is not sent in the clear"));
    assert!(
        with(&format!("{good}root_file = \"{}\"\n", password.display()))
            .contains("`mail.root_file` has no certificate")
    );
    let origin = Origin::echo();
    let edge = edge(&origin, "");
    let api = Api::new(&edge, TOKEN);
    let body = json!({"name": "x", "alert_type": "security_events_alert", "mechanisms": {"email": [{"id": "a@example.com"}]}});
    let (_, answer) = api.call("POST", POLICIES, &body);
    assert!(answer["errors"][0]["message"].as_str().unwrap().contains("`[mail]` is not set"), "{answer}");
}
