//! Challenge pages in a real browser: what was asked for goes on, forms and files included, and people can read the page.

use std::io::Write;

use serde_json::{Value, json};

use crate::challenges::{challenging, edge_of};
use crate::listener::tls_listener;
use crate::support::{Browser, Edge, Origin, certificate};

/// A page that sends a form as soon as it is asked to.
const START: &str = r#"<!doctype html><meta charset=utf-8><title>start</title><form method=post>
<input name=plain value="a b&c=d+e%20"><input name="action" value="x"><input name="submit" value="y">
<textarea name=text>
one
two "quoted" 'ä€😀'</textarea><input name="na&quot;me" value=""><input type=checkbox name=many value=1 checked>
<input type=checkbox name=many value=2 checked><input type=file name=file multiple><input type=file name=nothing></form>
<script>
const form = document.querySelector("form"), [type, to] = decodeURIComponent(location.hash.slice(1)).split(" ");
if (to) {
  const files = new DataTransfer();
  files.items.add(new File([Uint8Array.from({length: 300}, (_, n) => n)], 'a "b".bin', {type: "application/x-a"}));
  files.items.add(new File(["--boundary\r\n\r\n"], "ü.txt", {type: "text/plain"}));
  form.elements.file.files = files.files;
  form.setAttribute("action", to);
  form.setAttribute("enctype", type);
  HTMLFormElement.prototype.submit.call(form);
}
</script>"#;

/// An origin with that page, which says what else it gets.
fn origin() -> Origin {
    Origin::start(|request, stream| {
        let body = match request.path() {
            "/start" => START.to_owned(),
            path => format!("<!doctype html><title>there</title>reached {path} with {}", request.body.len()),
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).is_ok()
    })
}

const RULES: [(&str, &str); 3] = [
    ("js_challenge", "starts_with(http.request.uri.path, \"/js\")"),
    ("managed_challenge", "starts_with(http.request.uri.path, \"/managed\")"),
    ("challenge", "starts_with(http.request.uri.path, \"/click\")"),
];

/// The body of the last request for a path, without the boundary that browsers make up.
fn body(origin: &Origin, path: &str) -> Vec<u8> {
    let requests = origin.requests();
    let request = requests.iter().rev().find(|request| request.path() == path).unwrap();
    let content_type = request.header("content-type").unwrap();
    let Some((_, boundary)) = content_type.split_once("boundary=") else { return request.body.clone() };
    let text: String = request.body.iter().map(|byte| char::from(*byte)).collect();
    text.replace(boundary, "BOUNDARY").chars().map(|c| c as u8).collect()
}

#[test]
fn forms_and_files_arrive_as_they_were_sent() {
    let origin = origin();
    let zones =
        [challenging("a.example", &origin, &RULES), challenging("b.example", &origin, &RULES)].concat();
    let edge = edge_of(&zones, "");
    let port = edge.proxy[0].port();
    let mut browser = Browser::start();
    for (nth, kind) in ["application/x-www-form-urlencoded", "multipart/form-data"].into_iter().enumerate() {
        for path in [format!("/plain{nth}"), format!("/js{nth}")] {
            browser.call("Network.clearBrowserCookies", &json!({}));
            browser.open("about:blank");
            browser.open(&format!("http://a.example:{port}/start#{kind} {path}"));
            browser.wait_for_text(&format!("reached {path} with"));
        }
        let (plain, challenged) =
            (body(&origin, &format!("/plain{nth}")), body(&origin, &format!("/js{nth}")));
        assert!(plain.len() > 150, "{}", String::from_utf8_lossy(&plain));
        assert_eq!(String::from_utf8_lossy(&plain), String::from_utf8_lossy(&challenged), "{kind}");
        assert_eq!(plain, challenged);
    }
    // What another site sends is not sent again in the name of this one.
    browser.call("Network.clearBrowserCookies", &json!({}));
    browser.open("about:blank");
    browser.open(&format!(
        "http://b.example:{port}/start#application/x-www-form-urlencoded http://a.example:{port}/js-foreign"
    ));
    browser.wait_for_text("Go back, and send your form again");
    assert!(!origin.requests().iter().any(|request| request.path() == "/js-foreign"));
    browser.open(&format!("http://a.example:{port}/js-own?a=b"));
    browser.wait_for_text("reached /js-own");
}

