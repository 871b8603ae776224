//! `include`: sites and gateways in files of their own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::Glob;

use super::file::{self, ConfFile};
use super::table::Located;
use crate::named_file::read_text;
use diagnostic::{Code, Diagnostic, Diagnostics, Source};

/// Most files of all patterns together.
const MAX_FILES: usize = 10_000;

/// Adds what the files of `include` declare to what the file itself does. Paths start at `base`, also those in included files.
pub(super) fn add(file: &mut ConfFile, base: &Path, diagnostics: &mut Diagnostics) {
    let Some(Located { value: patterns, place }) = file.include.take() else { return };
    let refusal = |message: String| Diagnostic::error(Code::ConfUnreadable, message).at(place.clone());
    let mut paths = BTreeSet::new();
    for pattern in &patterns {
        match matching(pattern, base, &mut file.included) {
            Ok(found) => paths.extend(found),
            Err(message) => diagnostics.push(refusal(message)),
        }
    }
    if paths.len() > MAX_FILES {
        let message = format!("`include` names {} files; expected {MAX_FILES} at most", paths.len());
        return diagnostics.push(refusal(message));
    }
    for path in paths {
        let name = path.display().to_string();
        let text = match read_text(&path) {
            Ok(text) => text,
            Err(error) => {
                diagnostics.push(refusal(format!("cannot read `{name}`: {error}")));
                continue;
            }
        };
        file.included.insert(path);
        let (part, found) = file::read_part(&Source::new(name, text));
        diagnostics.append(found);
        let Some(part) = part else { continue };
        file.listeners.extend(part.listeners);
        file.lists.extend(part.lists);
        file.zones.extend(part.zones);
        file.gateways.extend(part.gateways);
        file.providers.extend(part.providers);
        match (&mut file.rulesets, part.rulesets) {
            (Some(known), Some(more)) => known.value.extend(more.value),
            (known @ None, more) => *known = more,
            (Some(_), None) => {}
        }
    }
}

/// The files that a pattern names, and in `watched` where further ones may appear.
///
/// # Errors
/// One sentence: the pattern is malformed, or names no file and has no `*`.
fn matching(pattern: &str, base: &Path, watched: &mut BTreeSet<PathBuf>) -> Result<Vec<PathBuf>, String> {
    let path = base.join(pattern);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
    let folder = path.parent().unwrap_or(base);
    if !name.contains(['*', '?', '[']) {
        return Ok(vec![path]);
    }
    let glob =
        Glob::new(name).map_err(|error| format!("`include`: `{pattern}` is no pattern: {}", error.kind()))?;
    let glob = glob.compile_matcher();
    watched.insert(folder.to_path_buf());
    // A folder that is not there yet has no files.
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_meant = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        !name.starts_with('.') && glob.is_match(name) && path.is_file()
    };
    Ok(paths.filter(is_meant).collect())
}
