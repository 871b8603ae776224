//! The commands, as a person runs them.

use crate::support::{refused_by_check, run_cli};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn check_reports_every_mistake_in_one_run() {
    let conf = r#"
threads = "many"
nodee = "x"
[limits]
request_line = "8 parsecs"
header_fields = -1
[[listeners]]
address = "localhost:80"
[[zones]]
name = "-bad-.example"
origins = []
[[zones]]
name = "shop.example"
origins = ["ftp://a", "http://127.0.0.1:9000/path"]
balance = "random"
[zones.waf]
paranoia_level = 5
action = "skip"
[[gateways]]
account = "a b"
"#;
    let shown = refused_by_check(conf);
    insta::assert_snapshot!(shown);
}

#[test]
fn later_stages_report_with_places_too() {
    let conf = r#"
[[zones]]
name = "shop.example"
origins = ["http://127.0.0.1:9000"]
[zones.waf]
action = "rewrite"
[[zones.rulesets]]
phase = "http_response_firewall_managed"
[[zones.rulesets.rules]]
action = "execute"
expression = "ip.src eq 192.0.2"
action_parameters = { id = "nope" }
"#;
    let shown = refused_by_check(conf);
    insta::assert_snapshot!(shown);
}

#[test]
fn words_of_rulesets_that_do_not_exist_are_named_with_those_that_do() {
    let with = |phase: &str, action: &str| {
        let conf = format!(
            "[[zones]]\nname = \"shop.example\"\norigins = [\"http://127.0.0.1:9000\"]\n\
             [[zones.rulesets]]\nphase = \"{phase}\"\n[[zones.rulesets.rules]]\naction = \"{action}\"\n"
        );
        refused_by_check(&conf)
    };
    let managed = "http_request_firewall_managed";
    for (phase, action, said) in [
        (
            "http_request_firewal",
            "execute",
            "unknown phase `http_request_firewal`; expected one of `http_request",
        ),
        (managed, "exec", "unknown action `exec`; expected one of `block`"),
        (
            managed,
            "block",
            "phase `http_request_firewall_managed` has no action `block`; expected one of `execute`",
        ),
        (managed, "execute", "the action `execute` needs `action_parameters` with the id of a ruleset"),
    ] {
        let shown = with(phase, action);
        assert!(shown.contains(said), "{phase} {action}: {shown}");
        assert!(shown.contains("/bad.toml:"), "{phase} {action}: {shown}");
    }
}

#[test]
fn check_reads_what_a_faulty_configuration_names() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("own.conf"), "SecRule ARGS \"@rx (\" \"id:1,phase:2,deny\"\n").unwrap();
    let conf = "threads = \"many\"\n[rules]\nowasp = [\"own.conf\"]\n[[listeners]]\naddress = \"127.0.0.1:0\"\n\
                [[listeners.certificates]]\nchain = \"none.pem\"\nkey = \"none.key\"\n";
    let file = folder.path().join("p.toml");
    std::fs::write(&file, conf).unwrap();
    let output = run_cli(&["check", "--conf", &file.display().to_string()], b"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    for mistake in ["threads", "own.conf", "none.pem"] {
        assert!(said.contains(mistake), "{mistake}: {said}");
    }
}

#[test]
fn check_explains_which_engine_each_pattern_runs_on() {
    let folder = tempfile::tempdir().unwrap();
    let rules = "SecRule ARGS \"@rx union select\" \"id:1,phase:2,pass,msg:'a'\"\n\
                 SecRule ARGS \"@rx a(?!b)\" \"id:2,phase:2,pass,msg:'b'\"\n\
                 SecRule ARGS \"@streq x\" \"id:3,phase:2,pass,msg:'c'\"\n";
    std::fs::write(folder.path().join("own.conf"), rules).unwrap();
    let file = folder.path().join("p.toml");
    let conf = "[rules]\nowasp = [\"own.conf\"]\n[[listeners]]\naddress = \"127.0.0.1:0\"\n";
    std::fs::write(&file, conf).unwrap();
    let output = run_cli(&["check", "--conf", &file.display().to_string(), "--explain"], b"");
    let shown = text(&output.stdout);
    let engine_of = |start: &str| {
        let line =
            shown.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {shown}"));
        line.rsplit_once("): ").or_else(|| line.rsplit_once(": ")).unwrap().1
    };
    assert_eq!(engine_of("  1 ("), "automaton built as it is walked, one step a byte");
    assert!(engine_of("  2 (").starts_with("backtracker with a limit of steps"));
    assert!(!shown.lines().any(|line| line.starts_with("  3 (")));
    assert!(shown.contains("walk over the syntax tree"), "rules for sensitive data have their lines too");
    assert!(shown.contains("note: rule 2 runs on the step-limited backtracker ("));
}

