//! Rules from files, or those in the binary: text in, compiled rules out.

pub mod bodies;
pub mod protocols;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use detection::load::Trust;
use detection::{self, Detector};
use diagnostic::{Code, Diagnostic, Diagnostics, Source};
use model::{RuleId, RulesetId};
use shipped_rules::{OWASP, SENSITIVE_DATA};

use crate::clock::rfc3339;
use crate::ruleset::{ManagedRule, ManagedRuleset};
use model::Phase;
use seclang::syntax::{Loader, MemoryLoader};
use seclang::{Program, RuleSetIr};

/// The set-up file of the Core Rule Set, which is copied from an example beside it.
const CRS_SETUP: &str = "crs-setup.conf";
/// What stands for the OWASP rules in the binary among the paths of a configuration.
pub const BUILT_IN_OWASP: &str = "builtin:owasp";
/// Before the names of the files in the binary.
const BUILT_IN: &str = "<built-in>/";

/// The files in the binary, each with its path in a folder for all of them.
pub fn built_in() -> impl Iterator<Item = (String, &'static str)> {
    let named = |folder: &'static str| {
        move |(name, text): &(&'static str, &'static str)| {
            (format!("{folder}/{}", name.strip_prefix(BUILT_IN).unwrap_or(name)), *text)
        }
    };
    OWASP.iter().map(named("owasp")).chain(SENSITIVE_DATA.iter().map(named("sensitive-data")))
}

/// Everything the rules of a configuration compile to.
#[derive(Clone, Debug)]
pub struct Rules {
    pub program: Arc<Program>,
    pub owasp: Arc<ManagedRuleset>,
    pub detector: Arc<Detector>,
    pub sensitive_data: Arc<ManagedRuleset>,
    /// Whether the web rules are those in the binary, which never change.
    has_built_in_program: bool,
    /// Whether the rules for sensitive data are.
    has_built_in_detector: bool,
}

/// Reads and compiles rules; `None` stands for those in the binary.
///
/// # Errors
/// Every error in them, each with its place.
pub fn load(
    owasp: Option<&[String]>,
    sensitive_data: Option<&[String]>,
) -> Result<(Rules, Diagnostics), Diagnostics> {
    reload(owasp, sensitive_data, None)
}

/// As [`load`], for rules that take the place of others: they go on with what those remember of clients
/// and sessions, and rules in the binary are not compiled again.
///
/// # Errors
/// Every error in them, each with its place.
pub fn reload(
    owasp: Option<&[String]>,
    sensitive_data: Option<&[String]>,
    previous: Option<&Rules>,
) -> Result<(Rules, Diagnostics), Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let same = previous.filter(|previous| previous.has_built_in_detector && sensitive_data.is_none());
    let (detector, sensitive_data_rules) = match same {
        Some(previous) => (Arc::clone(&previous.detector), Arc::clone(&previous.sensitive_data)),
        None => {
            let (detector, found) = sensitive(sensitive_data);
            diagnostics.append(found);
            let managed = Arc::new(managed_detection(&detector, updated(sensitive_data, "yaml")));
            (Arc::new(detector), managed)
        }
    };
    let has_built_in_detector = sensitive_data.is_none();
    if let Some(previous) = previous.filter(|previous| previous.has_built_in_program && owasp.is_none()) {
        let rules = Rules {
            detector,
            sensitive_data: sensitive_data_rules,
            has_built_in_detector,
            ..previous.clone()
        };
        return diagnostics.into_result(()).map(|()| (rules, Diagnostics::default()));
    }
    let (ir, found) = seclang(owasp);
    diagnostics.append(found);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    let added = bodies::added(&ir);
    let collections =
        previous.map_or_else(Arc::default, |previous| Arc::clone(previous.program.collections()));
    let program = Arc::new(seclang::optimize(&ir).with_collections(collections));
    let mut own = program.roots().iter().filter(|root| !added.contains(&root.id));
    if owasp.is_some() && !own.any(seclang::Root::is_disruptive) {
        let message = "no rule of `rules.owasp` can refuse a request: the files replace those in the binary";
        diagnostics.push(
            Diagnostic::warning(Code::RulesWithoutThreshold, message)
                .help(format!("name `{BUILT_IN_OWASP}` first to keep those")),
        );
    }
    let rules = Rules {
        owasp: Arc::new(ManagedRuleset::owasp(&program, updated(owasp, "conf"))),
        program,
        detector,
        sensitive_data: sensitive_data_rules,
        has_built_in_program: owasp.is_none(),
        has_built_in_detector,
    };
    Ok((rules, diagnostics))
}

