//! `portcullis top`: what an edge does now, in text.

use crate::ai_calls::{CHAT, GATEWAY, chat, conf};
use crate::support::{Client, Edge, Origin, run_cli, wait_for};

fn frame(edge: &Edge, arguments: &[&str]) -> String {
    let file = edge.folder.path().join("p.toml").display().to_string();
    let top = run_cli(&[&["top", "--conf", &file, "--once", "--interval", "1"], arguments].concat(), b"");
    assert!(top.status.success(), "{top:?}");
    String::from_utf8(top.stdout).unwrap()
}

#[test]
fn a_frame_shows_what_happened() {
    let (origin, provider) = (Origin::echo(), Origin::fixed("application/json", CHAT));
    let zones = format!(
        "[admin]\naddress = \"ADMIN\"\n{GATEWAY}[[zones]]\nname = \"a.example\"\norigins = [\"{}\", \"http://127.0.0.1:1\"]\n\
         health_check = {{ path = \"/\", interval = \"100ms\" }}\n[zones.waf]\n",
        origin.url()
    );
    let port = crate::support::free_port();
    let edge = Edge::start(&conf(&provider, &zones.replace("ADMIN", &format!("127.0.0.1:{port}"))));
    assert_eq!(chat(&edge, "").status, 200);
    // Names that a client makes are shown, and nothing in them is obeyed.
    let attack = format!("/{}%1b[2J?q=1'%20UNION%20SELECT%20a%20FROM%20b--", "x".repeat(80));
    for _ in 0..3 {
        assert_eq!(Client::get(edge.proxy[0], "a.example", &attack).status, 403);
    }
    let shown = wait_for("the events", || {
        Some(frame(&edge, &[])).filter(|shown| shown.contains("90010") && shown.contains("DOWN"))
    });
    for expected in
        ["requests/s", "verdicts:", "a.example", "acme/main", "19", "127.0.0.1", "http://127.0.0.1:1"]
    {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    assert!(!shown.contains('\u{1b}'));
    assert!(shown.lines().all(|line| line.chars().count() <= 110), "{shown}");
}

#[test]
fn an_edge_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.toml");
    std::fs::write(&file, "[[listeners]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:1\"\n")
        .unwrap();
    let top = run_cli(&["top", "--once", "--conf", &file.display().to_string()], b"");
    assert_eq!(top.status.code(), Some(1));
    let said = String::from_utf8_lossy(&top.stderr).into_owned();
    assert!(said.contains("the edge at 127.0.0.1:1 does not answer"), "{said}");
}
