//! Changes of files on disk: the configuration, what it names, and the store.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use parking_lot::Mutex;

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The configuration, or a file that it names.
    Files,
    /// The store, perhaps by another process.
    Store,
}

/// Watches files until it is dropped.
pub(super) struct FileWatch {
    watcher: RecommendedWatcher,
    watched: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl FileWatch {
    /// Calls `changed` for each change. Nothing is watched before [`Self::watch`].
    pub(super) fn new(state_dir: &Path, changed: impl Fn(Change) + Send + 'static) -> notify::Result<Self> {
        let watched: Arc<Mutex<BTreeSet<PathBuf>>> = Arc::default();
        let known = Arc::clone(&watched);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            if !(event.kind.is_create() || event.kind.is_modify() || event.kind.is_remove()) {
                return;
            }
            // The file of the store, and its write-ahead log.
            let is_store = |path: &PathBuf| {
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(store::FILE))
            };
            if event.paths.iter().any(is_store) {
                changed(Change::Store);
            }
            let is_named = |path: &PathBuf| {
                let watched = known.lock();
                watched.contains(path) || path.parent().is_some_and(|folder| watched.contains(folder))
            };
            if event.paths.iter().any(is_named) {
                changed(Change::Files);
            }
        })?;
        if state_dir.is_dir() {
            watcher.watch(state_dir, RecursiveMode::NonRecursive)?;
        }
        Ok(Self { watcher, watched })
    }

    /// Watches these files and folders from now on, by the folders that they are in: editors replace files, which ends
    /// a watch on one.
    pub(super) fn watch(&mut self, paths: BTreeSet<PathBuf>) -> notify::Result<()> {
        let folder = |path: &PathBuf| match path.is_dir() {
            true => path.clone(),
            false => path.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf),
        };
        let folders: BTreeSet<PathBuf> = paths.iter().map(folder).collect();
        *self.watched.lock() = paths;
        folders.iter().try_for_each(|folder| self.watcher.watch(folder, RecursiveMode::NonRecursive))
    }
}
