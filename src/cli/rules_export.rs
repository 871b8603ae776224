//! `portcullis rules export`: the rules in the binary, as files to read and to change.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, print};
use crate::rules;

/// Write the rules in the binary to a folder.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portcullis rules export --out my-rules")]
pub(super) struct Export {
    /// The folder, which must not hold any of the files already.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Export {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let mut count = 0;
        for (name, text) in rules::built_in() {
            let path = self.out.join(name);
            let failed =
                |error: std::io::Error| Failure::Input(format!("cannot write `{}`: {error}", path.display()));
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(failed)?;
            }
            let mut file = std::fs::File::create_new(&path).map_err(failed)?;
            std::io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
            count += 1;
        }
        print(&format!(
            "{count} files in {0}\nname them in a configuration:\n[rules]\nowasp = [\"{0}/owasp\"]\nsensitive_data = [\"{0}/sensitive-data\"]\n",
            self.out.display()
        ))
    }
}
