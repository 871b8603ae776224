//! Rows of AI calls: what is stored, for how long, and how rows are read.

use bytes::Bytes;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;
use serde_json::{Value, json};

use crate::ai_calls::{CHAT, GATEWAY, call, chat, conf, line, request};
use crate::support::{Api, Client, Edge, Origin, run_cli, wait_for};

/// Everything in the files of the log.
pub(crate) fn stored(edge: &Edge) -> Vec<u8> {
    let folder = edge.folder.path().join("state");
    ["records.db", "records.db-wal"]
        .iter()
        .flat_map(|name| std::fs::read(folder.join(name)).unwrap_or_default())
        .collect()
}

/// Bytes kept of a request, once its row is committed. A row's bytes can be in the file before that.
pub(crate) fn request_head_bytes(edge: &Edge, id: &str) -> Option<i64> {
    let rows = rusqlite::Connection::open(edge.folder.path().join("state/records.db")).ok()?;
    rows.query_row("SELECT coalesce(length(request_head), 0) FROM ai_log WHERE id = ?1", [id], |row| {
        row.get(0)
    })
    .ok()
}

pub(crate) fn holds(bytes: &[u8], text: &str) -> bool {
    memchr::memmem::find(bytes, text.as_bytes()).is_some()
}

#[test]
fn what_is_not_to_be_kept_is_never_stored() {
    let provider = Origin::fixed("application/json", CHAT);
    let gateways = format!(
        "{GATEWAY}collect_log_payloads = false\n[[gateways]]\naccount = \"acme\"\nid = \"quiet\"\nauthentication = false\ncollect_logs = false\n"
    );
    let mut edge = Edge::start(&conf(&provider, &gateways));
    let unkept = chat(&edge, "svc-aig-collect-log: false\r\n");
    assert_eq!((unkept.status, unkept.header("svc-aig-log-id")), (200, None));
    let quiet = Client::once(edge.proxy[0], request("openai/v1/x", "", "{}").replace("/main/", "/quiet/"));
    assert_eq!(quiet.header("svc-aig-log-id"), None);
    // Whoever is refused leaves no row.
    let kept = chat(&edge, "authorization: Bearer provider-key-canary\r\n");
    let row = line(&mut edge, &kept);
    assert_eq!((&row["request_head"], &row["response_head"]), (&Value::Null, &Value::Null));
    assert!(row["tokens_in"] == 19);
    let id = kept.header("svc-aig-log-id").unwrap();
    wait_for("the row to be stored", || request_head_bytes(&edge, id));
    for canary in [
        "answer-canary",
        "question-canary",
        "provider-key-canary",
        unkept.header("svc-aig-request-id").unwrap(),
    ] {
        assert!(!holds(&stored(&edge), canary) && !edge.log_text().contains(canary), "{canary}");
    }
    // Counted all the same.
    edge.wait_for_metric(
        "portcullis_gateway_requests_total{gateway=\"acme/quiet\",outcome=\"forwarded\",provider=\"openai\"}",
        1.0,
    );
}

#[test]
fn so_much_of_a_body_is_kept_as_is_set() {
    let provider = Origin::fixed("application/json", CHAT);
    let gateways = format!(
        "{GATEWAY}[[gateways]]\naccount = \"acme\"\nid = \"short\"\nauthentication = false\nlog_payload = \"100B\"\n"
    );
    let edge = Edge::start(&conf(&provider, &gateways));
    let body = format!("{{\"messages\":[\"{}\"]}}", "word ".repeat(4000));
    for (gateway, kept) in [("main", 4096), ("short", 100)] {
        let asked = request("openai/v1/x", "", &body).replace("/main/", &format!("/{gateway}/"));
        let id = Client::once(edge.proxy[0], asked).header("svc-aig-request-id").unwrap().to_owned();
        assert_eq!(wait_for("the row to be stored", || request_head_bytes(&edge, &id)), kept, "{gateway}");
    }
}

