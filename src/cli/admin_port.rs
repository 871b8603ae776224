//! What the admin port of this machine answers without a token.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// The status and the body of a `GET`; at most so many bytes are read.
///
/// # Errors
/// If nothing answers in time.
pub(super) fn get(admin: SocketAddr, path: &str, max_bytes: u64) -> io::Result<(String, String)> {
    let mut stream = TcpStream::connect_timeout(&admin, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // HTTP/1.0 knows no chunks.
    stream.write_all(format!("GET {path} HTTP/1.0\r\nhost: localhost\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.take(max_bytes).read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    Ok((head.split(' ').nth(1).unwrap_or("").to_owned(), body.to_owned()))
}
