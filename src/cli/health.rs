//! `portcullis health`: whether the edge of this machine takes requests, for containers and scripts that have no curl.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::{Failure, admin_port, print};
use crate::conf;

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
        let (status, _) = admin_port::get(admin, "/health/ready", MAX_BYTES).map_err(failed)?;
        match &*status {
            "200" => print("ready\n"),
            _ => Err(Failure::Input(format!("the edge at {admin} is not ready: it answers {status}"))),
        }
    }
}
