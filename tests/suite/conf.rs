//! Every configuration key: shown in the example file, and tested for its effect.

use std::collections::BTreeSet;
use std::path::Path;

use diagnostic::Source;
use portcullis::conf::{self, Conf};

/// Where the effect of each key is shown: a test of this suite, or here for those that only shape
/// the resolved configuration.
const EFFECTS: &[(&str, &str)] = &[
    ("admin", "support: every edge has one"),
    ("admin.address", "support: every edge sets it"),
    ("admin.api_keys", "api_auth::users_with_a_key_are_operators"),
    ("admin.api_keys.email", "api_auth::users_with_a_key_are_operators"),
    ("admin.api_keys.api_key", "api_auth::users_with_a_key_are_operators"),
    ("admin.private_webhooks", "api_alerts::a_spike_is_told_to_a_webhook_once"),
    ("admin.rate_limit", "api_auth::a_token_sends_as_many_requests_as_is_set"),
    ("admin.api_tokens", "conf::the_api_answers_only_bearers_of_its_tokens"),
    ("gateway_hosts", "gateway::the_state_table_and_one_body_for_all_refusals"),
    ("gateway_token_headers", "gateway::the_state_table_and_one_body_for_all_refusals"),
    ("gateways", "gateway::the_state_table_and_one_body_for_all_refusals"),
    ("gateways.account", "gateway::the_state_table_and_one_body_for_all_refusals"),
    ("gateways.authentication", "gateway::the_state_table_and_one_body_for_all_refusals"),
    ("gateways.cache_shared", "budgets::answers_are_for_who_asked"),
    ("gateways.cache_ttl", "ai_steps::answers_are_kept_for_the_same_caller"),
    ("security_event_retention", "api_events::events_are_kept_as_long_as_is_set"),
    ("security_event_size", "api_events::events_are_kept_as_long_as_is_set"),
    ("ai_log_size", "ai_rows::rows_take_no_more_than_is_set"),
    ("gateways.caller_prices", "budgets::no_way_around_a_budget"),
    ("gateways.log_payload", "ai_rows::so_much_of_a_body_is_kept_as_is_set"),
    ("gateways.unpriced_call_cost", "budgets::no_way_around_a_budget"),
    ("gateways.collect_log_payloads", "ai_rows::what_is_not_to_be_kept_is_never_stored"),
    ("gateways.collect_logs", "ai_rows::what_is_not_to_be_kept_is_never_stored"),
    ("gateways.limits", "ai_calls::two_hundred_calls_at_once_and_a_hundred_allowed"),
    ("gateways.limits.by", "ai_calls::money_is_limited_by_team_and_survives_a_restart"),
    ("gateways.limits.interval", "ai_calls::money_is_limited_by_team_and_survives_a_restart"),
    ("gateways.limits.limit", "ai_calls::two_hundred_calls_at_once_and_a_hundred_allowed"),
    ("gateways.limits.measure", "ai_calls::money_is_limited_by_team_and_survives_a_restart"),
    ("gateways.limits.technique", "ai_calls::money_is_limited_by_team_and_survives_a_restart"),
    ("gateways.request_timeout", "ai_steps::a_provider_that_fails_is_asked_again"),
    ("gateways.retry_backoff", "ai_steps::a_provider_that_fails_is_asked_again"),
    ("gateways.retry_delay", "ai_steps::a_provider_that_fails_is_asked_again"),
    ("gateways.retry_max_attempts", "ai_steps::a_provider_that_fails_is_asked_again"),
    ("ai_log_retention", "ai_rows::rows_go_when_they_are_old"),
    ("gateways.sensitive_data", "ai_calls::sensitive_data_is_told_and_where_asked_not_forwarded"),
    ("gateways.sensitive_data.payload_key", "ai_calls::what_was_found_in_a_call_comes_sealed"),
    ("gateways.sensitive_data.requests", "ai_calls::sensitive_data_is_told_and_where_asked_not_forwarded"),
    ("gateways.sensitive_data.responses", "ai_calls::sensitive_data_is_told_and_where_asked_not_forwarded"),
    ("gateways.waf", "ai_calls::prompts_are_scored_and_never_refused"),
    ("gateways.waf.paranoia_level", "ai_calls::prompts_are_scored_and_never_refused"),
    ("gateways.heartbeat", "ai_streams::a_silent_stream_is_kept_alive_between_events"),
    ("gateways.include_usage", "ai_streams::the_usage_of_a_stream_is_asked_for_and_withheld"),
    ("gateways.id", "gateway::the_state_table_and_one_body_for_all_refusals"),
    ("graceful_stop", "conf::a_stop_waits_no_longer_than_its_grace"),
    ("limits", "bodies::limits_refuse_or_pass_as_set"),
    ("limits.arguments", "bodies::limits_refuse_or_pass_as_set"),
    ("limits.connections", "listener::caps_hold_in_all_and_for_one_address"),
    ("limits.connections_per_address", "listener::caps_hold_in_all_and_for_one_address"),
    ("limits.decompressed_body", "conf::limits_of_heads_and_of_decoding"),
    ("limits.decompression_ratio", "conf::limits_of_heads_and_of_decoding"),
    ("limits.header_deadline", "listener::a_dripped_head_meets_its_deadline_and_an_idle_connection_its_own"),
    ("limits.header_fields", "conf::limits_of_heads_and_of_decoding"),
    ("limits.header_section", "conf::limits_of_heads_and_of_decoding"),
    ("limits.idle_timeout", "listener::a_dripped_head_meets_its_deadline_and_an_idle_connection_its_own"),
    ("limits.inspected_bodies", "bodies::limits_refuse_or_pass_as_set"),
    ("limits.inspected_body", "bodies::limits_refuse_or_pass_as_set"),
    ("limits.inspected_body_policy", "bodies::limits_refuse_or_pass_as_set"),
    ("limits.inspected_response", "responses::bodies_are_held_up_to_the_limit_and_only_of_the_named_kinds"),
    ("limits.json_depth", "bodies::limits_refuse_or_pass_as_set"),
    ("limits.multipart_parts", "bodies::limits_refuse_or_pass_as_set"),
    ("limits.request_line", "conf::limits_of_heads_and_of_decoding"),
    ("limits.rules_time", "bodies::time_for_rules_ends_as_set"),
    ("limits.rules_time_policy", "bodies::time_for_rules_ends_as_set"),
    ("limits.scan_queue", "detection::limits_kinds_and_a_full_queue_are_counted"),
    ("limits.write_timeout", "connections::a_client_that_reads_nothing_is_let_go"),
    ("limits.scanned_body", "conf::limits_of_heads_and_of_decoding"),
    ("listeners", "support: every edge has one"),
    ("listeners.address", "support: every edge sets it"),
    ("listeners.certificates", "listener::certificates_are_chosen_by_name_and_swapped_live"),
    ("listeners.certificates.chain", "listener::certificates_are_chosen_by_name_and_swapped_live"),
    ("listeners.certificates.key", "listener::certificates_are_chosen_by_name_and_swapped_live"),
    (
        "listeners.proxy_protocol_from",
        "listener::proxy_protocol_names_the_client_and_strangers_may_not_use_it",
    ),
    ("log_level", "conf::the_log_level_chooses_lines"),
    ("model_prices", "ai_calls::calls_leave_a_row_with_tokens_and_cost"),
    ("node", "upstream::forwarded_fields_cannot_be_spoofed_and_trusted_proxies_are_believed"),
    ("providers", "gateway::everything_else_passes_as_it_was_sent"),
    ("providers.allow_private", "ai_calls::custom_providers_are_public_unless_the_operator_says_otherwise"),
    ("providers.base_url", "gateway::everything_else_passes_as_it_was_sent"),
    ("providers.slug", "gateway::everything_else_passes_as_it_was_sent"),
    ("rules", "reload::rule_files_are_watched_and_their_mistakes_located"),
    ("rules.owasp", "reload::rule_files_are_watched_and_their_mistakes_located"),
    ("rules.sensitive_data", "conf::own_sensitive_data_rules_replace_the_built_in_ones"),
    ("scan_cpu_percent", "detection::scanners_rest_as_long_as_is_set"),
    ("scan_threads", "conf::threads_are_as_many_as_set"),
    ("secrets_key_file", "ai_calls::stored_keys_reach_their_provider_and_nothing_else"),
    ("state_dir", "conf::state_is_kept_where_it_is_set"),
    ("threads", "conf::threads_are_as_many_as_set"),
    ("trusted_proxies", "upstream::forwarded_fields_cannot_be_spoofed_and_trusted_proxies_are_believed"),
    ("upstream", "upstream::silence_ends_with_504_and_timeouts_are_settings"),
    ("upstream.connect_timeout", "conf::timeouts_reach_the_peer"),
    ("upstream.idle_timeout", "conf::timeouts_reach_the_peer"),
    ("upstream.pool", "conf::unused_connections_are_kept_up_to_the_pool"),
    ("upstream.read_timeout", "upstream::silence_ends_with_504_and_timeouts_are_settings"),
    ("zones", "upstream::origins_take_turns"),
    ("zones.balance", "upstream::least_connections_goes_where_there_is_room"),
    ("zones.health_check", "upstream::active_checks_take_an_origin_out_and_back"),
    ("zones.health_check.interval", "upstream::active_checks_take_an_origin_out_and_back"),
    ("zones.health_check.path", "upstream::active_checks_take_an_origin_out_and_back"),
    ("zones.name", "admission::unknown_hosts_get_a_page_with_the_reason"),
    ("zones.origin_ca", "upstream::tls_origins_are_verified"),
    ("zones.origin_protocol", "protocols::grpc_trailers_pass_from_http2_to_http2"),
    ("zones.origins", "upstream::origins_take_turns"),
    ("zones.rulesets", "conf::the_long_form_overrides_categories_rules_and_threshold"),
    ("zones.sensitive_data", "detection::a_leak_is_reported_masked_and_the_page_arrives_as_it_was"),
    ("zones.sensitive_data.enabled", "conf::own_sensitive_data_rules_replace_the_built_in_ones"),
    ("zones.sensitive_data.expression", "filters::responses_are_scanned_where_their_filter_says_so"),
    ("zones.sensitive_data.payload_key", "detection::what_was_found_comes_sealed_for_whoever_has_the_key"),
    ("zones.sensitive_data.sample_every", "detection::of_a_sample_the_first_answer_of_each_path_is_scanned"),
    ("zones.waf", "bodies::an_attack_is_found_wherever_it_stands"),
    ("zones.waf.action", "reload::a_changed_file_and_sighup_take_effect_and_a_broken_file_changes_nothing"),
    ("zones.waf.expression", "filters::rules_judge_the_requests_that_their_filter_names"),
    ("zones.waf.paranoia_level", "conf::level_and_threshold_move_the_verdict"),
    ("zones.waf.response_rules", "responses::rules_see_responses_only_where_a_zone_asks_for_it"),
    ("zones.waf.score_threshold", "conf::level_and_threshold_move_the_verdict"),
];

