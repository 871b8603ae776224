//! `portcullis generate`: what packages install beside the binary.

use std::path::PathBuf;

use clap::{CommandFactory, Subcommand};
use clap_complete::Shell;

use super::{Cli, Failure, print};

/// Write what packages install beside the binary.
#[derive(Debug, Subcommand)]
pub(super) enum GenerateCommand {
    /// Print the completions of a shell.
    #[command(
        after_help = "Example:\n  portcullis generate completions bash > /etc/bash_completion.d/portcullis"
    )]
    Completions {
        /// bash, zsh, fish, elvish or powershell.
        shell: Shell,
    },
    /// Write a man page for each command to a folder.
    #[command(after_help = "Example:\n  portcullis generate man --out /usr/share/man/man1")]
    Man {
        /// The folder; it must be there.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

impl GenerateCommand {
    pub(super) fn execute(self) -> Result<(), Failure> {
        match self {
            Self::Completions { shell } => {
                let mut text = Vec::new();
                clap_complete::generate(shell, &mut Cli::command(), "portcullis", &mut text);
                print(&String::from_utf8_lossy(&text))
            }
            Self::Man { out } => {
                clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), &out).map_err(
                    |error| Failure::Input(format!("cannot write man pages to `{}`: {error}", out.display())),
                )?;
                print(&format!("man pages are in {}\n", out.display()))
            }
        }
    }
}
