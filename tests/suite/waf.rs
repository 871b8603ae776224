//! The engine through its public face: language features, mistakes, and the printed rules.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bytes::Bytes;
use seclang::syntax::MemoryLoader;
use seclang::{ActionOverride, BodyLimits};
use seclang::{Phase, Plan, PlanSettings, Program, RequestHead, Transaction};

fn load(text: &str) -> (seclang::RuleSetIr, String) {
    let loader = MemoryLoader(vec![
        ("t.conf".to_owned(), text.to_owned()),
        ("words.data".to_owned(), "# c\nneedle\n\nhay stack\n".to_owned()),
    ]);
    let (ir, diagnostics) = seclang::load(&["t.conf".to_owned()], &loader);
    (ir, diagnostics.to_string())
}

/// A transaction over a POST with a form, run through both request phases; the refusing rule.
fn run_with(
    text: &str,
    settings: &PlanSettings,
    target: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (Transaction, Option<u64>) {
    let (ir, diagnostics) = load(text);
    assert_eq!(diagnostics, "");
    let plan = Arc::new(Plan::new(Arc::new(seclang::optimize(&ir)), settings));
    run_plan(&plan, target, headers, body)
}

fn run_plan(
    plan: &Arc<Plan>,
    target: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (Transaction, Option<u64>) {
    let mut transaction = Transaction::new(Arc::clone(plan), BodyLimits::default());
    let headers: Vec<(&[u8], &[u8])> = headers.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
    transaction.request_head(&RequestHead {
        method: b"POST",
        target: target.as_bytes(),
        protocol: "HTTP/1.1",
        headers: &headers,
        client: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
        server: None,
        request_id: "ray",
        received: std::time::Duration::ZERO,
    });
    let mut refused = transaction.run(Phase::RequestHeaders);
    if refused.is_none() {
        transaction.request_body(Bytes::copy_from_slice(body.as_bytes()), false);
        refused = transaction.run(Phase::RequestBody);
    }
    (transaction, refused.map(|r| r.rule))
}

fn matched(text: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Vec<u64> {
    let (transaction, _) = run_with(text, &PlanSettings::default(), target, headers, body);
    transaction.matches().iter().map(|m| m.rule).collect()
}

const FORM: &[(&str, &str)] = &[
    ("content-type", "application/x-www-form-urlencoded"),
    ("cookie", "a=1; b = 2; bare"),
    ("X-Test", "One"),
];

#[test]
fn variables_selectors_counts_and_exclusions() {
    let cases: &[(&str, bool)] = &[
        (r#"ARGS "@streq v p""#, true),
        (r#"ARGS:P "@streq v p""#, true),
        (r#"ARGS_GET:p "@streq v p""#, false),
        (r#"ARGS_POST "@streq v p""#, true),
        (r#"ARGS:/^p$/ "@streq v p""#, true),
        (r#""ARGS|!ARGS:p" "@streq v p""#, false),
        (r#""ARGS|!ARGS:/^P/" "@streq v p""#, false),
        (r#"ARGS_NAMES "@streq p""#, true),
        (r#"&ARGS "@eq 3""#, true),
        (r#"&ARGS:g "@eq 2""#, true),
        (r#"&REQUEST_HEADERS:x-test "@eq 1""#, true),
        (r#"&REQUEST_HEADERS:X-None "@eq 0""#, true),
        (r#"REQUEST_HEADERS:x-TEST "!@streq One""#, false),
        (r#"REQUEST_COOKIES:b "@rx ^ 2$""#, true),
        (r#"REQUEST_COOKIES "@streq bare""#, true),
        (r#"REQUEST_URI "@streq /d/f.php?g=1&g=%41""#, true),
        (r#"REQUEST_FILENAME "@streq /d/f.php""#, true),
        (r#"REQUEST_BASENAME "@streq f.php""#, true),
        (r#"QUERY_STRING "@streq g=1&g=%41""#, true),
        (r#"ARGS:g "@streq A""#, true),
        (r#"REQUEST_BODY "@streq p=v+p""#, true),
        (r#"REQUEST_BODY_LENGTH "@eq 5""#, true),
        (r#"REQUEST_LINE "@beginsWith POST /d/""#, true),
        (r#"REMOTE_ADDR "@ipMatch 192.0.2.0/24""#, true),
        (r#"ARGS_COMBINED_SIZE "@eq 8""#, true),
        (r#"ARGS "@pmFromFile words.data""#, false),
        (r#"UNIQUE_ID "@streq ray""#, true),
        (r#"REQBODY_PROCESSOR "@streq URLENCODED""#, true),
    ];
    let mut ran = 0;
    for (rule, expected) in cases {
        let text = format!("SecRule {rule} \"id:1,phase:2,pass\"");
        let found = !matched(&text, "/d/f.php?g=1&g=%41", FORM, "p=v+p").is_empty();
        assert_eq!(found, *expected, "{rule}");
        ran += 1;
    }
    assert_eq!(ran, cases.len());
}

#[test]
fn chains_keep_what_links_did_and_decide_only_in_full() {
    let text = r#"
        SecRule ARGS:a "@streq 1" "id:1,phase:2,deny,status:410,chain,setvar:tx.seen=+1"
            SecRule ARGS:b "@streq 2" "setvar:tx.seen=+1,chain"
            SecRule ARGS:c "@streq 3" "setvar:tx.seen=+1"
        SecRule TX:seen "@eq 2" "id:2,phase:2,pass"
        SecRule TX:SEEN "@eq 3" "id:3,phase:2,pass"
    "#;
    assert_eq!(matched(text, "/?a=1&b=2&c=0", &[], ""), [2]);
    let (_, refused) = run_with(text, &PlanSettings::default(), "/?a=1&b=2&c=3", &[], "");
    assert_eq!(refused, Some(1));
}

#[test]
fn skip_after_stays_in_its_phase_and_markers_hold_their_place() {
    let text = r#"
        SecRule ARGS "@streq x" "id:1,phase:2,pass,nolog,skipAfter:END"
        SecRule REQUEST_URI "@contains x" "id:2,phase:1,pass"
        SecAction "id:3,phase:2,pass"
        SecMarker END
        SecAction "id:4,phase:2,pass"
    "#;
    assert_eq!(matched(text, "/?q=x", &[], ""), [2, 4]);
    assert_eq!(matched(text, "/?q=y", &[], ""), [3, 4]);
}

#[test]
fn captures_macros_and_dynamic_names() {
    let text = r#"
        SecRule ARGS "@rx ^(\w+)-(\d+)$" "id:1,phase:2,pass,capture,t:lowercase,setvar:'tx.p_%{MATCHED_VAR_NAME}=%{TX.2}',msg:'%{tx.1} in %{MATCHED_VAR_NAME}',logdata:'%{MATCHED_VAR}'"
        SecRule TX:/^p_args/ "@eq 42" "id:2,phase:2,pass"
        SecRule ARGS:q "@endsWith -%{tx.2}" "id:3,phase:2,pass"
        SecRule MATCHED_VARS_NAMES "@streq ARGS:q" "id:4,phase:2,pass"
    "#;
    let (transaction, _) = run_with(text, &PlanSettings::default(), "/?q=AB-42", &[], "");
    let matches = transaction.matches();
    let rules: Vec<u64> = matches.iter().map(|m| m.rule).collect();
    assert_eq!(rules, [1, 2, 3]);
    assert_eq!((matches[0].message.as_str(), matches[0].data.as_str()), ("ab in ARGS:q", "ab-42"));
}

#[test]
fn multi_match_sees_every_step_once() {
    let rule = |extra: &str| {
        format!(
            "SecRule ARGS \"@contains <\" \"id:1,phase:2,pass{extra},t:none,t:urlDecodeUni,t:htmlEntityDecode,t:lowercase,setvar:tx.n=+1\"\nSecRule TX:n \"@eq 1\" \"id:2,phase:2,pass\""
        )
    };
    assert_eq!(matched(&rule(""), "/?q=%253c%2526lt%253b", &[], ""), [1, 2]);
    let each = "SecRule ARGS \"@rx .\" \"id:1,phase:2,pass,multiMatch,t:none,t:lowercase,t:removeNulls,t:lowercase,setvar:tx.n=+1\"\nSecRule TX:n \"@eq 2\" \"id:2,phase:2,pass\"";
    assert_eq!(matched(each, "/?q=AB", &[], ""), [1, 2], "once as sent, once in lower case");
}

#[test]
fn ctl_reaches_rules_targets_and_the_engine() {
    let base = r#"
        SecRule ARGS "@streq x" "id:10,phase:2,deny,chain,tag:'t'"
            SecRule ARGS:b "@streq x"
    "#;
    let with = |control: &str| format!("SecAction \"id:1,phase:1,pass,nolog,ctl:{control}\"\n{base}");
    for (control, refused) in [
        ("ruleRemoveById=11", true),
        ("ruleRemoveById=10", false),
        ("ruleRemoveById=1-99", false),
        ("ruleRemoveByTag=t", false),
        ("ruleRemoveTargetById=10;ARGS:a", true),
        ("ruleRemoveTargetById=10;ARGS:b", false),
        ("ruleRemoveTargetById=10;ARGS:/^B$/", false),
        ("ruleRemoveTargetById=10;ARGS", false),
        ("ruleEngine=DetectionOnly", false),
        ("ruleEngine=Off", false),
    ] {
        let (_, rule) = run_with(&with(control), &PlanSettings::default(), "/?a=x&b=x", &[], "");
        assert_eq!(rule.is_some(), refused, "{control}");
    }
}

#[test]
fn defaults_blocks_allows_and_updates() {
    let text = r#"
        SecDefaultAction "phase:2,deny,status:406,log,t:lowercase"
        SecRule ARGS "@streq abc" "id:1,phase:2,block"
        SecRule ARGS "@streq ABC" "id:2,phase:2,block,t:none"
        SecRule ARGS:free "@streq 1" "id:3,phase:1,allow:request,nolog"
        SecRuleUpdateTargetById 1 "!ARGS:safe"
        SecRuleRemoveById 2
    "#;
    let refused = |target: &str| run_with(text, &PlanSettings::default(), target, &[], "").1;
    assert_eq!(refused("/?q=ABC"), Some(1));
    assert_eq!(refused("/?safe=ABC"), None);
    assert_eq!(refused("/?q=ABC&free=1"), None);
}

#[test]
fn tags_and_messages_are_named_by_patterns() {
    let rules = r#"
        SecRule ARGS "@streq x" "id:1,phase:2,pass,tag:'attack-sqli',msg:'SQL Injection Attack'"
        SecRule ARGS "@streq x" "id:2,phase:2,pass,tag:'attack-xss',msg:'XSS Filter'"
        SecRule ARGS "@streq x" "id:3,phase:2,pass,tag:'protocol',msg:'Protocol'"
    "#;
    for (directive, left) in [
        ("SecRuleRemoveByTag attack-", vec![3]),
        ("SecRuleRemoveByMsg Injection", vec![2, 3]),
        ("SecRuleRemoveByMsg \"^(?:XSS|SQL)\"", vec![3]),
        ("SecRuleUpdateTargetByTag ^attack-x \"!ARGS:q\"", vec![1, 3]),
        ("SecRuleUpdateTargetByMsg Pro \"!ARGS\"", vec![1, 2]),
    ] {
        assert_eq!(matched(&format!("{rules}\n{directive}"), "/?q=x", &[], ""), left, "{directive}");
    }
    assert!(load(&format!("{rules}\nSecRuleRemoveByTag (")).1.contains("t.conf:6"));
}

#[test]
fn what_is_remembered_outlives_the_rules_that_set_it() {
    let program = |text: &str| seclang::optimize(&load(text).0);
    let counts = r#"
        SecCollectionTimeout 60
        SecAction "id:1,phase:1,pass,nolog,initcol:ip=%{REMOTE_ADDR},setvar:ip.n=+1"
        SecRule IP:n "@ge 2" "id:2,phase:1,deny"
    "#;
    let first = program(counts);
    let second = program(counts).with_collections(Arc::clone(first.collections()));
    let refused = |program: Program| {
        let plan = Arc::new(Plan::new(Arc::new(program), &PlanSettings::default()));
        run_plan(&plan, "/", &[], "").1
    };
    assert_eq!((refused(first), refused(second)), (None, Some(2)));
}

#[test]
fn plans_disable_preset_and_change_actions() {
    let text = r#"
        SecRule ARGS "@streq x" "id:1,phase:2,pass,setvar:'tx.inbound_anomaly_score_pl1=+5'"
        SecRule ARGS "@streq x" "id:2,phase:2,pass,setvar:'tx.inbound_anomaly_score_pl2=+3'"
        SecAction "id:3,phase:2,pass,nolog,setvar:'tx.sum=%{tx.inbound_anomaly_score_pl1}',setvar:'tx.sum=+%{tx.inbound_anomaly_score_pl2}'"
        SecRule TX:sum "@ge %{tx.threshold}" "id:9,phase:2,deny"
    "#;
    let run = |disabled: &[u64], threshold: &str, refuses: bool| {
        let settings = PlanSettings {
            disabled: disabled.to_vec(),
            variables: vec![("THRESHOLD".to_owned(), threshold.to_owned())],
            actions: vec![ActionOverride { rule: 9, refuses }],
            only_reports: false,
        };
        let (transaction, refused) = run_with(text, &settings, "/?q=x", &[], "");
        (transaction.scores(), refused, transaction.matches().iter().map(|m| m.rule).collect::<Vec<_>>())
    };
    assert_eq!(run(&[], "8", true), ([5, 3, 0, 0], Some(9), vec![1, 2, 9]));
    assert_eq!(run(&[2], "8", true), ([5, 0, 0, 0], None, vec![1]));
    assert_eq!(run(&[], "8", false), ([5, 3, 0, 0], None, vec![1, 2, 9]));
}

#[test]
fn quoted_ids_implicit_patterns_and_line_ends() {
    let text = "SecRule ARGS \"^x\\\"y$\" \"id:'7', \\\r\n  phase:2,pass\"\r\n# comment\r\nSecRule ARGS \"@pm hay\" \"id:8,phase:2,pass\"\r\n";
    assert_eq!(matched(text, "/?q=x%22y&r=HAY", &[], ""), [7, 8]);
}

#[test]
fn rules_are_printable() {
    let text = r#"
        SecDefaultAction "phase:2,pass,log,t:lowercase"
        SecRule "ARGS|!ARGS:a|REQUEST_HEADERS:User-Agent" "!@rx (?i)^b$" "id:5,phase:2,block,capture,msg:'found %{MATCHED_VAR}',tag:'x',setvar:'tx.s=+5',skipAfter:E,chain"
            SecRule &TX:/^k/ "@gt 1" "t:none,t:length"
        SecMarker E
    "#;
    insta::assert_snapshot!(load(text).0.to_string());
}

#[test]
fn twelve_mistakes_are_twelve_located_diagnostics() {
    let text = r#"SecRule ARGZ "@rx a" "id:1,phase:2,pass"
SecRule ARGS "@rexx a" "id:2,phase:2,pass"
SecRule ARGS "@rx (a" "id:3,phase:2,pass"
SecRule ARGS "@rx a" "id:4,phase:9,pass"
SecRule ARGS "@rx a" "id:5,phase:2,t:lowercas"
SecRule ARGS "@rx a" "id:6,phase:2,deni"
SecRule ARGS "@rx a" "phase:2,pass"
SecRule ARGS "@rx a" "id:1,phase:2,pass"
SecRule ARGS "@ge many" "id:9,phase:2,skipAfter:NOWHERE"
SecRuleEngin On
SecRule ARGS "@rx a" "id:11,phase:2,msg:'%{NOPE}'"
SecRule ARGS "@rx a" "id:12,phase:2,chain"
"#;
    insta::assert_snapshot!(load(text).1);
}

/// One case for each public advisory about engines of this language that is named in its comment.
#[test]
fn what_broke_other_engines() {
    const RULES: &str = r#"
SecRule ARGS|ARGS_NAMES "@contains evil" "id:1,phase:2,pass,log,msg:'argument'"
SecRule REQUEST_COOKIES|REQUEST_COOKIES_NAMES "@contains evil" "id:2,phase:2,pass,log,msg:'cookie'"
SecRule FILES|FILES_NAMES "@contains evil" "id:3,phase:2,pass,log,msg:'file'"
SecRule REQBODY_ERROR "@eq 1" "id:4,phase:2,pass,log,msg:'body'"
SecRule ARGUMENTS_LIMIT_REACHED "@eq 1" "id:5,phase:2,pass,log,msg:'arguments'"
"#;
    let many = format!("{}&q=evil", (0..1000).map(|n| format!("a{n}=1")).collect::<Vec<_>>().join("&"));
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let form = "application/x-www-form-urlencoded";
    let multipart = "multipart/form-data; boundary=B";
    let file =
        "--B\r\nContent-Disposition: form-data; name=\"f\"; filename*=UTF-8''evil.php\r\n\r\nx\r\n--B--\r\n";
    let truncated = "--B\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\nevil\r\n--B\r\nContent-Disp";
    let post = |content_type: &str, body: &str| matched(RULES, "/", &[("content-type", content_type)], body);
    let get = |target: &str| matched(RULES, target, &[], "");
    let cookie = |value: &str| matched(RULES, "/", &[("cookie", value)], "");
    let cases: &[(&str, Vec<u64>, &[u64])] = &[
        // GHSA-6r3q-mjv7-xr8m: past the limit of arguments nothing was looked at.
        ("arguments limit", post(form, &many), &[5]),
        // GHSA-6gcq-wc29-5xf2, GHSA-3c6w-j9xm-8h2h: nested JSON took memory and stack.
        ("json depth", post("application/json", &deep), &[4]),
        // GHSA-5gj4-9gm7-2fx2: one of two JSON values of one path replaced the other.
        ("json keys", post("application/json", r#"{"a.b":"evil","a":{"b":"x"}}"#), &[1]),
        ("json keys, the other way", post("application/json", r#"{"a":{"b":"x"},"a.b":"evil"}"#), &[1]),
        // GHSA-w253-m66g-rx24: a parameter of the media type lost the processor.
        ("charset", post("Application/X-WWW-Form-Urlencoded ; charset=utf-8", "q=evil"), &[1]),
        (
            "two content types",
            matched(RULES, "/", &[("content-type", "text/plain"), ("content-type", form)], "q=evil"),
            &[1, 4],
        ),
        // GHSA-3wr7-993q-jrff: `filename*` was no file name.
        ("filename*", post(multipart, file), &[3]),
        // GHSA-r3rm-qphw-hh76: a multipart body that ends early was not seen.
        ("truncated multipart", post(multipart, truncated), &[1, 4]),
        // GHSA-g4qm-m288-5cp9: cookies without a name, or with control bytes, were not seen.
        ("cookie without a name", cookie("=evil"), &[2]),
        ("bare cookie", cookie("evil"), &[2]),
        ("cookie with a control byte", cookie("a=1;\u{1}b=evil"), &[2]),
        // GHSA-x26q-wvhg-fh4m: a target that is no URI had no arguments.
        ("target of two slashes", get("//?q=evil"), &[1]),
        ("target with a bad authority", get("http://[::1/?q=evil"), &[1]),
        ("target with bad escapes", get("/%zz%?q=evil%"), &[1]),
        ("keyless argument", get("/?evil"), &[1]),
        ("encoded plus", get("/?q=%65vil+x"), &[1]),
    ];
    for (name, found, expected) in cases {
        assert_eq!(found, expected, "{name}");
    }
}

/// A file of many values takes no field its place, and what is past the limit is judged all the same.
#[test]
fn files_of_json_are_read_beside_fields() {
    const RULES: &str = "SecRule ARGS|ARGS_NAMES \"@contains evil\" \"id:1,phase:2,pass,log\"\n\
        SecRule ARGUMENTS_LIMIT_REACHED \"@eq 1\" \"id:5,phase:2,pass,log\"\nSecRule ARGS:q \"@streq last\" \"id:6,phase:2,pass,log\"\n";
    let form = |values: usize, end: &str| {
        let list = vec!["1"; values].join(",");
        format!(
            "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x.json\"\r\n\r\n[{list},\"{end}\"]\r\n\
             --B\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\nlast\r\n--B--\r\n"
        )
    };
    let matched =
        |body: &str| matched(RULES, "/", &[("content-type", "multipart/form-data; boundary=B")], body);
    assert_eq!(matched(&form(10, "x")), [6]);
    assert_eq!(matched(&form(10, "e\\u0076il")), [1, 6]);
    assert_eq!(matched(&form(3000, "e\\u0076il")), [1, 6]);
}

#[test]
fn targets_in_which_nothing_is_found_are_a_warning() {
    let (_, diagnostics) = load("SecRule XML:/a/b[last()] \"@rx x\" \"id:1,phase:2,pass\"\n");
    assert!(
        diagnostics.starts_with("warning[seclang/unsupported]: `XML:/a/b[last()]` finds nothing"),
        "{diagnostics}"
    );
    let (_, diagnostics) = load("SecRule REMOTE_ADDR|ARGS \"@rbl a.example\" \"id:1,phase:2,pass\"\n");
    assert!(diagnostics.contains("`@rbl` finds nothing in `ARGS`: only"), "{diagnostics}");
    assert_eq!(diagnostics.matches("warning").count(), 1, "{diagnostics}");
    assert_eq!(load("SecRule XML:/*|XML://@* \"@rx x\" \"id:1,phase:2,pass\"\n").1, "");
}