#[test]
fn a_page_goes_on_by_itself_or_with_a_click_and_says_what_it_needs() {
    let origin = origin();
    let edge = edge_of(&challenging("a.example", &origin, &RULES), "");
    let site = format!("http://a.example:{}", edge.proxy[0].port());
    let mut browser = Browser::start();
    browser.call("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    browser.open(&format!("{site}/js"));
    let text = browser.wait_for_text("needs JavaScript");
    assert!(text.contains("Checking your browser") && origin.requests().is_empty(), "{text}");
    browser.call("Emulation.setScriptExecutionDisabled", &json!({"value": false}));
    browser.open(&format!("{site}/js?x=1#part"));
    browser.wait_for_text("reached /js?x=1 with");
    assert_eq!(browser.value("location.href"), format!("{site}/js?x=1#part"));
    browser.open(&format!("{site}/managed"));
    browser.wait_for_text("reached /managed with");
    browser.open(&format!("{site}/click"));
    browser.wait_for_text("Please confirm");
    assert!(!origin.requests().iter().any(|request| request.path() == "/click"), "it waits for the click");
    browser.press("Enter", 13);
    browser.wait_for_text("reached /click with");
    // The highest of all clearances holds for what comes then.
    browser.open(&format!("{site}/managed/2"));
    browser.wait_for_text("reached /managed/2 with");
    // Who keeps no cookies is told, and not sent round for ever; elsewhere nothing changes.
    for _ in 0..4 {
        browser.call("Network.clearBrowserCookies", &json!({}));
        browser.open("about:blank");
        browser.open(&format!("{site}/js/again"));
        browser.wait_for_text("reached /js/again with");
    }
    browser.call("Network.clearBrowserCookies", &json!({}));
    browser.open(&format!("{site}/js/again"));
    browser.wait_for_text("needs cookies");
    browser.open(&format!("{site}/js/elsewhere"));
    browser.wait_for_text("reached /js/elsewhere with");
}

#[test]
fn people_can_read_a_page_in_any_size_and_light() {
    let origin = origin();
    let edge = edge_of(&challenging("a.example", &origin, &RULES), "");
    let url = format!("http://a.example:{}/click", edge.proxy[0].port());
    let mut browser = Browser::start();
    let contrast = "(() => {
        const light = (color) => color.match(/[0-9.]+/g).slice(0, 3).map(Number)
            .map((c) => c / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
            .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
        const page = getComputedStyle(document.body).backgroundColor;
        return [...document.querySelectorAll('h1, p, button, code')].map((element) => {
            const style = getComputedStyle(element);
            const ground = element.tagName === 'BUTTON' ? style.backgroundColor : page;
            const [a, b] = [light(style.color), light(ground)].sort((a, b) => b - a);
            return (a + 0.05) / (b + 0.05);
        });
    })()";
    let mut grounds = Vec::new();
    for scheme in ["light", "dark"] {
        for width in [320, 1280] {
            let metrics =
                json!({"width": width, "height": 640, "deviceScaleFactor": 1, "mobile": width == 320});
            browser.call("Emulation.setDeviceMetricsOverride", &metrics);
            let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
            browser.call("Emulation.setEmulatedMedia", &features);
            browser.open("about:blank");
            browser.open(&url);
            browser.wait_for_text("Please confirm");
            assert_eq!(browser.value("innerWidth"), width);
            assert!(browser.value("document.documentElement.scrollWidth").as_u64().unwrap() <= width);
            let ratios: Vec<f64> = serde_json::from_value(browser.value(contrast)).unwrap();
            assert!(ratios.len() >= 4 && ratios.iter().all(|ratio| *ratio >= 4.5), "{scheme}: {ratios:?}");
            // 24 CSS pixels at least (WCAG 2.2, 2.5.8); here 44.
            let height = browser.value("document.getElementById('go').getBoundingClientRect().height");
            assert!(height.as_f64().unwrap() >= 44.0);
        }
        grounds.push(browser.value("getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(grounds[0], grounds[1]);
    // What a screen reader is told.
    let tree = browser.call("Accessibility.getFullAXTree", &json!({}));
    let named = |role: &str| {
        let nodes = tree["nodes"].as_array().unwrap().iter();
        let of_role = nodes.filter(|node| node["role"]["value"] == role && node["ignored"] == false);
        of_role.map(|node| node["name"]["value"].as_str().unwrap_or("").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(named("heading"), ["Checking your browser"]);
    assert_eq!(named("button"), ["Continue"]);
    assert_eq!(named("progressbar"), ["Progress of the check"]);
    assert_eq!((named("status").len(), named("main").len()), (1, 1));
    assert_eq!(browser.value("document.documentElement.lang"), "en");
    assert_eq!(browser.value("document.activeElement.id"), "go", "a key is enough");
    let asked = browser.value("performance.getEntriesByType('resource').map((entry) => entry.name)");
    assert!(
        asked
            .as_array()
            .unwrap()
            .iter()
            .all(|name: &Value| name.as_str().unwrap().starts_with("http://a.example:"))
    );
}

#[test]
fn over_tls_the_clearance_is_kept_too() {
    let (origin, folder) = (origin(), tempfile::tempdir().unwrap());
    certificate(folder.path(), "a", &["a.example"]);
    let zones = challenging("a.example", &origin, &[("managed_challenge", "true")]);
    let conf = format!("{}[challenges]\ndifficulty = 1\n{zones}", tls_listener(&["a"]));
    let edge = Edge::start_in(folder, &conf, &[]);
    let mut browser = Browser::start();
    browser.open(&format!("https://a.example:{}/x", edge.proxy[0].port()));
    browser.wait_for_text("reached /x with");
    let cookies = browser.call("Network.getAllCookies", &json!({}));
    let cookie = &cookies["cookies"][0];
    assert_eq!((&cookie["name"], &cookie["secure"]), (&json!("svc_clearance"), &json!(true)));
    assert_eq!((&cookie["httpOnly"], &cookie["sameSite"]), (&json!(true), &json!("None")));
}

#[test]
#[ignore = "a measurement: how long the default puzzle takes a browser, from its page to what it stands for"]
#[expect(clippy::disallowed_methods, reason = "a measurement in real time")]
fn how_long_the_default_puzzle_takes() {
    let origin = origin();
    let edge = Edge::start(&challenging("a.example", &origin, &[("js_challenge", "true")]));
    let site = format!("http://a.example:{}", edge.proxy[0].port());
    let mut browser = Browser::start();
    for slower in [1, 4, 6] {
        browser.call("Emulation.setCPUThrottlingRate", &json!({"rate": slower}));
        let mut times: Vec<_> = (0..20)
            .map(|nth| {
                browser.call("Network.clearBrowserCookies", &json!({}));
                let started = std::time::Instant::now();
                browser.open(&format!("{site}/{slower}/{nth}"));
                browser.wait_for_text(&format!("reached /{slower}/{nth} with"));
                started.elapsed().as_millis()
            })
            .collect();
        times.sort_unstable();
        println!("{slower} times slower: median {} ms, longest {} ms", times[10], times[19]);
    }
}
