//! A random key of this installation, which stays the same from start to start.

use std::io::{ErrorKind, Write};
use std::path::Path;

use super::StoreError;

const FILE: &str = "install.key";
/// Bytes of the key.
const KEY_BYTES: usize = 32;

/// Reads the key of a state folder; the first time it is made.
///
/// # Errors
/// If the file cannot be read, made, or is no key.
pub fn install_key(state_dir: &Path) -> Result<[u8; KEY_BYTES], StoreError> {
    let path = state_dir.join(FILE);
    let failed = |error: &dyn std::fmt::Display| StoreError::Failed(format!("`{}`: {error}", path.display()));
    let read = || std::fs::read(&path);
    let bytes = match read() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let mut key = [0; KEY_BYTES];
            getrandom::fill(&mut key).map_err(|error| failed(&error))?;
            match make(&path, &key) {
                // Another process was faster: its key counts.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => read(),
                made => made.map(|()| key.to_vec()),
            }
        }
        read => read,
    };
    let bytes = bytes.map_err(|error| failed(&error))?;
    bytes
        .try_into()
        .map_err(|_| failed(&"expected a key of 32 bytes; delete the file, and a new one is made"))
}

/// Whole or not at all: a file that another process may read is never half written.
fn make(path: &Path, key: &[u8]) -> std::io::Result<()> {
    let mut name = [0; 8];
    getrandom::fill(&mut name).map_err(|error| std::io::Error::other(error.to_string()))?;
    let draft = path.with_extension(format!("{:016x}", u64::from_le_bytes(name)));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&draft).and_then(|mut file| {
        file.write_all(key)?;
        file.sync_all()
    });
    let linked = written.and_then(|()| std::fs::hard_link(&draft, path));
    let _ = std::fs::remove_file(&draft);
    linked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_made_once_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let keys: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| install_key(folder.path()))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0] && *key != [0; 32]));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        std::fs::write(folder.path().join(FILE), "short").unwrap();
        assert!(install_key(folder.path()).unwrap_err().to_string().contains("32 bytes"));
        assert!(install_key(&folder.path().join("nowhere")).is_err());
    }
}
