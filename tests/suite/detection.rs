//! Copies of responses: found, masked, and the response itself untouched.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Client, Edge, Origin, gzip, run_cli, wait_for};

fn card() -> String {
    ["4111", "1111", "1111", "1111"].join(" ")
}

fn zone(origin: &Origin) -> String {
    format!("[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.sensitive_data]\n", origin.url())
}

#[test]
fn a_leak_is_reported_masked_and_the_page_arrives_as_it_was() {
    let body = format!("<p>first</p><p>card {}</p>", card());
    let origin = Origin::fixed("text/html; charset=utf-8", body.clone());
    let mut edge = Edge::start(&zone(&origin));
    let response = Client::get(edge.proxy[0], "a.example", "/pay?x=1");
    assert_eq!(response.text(), body);
    let event = edge.wait_for_event("sensitive_data", |_| true);
    assert_eq!(event["Ref"], "financial.credit_card");
    assert_eq!(event["RayID"].as_str(), response.header("svc-ray"));
    assert_eq!(
        (event["Action"].as_str(), event["Source"].as_str(), event["count"].as_u64()),
        (Some("log"), Some("dlp"), Some(1))
    );
    assert_eq!(event["offset"].as_u64(), Some(body.find(&card()).unwrap() as u64));
    assert_eq!(event["sample"], "411111…1111 (16 characters)");
    edge.wait_for_metric("portcullis_detections_total{rule=\"financial.credit_card\"}", 1.0);
    assert!(!edge.log_text().contains(&card()) && !edge.metrics().contains(&card()));
}

#[test]
fn coded_bodies_are_decoded_beside_the_response() {
    let text = format!(
        "{{\"pad\":\"{}\",\"card\":\"{}\"}}",
        (0..9_000u32).map(|n| format!("{:08x}", n.wrapping_mul(2_654_435_761))).collect::<String>(),
        card()
    );
    let mut br = Vec::new();
    brotli::CompressorWriter::new(&mut br, 4096, 5, 20).write_all(text.as_bytes()).unwrap();
    let zstd = zstd::encode_all(text.as_bytes(), 3).unwrap();
    let bomb = gzip(vec![b' '; 5_000_000]);
    let bodies = [("gzip", gzip(&text)), ("br", br), ("zstd", zstd), ("gzip", bomb)];
    let served = bodies.clone();
    let origin = Origin::start(move |request, stream| {
        let index: usize = request.path().trim_start_matches('/').parse().unwrap();
        let (coding, body) = &served[index];
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: {coding}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).is_ok()
    });
    let mut edge = Edge::start(&zone(&origin));
    for (index, (coding, body)) in bodies.iter().enumerate() {
        let response = Client::get(edge.proxy[0], "a.example", &format!("/{index}"));
        assert_eq!(&response.body, body, "{coding} arrives as it was");
        if index < 3 {
            edge.wait_for_event("sensitive_data", |event| event["ClientRequestPath"] == format!("/{index}"));
        }
    }
    // What comes out of a bomb is scanned as far as any body is.
    wait_for("the bomb to be noticed", || {
        (edge.metric("portcullis_scans_skipped_total{reason=\"truncated\"}") == 1.0).then_some(())
    });
}

#[test]
fn limits_kinds_and_a_full_queue_are_counted() {
    let long = format!("{}{} {}", "x".repeat(999_970), card(), card());
    let origin = Origin::start(move |request, stream| {
        let content_type = if request.path() == "/image" { "image/png" } else { "text/plain" };
        let body = if request.path() == "/short" { "nothing here" } else { &long };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).is_ok()
    });
    let edge = Edge::start(&zone(&origin));
    assert_eq!(Client::get(edge.proxy[0], "a.example", "/long").body.len(), 999_970 + 39);
    wait_for("the long body to be scanned", || (edge.metric("portcullis_scans_total") == 1.0).then_some(()));
    // Only what stands in the first 1,000,000 bytes was looked at.
    edge.wait_for_metric("portcullis_scan_bytes_total", 1_000_000.0);
    edge.wait_for_metric("portcullis_scans_skipped_total{reason=\"truncated\"}", 1.0);
    Client::get(edge.proxy[0], "a.example", "/image");
    edge.wait_for_metric("portcullis_scans_skipped_total{reason=\"content_type\"}", 1.0);

    let small = Edge::start(&format!("{}[limits]\nscan_queue = \"1KB\"\n", zone(&origin)));
    assert_eq!(Client::get(small.proxy[0], "a.example", "/long").body.len(), 999_970 + 39);
    small.wait_for_metric("portcullis_scans_skipped_total{reason=\"queue_full\"}", 1.0);
    Client::get(small.proxy[0], "a.example", "/short");
    wait_for("what fits to be scanned", || (small.metric("portcullis_scans_total") == 1.0).then_some(()));
}

