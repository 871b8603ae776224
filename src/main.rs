//! Start-up: the allocator, the TLS provider, the command line.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // First of all: whoever needs TLS and finds no provider installs another one.
    let installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    debug_assert!(installed.is_ok(), "a TLS provider was installed before the first line of main");
    portcullis::cli::main()
}
