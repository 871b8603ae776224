//! One process for a state folder: two would count limits twice and wait for each other's files.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::{StoreError, private_file};

const FILE: &str = "lock";

/// A state folder that is this process's until this is dropped, or the process ends, however it does.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Takes a folder, which is made if it is missing.
    ///
    /// # Errors
    /// If it is another process's: which, and what to do; or if its file cannot be made.
    pub fn take(folder: &Path) -> Result<Self, StoreError> {
        let mut file = open(folder)?;
        match file.try_lock() {
            Ok(()) => Self::of(file, folder),
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Only to name it.
                let _ = file.read_to_string(&mut holder);
                let (folder, holder) = (folder.display(), holder.trim());
                Err(StoreError::Failed(format!(
                    "`{folder}` is in use by process {holder}; stop it, replace it with `--upgrade`, or set another `state_dir`"
                )))
            }
            Err(TryLockError::Error(error)) => Err(failed(folder, &error)),
        }
    }

    /// Waits until the process before this one lets the folder go.
    ///
    /// # Errors
    /// If its file cannot be made or locked.
    pub fn wait(folder: &Path) -> Result<Self, StoreError> {
        let file = open(folder)?;
        file.lock().map_err(|error| failed(folder, &error))?;
        Self::of(file, folder)
    }

    fn of(mut file: File, folder: &Path) -> Result<Self, StoreError> {
        let written = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0)));
        let written = written.and_then(|_| writeln!(file, "{}", std::process::id()));
        written.map_err(|error| failed(folder, &error))?;
        Ok(Self { _file: file })
    }
}

fn open(folder: &Path) -> Result<File, StoreError> {
    let path = private_file(folder, FILE)?;
    let opened = OpenOptions::new().read(true).write(true).open(path);
    opened.map_err(|error| failed(folder, &error))
}

fn failed(folder: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Failed(format!("cannot lock `{}`: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_one_process_s_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::take(folder.path()).unwrap();
        let refused = FolderLock::take(folder.path()).unwrap_err().to_string();
        assert!(refused.contains(&format!("in use by process {}", std::process::id())), "{refused}");
        let waiting = std::thread::spawn({
            let folder = folder.path().to_owned();
            move || FolderLock::wait(&folder).map(|_| ())
        });
        drop(first);
        waiting.join().unwrap().unwrap();
        FolderLock::take(folder.path()).unwrap();
    }
}