/// SecLang rules from paths, or those in the binary.
pub fn seclang(paths: Option<&[String]>) -> (RuleSetIr, Diagnostics) {
    match paths {
        Some(paths) => match expand(paths, "conf") {
            Ok(names) => {
                let (mut ir, mut diagnostics) = seclang::load(&names, &FileLoader);
                bodies::add_missing(&mut ir, &mut diagnostics);
                (ir, diagnostics)
            }
            Err(diagnostics) => (RuleSetIr::default(), diagnostics),
        },
        None => in_memory(OWASP),
    }
}

/// When rules were last changed: the newest of their files, or those in the binary.
fn updated(paths: Option<&[String]>, extension: &str) -> String {
    let Some(paths) = paths else { return shipped_rules::UPDATED.to_owned() };
    let names = expand(paths, extension).unwrap_or_default();
    let newest = names.iter().filter_map(|name| std::fs::metadata(name).ok()?.modified().ok()).max();
    newest.map_or_else(|| shipped_rules::UPDATED.to_owned(), rfc3339)
}

fn in_memory(files: &[(&str, &str)]) -> (RuleSetIr, Diagnostics) {
    let loader = MemoryLoader(files.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect());
    let names: Vec<String> = files.iter().map(|(name, _)| (*name).into()).collect();
    seclang::load(&names, &loader)
}

fn built_in_sensitive_data() -> Vec<Arc<Source>> {
    SENSITIVE_DATA.iter().map(|(name, text)| Source::new(*name, *text)).collect()
}

/// Sensitive data rules from paths, or those in the binary.
pub fn sensitive(paths: Option<&[String]>) -> (Detector, Diagnostics) {
    let Some(paths) = paths else {
        return detection::load::load(&built_in_sensitive_data(), Trust::BuiltIn);
    };
    let mut diagnostics = Diagnostics::default();
    let names = expand(paths, "yaml").unwrap_or_else(|found| {
        diagnostics.append(found);
        Vec::new()
    });
    let mut sources = Vec::new();
    for name in names {
        match FileLoader.read(&name) {
            Ok(text) => sources.push(Source::new(name, text)),
            Err(reason) => diagnostics.push(unreadable(&name, &reason)),
        }
    }
    let (detector, found) = detection::load::load(&sources, Trust::None);
    diagnostics.append(found);
    (detector, diagnostics)
}

fn managed_detection(detector: &Detector, last_updated: String) -> ManagedRuleset {
    let rules = detector.rules().iter().map(|rule| ManagedRule {
        id: RuleId::derived("sensitive data rule", &rule.id),
        reference: rule.id.clone(),
        description: rule.name.clone(),
        categories: rule.categories.clone(),
        enabled: rule.enabled,
        score_threshold: None,
    });
    let id: RulesetId = ManagedRuleset::sensitive_data_id();
    ManagedRuleset {
        id,
        name: "Sensitive Data Detection",
        description: "Reports sensitive data in responses",
        phase: Phase::HttpResponseFirewallManaged,
        last_updated,
        rules: rules.collect(),
    }
}

