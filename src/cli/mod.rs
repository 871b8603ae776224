//! The command line: one file for each command.
//!
//! Errors go to stderr. Exit codes: 0 ok, 1 the input is wrong, 2 usage (from the argument parser).

mod admin_port;
mod ai_export;
mod ai_try;
mod api;
mod backup;
mod cert;
mod check;
mod check_fix;
mod demo;
mod deployment;
mod deprecations;
mod dns;
mod exclusion;
mod expression;
mod generate;
mod health;
mod key;
mod logged;
mod migrate;
mod payload;
mod rules_export;
mod run;
mod scan;
mod token;
mod top;
mod trace;
mod waf_explain;
mod waf_learn;
mod waf_test;
mod waf_why;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What `--version` says, `-V` in one word: what a report of a fault needs.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit: ",
    env!("PORTCULLIS_COMMIT"),
    "\ntarget: ",
    env!("PORTCULLIS_TARGET"),
    "\nprofile: ",
    env!("PORTCULLIS_PROFILE"),
);

/// A self-hosted edge: WAF, AI gateway and sensitive data detection in one binary.
#[derive(Debug, Parser)]
#[command(version, long_version = LONG_VERSION, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Check(check::Check),
    Demo(demo::Demo),
    Health(health::Health),
    Top(top::TopCommand),
    #[command(subcommand)]
    Waf(WafCommand),
    #[command(subcommand)]
    Ai(AiCommand),
    #[command(subcommand)]
    Expression(expression::ExpressionCommand),
    Trace(trace::TraceCommand),
    #[command(subcommand)]
    Dns(dns::DnsCommand),
    #[command(subcommand)]
    Cert(cert::CertCommand),
    Deprecations(deprecations::Deprecations),
    Migrate(migrate::Migrate),
    Scan(scan::Scan),
    #[command(subcommand)]
    Token(token::TokenCommand),
    #[command(subcommand)]
    Key(key::KeyCommand),
    Api(api::Api),
    Backup(backup::Backup),
    Restore(backup::Restore),
    #[command(subcommand)]
    Payload(payload::PayloadCommand),
    #[command(subcommand)]
    Rules(RulesCommand),
    #[command(subcommand)]
    Generate(generate::GenerateCommand),
}

/// Work with rules without a server.
#[derive(Debug, Subcommand)]
enum WafCommand {
    Explain(waf_explain::Explain),
    Learn(waf_learn::Learn),
    Test(waf_test::Test),
    Why(waf_why::Why),
}

/// AI gateways.
#[derive(Debug, Subcommand)]
enum AiCommand {
    Export(ai_export::AiExport),
    Try(ai_try::AiTry),
}

/// The rules in the binary.
#[derive(Debug, Subcommand)]
enum RulesCommand {
    Export(rules_export::Export),
}

/// Why a command ends without success.
#[derive(Debug)]
enum Failure {
    /// What the user gave is wrong; the text says what.
    Input(String),
}

impl From<diagnostic::Diagnostics> for Failure {
    fn from(diagnostics: diagnostic::Diagnostics) -> Self {
        let diagnostics = diagnostics.sorted();
        let count = diagnostics.errors();
        let noun = if count == 1 { "mistake" } else { "mistakes" };
        Self::Input(format!("{diagnostics}{count} {noun} found"))
    }
}

impl From<store::StoreError> for Failure {
    fn from(error: store::StoreError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::Input(text)
    }
}

/// Runs the command of this process's arguments.
#[expect(clippy::print_stderr, reason = "the one place where errors reach the terminal")]
pub fn main() -> ExitCode {
    // What a file says ends must be there.
    ::deprecations::EXISTS.get_or_init(|| crate::api::has_operation);
    let cli = Cli::parse();
    let outcome = match cli.command {
        Command::Run(command) => command.execute(),
        Command::Check(command) => command.execute(),
        Command::Demo(command) => command.execute(),
        Command::Health(command) => command.execute(),
        Command::Top(command) => command.execute(),
        Command::Ai(AiCommand::Export(command)) => command.execute(),
        Command::Ai(AiCommand::Try(command)) => command.execute(),
        Command::Waf(WafCommand::Explain(command)) => command.execute(),
        Command::Waf(WafCommand::Learn(command)) => command.execute(),
        Command::Waf(WafCommand::Test(command)) => command.execute(),
        Command::Waf(WafCommand::Why(command)) => command.execute(),
        Command::Expression(expression::ExpressionCommand::Test(command)) => command.execute(),
        Command::Trace(command) => command.execute(),
        Command::Cert(command) => command.execute(),
        Command::Dns(dns::DnsCommand::Check(command)) => command.execute(),
        Command::Dns(dns::DnsCommand::Explain(command)) => command.execute(),
        Command::Deprecations(command) => command.execute(),
        Command::Migrate(command) => command.execute(),
        Command::Scan(command) => command.execute(),
        Command::Token(command) => command.execute(),
        Command::Key(command) => command.execute(),
        Command::Api(command) => command.execute(),
        Command::Backup(command) => command.execute(),
        Command::Restore(command) => command.execute(),
        Command::Payload(command) => command.execute(),
        Command::Rules(RulesCommand::Export(command)) => command.execute(),
        Command::Generate(command) => command.execute(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Input(text)) => {
            eprintln!("{text}");
            ExitCode::from(1)
        }
    }
}

/// Writes to stdout; a closed pipe ends the command quietly.
fn print(text: &str) -> Result<(), Failure> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Input(format!("cannot write: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes to stderr what people should see beside the log; nobody may be there.
fn notice(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// What a client chose, for a terminal: control characters are escaped.
fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_has_an_example_in_its_help() {
        fn visit(command: &clap::Command, seen: &mut usize) {
            let children: Vec<_> = command.get_subcommands().filter(|c| c.get_name() != "help").collect();
            if children.is_empty() {
                *seen += 1;
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains("portcullis "), "`{}` has no example", command.get_name());
            }
            children.into_iter().for_each(|child| visit(child, seen));
        }
        let mut seen = 0;
        let command = Cli::command();
        command.clone().debug_assert();
        visit(&command, &mut seen);
        assert_eq!(seen, 44);
    }
}
