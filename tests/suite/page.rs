//! The page on the admin port in a browser: what it shows, what it changes, and what markup in requests does to it.

use base64::Engine as _;
use serde_json::{Value, json};

use crate::api::{REQUESTS, TOKEN, edge, execute, managed, zone};
use crate::support::{Api, Browser, Client, Edge, Origin, http_get, wait_for};

/// What a client sends that hopes to be read as markup.
const MARKUP: &str = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>";
const ATTACK: &str = "/shop?q=1'%20UNION%20SELECT%20password%20FROM%20users--";

/// An edge on which everything that the page shows has happened, with markup wherever a client or an API user may write.
fn busy() -> (Edge, Api, String) {
    let origin = Origin::start(|_, stream| {
        let body =
            r#"{"model":"gpt-4o","usage":{"prompt_tokens":12,"completion_tokens":7,"total_tokens":19}}"#;
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        std::io::Write::write_all(stream, head.as_bytes()).is_ok()
    });
    let (edge, api) = edge(&origin);
    // The origin lives as long as the process of the test.
    std::mem::forget(origin);
    let origin_of_zone = Origin::echo();
    let id = zone(&api, "new.example", &origin_of_zone);
    std::mem::forget(origin_of_zone);
    let entry_point = format!("/zones/{id}/rulesets/phases/{REQUESTS}/entrypoint");
    api.result("PUT", &entry_point, &json!({"rules": [execute(&managed(&api, REQUESTS))]}));
    let custom = json!({"action": "block", "expression": "http.request.uri.path eq \"/private\"", "description": MARKUP});
    api.result(
        "PUT",
        &format!("/zones/{id}/rulesets/phases/http_request_firewall_custom/entrypoint"),
        &json!({"rules": [custom]}),
    );
    api.post(
        &format!("/zones/{id}/dns_records"),
        &json!({"type": "A", "name": "www", "content": "192.0.2.7", "proxied": true, "comment": MARKUP}),
    );
    api.post(
        &format!("/zones/{id}/custom_hostnames"),
        &json!({"hostname": "shop.customer.dev", "ssl": {"method": "http", "type": "dv"}}),
    );
    let token = api.post("/accounts/acme/ai-gateway/gateways/main/tokens", &json!({"name": "page"}));
    let token = token["token"].as_str().or(token["value"].as_str()).unwrap().to_owned();
    let next = |name: &str, to: &str| json!({name: {"elementId": to}});
    let route = json!({"name": "support", "elements": [
        {"id": "start", "type": "start", "outputs": next("next", "limit")},
        {"id": "limit", "type": "rate", "outputs": next("success", "model"),
         "properties": {"limitType": "cost", "key": "metadata.user", "limit": 5, "window": 86400}},
        {"id": "model", "type": "model", "outputs": next("success", "end"),
         "properties": {"provider": "openai", "model": MARKUP}},
        {"id": "end", "type": "end", "outputs": {}},
    ]});
    api.post("/accounts/acme/ai-gateway/gateways/main/routes", &route);
    let body = json!({"model": MARKUP, "messages": [{"role": "user", "content": "hello"}]}).to_string();
    let metadata = json!({"a\"b": 1, "": 2, "team": MARKUP});
    let call = format!(
        "POST /v1/acme/main/openai/chat/completions HTTP/1.1\r\nHost: gw.example\r\nsvc-aig-authorization: Bearer {token}\r\n\
         svc-aig-metadata: {metadata}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(Client::once(edge.proxy[0], call).status, 200);
    for target in [ATTACK, "/private", &format!("/%3Cimg%20src=x%20onerror=alert(1)%3E{ATTACK}")] {
        let head = format!(
            "GET {target} HTTP/1.1\r\nHost: new.example\r\nUser-Agent: {MARKUP}\r\nReferer: http://x/{MARKUP}\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(Client::once(edge.proxy[0], head).status, 403);
    }
    wait_for("the events", || {
        let list = api.get(&format!("/zones/{id}/security/events"));
        (list.as_array()?.len() >= 3).then_some(())
    });
    wait_for("the call", || {
        let logs = api.get("/accounts/acme/ai-gateway/gateways/main/logs");
        (!logs.as_array()?.is_empty()).then_some(())
    });
    (edge, api, id)
}

/// A browser that is signed in, and that notes what goes wrong in its page.
fn signed_in(edge: &Edge) -> Browser {
    let mut browser = Browser::start();
    let notes = "window.problems = []; const note = (what) => window.problems.push(String(what));\
        addEventListener('error', (event) => note(event.message || event.target.src));\
        addEventListener('unhandledrejection', (event) => note(event.reason));\
        addEventListener('securitypolicyviolation', (event) => note(event.violatedDirective));";
    browser.call("Page.addScriptToEvaluateOnNewDocument", &json!({"source": notes}));
    browser.open(&format!("http://{}/", edge.admin));
    browser.wait_for_text("Sign in");
    type_into(&mut browser, "#token", "wrong");
    browser.value("document.querySelector('form.sign').requestSubmit()");
    browser.wait_for_text("[");
    type_into(&mut browser, "#token", TOKEN);
    browser.value("document.querySelector('form.sign').requestSubmit()");
    browser.wait_for_text("Requests a second");
    browser
}

fn type_into(browser: &mut Browser, selector: &str, text: &str) {
    browser.value(&format!("document.querySelector('{selector}').value = {}", json!(text)));
}

fn press(browser: &mut Browser, text: &str) {
    let found = format!(
        "[...document.querySelectorAll('main button, main a')].find((one) => one.textContent === {})",
        json!(text)
    );
    wait_for("the button", || (browser.value(&format!("Boolean({found})")) == true).then_some(()));
    browser.value(&format!("{found}.click()"));
}

fn open(browser: &mut Browser, view: &str, words: &str) -> String {
    browser.value(&format!("location.hash = '#/{view}'"));
    wait_for("the view", || {
        (browser.value("document.querySelector('main h1') !== null") == true).then_some(())
    });
    browser.wait_for_text(words)
}

/// Views, and words that each shows when all of it is there.
fn views(zone: &str) -> Vec<(&'static str, String, &'static str)> {
    vec![
        ("overview", "overview".to_owned(), "Requests a second"),
        ("events", format!("events?owner=zones/{zone}"), "Events: 3"),
        ("ai", "ai".to_owned(), "Calls: 1"),
        ("rules", format!("rules?zone={zone}"), "Managed rules"),
        ("zones", "zones".to_owned(), "new.example"),
        ("zone", format!("zone/{zone}"), "192.0.2.7"),
        ("history", format!("history?zone={zone}"), "Go back"),
    ]
}

#[test]
fn every_view_fits_every_screen_and_reads_no_text_as_markup() {
    let (edge, _, zone) = busy();
    let mut browser = signed_in(&edge);
    let mut looked = 0;
    for (width, scheme) in [(360, "light"), (1280, "dark"), (1280, "light")] {
        let metrics = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == 360});
        browser.call("Emulation.setDeviceMetricsOverride", &metrics);
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        browser.call("Emulation.setEmulatedMedia", &features);
        for (name, view, words) in views(&zone) {
            let text = open(&mut browser, &view, words);
            if name == "ai" {
                assert!(
                    text.contains("dynamic/support") && text.contains("at most $5 every 86,400 s"),
                    "{text}"
                );
                // By the entry of metadata that calls have, whatever its value.
                let cell = "document.querySelector('[aria-label=Usage] tbody td').textContent";
                assert_eq!(browser.value(cell), json!(MARKUP), "{text}");
            }
            if ["events", "zone", "rules", "ai"].contains(&name) {
                assert!(
                    text.contains("<img src=x") || text.contains("%3Cimg"),
                    "{name} shows it as text: {text}"
                );
            }
            let overflow = browser.value("document.documentElement.scrollWidth - innerWidth");
            assert!(overflow.as_i64().unwrap() <= 0, "{name} at {width}: {overflow}");
            assert_eq!(
                browser.value("document.querySelectorAll('main img, main script, main iframe').length"),
                0
            );
            assert_eq!(browser.value("window.problems"), json!([]), "{name}");
            assert_ne!(browser.value("document.title"), "owned");
            assert_eq!(browser.value("document.querySelectorAll('h1').length"), 1, "{name}");
            if let Ok(folder) = std::env::var("SCREENSHOTS") {
                let taken = browser
                    .call("Page.captureScreenshot", &json!({"format": "png", "captureBeyondViewport": true}));
                let png = base64::engine::general_purpose::STANDARD
                    .decode(taken["data"].as_str().unwrap())
                    .unwrap();
                std::fs::write(format!("{folder}/{name}-{width}-{scheme}.png"), png).unwrap();
            }
            looked += 1;
        }
    }
    assert_eq!(looked, 21);
    let asked =
        browser.value("performance.getEntriesByType('resource').map((entry) => new URL(entry.name).host)");
    let own = edge.admin.to_string();
    assert!(asked.as_array().unwrap().iter().all(|host| *host == own), "{asked}");
    // Who signs out leaves nothing.
    browser.value("document.getElementById('leave').click()");
    browser.wait_for_text("Sign in");
    assert_eq!(browser.value("sessionStorage.length + localStorage.length + document.cookie.length"), 0);
}

