//! A copy of a state folder: consistent though an edge writes it, and taken back while none does.

use std::path::Path;

use rusqlite::Connection;

use super::{FILE, FolderLock, StoreError, private_file};

/// The databases of a state folder. The first must be there.
const DATABASES: &[&str] = &[FILE, "records.db", "events.db"];
/// Files that are copied as they are.
const PLAIN: &[&str] = &["install.key"];

/// Copies the state of a folder into another one, which must not hold a copy yet. An edge may be running.
///
/// # Errors
/// [`StoreError::Failed`] if there is no state, the target holds one, or a file cannot be written.
pub fn backup(state: &Path, target: &Path) -> Result<(), StoreError> {
    if !state.join(FILE).exists() {
        return Err(StoreError::Failed(format!("`{}` holds no state", state.display())));
    }
    for name in DATABASES.iter().chain(PLAIN) {
        if target.join(name).exists() {
            let path = target.join(name).display().to_string();
            return Err(StoreError::Failed(format!("`{path}` exists; name an empty folder")));
        }
    }
    for name in DATABASES.iter().filter(|name| state.join(name).exists()) {
        let path = private_file(target, name)?;
        // One transaction: the copy is what one moment was. The file that was made for its owner is written over.
        let connection = Connection::open(state.join(name))?;
        connection.execute("VACUUM INTO ?1", [path.display().to_string()])?;
    }
    copy(state, target)
}

/// Puts a copy in the place of the state of a folder, which no edge may be using. What was there is kept, with `.before`
/// behind its name.
///
/// # Errors
/// [`StoreError::Failed`] if there is no copy, an edge uses the folder, or a file cannot be written.
pub fn restore(source: &Path, state: &Path) -> Result<(), StoreError> {
    if !source.join(FILE).exists() {
        return Err(StoreError::Failed(format!("`{}` holds no copy of a state", source.display())));
    }
    let _lock = FolderLock::take(state)?;
    let failed = |error: std::io::Error| StoreError::Failed(format!("`{}`: {error}", state.display()));
    for name in DATABASES.iter().filter(|name| source.join(name).exists()) {
        // With its log, which belongs to it alone.
        for suffix in ["", "-wal", "-shm"] {
            let path = state.join(format!("{name}{suffix}"));
            if path.exists() {
                std::fs::rename(&path, state.join(format!("{name}.before{suffix}"))).map_err(failed)?;
            }
        }
        let path = private_file(state, name)?;
        std::fs::copy(source.join(name), path).map_err(failed)?;
    }
    copy(source, state)
}

fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    for name in PLAIN.iter().filter(|name| from.join(name).exists()) {
        let path = private_file(to, name)?;
        std::fs::copy(from.join(name), path)
            .map_err(|error| StoreError::Failed(format!("`{}`: {error}", to.display())))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, Changeset, SqliteStore, Store};
    use model::{Account, AccountId};

    #[test]
    fn a_copy_is_what_one_moment_was_and_can_be_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let (state, copy) = (folder.path().join("state"), folder.path().join("copy"));
        assert!(backup(&state, &copy).is_err(), "there is nothing yet");
        let mut store = SqliteStore::open(&state).unwrap();
        crate::install_key(&state).unwrap();
        let put = |id: &str| {
            let (name, created_on) = (String::new(), String::new());
            let account = Account {
                id: AccountId::new(id),
                name,
                created_on,
                dns: None,
                transfers: None,
                deprecations: None,
            };
            Changeset::new("test", vec![Change::PutAccount { account }])
        };
        store.commit(0, &put("a")).unwrap();
        // While another writes.
        backup(&state, &copy).unwrap();
        store.commit(1, &put("b")).unwrap();
        assert!(backup(&state, &copy).unwrap_err().to_string().contains("exists"));
        let lock = FolderLock::take(&state).unwrap();
        assert!(restore(&copy, &state).unwrap_err().to_string().contains("in use"));
        drop(lock);
        drop(store);
        restore(&copy, &state).unwrap();
        let (revision, resources) = SqliteStore::open(&state).unwrap().load().unwrap();
        assert_eq!((revision, resources.accounts.len()), (1, 1));
        assert!(state.join(format!("{FILE}.before")).exists());
        assert!(restore(&folder.path().join("none"), &state).is_err());
    }
}