#[test]
fn every_configuration_in_the_repository_is_sound() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/conf");
    let mut checked = 0;
    for folder in [folder.to_owned(), format!("{folder}/examples")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let output = run_cli(&["check", "--conf", &path.display().to_string()], b"");
                assert!(output.status.success(), "{}: {}", path.display(), text(&output.stderr));
                assert!(text(&output.stdout).ends_with(")\n"));
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 6);
}

#[test]
fn explain_shows_rules_places_and_verdicts() {
    let request =
        b"GET /?id=1'%20UNION%20SELECT%20a%20FROM%20b HTTP/1.1\r\nHost: a.example\r\nUser-Agent: x\r\n\r\n";
    let output = run_cli(&["waf", "explain", "--request", "-"], request);
    assert!(output.status.success());
    let shown = text(&output.stdout);
    assert!(shown.contains("ARGS:id: 1>>' UNION SELECT a FROM b<<"), "{shown}");
    let twice = b"GET /?id=1'%20UNION%20SELECT%20a%20FROM%20b&to=2'%20UNION%20SELECT%20c%20FROM%20d HTTP/1.1\r\nHost: a.example\r\n\r\n";
    let every = run_cli(&["waf", "explain", "--request", "-"], twice);
    let every = text(&every.stdout);
    for value in ["ARGS:id: 1>>' UNION SELECT a FROM b<<", "ARGS:to: 2>>' UNION SELECT c FROM d<<"] {
        assert!(every.contains(value), "{every}");
    }
    assert!(shown.contains("at level 1: score 5, blocked by rule 90010 with 403"), "{shown}");
    let output = run_cli(&["waf", "explain", "--request", "-", "--score-threshold", "60"], request);
    assert!(text(&output.stdout).contains("score 5 at paranoia level 1, threshold 60: passes"));
    let profile = run_cli(&["waf", "explain", "--request", "-", "--profile"], request);
    let profile = String::from_utf8(profile.stdout).unwrap();
    assert!(profile.contains("µs a request") && profile.contains("(matched)"), "{profile}");
    assert_eq!(run_cli(&["waf", "explain", "--request", "-"], b"nonsense").status.code(), Some(1));
    assert_eq!(run_cli(&["waf", "explain"], b"").status.code(), Some(2));
}

#[test]
fn scan_masks_in_text_and_locates_in_json_lines() {
    let card = ["4111", "1111", "1111", "1111"].join("-");
    let output = run_cli(&["scan", "-"], format!("first\ncard: {card}\n").as_bytes());
    assert_eq!(
        text(&output.stdout),
        "-:2:7: financial.credit_card (high confidence): 411111…1111 (16 characters)\n"
    );
    let lines = format!("{{\"id\":7,\"body\":\"{card}\"}}\n\n{{\"id\":\"b\",\"body\":\"nothing\"}}\n");
    let output = run_cli(&["scan", "--jsonl", "-"], lines.as_bytes());
    let expected = "{\"id\":7,\"detections\":[{\"type\":\"financial.credit_card\",\"start\":0,\"end\":19,\"confidence\":\"high\"}]}\n{\"id\":\"b\",\"detections\":[]}\n";
    assert_eq!(text(&output.stdout), expected);
    let broken = run_cli(&["scan", "--jsonl", "-"], b"{\"id\":1}\n");
    assert_eq!((broken.status.code(), text(&broken.stderr).contains("-:1: expected")), (Some(1), true));
}

