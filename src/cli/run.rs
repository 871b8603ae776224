//! `portcullis run`: the edge.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, notice};
use crate::api::auth::FirstToken;
use crate::clock::Clock;
use crate::conf::{Conf, LogLevel};
use crate::control::{self, ConfSource, Control};
use crate::events::kinds::ServiceFailed;
use crate::events::spans::SpanQueue;
use crate::events::{AccessLog, Events, Level, LogQueue, LogWriter};
use crate::listener::ResetSecret;
use crate::old_uses::OldUses;
use crate::records::security;
use crate::server::{self, Listening, Parts, Tells};
use challenge::ChallengeKeys;
use detection::mac::Mac;
use store::{DeprecationLog, FolderLock, RecordStore, SecurityLog, SqliteStore, Store, install_key};

/// Run the edge.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portcullis run --conf conf/portcullis.toml")]
pub(super) struct Run {
    /// The configuration file.
    #[arg(long, value_name = "FILE")]
    conf: PathBuf,
    /// Take the listening sockets over from the running process, which then gets SIGQUIT.
    #[arg(long)]
    upgrade: bool,
}

impl Run {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let source = ConfSource::File(self.conf);
        let store = |conf: &Conf| {
            let store =
                SqliteStore::open(&conf.state_dir).map_err(|error| Failure::Input(error.to_string()))?;
            Ok(Box::new(store) as Box<dyn Store>)
        };
        serve(source, &store, self.upgrade, LogWriter::new(std::io::stdout()), None)
    }
}

/// Makes a store for a configuration.
pub(super) type OpenStore<'a> = &'a dyn Fn(&Conf) -> Result<Box<dyn Store>, Failure>;

/// Has requests logged and traced where the configuration says.
fn send_elsewhere(events: &Events, conf: &Conf) -> Result<(), String> {
    if let Some(settings) = &conf.access_log {
        let failed = |error| format!("cannot open the access log `{}`: {error}", settings.path.display());
        events.log_requests_to(AccessLog::open(settings).map_err(failed)?);
    }
    if let Some(settings) = &conf.tracing {
        events.trace_to(SpanQueue::new(settings.sample_every));
        if settings.logs_url.is_some() {
            events.export_to(LogQueue::default());
        }
    }
    Ok(())
}

/// Starts everything and runs until a signal ends the process.
pub(super) fn serve(
    source: ConfSource,
    open: OpenStore<'_>,
    upgrade: bool,
    writer: LogWriter,
    listening: Option<std::sync::mpsc::Sender<Listening>>,
) -> Result<(), Failure> {
    let conf = match &source {
        ConfSource::File(path) => crate::conf::load(path)?.0,
        ConfSource::Fixed(conf) => (**conf).clone(),
    };
    if conf.listeners.is_empty() {
        return Err(Failure::Input(
            "the configuration has no `[[listeners]]`, so nobody could reach it".to_owned(),
        ));
    }
    let store = open(&conf)?;
    let has_tokens = !conf.api_tokens.is_empty() || !conf.api_keys.is_empty();
    let needs_token = !has_tokens && store.load()?.1.api_tokens.is_empty();
    let start = control::start(&source, store.as_ref())?;
    // With `upgrade` the process before this one still has it.
    let _lock = if upgrade { None } else { Some(FolderLock::take(&conf.state_dir)?) };
    if upgrade {
        let folder = conf.state_dir.clone();
        // Ends with the process: the lock is kept as long as the thread is.
        std::thread::spawn(move || {
            let lock = FolderLock::wait(&folder);
            loop {
                std::thread::park();
                let _ = &lock;
            }
        });
    }
    let level = level(start.conf.log_level);
    library_logs(level, writer.clone());
    let clock = Clock::real();
    let events = Events::new(level, writer, clock);
    let conf = start.conf.clone();
    send_elsewhere(&events, &conf)?;
    let control = Control::start(source, store, start, events.clone(), clock).map_err(Failure::Input)?;
    let open = || RecordStore::open(&conf.state_dir, conf.ai_log_size.0 as u64);
    let (rows, records) = (Box::new(open()?), open()?);
    // Limits go on where the process before this one left them.
    records.forget_counted(clock.unix())?;
    let counted = records.counted(clock.unix())?;
    if !conf.resources.gateways.is_empty() {
        gateway::price::load();
    }
    let open_security = || SecurityLog::open(&conf.state_dir, conf.security_event_size.0 as u64);
    let security_queue = security::start(open_security()?, conf.security_event_retention, clock, &events);
    let security_log = open_security()?;
    if let Some(aside) = DeprecationLog::set_damaged_aside(&conf.state_dir)? {
        let error = format!("its counts were damaged and begin anew; the file is now `{}`", aside.display());
        events.emit(&ServiceFailed { service: "deprecations", error });
    }
    let old_uses = OldUses::new(DeprecationLog::open(&conf.state_dir)?);
    let records = Box::new(records);
    let key = install_key(&conf.state_dir)?;
    let (mac, challenge_keys) = (Mac::new(key), ChallengeKeys::of_secret(key));
    let first_token = needs_token.then(|| FirstToken { control: control.clone(), clock, tell: notice });
    server::run(Parts {
        conf,
        control,
        events,
        clock,
        rows,
        records,
        counted,
        mac,
        challenge_keys,
        resets: ResetSecret::of(key),
        upgrade,
        tells: Tells { listening, first_token },
        security_log,
        security_queue,
        old_uses,
    })
    .map_err(Failure::Input)
}

fn level(level: LogLevel) -> Level {
    match level {
        LogLevel::Error => Level::Error,
        LogLevel::Warn => Level::Warn,
        LogLevel::Info => Level::Info,
        LogLevel::Debug => Level::Debug,
    }
}

/// Lines of the libraries below us go the same way. Those of the proxy library are about single
/// connections, which have events of their own: only its worst are kept.
fn library_logs(level: Level, writer: LogWriter) {
    let filter = match level {
        Level::Debug => "info",
        Level::Notice | Level::Error | Level::Warn | Level::Info => "off",
    };
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
        .with_writer(move || writer.clone())
        .finish();
    // Only fails if a subscriber is set already, as in tests.
    let _ = tracing::subscriber::set_global_default(subscriber);
}