#[test]
fn a_false_positive_is_let_through_by_the_narrowest_rule_and_history_takes_it_back() {
    let (edge, api, zone) = busy();
    let mut browser = signed_in(&edge);
    let send = |target: &str| Client::get(edge.proxy[0], "new.example", target).status;
    let events = api.get(&format!("/zones/{zone}/security/events?path=/shop"));
    let ray = events[0]["RayID"].as_str().unwrap();
    assert!(events[0]["contributions"][1]["variable"] == "ARGS:q", "{events}");
    let text = open(&mut browser, &format!("request/{ray}?owner=zones/{zone}"), "Let this pass");
    assert!(text.contains("Score ") && text.contains("ARGS"), "{text}");
    press(&mut browser, "Let this pass…");
    let proposed = browser.wait_for_text("Add the rule");
    assert!(proposed.contains("raw.http.request.uri.path eq \\\"/shop\\\""), "{proposed}");
    assert_eq!(send(ATTACK), 403, "nothing is done before it is confirmed");
    press(&mut browser, "Add the rule");
    browser.wait_for_text("The rule is in force");
    assert_eq!((send(ATTACK), send(&ATTACK.replace("/shop", "/other"))), (200, 403));
    let post = format!(
        "POST {ATTACK} HTTP/1.1\r\nHost: new.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(Client::once(edge.proxy[0], post).status, 403, "another method");
    // The version before is put in force again.
    open(&mut browser, &format!("history?zone={zone}"), "Compare");
    let compare = "[...document.querySelectorAll('main h2')].find((one) => one.textContent === 'Custom rules').nextElementSibling.querySelector('button')";
    browser.value(&format!("{compare}.click()"));
    let difference = browser.wait_for_text("Put version 1 in force");
    assert!(difference.contains("- ") && difference.contains("/shop"), "{difference}");
    press(&mut browser, "Put version 1 in force");
    browser.wait_for_text("Version 1 is in force again");
    assert_eq!((send(ATTACK), send("/private")), (403, 403));
    assert_eq!(browser.value("window.problems"), json!([]));
    // A zone of a file can have rules of the API where the file has none.
    let client = Client::get(edge.proxy[0], "file.example", ATTACK);
    assert_eq!(client.status, 403);
    let of_file = api.get("/zones?name=file.example")[0]["id"].as_str().unwrap().to_owned();
    let ray = wait_for("its event", || {
        api.get(&format!("/zones/{of_file}/security/events"))[0]["RayID"].as_str().map(str::to_owned)
    });
    open(&mut browser, &format!("request/{ray}?owner=zones/{of_file}"), "Let this pass");
    press(&mut browser, "Let this pass…");
    press(&mut browser, "Add the rule");
    browser.wait_for_text("The rule is in force");
    assert_eq!(Client::get(edge.proxy[0], "file.example", ATTACK).status, 200);
    // A setting is set where it stands.
    open(&mut browser, &format!("zone/{zone}"), "max_upload");
    browser.value("(() => { const form = document.querySelector('input[aria-label=\"Value of max_upload\"]'); form.value = '8'; form.form.requestSubmit(); })()");
    browser.wait_for_text("max_upload is set");
    assert_eq!(api.get(&format!("/zones/{zone}/settings/max_upload"))["value"], 8);
}

#[test]
fn the_page_may_load_nothing_from_elsewhere_and_stand_in_no_frame() {
    let origin = Origin::echo();
    let (edge, _) = edge(&origin);
    for (path, kind) in [
        ("/", "text/html"),
        ("/page/main.js", "text/javascript"),
        ("/page/style.css", "text/css"),
        ("/page/icon.svg", "image/svg+xml"),
    ] {
        let answer = http_get(edge.admin, path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.header("content-type").unwrap().starts_with(kind));
        let policy = answer.header("content-security-policy").unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert!(!answer.text().contains("http://") || path != "/", "no address of others");
    }
    assert_eq!(http_get(edge.admin, "/page/").status, 404);
    assert_eq!(http_get(edge.admin, "/page/../main.js").status, 404);
}

#[test]
#[ignore = "needs axe-core, which `make test-sdk` installs with npm: AXE names its file"]
fn no_view_has_an_error_of_accessibility() {
    let axe = std::fs::read_to_string(std::env::var("AXE").expect("AXE names axe.min.js")).unwrap();
    let (edge, _, zone) = busy();
    let mut browser = signed_in(&edge);
    for scheme in ["light", "dark"] {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        browser.call("Emulation.setEmulatedMedia", &features);
        for (name, view, words) in views(&zone) {
            open(&mut browser, &view, words);
            browser.value(&format!("{axe}; window.found = null; axe.run().then((all) => {{ window.found = all.violations.map((one) => [one.id, one.nodes.map((node) => node.html)]); }})"));
            let found: Value = wait_for("axe", || {
                let found = browser.value("window.found");
                found.is_array().then_some(found)
            });
            assert_eq!(found, json!([]), "{name}, {scheme}");
        }
    }
}