/// Files as they are; folders as their rule files.
fn expand(paths: &[String], extension: &str) -> Result<Vec<String>, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let mut names = Vec::new();
    for path in paths {
        if path == BUILT_IN_OWASP {
            names.extend(OWASP.iter().map(|(name, _)| (*name).to_owned()));
            continue;
        }
        if !Path::new(path).is_dir() {
            names.push(path.clone());
            continue;
        }
        match files_of(Path::new(path), extension) {
            Ok(files) if files.is_empty() => {
                let found = unreadable(path, &format!("the folder has no .{extension} files"));
                diagnostics.push(found.help("name the files, or the folder that they are in"));
            }
            Ok(files) => names.extend(files),
            Err(error) => diagnostics.push(unreadable(path, &error.to_string())),
        }
    }
    diagnostics.into_result(names)
}

/// The files of a folder that have this extension, sorted by name. A checkout of the Core Rule Set has none, but a
/// set-up file, or an example of one, and a folder of rules, which are read in this order.
fn files_of(folder: &Path, extension: &str) -> std::io::Result<Vec<String>> {
    let files = files_with(folder, extension)?;
    let rules = folder.join("rules");
    if extension != "conf" || !rules.is_dir() || files.iter().any(|file| !file.ends_with(CRS_SETUP)) {
        return Ok(files);
    }
    let setup = [CRS_SETUP.to_owned(), format!("{CRS_SETUP}.example")].map(|name| folder.join(name));
    let setup = setup.iter().find(|path| path.is_file()).map(|path| path.display().to_string());
    Ok(setup.into_iter().chain(files_with(&rules, extension)?).collect())
}

fn files_with(folder: &Path, extension: &str) -> std::io::Result<Vec<String>> {
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == extension) {
            files.insert(path.display().to_string());
        }
    }
    Ok(files.into_iter().collect())
}

fn unreadable(name: &str, reason: &str) -> Diagnostic {
    Diagnostic::error(Code::RulesUnreadable, format!("cannot read `{name}`: {reason}"))
}

/// Rules on disk.
#[derive(Debug)]
pub struct FileLoader;

impl Loader for FileLoader {
    fn read(&self, name: &str) -> Result<String, String> {
        if name.starts_with(BUILT_IN) {
            let found = OWASP.iter().find(|(known, _)| *known == name);
            return found
                .map(|(_, text)| (*text).to_owned())
                .ok_or_else(|| "there is no such file".to_owned());
        }
        let bytes = crate::named_file::read(Path::new(name)).map_err(|error| error.to_string())?;
        // Patterns are bytes, and rule files exist that are not UTF-8; what is not is kept visible.
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn read_bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        crate::named_file::read_database(Path::new(name)).map_err(|error| error.to_string())
    }

