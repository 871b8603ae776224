//! Tells the binary what it was built from. The same sources give the same binary: no time is among it.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=PORTCULLIS_COMMIT");
    // Packages are built from archives, which say it themselves.
    let commit = std::env::var("PORTCULLIS_COMMIT").ok().or_else(|| {
        println!("cargo::rerun-if-changed=.git/HEAD");
        // Each commit writes there. Builds for tests do not have to know, and would all be made anew.
        let commits = ".git/logs/HEAD";
        if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") && Path::new(commits).exists() {
            println!("cargo::rerun-if-changed={commits}");
        }
        let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    });
    println!("cargo::rustc-env=PORTCULLIS_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    for (name, of) in [("PORTCULLIS_TARGET", "TARGET"), ("PORTCULLIS_PROFILE", "PROFILE")] {
        println!("cargo::rustc-env={name}={}", std::env::var(of).unwrap_or_default());
    }
}