#[test]
fn a_chunked_body_is_found_across_its_chunks_and_errors_are_scanned_too() {
    let card = card();
    let origin = Origin::start(move |_, stream| {
        let (first, second) = card.split_at(7);
        let head = "HTTP/1.1 500 Internal Server Error\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n";
        let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
        [head.to_owned(), chunk(first), chunk(second), "0\r\n\r\n".to_owned()]
            .iter()
            .all(|part| stream.write_all(part.as_bytes()).and_then(|()| stream.flush()).is_ok())
    });
    let mut edge = Edge::start(&zone(&origin));
    assert_eq!(Client::get(edge.proxy[0], "a.example", "/").status, 500);
    edge.wait_for_event("sensitive_data", |event| event["Ref"] == "financial.credit_card");
}

#[test]
fn a_body_is_scanned_once_and_a_leak_is_told_once_for_each_path() {
    let leak = format!("{{\"user\":{{\"cards\":[\"{}\"]}}}}", card());
    let origin = Origin::start(move |request, stream| {
        let body = if request.path().starts_with("/leak") { leak.as_str() } else { "{\"nothing\":true}" };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).is_ok()
    });
    let mut edge = Edge::start(&zone(&origin));
    let identical = "portcullis_scans_skipped_total{reason=\"identical\"}";
    for (path, scans, skips) in [
        ("/a", 1.0, 0.0),
        ("/b", 1.0, 1.0),
        ("/leak/1", 2.0, 1.0),
        ("/leak/1", 2.0, 2.0),
        ("/leak/2", 3.0, 2.0),
    ] {
        Client::get(edge.proxy[0], "a.example", path);
        edge.wait_for_metric("portcullis_scans_total", scans);
        if skips > 0.0 {
            edge.wait_for_metric(identical, skips);
        }
    }
    let event = edge.wait_for_event("sensitive_data", |event| event["ClientRequestPath"] == "/leak/2");
    assert_eq!((event["location"].as_str(), event["count"].as_u64()), (Some("/user/cards/0"), Some(1)));
    // The visit that was not scanned counts too.
    edge.wait_for_metric("portcullis_detections_total{rule=\"financial.credit_card\"}", 3.0);
}

/// An origin whose every answer is another body, with the card on paths below `/leak`.
fn counting_origin() -> Origin {
    let answers = AtomicUsize::new(0);
    Origin::start(move |request, stream| {
        let number = answers.fetch_add(1, Ordering::Relaxed);
        let body = match request.path() {
            path if path.starts_with("/leak") => format!("<p>visit {number}</p><p>card {}</p>", card()),
            "/long" => format!("{number} {}{}", "word ".repeat(180_000), card()),
            _ => format!("visit {number}"),
        };
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).is_ok()
    })
}

#[test]
fn what_was_found_comes_sealed_for_whoever_has_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("payload.key");
    let key = key.to_str().unwrap();
    let made = run_cli(&["payload", "keygen", "--out", key], b"");
    assert!(made.status.success(), "{made:?}");
    let public = String::from_utf8(made.stdout).unwrap();
    assert!(
        !run_cli(&["payload", "keygen", "--out", key], b"").status.success(),
        "a key is not written over"
    );

    let origin = counting_origin();
    let conf = format!("{}payload_key = \"{}\"\n", zone(&origin), public.trim());
    let mut edge = Edge::start(&conf);
    Client::get(edge.proxy[0], "a.example", "/leak");
    let event = edge.wait_for_event("sensitive_data", |_| true);
    let lines = format!("{{\"name\":\"other\"}}\n{event}\n");
    let opened = run_cli(&["payload", "decrypt", "--key", key], lines.as_bytes());
    assert!(opened.status.success(), "{opened:?}");
    let contents: serde_json::Value = serde_json::from_slice(&opened.stdout).unwrap();
    assert_eq!(contents["value"], card());
    assert_eq!((&contents["ray"], &contents["rule"]), (&event["RayID"], &event["Ref"]));
    assert_eq!((&contents["before"], &contents["after"]), (&"<p>visit 0</p><p>card ".into(), &"</p>".into()));
    assert!(!edge.log_text().contains(&card()));

    let other = folder.path().join("other.key");
    let other = other.to_str().unwrap();
    run_cli(&["payload", "keygen", "--out", other], b"");
    let refused = run_cli(&["payload", "decrypt", "--key", other], lines.as_bytes());
    assert_eq!(refused.status.code(), Some(1));
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(message.starts_with("-:2: ") && message.contains("another key"), "{message}");
    assert!(!run_cli(&["payload", "decrypt", "--key", key], b"").status.success());
}

