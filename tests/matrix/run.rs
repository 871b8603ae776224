//! The cases, and what each asserts.

use std::collections::{BTreeMap, HashMap};

use super::SAMPLE;
use super::clients::{self, FRAMINGS, Framing, Request};
use super::content::{Kind, LENGTHS};
use super::envelope::Envelope;
use super::features::{Feature, STORED_KEY, TOKEN};
use super::http2_origin;
use super::origins::{self, ANSWERS, Answer, LONG_BYTES};
use super::support::{Api, Edge, Origin, certificate, wait_for};

/// One case.
#[derive(Clone, Copy, Debug)]
struct Case {
    kind: Kind,
    length: usize,
    framing: Framing,
    answer: Answer,
}

/// Runs the cases of these features, each feature on an edge of its own; with `FEATURE` only those whose names begin with it.
pub fn all(features: &[Feature]) {
    let features = &chosen(features)[..];
    let step = if std::env::var_os("MATRIX").is_some() { 1 } else { SAMPLE };
    let ran = each(features, |feature, nth| of_feature(feature, step, nth));
    let whole: usize = features.iter().map(|feature| cases(feature).count()).sum();
    assert!(ran >= whole / step, "{ran} of {whole} cases ran");
    eprintln!("{ran} of {whole} cases");
}

fn chosen(features: &[Feature]) -> Vec<Feature> {
    let name = std::env::var("FEATURE").unwrap_or_default();
    features.iter().filter(|feature| feature.name.starts_with(&name)).copied().collect()
}

/// Runs something for each feature and its number; how many cases ran. None may fail.
pub fn each(
    features: &[Feature],
    of_feature: impl Fn(&Feature, usize) -> (usize, Vec<String>) + Sync,
) -> usize {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let (mut failures, mut ran, of_feature) = (Vec::new(), 0, &of_feature);
    let features = chosen(features);
    // Two at a time: that is as many processors as there are.
    for (nth, pair) in features.chunks(2).enumerate() {
        let found: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
            let threads: Vec<_> = pair
                .iter()
                .enumerate()
                .map(|(at, feature)| scope.spawn(move || of_feature(feature, 2 * nth + at)))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (count, failed) in found {
            ran += count;
            failures.extend(failed);
        }
    }
    assert!(failures.is_empty(), "{} of {ran} cases:\n{}", failures.len(), failures.join("\n"));
    ran
}

fn cases(feature: &Feature) -> impl Iterator<Item = Case> {
    let all = feature.kinds().iter().flat_map(|kind| {
        LENGTHS.iter().filter(|length| kind.body(**length).is_some()).flat_map(move |length| {
            FRAMINGS.iter().flat_map(move |framing| {
                ANSWERS.iter().map(move |answer| Case {
                    kind: *kind,
                    length: *length,
                    framing: *framing,
                    answer: *answer,
                })
            })
        })
    });
    all.filter(|case| feature.takes(case.kind, case.answer))
}

/// An edge with a feature, in front of an origin: a plain listener, then one with TLS.
pub fn edge(feature: &Feature, origin: &Origin) -> Edge {
    edge_with(feature, origin, "")
}

/// One with more settings.
pub fn edge_with(feature: &Feature, origin: &Origin, settings: &str) -> Edge {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example", "gw.example"]);
    let address = match feature.has_http2_origin {
        true => format!("http://{}", http2_origin::in_front_of(origin.address)),
        false => origin.url(),
    };
    let conf = feature.conf(&address).replacen("[limits]", &format!("{settings}[limits]"), 1);
    feature.prepare(folder.path(), &conf);
    let edge = Edge::start_in(folder, &conf, &[]);
    if feature.has_record {
        let record =
            serde_json::json!({"type": "A", "name": "@", "content": origin.address.ip(), "proxied": true});
        Api::new(&edge, TOKEN).post("/zones/a.example/dns_records", &record);
    }
    edge
}

