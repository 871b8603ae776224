//! Origins: chosen in turn, rested when they fail, checked, reached over TLS and HTTP/2.

use std::io::Write;
use std::net::TcpListener;

use crate::support::{Client, Edge, Origin, wait_for};

fn named(name: &'static str) -> Origin {
    Origin::fixed("text/plain", name)
}

/// An address that nothing listens on.
fn dead() -> String {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    format!("http://{address}")
}

fn zone(origins: &[String], more: &str) -> String {
    format!("[[zones]]\nname = \"a.example\"\norigins = {origins:?}\n{more}")
}

fn get(edge: &Edge) -> (u16, String) {
    let response = Client::get(edge.proxy[0], "a.example", "/");
    (response.status, response.text())
}

#[test]
fn origins_take_turns() {
    let (a, b) = (named("a"), named("b"));
    let edge = Edge::start(&zone(&[a.url(), b.url()], ""));
    let answers: String = (0..4).map(|_| get(&edge).1).collect();
    assert!(answers == "abab" || answers == "baba", "{answers}");
}

#[test]
fn least_connections_goes_where_there_is_room() {
    let (release, waiting) = std::sync::mpsc::channel::<()>();
    let waiting = std::sync::Mutex::new(waiting);
    let slow = Origin::start(move |_, stream| {
        let _ = waiting.lock().unwrap().recv();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nslow").is_ok()
    });
    let fast = named("fast");
    let edge = Edge::start(&zone(&[slow.url(), fast.url()], "balance = \"least_connections\"\n"));
    let mut held = Client::connect(edge.proxy[0]);
    // Until the slow one holds a request.
    while slow.requests().is_empty() {
        held = Client::connect(edge.proxy[0]);
        held.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
        wait_for("the request to arrive somewhere", || {
            (!slow.requests().is_empty() || !fast.requests().is_empty()).then_some(())
        });
    }
    for _ in 0..5 {
        assert_eq!(get(&edge).1, "fast");
    }
    release.send(()).unwrap();
    assert_eq!(held.receive().unwrap().text(), "slow");
}

#[test]
fn a_dead_origin_costs_no_idempotent_request_and_then_rests() {
    let alive = named("alive");
    let mut edge = Edge::start(&zone(&[dead(), alive.url()], ""));
    for _ in 0..8 {
        assert_eq!(get(&edge), (200, "alive".to_owned()));
    }
    edge.wait_for_event("origin_changed", |event| event["up"] == false);
    assert!(
        edge.metrics().contains("portcullis_origin_up")
            && edge
                .metrics()
                .lines()
                .any(|line| line.starts_with("portcullis_origin_up") && line.ends_with(" 0"))
    );
    // A request that may have effects is not repeated behind the client's back.
    let both_dead = Edge::start(&zone(&[dead(), dead()], ""));
    let post = Client::post(both_dead.proxy[0], "a.example", "/", "text/plain", b"x");
    assert_eq!((post.status, get(&both_dead).0), (502, 502));
    assert!(post.text().contains("The site cannot be reached."));
}

#[test]
fn what_was_sent_is_not_sent_again() {
    let origin = Origin::start(|_, _| false);
    let other = named("other");
    let edge = Edge::start(&zone(&[origin.url(), other.url()], ""));
    let statuses: Vec<u16> =
        (0..2).map(|_| Client::post(edge.proxy[0], "a.example", "/", "text/plain", b"x").status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 502).count(), 1, "{statuses:?}");
    assert_eq!(origin.requests().len() + other.requests().len(), 2);
}

#[test]
fn active_checks_take_an_origin_out_and_back() {
    let healthy = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = std::sync::Arc::clone(&healthy);
    let sick = Origin::start(move |request, stream| {
        let up = seen.load(std::sync::atomic::Ordering::Relaxed) || request.path() != "/health";
        let status = if up { "200 OK" } else { "503 No" };
        stream.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 4\r\n\r\nsick").as_bytes()).is_ok()
    });
    let well = named("well");
    let check = "[zones.health_check]\npath = \"/health\"\ninterval = \"1s\"\n";
    let mut edge = Edge::start(&zone(&[sick.url(), well.url()], check));
    edge.wait_for_event("origin_changed", |event| event["up"] == false && event["reason"] == "health check");
    assert!((0..4).all(|_| get(&edge).1 == "well"));
    healthy.store(true, std::sync::atomic::Ordering::Relaxed);
    edge.wait_for_event("origin_changed", |event| event["up"] == true);
    assert!((0..4).any(|_| get(&edge).1 == "sick"));
}

#[test]
fn silence_ends_with_504_and_timeouts_are_settings() {
    let silent = Origin::start(|_, stream| {
        use std::io::Read;
        let _ = stream.read(&mut [0]);
        false
    });
    let edge = Edge::start(&zone(
        &[silent.url()],
        "[upstream]\nread_timeout = \"200ms\"\nconnect_timeout = \"1s\"\nidle_timeout = \"1s\"\npool = 4\n",
    ));
    assert_eq!(get(&edge).0, 504);
}

