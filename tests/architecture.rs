//! What the crates of the workspace cannot say by their dependencies alone: which library stays in which room of the
//! binary, that modules do not depend on each other in circles, and how large files are.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

struct File {
    /// `proxy/mod.rs` for a file of the binary, `crates/body/src/json.rs` for a file of an engine.
    path: String,
    /// Without its tests.
    code: String,
    lines: usize,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn sources() -> Vec<File> {
    let mut files = Vec::new();
    rust_files(&root().join("src"), &mut files);
    rust_files(&root().join("crates"), &mut files);
    files.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let name = name.strip_prefix("src/").map_or_else(|| name.clone(), str::to_owned);
        // Code for tests in files of its own.
        let is_test = name.contains("/run/oracle") || name.ends_with("/tests.rs");
        let code = text.split("#[cfg(test)]\nmod").next().filter(|_| !is_test).unwrap_or("").to_owned();
        File { path: name, code, lines: text.lines().count() }
    };
    files.iter().map(read).collect()
}

/// Lines of code, without comments, that name one of `words` in a file of none of `rooms`.
fn strangers(files: &[File], words: &[&str], rooms: &[&str]) -> Vec<String> {
    files
        .iter()
        .filter(|file| !rooms.iter().any(|room| file.path.starts_with(room)))
        .flat_map(|file| {
            let named = file.code.lines().filter(|line| !line.trim_start().starts_with("//"));
            named
                .filter(|line| words.iter().any(|word| line.contains(word)))
                .map(|line| format!("{}: {}", file.path, line.trim()))
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn each_library_stays_in_its_rooms() {
    let files = sources();
    assert!(files.len() > 500, "{} files were read", files.len());
    let rules: &[(&str, &[&str], &[&str])] = &[
        (
            "Pingora",
            &["pingora::"],
            &["server", "listener", "proxy", "response_cache", "upstream", "api/service.rs", "names/mod.rs"],
        ),
        ("arc-swap", &["arc_swap::", "ArcSwap"], &["snapshot.rs"]),
        ("metrics", &["prometheus::"], &["events", "names/counts.rs"]),
        ("patterns", &["regex::", "Regex::new", "RegexBuilder", "fancy_regex"], &["crates/pattern"]),
        ("time", &["Instant::now", "SystemTime::now"], &["clock.rs", "listener"]),
        ("printing", &["println!", "print!(", "eprint!(", "stdout()"], &["cli"]),
        ("the store", &["SqliteStore", "RecordStore", "dyn Store"], &["crates/store", "control", "cli"]),
        // The first token is made before anything is served.
        ("the API", &["crate::api"], &["api", "server", "cli/run.rs", "cli/mod.rs"]),
        // Rules are read and compiled by the control plane only.
        (
            "rule texts",
            &["seclang::syntax", "seclang::lower", "seclang::load"],
            &["crates/seclang", "rules.rs"],
        ),
    ];
    for (name, words, rooms) in rules {
        let found = strangers(&files, words, rooms);
        assert!(found.is_empty(), "{name} strays:\n{}", found.join("\n"));
    }
}

/// Crates that are tested, fuzzed and benched without a server.
const PURE: &[&str] = &[
    "body",
    "detection",
    "diagnostic",
    "expression",
    "gateway",
    "http3",
    "model",
    "pattern",
    "seclang",
    "shipped_rules",
];

/// The dependencies of a manifest, without those of its tests.
fn dependencies(manifest: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(manifest).unwrap();
    let section = text.split("[dependencies]").nth(1).unwrap_or("").split("\n[").next().unwrap_or("");
    section.lines().filter_map(|line| line.split(['.', ' ']).next()).map(str::to_owned).collect()
}

#[test]
fn engines_depend_on_no_server() {
    let forbidden = [
        "tokio",
        "pingora",
        "quinn",
        "prometheus",
        "rusqlite",
        "axum",
        "hyper-util",
        "tracing",
        "notify",
        "store",
    ];
    for name in PURE {
        let found = dependencies(&root().join("crates").join(name).join("Cargo.toml"));
        let found: Vec<_> = forbidden.iter().filter(|library| found.contains(**library)).collect();
        assert!(found.is_empty(), "the crate `{name}` depends on {found:?}");
    }
    // What the standard library has of the same. Patterns are compiled on all cores.
    let files: Vec<File> = sources()
        .into_iter()
        .filter(|file| PURE.iter().any(|name| file.path.starts_with(&format!("crates/{name}/"))))
        .filter(|file| file.path != "crates/seclang/src/operators/patterns.rs")
        .collect();
    assert!(files.len() > 400, "{} files were read", files.len());
    let found = strangers(&files, &["std::fs", "std::net::Tcp", "std::net::Udp", "std::thread"], &[]);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Top-level modules that a file names, by `crate::`.
fn named_modules(code: &str) -> BTreeSet<String> {
    let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let word =
        |rest: &str| -> String { rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    code.split("crate::").skip(1).map(word).filter(|name| !name.is_empty()).collect()
}

/// A way from a module back to itself, if there is one.
fn circle(arrows: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn walk(
        at: &str,
        arrows: &BTreeMap<String, BTreeSet<String>>,
        way: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> Option<Vec<String>> {
        if let Some(from) = way.iter().position(|name| name == at) {
            return way.get(from..).map(<[String]>::to_vec);
        }
        if !done.insert(at.to_owned()) {
            return None;
        }
        way.push(at.to_owned());
        let found = arrows.get(at).into_iter().flatten().find_map(|next| walk(next, arrows, way, done));
        way.pop();
        found
    }
    let mut done = BTreeSet::new();
    arrows.keys().find_map(|name| walk(name, arrows, &mut Vec::new(), &mut done))
}

#[test]
fn modules_of_a_crate_do_not_depend_on_each_other_in_circles() {
    let mut crates: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for file in sources() {
        let (name, path) = match file.path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) {
            Some((name, path)) => (name, path),
            None => ("portcullis", file.path.as_str()),
        };
        let module = path.split(['/', '.']).next().unwrap_or("").to_owned();
        if module == "lib" || module == "main" {
            continue;
        }
        let arrows = crates.entry(name.to_owned()).or_default().entry(module.clone()).or_default();
        arrows.extend(named_modules(&file.code).into_iter().filter(|named| *named != module));
    }
    assert!(crates.len() > 9, "{} crates were read", crates.len());
    for (name, mut arrows) in crates {
        // Items of the crate's root are no modules.
        let modules: BTreeSet<String> = arrows.keys().cloned().collect();
        arrows.values_mut().for_each(|named| named.retain(|module| modules.contains(module)));
        let found = circle(&arrows).map(|way| way.join(" -> "));
        assert_eq!(found, None, "modules of `{name}` depend on each other");
    }
}

#[test]
fn files_stay_small_enough_to_read() {
    let mut sizes: Vec<(usize, String)> = sources().into_iter().map(|file| (file.lines, file.path)).collect();
    sizes.sort();
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a few hundred files"
        )]
        let index = (sizes.len() as f64 * share) as usize;
        sizes.get(index).map_or(0, |(lines, _)| *lines)
    };
    assert!(at(0.5) <= 150, "median {}", at(0.5));
    assert!(at(0.9) <= 400, "nine in ten {}", at(0.9));
    let largest = sizes.last().unwrap();
    assert!(largest.0 <= 450, "{largest:?}");
}

#[test]
fn nothing_is_left_unfinished() {
    let found = strangers(&sources(), &["todo!(", "unimplemented!(", "TODO", "FIXME"], &[]);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Names that several types have, each in a room of its own. A new type takes a name that none has.
#[rustfmt::skip]
const SHARED_NAMES: &[&str] = &[
    "Addresses", "Answer", "Argument", "Begins", "Body", "Bytes", "Cache", "Change", "Classes", "Compiled",
    "Context", "Control", "Cursor", "Definition", "Dialect", "End", "Entries", "Entry",
    "Expansion", "Failure", "Field", "Fields", "FileYaml", "Finding", "Findings", "Fold", "Folded", "Form",
    "Found", "Framing", "Gateway", "Group", "Groups", "Held", "Host", "InFlight", "Item", "Kept", "Key",
    "Kind", "Lexer", "Limits", "Line", "Lines", "List", "Listener", "Literals", "Message", "Metadata",
    "Node", "Open", "Operand", "Order", "Outcome", "Overrides", "Pair", "Parsed", "Part", "Phase", "Place",
    "Provider", "Question", "Read", "Reader", "Reading", "Record", "Refusal", "Refused", "Report",
    "Request", "Row", "Rule", "Run", "Scalar", "Seen", "Shared", "Site", "Source",
    "Stage", "Step", "Table", "Tables", "Test", "Text", "Token", "Tokens", "Update", "Value", "Values",
    "Verdict", "Walk", "Within", "Word", "Words", "Writer", "Zone",
];

#[test]
fn a_type_name_means_one_thing() {
    let mut rooms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in sources() {
        for line in file.code.lines() {
            let line = match line.strip_prefix("pub(") {
                Some(rest) => rest.split_once(") ").map_or("", |(_, item)| item),
                None => line.strip_prefix("pub ").unwrap_or(line),
            };
            let item =
                ["struct ", "enum ", "trait ", "type "].iter().find_map(|word| line.strip_prefix(word));
            let Some(item) = item else { continue };
            let name: String = item.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            rooms.entry(name).or_default().insert(file.path.clone());
        }
    }
    assert!(rooms.len() > 500, "{} types were read", rooms.len());
    let shared: BTreeSet<&str> =
        rooms.iter().filter(|(_, rooms)| rooms.len() > 1).map(|(name, _)| name.as_str()).collect();
    let known: BTreeSet<&str> = SHARED_NAMES.iter().copied().collect();
    let new: Vec<_> = shared.difference(&known).map(|name| (name, &rooms[*name])).collect();
    assert!(new.is_empty(), "a type has the name of another: {new:?}");
    let gone: Vec<_> = known.difference(&shared).collect();
    assert!(gone.is_empty(), "these names mean one thing now, take them from the list: {gone:?}");
}