fn of_feature(feature: &Feature, step: usize, offset: usize) -> (usize, Vec<String>) {
    let origin = origins::start();
    let edge = edge(feature, &origin);
    let mut failures = Vec::new();
    let mut statuses: BTreeMap<String, (u16, String)> = BTreeMap::new();
    let mut ran = 0;
    for case in cases(feature).skip(offset % step).step_by(step) {
        ran += 1;
        match run(feature, case, &edge, &origin) {
            Ok((ray, status)) => drop(statuses.insert(ray, (status, format!("{case:?}")))),
            Err(problem) => failures.push(format!("{}: {case:?}: {problem}", feature.name)),
        }
        origin.forget();
    }
    // What was on the wire is what the log says.
    let logged = || -> HashMap<String, u64> {
        let events = edge.events();
        let requests = events.iter().filter(|event| event["event"] == "request");
        requests
            .filter_map(|e| Some((e["RayID"].as_str()?.to_owned(), e["EdgeResponseStatus"].as_u64()?)))
            .collect()
    };
    let logged = wait_for("the log", || {
        let logged = logged();
        statuses.keys().all(|ray| logged.contains_key(ray)).then_some(logged)
    });
    for (ray, (status, case)) in &statuses {
        if logged.get(ray) != Some(&u64::from(*status)) {
            failures.push(format!(
                "{}: {case}: {status} on the wire, {:?} in the log",
                feature.name,
                logged.get(ray)
            ));
        }
    }
    // Nothing is held any more.
    edge.wait_for_metric("portcullis_held_bodies_bytes", 0.0);
    (ran, failures)
}

fn run(feature: &Feature, case: Case, edge: &Edge, origin: &Origin) -> Result<(String, u16), String> {
    let Case { kind, length, framing, answer } = case;
    let body = kind.body(length).ok_or("there is no such body")?;
    let (target, sent) = feature.call(&body, answer);
    let request = Request {
        host: feature.host(),
        target: &target,
        content_type: kind.content_type(),
        coding: kind.is_coded().then_some("gzip"),
        body: &sent,
    };
    // What a provider gets: tools get the whole message.
    let body = if feature.envelope == Envelope::Mcp { sent.clone() } else { body };
    let mark = feature.asks_for(answer);
    let asked = |begun: &[String]| begun.iter().filter(|line| line.contains(&mark)).count();
    let (response, next) =
        clients::send(framing, edge.proxy[0], edge.proxy[1], request).ok_or_else(|| {
            format!("no answer in time, and the origin was asked {} times", asked(&origin.begun()))
        })?;
    let expected = feature.status(kind, sent.len());
    let is_passed = expected == 200;
    let is_held_back = is_passed && feature.holds_answers && answer == Answer::Long;
    let expected = match answer {
        Answer::NoContent if is_passed => 204,
        Answer::Long if is_held_back => 400,
        _ => expected,
    };
    if response.status != expected {
        return Err(format!(
            "{} in place of {expected}: {}",
            response.status,
            response.text().chars().take(200).collect::<String>()
        ));
    }
    // A call that was asked before may be answered from the cache.
    let is_cached = response.header("svc-aig-cache-status") == Some("HIT");
    let begun = asked(&origin.begun());
    let wanted = usize::from(is_passed && !is_cached);
    if begun != wanted {
        return Err(format!("the origin was asked {begun} times in place of {wanted}"));
    }
    if is_passed && !is_cached {
        let got = origin.requests().into_iter().rfind(|request| request.line.contains(&mark));
        let got = got.ok_or("the origin got no whole request")?;
        if got.body != body {
            return Err(format!("the origin got other bytes: {} of them", got.body.len()));
        }
        let hosts: Vec<_> =
            got.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("host")).collect();
        if !feature.has_http2_origin && (hosts.len() != 1 || hosts.iter().any(|(_, host)| host.is_empty())) {
            return Err(format!("the origin was told the hosts {hosts:?}"));
        }
        let key = format!("Bearer {STORED_KEY}");
        if feature.has_stored_key != (got.header("authorization") == Some(&key)) {
            return Err("the origin got another key".to_owned());
        }
    }
    let whole = match answer {
        _ if !is_passed || is_held_back => !response.body.is_empty(),
        Answer::NoContent => response.body.is_empty(),
        Answer::Long => response.body.len() == LONG_BYTES,
        _ => response.text() == origins::receipt(&body),
    };
    if !whole {
        return Err(format!("the client got other bytes: {} of them", response.body.len()));
    }
    if let Some(next) = next
        && next.status >= 500
    {
        return Err(format!("the next request of the connection is answered by {}", next.status));
    }
    let ray = response.header("svc-ray").ok_or("the answer has no id")?.to_owned();
    Ok((ray, response.status))
}