#[test]
fn scan_walks_folders_and_tells_editors() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let key = ["AKIA", "QYLPMN5HHHFPZAM2"].concat();
    let card = ["4111", "1111", "1111", "1111"].join(" ");
    write("a.txt", &format!("one\nkey {key}\n"));
    write("b.html", &format!("<td>{card}</td>"));
    write("ignored.txt", &key);
    write(".gitignore", "ignored.txt\n");
    write("image.bin", &format!("\0\0{key}"));
    let path = folder.path().to_str().unwrap();
    let lines = run_cli(&["scan", path], b"");
    assert_eq!(
        text(&lines.stdout).replace(path, ""),
        "/a.txt:2:5: credential.aws_access_key_id (high confidence): AKIA… (20 characters)\n\
         /b.html:1:5: financial.credit_card (high confidence): 411111…1111 (16 characters)\n"
    );
    let json: serde_json::Value =
        serde_json::from_slice(&run_cli(&["scan", "--format", "json", path], b"").stdout).unwrap();
    let found = json["findings"].as_array().unwrap();
    assert_eq!((found.len(), found[0]["line"].as_u64(), found[1]["start"].as_u64()), (2, Some(2), Some(4)));
    let output = run_cli(&["scan", "--format", "sarif", path], b"");
    let sarif: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = &sarif["runs"][0];
    assert_eq!((sarif["version"].as_str(), run["results"].as_array().unwrap().len()), (Some("2.1.0"), 2));
    assert_eq!(run["results"][0]["ruleId"], "credential.aws_access_key_id");
    assert_eq!(run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"], 2);
    assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), 2);
    assert!(!text(&output.stdout).contains(&key) && !text(&output.stdout).contains(&card));
    // What cannot be read is named, and nothing else is lost.
    let some = run_cli(&["scan", "/nosuch/file", path], b"");
    assert_eq!((some.status.code(), text(&some.stdout).lines().count()), (Some(1), 2));
    assert!(text(&some.stderr).contains("/nosuch/file"), "{}", text(&some.stderr));
}

#[test]
fn tokens_are_only_made_for_gateways_that_exist() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.toml");
    std::fs::write(&file, "[[gateways]]\naccount = \"acme\"\nid = \"main\"\n").unwrap();
    let create = |gateway: &str| {
        run_cli(
            &[
                "token",
                "create",
                "--account",
                "acme",
                "--gateway",
                gateway,
                "--conf",
                &file.display().to_string(),
            ],
            b"",
        )
    };
    let refused = create("nope");
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("there is no gateway `nope` in the account `acme`"));
    let (first, second) = (create("main"), create("main"));
    assert!(first.status.success() && text(&first.stdout).starts_with("svcgw_"));
    assert_ne!(first.stdout, second.stdout);
}

