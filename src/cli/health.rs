//! `portcullis health`: whether the edge of this machine takes requests, for containers and scripts that have no curl.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{Failure, print};
use crate::conf;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest answer that is read.
const MAX_BYTES: u64 = 4 << 10;

/// Ask the edge on this machine whether it is ready: exit code 0 if it is, 1 if not.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portcullis health --conf /etc/portcullis/portcullis.toml")]
pub(super) struct Health {
    /// The configuration that it runs with; its `admin.address` is asked.
    #[arg(long, value_name = "FILE", conflicts_with = "admin")]
    conf: Option<PathBuf>,
    /// The address of the admin port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9180")]
    admin: SocketAddr,
}

impl Health {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let admin = match &self.conf {
            Some(path) => conf::load(path)?.0.admin_address,
            None => self.admin,
        };
        let failed =
            |error: std::io::Error| Failure::Input(format!("the edge at {admin} does not answer: {error}"));
        let answer = ask(admin).map_err(failed)?;
        let status = answer.split(' ').nth(1).unwrap_or("");
        match status {
            "200" => print("ready\n"),
            _ => Err(Failure::Input(format!("the edge at {admin} is not ready: it answers {status}"))),
        }
    }
}

fn ask(admin: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&admin, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /health/ready HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(MAX_BYTES).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