    fn resolve(&self, from: &str, pattern: &str) -> Result<Vec<String>, String> {
        let base = Path::new(from).parent().unwrap_or(Path::new("."));
        let path = base.join(pattern);
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !name.contains(['*', '?', '[']) {
            return if path.exists() {
                Ok(vec![path.display().to_string()])
            } else {
                Err("there is no such file".to_owned())
            };
        }
        let glob = globset::Glob::new(&name).map_err(|error| error.to_string())?.compile_matcher();
        let folder = path.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf);
        let entries = std::fs::read_dir(&folder).map_err(|error| error.to_string())?;
        let mut found = BTreeSet::new();
        for entry in entries {
            let entry = entry.map_err(|error| error.to_string())?;
            if glob.is_match(entry.file_name()) {
                found.insert(entry.path().display().to_string());
            }
        }
        if found.is_empty() { Err("no file matches".to_owned()) } else { Ok(found.into_iter().collect()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_rules_compile_without_a_word() {
        let (rules, diagnostics) = load(None, None).unwrap_or_else(|found| panic!("{found}"));
        assert!(diagnostics.is_empty(), "{diagnostics}");
        assert!(rules.owasp.rules.len() > 30, "{}", rules.owasp.rules.len());
        assert!(rules.owasp.threshold_rule().is_some());
        assert!(rules.detector.rules().len() >= 275);
    }

    #[test]
    fn built_in_rules_for_sensitive_data_hold_their_examples() {
        let (detector, diagnostics) = detection::load::load(&built_in_sensitive_data(), Trust::None);
        assert!(diagnostics.is_empty(), "{diagnostics}");
        assert!(detector.rules().len() >= 275);
    }

    #[test]
    fn a_checkout_of_the_core_rule_set_is_read_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        let write = |name: &str| std::fs::write(folder.path().join(name), "").unwrap();
        std::fs::create_dir(folder.path().join("rules")).unwrap();
        for name in ["crs-setup.conf.example", "rules/B.conf", "rules/A.conf", "rules/A.data", "README.md"] {
            write(name);
        }
        let names = || {
            let files = expand(std::slice::from_ref(&path), "conf").unwrap_or_else(|found| panic!("{found}"));
            let name = |file: &String| file.replace(&format!("{path}/"), "");
            files.iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(names(), ["crs-setup.conf.example", "rules/A.conf", "rules/B.conf"]);
        write("crs-setup.conf");
        assert_eq!(names(), ["crs-setup.conf", "rules/A.conf", "rules/B.conf"]);
        // A folder of one's own may have a folder of that name as well.
        write("own.conf");
        assert_eq!(names(), ["crs-setup.conf", "own.conf"]);
        let empty = folder.path().join("empty");
        std::fs::create_dir(&empty).unwrap();
        let found = expand(&[empty.display().to_string()], "conf").unwrap_err();
        assert!(found.to_string().contains("name the files"), "{found}");
    }

    #[test]
    fn a_reload_compiles_nothing_that_has_not_changed() {
        let (first, _) = load(None, None).unwrap_or_else(|found| panic!("{found}"));
        let (second, _) = reload(None, None, Some(&first)).unwrap_or_else(|found| panic!("{found}"));
        assert!(
            Arc::ptr_eq(&first.detector, &second.detector) && Arc::ptr_eq(&first.program, &second.program)
        );
        let folder = [concat!(env!("CARGO_MANIFEST_DIR"), "/rules/sensitive-data").to_owned()];
        let (own, _) = reload(None, Some(&folder), Some(&second)).unwrap_or_else(|found| panic!("{found}"));
        let (back, _) = reload(None, None, Some(&own)).unwrap_or_else(|found| panic!("{found}"));
        assert!(!Arc::ptr_eq(&own.detector, &second.detector) && !Arc::ptr_eq(&back.detector, &own.detector));
    }

    #[test]
    fn every_rule_file_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/rules");
        assert_eq!(files_of(&Path::new(folder).join("owasp"), "conf").unwrap().len(), OWASP.len());
        assert_eq!(
            files_of(&Path::new(folder).join("sensitive-data"), "yaml").unwrap().len(),
            SENSITIVE_DATA.len()
        );
    }

    #[test]
    fn an_include_names_files_by_a_glob() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["REQUEST-901-INIT.conf", "REQUEST-902.conf", "a.conf.example"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let from = folder.path().join("root.conf").display().to_string();
        let names = |pattern: &str| {
            let found = FileLoader.resolve(&from, pattern)?;
            let name = |path: &String| Path::new(path).file_name().unwrap().to_string_lossy().into_owned();
            Ok::<_, String>(found.iter().map(name).collect::<Vec<_>>())
        };
        assert_eq!(names("REQUEST-*-*.conf").unwrap(), ["REQUEST-901-INIT.conf"]);
        assert_eq!(names("*.conf").unwrap(), ["REQUEST-901-INIT.conf", "REQUEST-902.conf"]);
        assert_eq!(names("REQUEST-90?.conf").unwrap(), ["REQUEST-902.conf"]);
        assert!(names("*.data").unwrap_err().contains("no file matches"));
        assert!(names("a.conf").is_err() && names("[").is_err());
    }
}