#[test]
fn tls_origins_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    crate::support::certificate(folder.path(), "o", &["localhost"]);
    let plain = named("behind tls");
    // The edge itself serves as the TLS origin of another.
    let inner = Edge::start_in(
        folder,
        &format!(
            "{}[[zones]]\nname = \"a.example\"\norigins = [{:?}]\n",
            crate::listener::tls_listener(&["o"]),
            plain.url()
        ),
        &[],
    );
    let url = format!("https://localhost:{}", inner.proxy[0].port());
    let ca = inner.folder.path().join("o.pem").display().to_string();
    for (more, status) in [
        ("", 502),
        (&*format!("origin_ca = {ca:?}\n"), 200),
        (&*format!("origin_ca = {ca:?}\norigin_protocol = \"http2\"\n"), 200),
    ] {
        let outer = Edge::start(&zone(std::slice::from_ref(&url), more));
        assert_eq!(get(&outer).0, status, "{more}");
    }
    // A connection that one zone trusts is not one for another, whose origin is at the same place.
    for protocol in ["", "origin_protocol = \"http2\"\n"] {
        let zone = |name: &str, more: &str| {
            format!("[[zones]]\nname = \"{name}\"\norigins = [{url:?}]\n{protocol}{more}")
        };
        let (trusting, other) =
            (zone("a.example", &format!("origin_ca = {ca:?}\n")), zone("b.a.example", ""));
        let listener = "[[listeners]]\naddress = \"127.0.0.1:0\"\n";
        let outer = Edge::start(&format!("{listener}{trusting}{other}"));
        for _ in 0..3 {
            let statuses =
                ["a.example", "b.a.example"].map(|host| Client::get(outer.proxy[0], host, "/").status);
            assert_eq!(statuses, [200, 502], "{protocol}");
        }
    }
}

#[test]
fn forwarded_fields_cannot_be_spoofed_and_trusted_proxies_are_believed() {
    let origin = Origin::echo();
    let spoofed = "GET / HTTP/1.1\r\nHost: a.example\r\nX-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\nsvc-connecting-ip: 203.0.113.9\r\nsvc-ray: x\r\nConnection: close\r\n\r\n";
    let edge = Edge::start(&format!("node = \"n7\"\n{}", zone(&[origin.url()], "")));
    let response = Client::once(edge.proxy[0], spoofed);
    let seen = origin.last();
    assert_eq!(seen.header("x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(
        (seen.header("svc-connecting-ip"), seen.header("x-forwarded-proto")),
        (Some("127.0.0.1"), Some("http"))
    );
    assert_eq!(seen.header("x-forwarded-host"), Some("a.example"));
    let ray = response.header("svc-ray").unwrap();
    assert_eq!(seen.header("svc-ray"), Some(ray));
    assert!(ray.len() == 16 + 3 && ray.ends_with("-n7"), "{ray}");
    let trusting = Edge::start(&format!("trusted_proxies = [\"127.0.0.1\"]\n{}", zone(&[origin.url()], "")));
    Client::once(trusting.proxy[0], spoofed);
    assert_eq!(origin.last().header("svc-connecting-ip"), Some("203.0.113.9"));
    assert_eq!(origin.last().header("x-forwarded-for"), Some("203.0.113.9, 127.0.0.1"));
    assert_eq!(origin.last().header("x-forwarded-proto"), Some("https"));
}

#[test]
fn so_many_checks_in_a_row_decide_and_a_slow_zone_holds_up_no_other() {
    let answers = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let next = std::sync::Arc::clone(&answers);
    let origin = Origin::start(move |request, stream| {
        if request.path() != "/health" {
            return stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_ok();
        }
        let mut next = next.lock().unwrap();
        let nth = next.len();
        // Two fail, one succeeds, three fail, then all succeed.
        let up = nth == 2 || nth > 5;
        next.push(up);
        let status = if up { "200 OK" } else { "503 No" };
        stream.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes()).is_ok()
    });
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let check = "[zones.health_check]\npath = \"/health\"\ninterval = \"100ms\"\nunhealthy_after = 3\nhealthy_after = 2\n";
    let slow = format!(
        "[[zones]]\nname = \"slow.example\"\norigins = [\"http://{}\"]\n[zones.health_check]\npath = \"/\"\ninterval = \"100ms\"\ntimeout = \"1s\"\n",
        silent.local_addr().unwrap()
    );
    let mut edge = Edge::start(&format!("{slow}{}", zone(&[origin.url()], check)));
    let of_zone = |event: &serde_json::Value, up: bool| event["zone"] == "a.example" && event["up"] == up;
    edge.wait_for_event("origin_changed", |event| of_zone(event, false));
    let asked = answers.lock().unwrap().clone();
    assert!(asked.starts_with(&[false, false, true, false, false, false]), "{asked:?}");
    edge.wait_for_event("origin_changed", |event| of_zone(event, true));
    assert!(answers.lock().unwrap().len() >= 8, "two have to succeed");
    edge.wait_for_event("origin_changed", |event| event["zone"] == "slow.example" && event["up"] == false);
}

