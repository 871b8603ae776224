//! A configuration of several files, and texts that name variables of the environment.

use crate::support::{Client, Edge, Origin, refused_by_check, wait_for};

fn site(name: &str, origin: &Origin) -> String {
    format!("[[zones]]\nname = \"{name}\"\norigins = [\"{}\"]\n[zones.waf]\n", origin.url())
}

#[test]
fn sites_in_files_of_their_own_come_change_and_go() {
    let (origin, folder) = (Origin::echo(), tempfile::tempdir().unwrap());
    let sites = folder.path().join("sites");
    std::fs::create_dir(&sites).unwrap();
    std::fs::write(sites.join("a.toml"), site("a.example", &origin)).unwrap();
    std::fs::write(sites.join(".hidden.toml"), site("hidden.example", &origin)).unwrap();
    std::fs::write(sites.join("a.toml.bak"), site("bak.example", &origin)).unwrap();
    let rules = "[[rulesets]]\nphase = \"http_request_firewall_custom\"\n[[rulesets.rules]]\naction = \"block\"\n\
                 expression = 'http.request.uri.path eq \"/${NO_SUCH_VARIABLE:-private}\"'\n";
    std::fs::write(folder.path().join("rules.toml"), rules).unwrap();
    let conf = format!("include = [\"sites/*.toml\", \"rules.toml\"]\n{}", site("main.example", &origin));
    let mut edge = Edge::start_in(folder, &conf, &[]);
    let sites = edge.folder.path().join("sites");
    let status = |edge: &Edge, host: &str, target: &str| Client::get(edge.proxy[0], host, target).status;
    for (host, expected) in
        [("main.example", 200), ("a.example", 200), ("hidden.example", 404), ("bak.example", 404)]
    {
        assert_eq!(status(&edge, host, "/"), expected, "{host}");
    }
    assert_eq!(
        (status(&edge, "a.example", "/private"), status(&edge, "main.example", "/private")),
        (403, 403)
    );
    std::fs::write(sites.join("b.toml"), site("b.example", &origin)).unwrap();
    wait_for("a new file", || (status(&edge, "b.example", "/") == 200).then_some(()));
    std::fs::write(sites.join("b.toml"), site("c.example", &origin)).unwrap();
    wait_for("its change", || (status(&edge, "c.example", "/") == 200).then_some(()));
    assert_eq!(status(&edge, "b.example", "/"), 404);
    // A mistake in one of them changes nothing, and is named with its file.
    std::fs::write(sites.join("d.toml"), "[[zones]]\nname = \"d.example\"\norigin = []\n").unwrap();
    let refused = edge.wait_for_event("snapshot_refused", |_| true)["diagnostics"].to_string();
    assert!(
        refused.contains("sites/d.toml:3:1") && refused.contains("unknown key `zones.origin`"),
        "{refused}"
    );
    assert_eq!(status(&edge, "c.example", "/"), 200);
    std::fs::remove_file(sites.join("d.toml")).unwrap();
    std::fs::remove_file(sites.join("a.toml")).unwrap();
    wait_for("a file that is gone", || (status(&edge, "a.example", "/") == 404).then_some(()));
}

#[test]
fn what_an_included_file_may_not_say_is_refused_with_its_place() {
    let (origin, folder) = (Origin::echo(), tempfile::tempdir().unwrap());
    let refused =
        |include: &str| refused_by_check(&format!("include = [{include}]\n{}", site("a.example", &origin)));
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        format!("{:?}", path.display().to_string())
    };
    for (text, expected) in [
        ("threads = 4\n", "unknown key `threads`"),
        ("include = [\"x\"]\n", "unknown key `include`"),
        ("[[zones]\n", "x.toml:1"),
        (&site("a.example", &origin), "the zone `a.example` is declared twice"),
        (
            "[[zones]]\nname = \"${NO_SUCH_VARIABLE}\"\norigins = []\n",
            "the environment has no variable `NO_SUCH_VARIABLE`",
        ),
    ] {
        let text = refused(&write("x.toml", text));
        assert!(text.contains(expected), "{text}");
    }
    assert!(refused("\"not-there.toml\"").contains("cannot read"));
    assert!(refused("\"[\"").contains("is no pattern"));
}

#[test]
fn texts_name_variables_of_the_environment() {
    let origin = Origin::echo();
    // Cargo sets this one for tests, and the edge gets it from them.
    let conf = format!(
        "[[zones]]\nname = \"${{CARGO_PKG_NAME}}.example\"\norigins = [\"${{NO_SUCH_VARIABLE:-{}}}\"]\n\
         rulesets = [{{ phase = \"http_request_firewall_custom\", rules = [{{ action = \"block\", expression = 'http.user_agent eq \"${{CARGO_PKG_NAME}}\" or http.user_agent eq \"$${{X}}\"' }}] }}]\n",
        origin.url()
    );
    let edge = Edge::start(&conf);
    let from = |agent: &str| {
        let head = format!(
            "GET / HTTP/1.1\r\nHost: portcullis.example\r\nUser-Agent: {agent}\r\nConnection: close\r\n\r\n"
        );
        Client::once(edge.proxy[0], head).status
    };
    assert_eq!((from("portcullis"), from("${X}"), from("other")), (403, 403, 200));
}
