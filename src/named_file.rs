//! Files that a configuration names: read whole, and only if they are files.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Longest file that is read.
const MAX_BYTES: u64 = 64 << 20;
/// The same of a database.
const MAX_DATABASE_BYTES: u64 = 512 << 20;

/// Reads a file.
///
/// # Errors
/// If it cannot be read, is longer than 64 MiB, or is something that may never end: a pipe, a device.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    read_at_most(path, MAX_BYTES)
}

/// Reads a file of up to 512 MiB.
///
/// # Errors
/// As [`read`], but for the length.
pub fn read_database(path: &Path) -> Result<Vec<u8>> {
    read_at_most(path, MAX_DATABASE_BYTES)
}

fn read_at_most(path: &Path, most: u64) -> Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "expected a file, found a folder, pipe or device"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("expected a file of at most {} MiB", most >> 20);
        return Err(Error::new(ErrorKind::InvalidInput, message));
    }
    Ok(bytes)
}

/// Reads a file of text.
///
/// # Errors
/// As [`read`], and if it is not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read(path)?).map_err(|_| Error::new(ErrorKind::InvalidData, "expected text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "text").unwrap();
        assert_eq!(read_text(&path).unwrap(), "text");
        std::fs::write(&path, b"\xff").unwrap();
        assert!(read_text(&path).is_err());
        for other in [folder.path(), Path::new("/dev/zero"), Path::new("/dev/stdin")] {
            let found = read(other);
            assert!(found.is_err() || other.ends_with("stdin"), "{}", other.display());
        }
        File::options().write(true).open(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("64 MiB"));
    }
}
