//! The import rules of DESIGN.md section 3, kept by reading the source.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};

struct File {
    /// `proxy/mod.rs`
    path: String,
    /// Without its tests.
    code: String,
    lines: usize,
}

fn sources() -> Vec<File> {
    fn visit(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    visit(&root, &mut files);
    files.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        // Test code in files of its own.
        let is_test = name.starts_with("waf/matcher/oracle");
        let code = text.split("#[cfg(test)]").next().filter(|_| !is_test).unwrap_or("").to_owned();
        File { path: name, code, lines: text.lines().count() }
    };
    files.iter().map(read).collect()
}

/// Files whose code names one of `words` though they are in none of `rooms`.
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

/// Engines that are tested, fuzzed and benched without a server.
const PURE: &[&str] = &["admission", "routing", "ruleset", "waf", "body", "detection", "ai", "model"];

#[test]
fn each_library_stays_in_its_rooms() {
    let files = sources();
    assert!(files.len() > 150, "{} files were read", files.len());
    let rules: &[(&str, &[&str], &[&str])] = &[
        ("Pingora", &["pingora::"], &["server.rs", "listener", "proxy", "upstream", "api/service.rs"]),
        ("arc-swap", &["arc_swap::", "ArcSwap"], &["snapshot.rs"]),
        ("metrics", &["prometheus::"], &["events"]),
        ("patterns", &["regex::", "Regex::new", "RegexBuilder", "fancy_regex"], &["pattern"]),
        ("time", &["Instant::now", "SystemTime::now"], &["clock.rs", "listener"]),
        ("printing", &["println!", "print!(", "eprint!(", "stdout()"], &["cli"]),
        ("the store", &["SqliteStore", "RecordStore", "dyn Store"], &["store", "control.rs", "cli"]),
        ("the API", &["crate::api"], &["api", "server.rs"]),
        ("SQLite", &["rusqlite"], &["store"]),
    ];
    for (name, words, rooms) in rules {
        let found = strangers(&files, words, rooms);
        assert!(found.is_empty(), "{name} strays:\n{}", found.join("\n"));
    }
}

#[test]
fn engines_are_pure() {
    let files: Vec<File> = sources()
        .into_iter()
        .filter(|file| PURE.iter().any(|room| file.path.starts_with(room)))
        // The file that compiles patterns on all cores.
        .filter(|file| file.path != "waf/operators/patterns.rs")
        .collect();
    assert!(files.len() > 100);
    let words = [
        "tokio",
        "pingora::",
        "std::fs",
        "std::net::Tcp",
        "crate::clock",
        "crate::store",
        "crate::api",
        "std::thread",
    ];
    let found = strangers(&files, &words, &[]);
    assert!(found.is_empty(), "{}", found.join("\n"));
    // Rules are read and compiled by the control plane only.
    let compiled = strangers(&sources(), &["waf::syntax", "waf::lower", "waf::load"], &["waf", "rules.rs"]);
    assert!(compiled.is_empty(), "{}", compiled.join("\n"));
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
    assert!(largest.0 <= 600, "{largest:?}");
}

#[test]
fn nothing_is_left_unfinished() {
    let found = strangers(&sources(), &["todo!(", "unimplemented!(", "TODO", "FIXME"], &[]);
    assert!(found.is_empty(), "{}", found.join("\n"));
}