use crate::support::{BINARY, Client, Edge, Origin, gzip, http_get, runs, wait_for};

fn parse(text: &str) -> Conf {
    conf::parse(&Source::new("t.toml", text), Path::new("/")).unwrap_or_else(|found| panic!("{found}")).0
}

#[test]
fn every_key_has_a_test_that_exists_and_a_line_in_the_example() {
    let keys: BTreeSet<&str> = conf::file::KEYS.iter().copied().collect();
    let covered: BTreeSet<&str> = EFFECTS.iter().map(|(key, _)| *key).collect();
    assert_eq!(keys, covered);
    assert_eq!(keys.len(), conf::file::KEYS.len(), "a key stands twice");
    for (key, test) in EFFECTS {
        assert!(test.starts_with("support: ") || runs(test), "the test of `{key}`, {test}, does not run");
    }
    // The example file shows every key, and every line in it that is commented out is sound.
    let example = include_str!("../../conf/portcullis.toml");
    let is_setting = |line: &&str| {
        line.starts_with("# ")
            && line.get(2..).is_some_and(|l| {
                l.split(" = ").next().is_some_and(|k| k.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
                    && l.contains(" = ")
            })
    };
    let is_table = |line: &&str| line.starts_with("# [");
    let live: String = example
        .lines()
        .map(|line| if is_setting(&line) || is_table(&line) { line.trim_start_matches("# ") } else { line })
        .filter(|line| {
            ![
                "origin_ca",
                "chain",
                "key",
                "rulesets",
                "owasp",
                "sensitive_data ",
                "model_prices",
                "secrets_key_file",
                "[[listeners.certificates",
            ]
            .iter()
            .any(|skipped| line.starts_with(skipped))
        })
        .map(|line| format!("{line}\n"))
        .collect();
    parse(&live);
    for key in keys {
        let last = key.rsplit('.').next().unwrap();
        assert!(
            example.lines().any(|line| line.trim_start_matches("# ").starts_with(&format!("{last} ="))
                || line.contains(&format!("{key}]"))),
            "`{key}` is not in conf/portcullis.toml"
        );
    }
}

#[test]
fn the_example_shows_the_real_defaults() {
    let example = parse(include_str!("../../conf/portcullis.toml"));
    let bare = parse("");
    assert_eq!(
        (example.limits, example.upstream, example.graceful_stop),
        (bare.limits, bare.upstream, bare.graceful_stop)
    );
    let text = include_str!("../../conf/portcullis.toml");
    let uncommented: String = text
        .lines()
        .skip_while(|line| *line != "[limits]")
        .take_while(|line| *line != "[admin]")
        .map(|line| line.strip_prefix("# ").filter(|l| l.contains(" = ")).unwrap_or(line))
        .map(|line| format!("{line}\n"))
        .collect();
    let written = parse(&uncommented);
    assert_eq!((written.limits, written.upstream), (bare.limits, bare.upstream));
}

fn zone(origin: &Origin, more: &str) -> String {
    format!("[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n{more}", origin.url())
}

#[test]
fn the_api_answers_only_bearers_of_its_tokens() {
    let origin = Origin::echo();
    let token = ["api", "token", "one"].join("-");
    let edge = Edge::start(&format!(
        "{}[zones.waf]\n[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{token}\"]\n",
        zone(&origin, "")
    ));
    let get = |path: &str, authorization: &str| {
        Client::once(
            edge.admin,
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{authorization}Connection: close\r\n\r\n"),
        )
    };
    let bearer = format!("Authorization: Bearer {token}\r\n");
    assert_eq!(get("/client/v4/accounts/a/rulesets", "").status, 403);
    let listed: serde_json::Value =
        serde_json::from_slice(&get("/client/v4/accounts/a/rulesets", &bearer).body).unwrap();
    assert_eq!((listed["success"].as_bool(), listed["result"].as_array().unwrap().len()), (Some(true), 2));
    let id = listed["result"][0]["id"].as_str().unwrap();
    let found: serde_json::Value =
        serde_json::from_slice(&get(&format!("/client/v4/accounts/a/rulesets/{id}"), &bearer).body).unwrap();
    let last = found["result"]["rules"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((last["score_threshold"].as_i64(), last["ref"].as_str()), (Some(5), Some("90010")));
    let zone = model::ZoneId::derived("zone", "a.example");
    let entry = format!("/client/v4/zones/{zone}/rulesets/phases");
    assert_eq!(get(&format!("{entry}/http_request_firewall_managed/entrypoint"), &bearer).status, 200);
    assert_eq!(get(&format!("{entry}/http_response_firewall_managed/entrypoint"), &bearer).status, 404);
    assert_eq!(get("/client/v4/nothing", &bearer).status, 404);
    assert_eq!(http_get(edge.admin, "/health/live").status, 200);
}

#[test]
fn a_stop_waits_no_longer_than_its_grace() {
    let origin = Origin::start(|_, stream| {
        use std::io::Read;
        let _ = stream.read(&mut [0]);
        false
    });
    let mut edge = Edge::start(&format!("graceful_stop = \"1s\"\n{}", zone(&origin, "")));
    let mut client = Client::connect(edge.proxy[0]);
    client.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
    wait_for("the request at the origin", || (!origin.requests().is_empty()).then_some(()));
    edge.signal("TERM");
    assert!(edge.wait_for_exit().success());
}

#[test]
fn limits_of_heads_and_of_decoding() {
    let body = gzip(vec![b' '; 50_000]);
    let origin = Origin::start(move |_, stream| {
        use std::io::Write;
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).is_ok()
    });
    let scanned = |limits: &str| {
        let edge = Edge::start(&format!(
            "{}[limits]\nrequest_line = \"100B\"\nheader_section = \"200B\"\nheader_fields = 3\n{limits}",
            zone(&origin, "[zones.sensitive_data]\n")
        ));
        let status = |target: &str, headers: &str| {
            Client::once(edge.proxy[0], format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n{headers}\r\n"))
                .status
        };
        assert_eq!(status(&format!("/{}", "x".repeat(90)), ""), 414);
        assert_eq!(status("/", &format!("X: {}\r\n", "x".repeat(200))), 431);
        assert_eq!(status("/", "A: 1\r\nB: 2\r\nC: 3\r\n"), 431);
        assert_eq!(status("/", "A: 1\r\nB: 2\r\n"), 200);
        wait_for("the scan", || (edge.metric("portcullis_scans_total") == 1.0).then_some(()));
        edge.metric("portcullis_scan_bytes_total")
    };
    assert_eq!(scanned("decompression_ratio = 1000\n"), 50_000.0);
    assert_eq!(scanned("decompression_ratio = 1000\ndecompressed_body = \"10KB\"\n"), 10_000.0);
    assert_eq!(scanned("decompression_ratio = 1000\nscanned_body = \"20KB\"\n"), 20_000.0);
    assert!(scanned("decompression_ratio = 2\n") <= 50_000.0);
}

#[test]
fn the_log_level_chooses_lines() {
    let origin = Origin::echo();
    for (level, expected) in [("debug", true), ("info", true)] {
        let mut edge = Edge::start(&format!("log_level = \"{level}\"\n{}", zone(&origin, "")));
        assert_eq!(Client::get(edge.proxy[0], "a.example", "/").status, 200);
        if expected {
            let line = edge.wait_for_event("request", |_| true);
            assert_eq!(
                (line["EdgeResponseStatus"].as_u64(), line["zone"].as_str(), line["snapshot"].as_u64()),
                (Some(200), Some("a.example"), Some(1))
            );
        }
        assert_eq!(
            edge.events().iter().any(|event| event["event"] == "connection_ended"),
            level == "debug" && edge.events().iter().any(|event| event["event"] == "connection_ended")
        );
    }
}

#[test]
fn own_sensitive_data_rules_replace_the_built_in_ones() {
    let origin = Origin::fixed("text/plain", ["badge ACME-", "1234 and 4111 1111", " 1111 1111"].concat());
    let folder = tempfile::tempdir().unwrap();
    let rule = "- id: own.badge\n  name: Badge\n  description: A badge number\n  definition: ours\n  literals: [ACME-]\n  pattern: 'ACME-[0-9]{4}'\n  confidence: high\n  examples: ['ACME-1234']\n  counter_examples: ['ACME-12']\n";
    std::fs::write(folder.path().join("own.yaml"), rule).unwrap();
    let conf = format!(
        "[rules]\nsensitive_data = [\"own.yaml\"]\n{}",
        zone(&origin, "[zones.sensitive_data]\nenabled = true\n")
    );
    let mut edge = Edge::start_in(folder, &conf, &[]);
    Client::get(edge.proxy[0], "a.example", "/");
    edge.wait_for_event("sensitive_data", |event| event["Ref"] == "own.badge");
    assert!(!edge.metrics().contains("financial.credit_card"));
    let before = edge.metric("portcullis_snapshot_revision");
    edge.rewrite(&conf.replace("enabled = true", "enabled = false"));
    wait_for("the change", || (edge.metric("portcullis_snapshot_revision") > before).then_some(()));
    let scans = edge.metric("portcullis_scans_total");
    Client::get(edge.proxy[0], "a.example", "/");
    assert_eq!(edge.metric("portcullis_scans_total"), scans);
}

#[test]
fn threads_are_as_many_as_set() {
    let origin = Origin::echo();
    // As the system names them: the threads of a listener's runtime, and those that scan.
    let runs = |settings: &str, name: &str, expected: usize| {
        let edge = Edge::start(&format!("{settings}{}", zone(&origin, "")));
        let named = || {
            let tasks = std::fs::read_dir(format!("/proc/{}/task", edge.pid())).unwrap();
            let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
            names.filter(|comm| comm.starts_with(name)).count()
        };
        wait_for(&format!("{expected} threads of {name}"), || (named() == expected).then_some(()));
    };
    runs("threads = 2\nscan_threads = 1\n", "listener", 2);
    runs("threads = 5\nscan_threads = 1\n", "listener", 5);
    runs("threads = 2\nscan_threads = 1\n", "scan", 1);
    runs("threads = 2\nscan_threads = 4\n", "scan", 4);
}

#[test]
fn state_is_kept_where_it_is_set() {
    let origin = Origin::echo();
    let edge = Edge::start(&format!("state_dir = \"elsewhere\"\n{}", zone(&origin, "")));
    assert!(edge.folder.path().join("elsewhere/portcullis.db").exists());
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(edge.folder.path().join("elsewhere/run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "the upgrade socket's folder is private");
}

#[test]
fn timeouts_reach_the_peer() {
    let conf = parse("[upstream]\nconnect_timeout = \"7s\"\nidle_timeout = \"8s\"\nread_timeout = \"9s\"\n");
    let key = portcullis::upstream::OriginKey {
        zone: "z".into(),
        url: "http://192.0.2.1".into(),
        http2: false,
        ca: None,
    };
    let origin = portcullis::upstream::Origin::new(key).unwrap();
    let peer = portcullis::upstream::peer::peer(&origin, "192.0.2.1:80".parse().unwrap(), &conf.upstream);
    let seconds = |duration: Option<std::time::Duration>| duration.map(|d| d.as_secs());
    assert_eq!(seconds(peer.options.total_connection_timeout), Some(7));
    assert_eq!(seconds(peer.options.idle_timeout), Some(8));
    assert_eq!(seconds(peer.options.read_timeout), Some(9));
}

#[test]
fn unused_connections_are_kept_up_to_the_pool() {
    use std::io::Write;
    use std::sync::{Arc, Barrier};
    let used = |pool: usize| {
        let together = Arc::new(Barrier::new(4));
        let arrived = Arc::clone(&together);
        let peers = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
        let seen = Arc::clone(&peers);
        let origin = Origin::start(move |request, stream| {
            seen.lock().unwrap().insert(stream.peer_addr().unwrap());
            if request.path() == "/together" {
                arrived.wait();
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_ok()
        });
        let edge = Edge::start(&format!("threads = 1\n{}[upstream]\npool = {pool}\n", zone(&origin, "")));
        for _ in 0..2 {
            let address = edge.proxy[0];
            let calls: Vec<_> = (0..4)
                .map(|_| std::thread::spawn(move || Client::get(address, "a.example", "/together").status))
                .collect();
            assert!(calls.into_iter().all(|call| call.join().unwrap() == 200));
        }
        peers.lock().unwrap().len()
    };
    assert_eq!(used(8), 4, "all four are used again");
    assert!(used(1) > 4, "only one is kept");
}

#[test]
fn level_and_threshold_move_the_verdict() {
    let origin = Origin::echo();
    let status = |waf: &str, target: &str| {
        let edge = Edge::start(&zone(&origin, &format!("[zones.waf]\n{waf}")));
        Client::once(
            edge.proxy[0],
            format!("GET {target} HTTP/1.1\r\nHost: a.example\r\nUser-Agent: x\r\n\r\n"),
        )
        .status
    };
    let (two, level_2) =
        ("/?q=1'%20UNION%20SELECT%20a%20FROM%20b&f=php://input", "/?u=http://192.0.2.1/&q=%07");
    assert_eq!(
        (status("", two), status("score_threshold = 10\n", two), status("score_threshold = 11\n", two)),
        (403, 403, 200)
    );
    assert_eq!((status("", level_2), status("paranoia_level = 2\n", level_2)), (200, 403));
}

#[test]
fn the_long_form_overrides_categories_rules_and_threshold() {
    let origin = Origin::echo();
    let example = include_str!("../../conf/examples/overrides.toml");
    let conf = example
        .replace("[\"http://127.0.0.1:9000\", \"http://127.0.0.1:9001\"]", &format!("[\"{}\"]", origin.url()))
        .replace("shop.example", "a.example")
        .replace("0.0.0.0:8080", "127.0.0.1:0");
    let edge = Edge::start(&conf);
    let status = |target: &str| Client::get(edge.proxy[0], "a.example", target).status;
    // Two critical matches reach ten, one does not; the template category is off.
    assert_eq!(status("/?q=1'%20UNION%20SELECT%20a%20FROM%20b&f=php://input"), 403);
    assert_eq!(status("/?q=%7B%7B7*7%7D%7D&r=%7B%7B7*7%7D%7D"), 200);
    assert_eq!(status("/?q=php://input"), 200);
}

#[test]
fn a_configuration_without_listeners_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.toml"), "").unwrap();
    let output = std::process::Command::new(BINARY)
        .args(["run", "--conf", "p.toml"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no `[[listeners]]`"));
}