/// Of two gateways, one by its file and one over the API, each keeps what it says, and another's rows stay.
#[test]
fn a_gateway_keeps_as_many_rows_as_it_says() {
    let provider = Origin::fixed("application/json", CHAT);
    let gateways = format!(
        "[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"api\"]\n{GATEWAY}[[gateways]]\naccount = \"acme\"\nid = \"full\"\n\
         authentication = false\nlog_management = 2\nlog_management_strategy = \"stop_inserting\"\n"
    );
    let edge = Edge::start(&conf(&provider, &gateways));
    let api = Api::new(&edge, "api");
    let all = "/accounts/acme/ai-gateway/gateways";
    let settings = json!({"log_management": 3, "log_management_strategy": "DELETE_OLDEST"});
    let asked = json!({"id": "last", "authentication": false, "log_management": 1, "collect_logs": true});
    let made = api.post(all, &asked);
    assert_eq!(
        (&made["log_management"], &made["log_management_strategy"]),
        (&json!(1), &json!("DELETE_OLDEST"))
    );
    let changed = api.result("PATCH", &format!("{all}/last"), &settings);
    assert_eq!(api.result("PUT", &format!("{all}/last"), &changed)["log_management"], 3, "as it is read");
    let ids: Vec<[String; 3]> = (0..6)
        .map(|_| {
            ["main", "full", "last"].map(|gateway| {
                let asked = request("openai/v1/x", "", "{}").replace("/main/", &format!("/{gateway}/"));
                Client::once(edge.proxy[0], asked).header("svc-aig-log-id").unwrap().to_owned()
            })
        })
        .collect();
    let of = |gateway: usize, calls: std::ops::Range<usize>| -> Vec<&str> {
        ids[calls].iter().map(|call| call[gateway].as_str()).collect()
    };
    let listed = |gateway: &str| -> Vec<String> {
        let rows = api.get(&format!("{all}/{gateway}/logs?direction=asc&per_page=50"));
        rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    wait_for("the last row", || (listed("last") == of(2, 3..6)).then_some(()));
    assert_eq!(
        (listed("main"), listed("full")),
        (
            of(0, 0..6).into_iter().map(str::to_owned).collect(),
            of(1, 0..2).into_iter().map(str::to_owned).collect()
        )
    );
    edge.wait_for_metric("portcullis_ai_logs_dropped_total{reason=\"gateway_full\"}", 4.0);
    for (wrong, place) in [
        (json!({"log_management": 0}), "/log_management"),
        (json!({"log_management": 10_000_001}), "/log_management"),
        (json!({"log_management": "many"}), "/log_management"),
        (json!({"log_management_strategy": "STOP"}), "/log_management_strategy"),
    ] {
        let (status, answer) = api.call("PATCH", &format!("{all}/last"), &wrong);
        assert_eq!((status, &answer["errors"][0]["source"]["pointer"]), (400, &json!(place)), "{wrong}");
    }
    assert_eq!(
        api.result("PATCH", &format!("{all}/last"), &json!({"log_management": null}))["log_management"],
        Value::Null
    );
}

#[test]
fn rows_take_no_more_than_is_set() {
    let provider = Origin::fixed("application/json", CHAT);
    let conf = format!(
        "ai_log_size = \"2MB\"\nai_log_retention = \"1s\"\n{}",
        conf(&provider, &format!("{GATEWAY}log_payload = \"64KiB\"\n"))
    );
    let edge = Edge::start(&conf);
    let body = format!("{{\"messages\":[\"{}\"]}}", "x".repeat(60_000));
    for _ in 0..100 {
        assert_eq!(call(&edge, "openai/v1/x", "", &body).status, 200);
    }
    let size = || std::fs::metadata(edge.folder.path().join("state/records.db")).unwrap().len();
    wait_for("old rows to go", || (size() < 3_000_000).then_some(()));
}

#[test]
fn the_log_is_read_over_the_api() {
    let provider = Origin::fixed("application/json", CHAT);
    let mut edge = Edge::start(&conf(
        &provider,
        &format!("[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"api\"]\n{GATEWAY}"),
    ));
    let ids: Vec<String> = (0..3)
        .map(|_| {
            let response = chat(&edge, "");
            line(&mut edge, &response);
            response.header("svc-aig-log-id").unwrap().to_owned()
        })
        .collect();
    call(&edge, "openai/v1/other", "", "{}");
    let get = |target: &str| {
        let request = format!(
            "GET /client/v4/accounts/acme/ai-gateway/gateways/main/logs{target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer api\r\nConnection: close\r\n\r\n"
        );
        Client::once(edge.admin, request)
    };
    let list = |target: &str| serde_json::from_slice::<Value>(&get(target).body).unwrap();
    wait_for("the rows to be stored", || (list("")["result_info"]["total_count"] == 4).then_some(()));
    let page = list("?per_page=2&page=2");
    assert_eq!(
        (&page["success"], &page["result_info"]["count"], &page["result_info"]["total_pages"]),
        (&true.into(), &2.into(), &2.into())
    );
    assert_eq!(page["result"][1]["id"], ids[0].as_str(), "the newest first");
    assert_eq!(list("?model=m-1&success=true&direction=asc")["result"][0]["id"], ids[0].as_str());
    assert_eq!(list("?cached=true")["result_info"]["total_count"], 0);
    assert_eq!(list("?start_date=2100-01-01T00:00:00Z")["result_info"]["total_count"], 0);
    let row = list(&format!("/{}", ids[0]));
    assert_eq!((&row["result"]["tokens_in"], &row["result"]["response_head"]), (&19.into(), &CHAT.into()));
    assert!(get(&format!("/{}/request", ids[0])).text().contains("question-canary"));
    assert_eq!(get(&format!("/{}/response", ids[0])).text(), CHAT);
    for target in ["/none", &format!("/{}", ids[0].to_lowercase())] {
        assert_eq!(get(target).status, 404, "{target}");
    }
    let other = format!(
        "GET /client/v4/accounts/acme/ai-gateway/gateways/other/logs/{} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer api\r\nConnection: close\r\n\r\n",
        ids[0]
    );
    assert_eq!(Client::once(edge.admin, &other).status, 404, "another gateway's row");
    assert_eq!(Client::once(edge.admin, other.replace("Bearer api", "Bearer x")).status, 403);
    // What people say of a call stands in its row.
    let api = Api::new(&edge, "api");
    let logs = "/accounts/acme/ai-gateway/gateways/main/logs";
    let said = json!({"feedback": 1, "score": 0.5, "metadata": {"team": "x"}});
    let row = api.result("PATCH", &format!("{logs}/{}", ids[0]), &said);
    assert_eq!(
        (&row["feedback"], &row["score"], &row["metadata"]),
        (&json!(1), &json!(0.5), &json!({"team": "x"}))
    );
    let row = api.result("PATCH", &format!("{logs}/{}", ids[0]), &json!({"feedback": -1}));
    assert_eq!((&row["feedback"], &row["score"], &row["tokens_in"]), (&json!(-1), &json!(0.5), &json!(19)));
    assert_eq!(api.call("PATCH", &format!("{logs}/{}", ids[0]), &json!({"feedback": 2})).0, 400);
    assert_eq!(api.call("PATCH", &format!("{logs}/none"), &said).0, 404);
    // And rows are deleted, those that are meant.
    assert_eq!(api.result("DELETE", &format!("{logs}?model=other"), &Value::Null), json!({"deleted": 0}));
    assert_eq!(api.result("DELETE", &format!("{logs}?model=m-1"), &Value::Null), json!({"deleted": 4}));
    assert_eq!(list("")["result_info"]["total_count"], 0);
    let elsewhere = "/accounts/acme/ai-gateway/gateways/other/logs";
    assert_eq!(api.result("DELETE", elsewhere, &Value::Null), json!({"deleted": 0}));
}

#[test]
fn rows_go_when_they_are_old() {
    let provider = Origin::fixed("application/json", CHAT);
    let conf = format!(
        "ai_log_retention = \"1s\"\n{}[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"api\"]\n",
        conf(&provider, GATEWAY)
    );
    let mut edge = Edge::start(&conf);
    let count = || {
        let page = Client::once(
            edge.admin,
            "GET /client/v4/accounts/acme/ai-gateway/gateways/main/logs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer api\r\nConnection: close\r\n\r\n",
        );
        let page: Value = serde_json::from_slice(&page.body).unwrap();
        page["result"].as_array().map_or(usize::MAX, Vec::len)
    };
    assert_eq!(chat(&edge, "").status, 200);
    wait_for("the row", || (count() == 1).then_some(()));
    wait_for("the row to go", || (count() == 0).then_some(()));
    edge.wait_for_event("ai_call", |_| true);
}

#[test]
fn rows_are_exported_as_lines_while_the_edge_runs() {
    let provider = Origin::fixed("application/json", CHAT);
    let edge = Edge::start(&conf(&provider, GATEWAY));
    let ids: Vec<String> =
        (0..3).map(|_| chat(&edge, "").header("svc-aig-log-id").unwrap().to_owned()).collect();
    wait_for("the rows to be stored", || {
        ids.iter().map(|id| request_head_bytes(&edge, id)).collect::<Option<Vec<_>>>()
    });
    let file = edge.folder.path().join("p.toml").display().to_string();
    let export = |arguments: &[&str]| {
        let run = run_cli(&[&["ai", "export"], arguments, &["--conf", &file]].concat(), b"");
        let rows: Vec<Value> = run
            .stdout
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect();
        (run.status.code(), rows, String::from_utf8_lossy(&run.stderr).into_owned())
    };
    let (code, rows, _) = export(&["acme/main"]);
    assert_eq!(code, Some(0));
    assert_eq!(rows.iter().map(|row| row["id"].as_str().unwrap()).collect::<Vec<_>>(), ids);
    assert_eq!((&rows[0]["tokens_in"], &rows[0]["model"]), (&json!(19), &json!("m-1")));
    let second = rows[1]["created_at"].as_str().unwrap();
    assert_eq!(export(&["acme/main", "--since", second]).1.len(), 2);
    assert_eq!(export(&["acme/main", "--until", second]).1.len(), 1);
    assert_eq!(export(&["acme/other"]).1.len(), 0);
    let (code, _, said) = export(&["main"]);
    assert!(code == Some(1) && said.contains("expected `ACCOUNT/ID`"), "{said}");
}

#[test]
fn calls_are_added_up_by_team_token_and_time() {
    let provider = Origin::fixed("application/json", CHAT);
    let edge = Edge::start(&conf(
        &provider,
        &format!("[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"api\"]\n{GATEWAY}"),
    ));
    let api = Api::new(&edge, "api");
    let gateway = "/accounts/acme/ai-gateway/gateways/main";
    for team in ["search", "search", "shop"] {
        let fields = format!(
            "svc-aig-metadata: {{\"team\":\"{team}\"}}\r\nsvc-aig-custom-cost: {{\"per_token_in\":1}}\r\n"
        );
        assert_eq!(chat(&edge, &fields).status, 200);
    }
    assert_eq!(call(&edge, "openai/v1/other", "", "{}").status, 200);
    let by = |query: &str| api.get(&format!("{gateway}/usage?{query}"));
    wait_for("the rows", || (by("by=day")[0]["calls"] == 4).then_some(()));
    let teams = by("by=metadata.team");
    let search = json!({"value": "search", "calls": 2, "failed": 0, "cached": 0, "tokens_in": 38, "tokens_out": 20, "cost": 38.0});
    assert_eq!(teams[0], search);
    assert_eq!(
        (&teams[1]["value"], &teams[2]["value"], &teams[2]["calls"]),
        (&json!("shop"), &json!(""), &json!(1))
    );
    assert_eq!(by("by=metadata.team&per_page=1").as_array().map(Vec::len), Some(1));
    assert_eq!(by("by=model&model=m-1")[0]["calls"], 4);
    assert_eq!(by("by=hour&end_date=2026-01-01T00:00:00Z"), json!([]));
    assert_eq!(by("")[0]["value"], "", "by token, of which none was asked for");
    for bad in ["by=cost", "by=metadata.", "by=metadata.a%22b"] {
        assert_eq!(api.call("GET", &format!("{gateway}/usage?{bad}"), &Value::Null).0, 400, "{bad}");
    }
}

/// Rows of one moment are neither lost nor doubled where a page ends.
#[test]
fn an_export_has_each_row_once() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    std::fs::create_dir(&state).unwrap();
    let mut rows = store::RecordStore::open(&state, 1 << 30).unwrap();
    let row = |nth: usize| model::AiLog {
        id: format!("{nth:026}"),
        account_id: "acme".to_owned(),
        gateway_id: "main".to_owned(),
        // 2,500 rows of one moment, then of others.
        created_at: format!("2026-11-26T00:00:{:02}.000000Z", nth.saturating_sub(2_500) / 100),
        ..model::AiLog::default()
    };
    let all: Vec<_> = (0..5_000).map(|nth| store::NewRecord::from(row(nth))).collect();
    store::RecordLog::append(&mut rows, &all, &[]).unwrap();
    let file = folder.path().join("p.toml");
    std::fs::write(&file, "state_dir = \"state\"\n[[listeners]]\naddress = \"127.0.0.1:0\"\n").unwrap();
    let run = run_cli(&["ai", "export", "acme/main", "--conf", &file.display().to_string()], b"");
    let text = String::from_utf8(run.stdout).unwrap();
    let ids: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned())
        .collect();
    let expected: Vec<String> = all.iter().map(|row| row.log.id.clone()).collect();
    assert_eq!(ids, expected);
    // A file of columns has the same.
    let path = file.display().to_string();
    let run = run_cli(&["ai", "export", "acme/main", "--format", "parquet", "--conf", &path], b"");
    let reader = SerializedFileReader::new(Bytes::from(run.stdout)).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    let ids: Vec<String> = rows.map(|row| row.get_string(0).unwrap().clone()).collect();
    assert_eq!(ids, expected);
}
