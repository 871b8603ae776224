//! `portcullis backup` and `portcullis restore`: the state folder, copied and taken back.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, print};

/// Copy the state folder: zones, rulesets, tokens, keys, the AI log and security events. An edge may be running.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  portcullis backup --out backups/monday --conf conf/portcullis.toml\n\nKeys of providers stay sealed; the file of `secrets_key_file` is not copied."
)]
pub(super) struct Backup {
    /// The folder that the copy is made in.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The configuration whose state folder is meant.
    #[arg(long, value_name = "FILE", default_value = "conf/portcullis.toml")]
    conf: PathBuf,
}

/// Put a copy in the place of the state folder. No edge may be running; what was there is kept beside it.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portcullis restore --from backups/monday --conf conf/portcullis.toml")]
pub(super) struct Restore {
    /// The folder that `portcullis backup` made.
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// The configuration whose state folder is meant.
    #[arg(long, value_name = "FILE", default_value = "conf/portcullis.toml")]
    conf: PathBuf,
}

impl Backup {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let (conf, _) = crate::conf::load(&self.conf)?;
        store::backup(&conf.state_dir, &self.out)?;
        print(&format!("copied `{}` to `{}`\n", conf.state_dir.display(), self.out.display()))
    }
}

impl Restore {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let (conf, _) = crate::conf::load(&self.conf)?;
        store::restore(&self.from, &conf.state_dir)?;
        print(&format!("`{}` is as it was in `{}`\n", conf.state_dir.display(), self.from.display()))
    }
}