#[test]
fn explain_suggests_the_exclusion_that_lets_the_request_pass() {
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/owasp");
    let explain = |files: &[&str], request: &[u8]| {
        let mut arguments = vec!["waf", "explain", "--request", "-", "--rules"];
        arguments.extend(files);
        String::from_utf8(run_cli(&arguments, request).stdout).unwrap()
    };
    // Client-chosen names and paths with signs that mean something in rules.
    for (path, name, shown) in [
        ("/notes", "text", ";ARGS:text\""),
        ("/no%22tes,$x", "te%22xt,x-y", r#";ARGS:/(?i)^te\x22xt\x2cx\x2dy$/""#),
    ] {
        let request = |path: &str, name: &str| {
            let target = format!("{path}?{name}=1'+UNION+SELECT+a,b+FROM+users--&q=boots");
            format!("GET {target} HTTP/1.1\r\nHost: a.example\r\nUser-Agent: x\r\nAccept: */*\r\n\r\n")
                .into_bytes()
        };
        let before = explain(&[rules], &request(path, name));
        assert!(before.contains("blocked by rule"), "{before}");
        let start = before.find("  SecRule REQUEST_FILENAME").unwrap_or_else(|| panic!("{before}"));
        let end = before[start..].find("\n\n").unwrap() + start;
        assert!(before[start..end].contains(shown), "{before}");
        let folder = tempfile::tempdir().unwrap();
        let exclusion = folder.path().join("exclusion.conf");
        std::fs::write(&exclusion, &before[start..end]).unwrap();
        let exclusion = exclusion.to_str().unwrap();
        let after = explain(&[exclusion, rules], &request(path, name));
        assert!(after.contains("threshold 5: passes"), "{after}");
        // Another argument and another path are as before.
        for (path, name) in [(path, "other"), ("/other", name)] {
            let shown = explain(&[exclusion, rules], &request(path, name));
            assert!(shown.contains("blocked by rule"), "{path} {name}");
        }
    }
}

/// What is printed for another server's configuration is a configuration that `check` takes.
#[test]
fn configurations_of_other_servers_become_ours() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let rules = write(
        "rules.conf",
        "SecRuleEngine On\nSecTmpDir /tmp\nSecRule ARGS \"@rx evil\" \"id:1,phase:2,deny\"\n",
    );
    let nginx = write(
        "nginx.conf",
        &format!(
            "user www-data;\nhttp {{\n  client_max_body_size 20m; # comment\n  upstream app {{ server 127.0.0.1:9001; server 127.0.0.1:9002; }}\n\
             server {{\n  listen 8080;\n  server_name shop.example *.shop.example ~^x;\n  modsecurity on;\n  modsecurity_rules_file '{rules}';\n\
             location / {{ proxy_pass http://app; proxy_set_header Host $host; }}\n  location /static {{ root /srv; }}\n}}\n\
             server {{ listen [::]:8081; server_name blog.example; location / {{ proxy_pass http://127.0.0.1:9003/; }} }}\n}}\n"
        ),
    );
    let apache = write(
        "site.conf",
        "SecRuleEngine DetectionOnly\nSecRule ARGS \"@rx evil\" \\\n  \"id:1,phase:2,deny\"\n<VirtualHost *:8080>\n  ServerName shop.example\n  ServerAlias www.example\n\
         ProxyPass / http://127.0.0.1:9001/\n  DocumentRoot /srv\n</VirtualHost>\n",
    );
    let migrate = |kind: &str, path: &str| {
        let output = run_cli(&["migrate", kind, path], b"");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let shown = migrate("--nginx", &nginx);
    for part in [
        "address = \"0.0.0.0:8080\"",
        "address = \"[::]:8081\"",
        "inspected_body = \"20MiB\"",
        "name = \"shop.example\"\norigins = [\"http://127.0.0.1:9001\", \"http://127.0.0.1:9002\"]\n[zones.waf]",
        "name = \"blog.example\"\norigins = [\"http://127.0.0.1:9003\"]\n\n",
        "# line 1: `user www-data` has no equivalent",
        "`location /static` has no equivalent",
        "`proxy_set_header Host $host` has no equivalent",
        "the server name `~^x` has no equivalent",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert_eq!(shown.matches("[[zones]]").count(), 2, "{shown}");
    let check = |shown: &str| {
        let output = run_cli(&["check", "--conf", &write("portcullis.toml", shown)], b"");
        assert!(output.status.success(), "{}\n{shown}", text(&output.stderr));
    };
    check(&shown);

    let shown = migrate("--apache", &apache);
    let parts = [
        "name = \"www.example\"",
        "action = \"log\"",
        "`DocumentRoot /srv` has no equivalent",
        "SecRule ARGS \"@rx evil\"",
    ];
    assert!(parts.iter().all(|part| shown.contains(part)), "{shown}");
    write("security.conf", "SecRule ARGS \"@rx evil\" \"id:1,phase:2,deny\"\n");
    check(&shown);

    let shown = migrate("--modsecurity", &rules);
    assert!(
        shown.contains(&format!("owasp = [{rules:?}]")) && shown.contains("`SecTmpDir` has no effect"),
        "{shown}"
    );

    let output =
        run_cli(&["migrate", "--nginx", &write("broken.conf", "http {\n server { listen 80;\n")], b"");
    assert!(text(&output.stderr).contains("line 2: a brace is not closed"), "{}", text(&output.stderr));
}