#[test]
fn the_same_values_have_one_fingerprint_and_are_told_once_in_a_while() {
    let origin = counting_origin();
    let mut edge = Edge::start(&zone(&origin));
    let counted = "portcullis_detections_total{rule=\"financial.credit_card\"}";
    let mut fingerprints = Vec::new();
    for (nth, path) in ["/leak/1", "/leak/1", "/leak/2"].into_iter().enumerate() {
        Client::get(edge.proxy[0], "a.example", path);
        edge.wait_for_metric(counted, f64::from(u32::try_from(nth).unwrap() + 1));
    }
    for path in ["/leak/1", "/leak/2"] {
        let event = edge.wait_for_event("sensitive_data", |event| event["ClientRequestPath"] == path);
        assert_eq!(event["seen"], 1);
        assert!(event["first_seen"].is_string() && event["first_seen"] == event["last_seen"]);
        fingerprints.push(event["fingerprint"].as_str().unwrap().to_owned());
    }
    assert_eq!(fingerprints[0], fingerprints[1]);
    assert_eq!(fingerprints[0].len(), 32);
    assert_eq!(edge.log_text().matches("\"sensitive_data\"").count(), 2);
}

#[test]
fn of_a_sample_the_first_answer_of_each_path_is_scanned() {
    let origin = counting_origin();
    let edge = Edge::start(&format!("{}sample_every = 3\n", zone(&origin)));
    for (path, answers) in [("/a", 4), ("/b", 1)] {
        for _ in 0..answers {
            Client::get(edge.proxy[0], "a.example", path);
        }
    }
    edge.wait_for_metric("portcullis_scans_skipped_total{reason=\"sampled\"}", 2.0);
    edge.wait_for_metric("portcullis_scans_total", 3.0);
}

#[test]
fn scanners_rest_as_long_as_is_set() {
    let origin = counting_origin();
    let mut edge =
        Edge::start(&format!("scan_cpu_percent = 1\n{}[limits]\nscan_queue = \"1MB\"\n", zone(&origin)));
    Client::get(edge.proxy[0], "a.example", "/long");
    edge.wait_for_event("sensitive_data", |_| true);
    // Each thread rests for a hundred times as long as it worked, and two bodies do not fit in the queue.
    let threads = std::thread::available_parallelism().unwrap().get();
    for _ in 0..threads + 2 {
        Client::get(edge.proxy[0], "a.example", "/long");
    }
    let skipped = "portcullis_scans_skipped_total{reason=\"queue_full\"}";
    wait_for("a body to be left out", || (edge.metric(skipped) >= 1.0).then_some(()));
}

#[test]
fn utf_16_is_scanned_as_the_text_it_is() {
    let text = format!("<p>card {}</p>", card());
    let body: Vec<u8> = [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    let served = body.clone();
    let origin = Origin::start(move |_, stream| {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-16\r\ncontent-length: {}\r\n\r\n",
            served.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&served)).is_ok()
    });
    let mut edge = Edge::start(&zone(&origin));
    assert_eq!(Client::get(edge.proxy[0], "a.example", "/").body, body);
    let event = edge.wait_for_event("sensitive_data", |_| true);
    assert_eq!(event["Ref"], "financial.credit_card");
}

#[test]
fn scans_that_wait_when_rules_are_swapped_are_done() {
    const ANSWERS: usize = 12;
    let origin = Origin::start(|request, stream| {
        let body = format!("{} {}{}", request.path(), "word ".repeat(90_000), card());
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).is_ok()
    });
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own.yaml");
    let write_rule = |nth: usize| {
        let rule = format!(
            "- id: own.word_{nth}\n  name: Own\n  description: Own\n  definition: none\n  categories: [leak]\n  \
             literals: [swapped{nth}]\n  pattern: swapped{nth}\n  max_bytes: 16\n  confidence: low\n  \
             examples: [swapped{nth}]\n  counter_examples: [swapped]\n"
        );
        let next = own.with_extension("next");
        std::fs::write(&next, rule).unwrap();
        std::fs::rename(next, &own).unwrap();
    };
    write_rule(0);
    let financial = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/sensitive-data/financial.yaml");
    // Scanners rest most of the time, so that answers wait for them.
    let conf = format!(
        "scan_cpu_percent = 5\n[rules]\nsensitive_data = [\"{financial}\", \"own.yaml\"]\n{}",
        zone(&origin)
    );
    let mut edge = Edge::start_in(folder, &conf, &[]);
    let scans = |edge: &Edge| edge.metric("portcullis_scans_total") as usize;
    let mut waiting = 0;
    for nth in 1..=ANSWERS {
        assert_eq!(Client::get(edge.proxy[0], "a.example", &format!("/{nth}")).status, 200);
        if nth % 3 == 0 {
            write_rule(nth);
            edge.wait_for_event("snapshot_published", |event| {
                event["revision"].as_u64() > Some(nth as u64 / 3)
            });
            waiting += nth - scans(&edge);
        }
    }
    assert!(waiting > 0, "no scan waited for its turn while rules were swapped");
    edge.wait_for_metric("portcullis_detections_total{rule=\"financial.credit_card\"}", ANSWERS as f64);
    assert_eq!(scans(&edge), ANSWERS);
}