#[test]
fn a_client_stays_with_its_origin_by_address_or_cookie() {
    let (a, b) = (named("a"), named("b"));
    let edge = Edge::start(&format!(
        "trusted_proxies = [\"127.0.0.0/8\"]\n{}",
        zone(&[a.url(), b.url()], "balance = \"client_address\"\n")
    ));
    let from = |address: &str| {
        let head = format!(
            "GET / HTTP/1.1\r\nHost: a.example\r\nX-Forwarded-For: {address}\r\nConnection: close\r\n\r\n"
        );
        Client::once(edge.proxy[0], head).text()
    };
    let mut all = String::new();
    for nth in 0..40 {
        let (v4, v6) = (format!("192.0.2.{nth}"), format!("2001:db8:0:{nth:x}"));
        let first = from(&v4);
        assert!((0..3).all(|_| from(&v4) == first));
        assert_eq!(from(&format!("{v6}::1")), from(&format!("{v6}:aaaa:bbbb:cccc:dddd")), "of one network");
        all.push_str(&first);
    }
    assert!(all.contains('a') && all.contains('b'), "{all}");
    let edge = Edge::start(&zone(&[a.url(), b.url()], "balance = \"cookie\"\n"));
    let mut all = String::new();
    for _ in 0..40 {
        let first = Client::get(edge.proxy[0], "a.example", "/");
        let cookie = first.header("set-cookie").unwrap();
        assert!(
            cookie.starts_with("svc_affinity=") && cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax"),
            "{cookie}"
        );
        let cookie = cookie.split_once(';').unwrap().0;
        for _ in 0..3 {
            let head = format!(
                "GET / HTTP/1.1\r\nHost: a.example\r\nCookie: x=y; {cookie}\r\nConnection: close\r\n\r\n"
            );
            let again = Client::once(edge.proxy[0], head);
            assert_eq!((again.text(), again.header("set-cookie")), (first.text(), None));
        }
        all.push_str(&first.text());
    }
    assert!(all.contains('a') && all.contains('b'), "{all}");
    // One that is down is left for another, and no longer than that.
    let edge = Edge::start(&zone(&[dead(), a.url()], "balance = \"cookie\"\n"));
    assert!((0..10).all(|_| get(&edge) == (200, "a".to_owned())));
}

/// A site that is its own origin, or asks itself who may see it, is one request that never ends.
#[test]
fn a_request_that_comes_back_ends() {
    let port = crate::protocols::free_port();
    let place = format!("http://127.0.0.1:{port}");
    let behind = Origin::echo();
    let conf = format!(
        "[[listeners]]\naddress = \"127.0.0.1:{port}\"\n\
         [[zones]]\nname = \"circle.example\"\norigins = [\"{place}\"]\n\
         [[zones]]\nname = \"127.0.0.1\"\norigins = [\"{0}\"]\n[[zones.forward_auth]]\nurl = \"{place}/auth\"\n\
         [[zones]]\nname = \"a.example\"\norigins = [\"{0}\"]\n",
        behind.url()
    );
    let edge = Edge::start(&conf);
    let get = |host: &str, fields: &str| {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n{fields}Connection: close\r\n\r\n");
        Client::once(edge.proxy[0], request).status
    };
    let ended = |count: usize| {
        wait_for("all passes", || {
            let events = edge.events();
            let finished = events.iter().filter(|event| event["event"] == "request");
            (finished.count() == count).then_some(())
        });
    };
    assert_eq!(get("circle.example", ""), 508);
    ended(5);
    assert_eq!(get("127.0.0.1", ""), 508, "what a service answers is passed on");
    ended(10);
    assert_eq!(behind.requests().len(), 0);
    // Others' names stay, and ours is added.
    assert_eq!(get("a.example", "CDN-Loop: other.example; a=1\r\n"), 200);
    let seen = behind.last();
    let names: Vec<&str> = seen
        .headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("cdn-loop"))
        .map(|(_, value)| value.as_str())
        .collect();
    assert_eq!((names.len(), names[0]), (2, "other.example; a=1"), "{names:?}");
    assert!(names[1].starts_with("portcullis-"), "{names:?}");
    let passes = |count: usize| format!("CDN-Loop: {}\r\n", vec![names[1]; count].join(", "));
    assert_eq!((get("a.example", &passes(3)), get("a.example", &passes(4))), (200, 508));
}
