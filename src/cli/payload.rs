//! `portcullis payload keygen|decrypt`: what events carry sealed, opened by whoever has the key.

use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::Value;
use zeroize::Zeroizing;

use super::{Failure, print};
use detection::payload::PrivateKey;

/// Longest key file that is read.
const MAX_KEY_BYTES: u64 = 1 << 10;

/// Open what events carry sealed.
#[derive(Debug, Subcommand)]
pub(super) enum PayloadCommand {
    Keygen(Keygen),
    Decrypt(Decrypt),
}

/// Make a pair of keys: the private one goes into a file, the public one is printed, for `payload_key`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portcullis payload keygen --out payload.key")]
pub(super) struct Keygen {
    /// The file that the private key is written to; it may not exist.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Show what payloads hold: one line of JSON for each.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portcullis payload decrypt --key payload.key events.log")]
pub(super) struct Decrypt {
    /// The private key, as `keygen` wrote it.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Payloads, or log lines that carry them, one a line; `-` is standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
}

impl PayloadCommand {
    pub(super) fn execute(self) -> Result<(), Failure> {
        match self {
            Self::Keygen(command) => command.execute(),
            Self::Decrypt(command) => command.execute(),
        }
    }
}

impl Keygen {
    fn execute(self) -> Result<(), Failure> {
        let (private, public) = PrivateKey::generate()?;
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&self.out).and_then(|mut file| file.write_all(private.as_bytes()));
        written.map_err(|error| format!("cannot write `{}`: {error}", self.out.display()))?;
        print(&format!("{public}\n"))
    }
}

impl Decrypt {
    fn execute(self) -> Result<(), Failure> {
        let unreadable = |path: &Path, error| format!("cannot read `{}`: {error}", path.display());
        let mut text = Zeroizing::new(String::new());
        std::fs::File::open(&self.key)
            .and_then(|file| file.take(MAX_KEY_BYTES).read_to_string(&mut text))
            .map_err(|error| unreadable(&self.key, error))?;
        let key = PrivateKey::parse(&text).map_err(|reason| format!("`{}`: {reason}", self.key.display()))?;
        let input: Box<dyn BufRead> = if self.file.as_os_str() == "-" {
            Box::new(std::io::stdin().lock())
        } else {
            let file = std::fs::File::open(&self.file).map_err(|error| unreadable(&self.file, error))?;
            Box::new(std::io::BufReader::new(file))
        };
        let mut opened = 0;
        for (number, line) in input.lines().enumerate() {
            let line = line.map_err(|error| unreadable(&self.file, error))?;
            let Some(payload) = payload_of(&line) else { continue };
            let contents = key
                .open(&payload)
                .map_err(|reason| format!("{}:{}: {reason}", self.file.display(), number + 1))?;
            let contents = serde_json::to_string(&contents).map_err(|error| error.to_string())?;
            print(&format!("{contents}\n"))?;
            opened += 1;
        }
        if opened == 0 {
            return Err(Failure::Input(format!("`{}` has no payload", self.file.display())));
        }
        Ok(())
    }
}

/// The payload of a line: of an event the one that it carries, else the line itself; `None` if there is
/// none.
fn payload_of(line: &str) -> Option<String> {
    let line = line.trim();
    if !line.starts_with('{') {
        return (!line.is_empty()).then(|| line.to_owned());
    }
    let event: Value = serde_json::from_str(line).ok()?;
    event.get("payload")?.as_str().map(str::to_owned)
}
