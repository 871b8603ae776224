//! Conf and snapshot to the services of one process, and their run to its end.

mod announcing;
mod upkeep;

use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use pingora::apps::HttpServerApp;
use pingora::proxy::HttpProxy;
use pingora::server::configuration::{Opt, ServerConf};
use pingora::server::{RunArgs, Server, ShutdownSignal, ShutdownSignalWatch};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::api;
use crate::api::auth::{FirstToken, Operators};
use crate::certificates::WantedNames;
use crate::clock::Clock;
use crate::conf::{Conf, TracingSettings};
use crate::control::Control;
use crate::events::Events;
use crate::listener::{
    self, Connections, EdgeListener, Guarded, ListenerContext, PassedSockets, ReservedSockets, ResetSecret,
};
use crate::names::{NameContext, NameServer, NameSockets};
use crate::old_uses::OldUses;
use crate::otlp_export::call_spans::{CallSpanExport, Drains};
use crate::otlp_export::{OtlpExport, OtlpExports};
use crate::proxy::{Door, Edge, EdgeParts};
use crate::records::security::SecurityQueue;
use crate::records::{Recorder, Retention};
use crate::response_cache::ResponseCache;
use crate::scanning::{ScanQueue, Scanners};
use crate::watchdog::Watchdog;
use announcing::Announcing;
use challenge::ChallengeKeys;
use detection::mac::Mac;
use gateway::limit::Ledger;
use model::Counted;
use store::{RecordLog, RecordReader, SecurityLog};
use upkeep::Upkeep;

/// What a process runs.
pub struct Parts {
    pub conf: Conf,
    pub control: Control,
    pub events: Events,
    pub clock: Clock,
    /// Where rows of the AI log are kept.
    pub rows: Box<dyn RecordLog>,
    /// The same rows, for the API.
    pub records: Box<dyn RecordReader>,
    /// Security events, for the API.
    pub security_log: SecurityLog,
    /// Those that wait to be written.
    pub security_queue: SecurityQueue,
    /// Who used what ends.
    pub old_uses: OldUses,
    /// What limits counted before.
    pub counted: Vec<Counted>,
    /// What found values are hashed with.
    pub mac: Mac,
    /// What challenges are signed with if the configuration names no keys.
    pub challenge_keys: ChallengeKeys,
    pub resets: ResetSecret,
    /// Take the sockets over from the process before this one.
    pub upgrade: bool,
    pub tells: Tells,
}

/// What is told once everything listens.
pub struct Tells {
    /// Told the addresses, if it wants to know.
    pub listening: Option<std::sync::mpsc::Sender<Listening>>,
    /// Makes the first token of the API; `None` if there are tokens.
    pub first_token: Option<FirstToken>,
}

/// Where a process listens.
#[derive(Clone, Debug)]
pub struct Listening {
    pub listeners: Vec<SocketAddr>,
    pub admin: SocketAddr,
}

/// Runs the services until a signal ends the process.
///
/// # Errors
/// One sentence if the services cannot be set up.
pub fn run(parts: Parts) -> Result<(), String> {
    let Parts { conf, control, events, clock, rows, records, counted, mac, upgrade, tells, .. } = parts;
    let (security_log, security_queue) = (Arc::new(Mutex::new(parts.security_log)), parts.security_queue);
    let (reserved, reserved_admin) = reserve(&conf, upgrade)?;
    let (mut server, name_sockets) = bootstrap(&conf, upgrade)?;

    let snapshots = control.handle().clone();
    let scans = ScanQueue::start(scanners(&conf), mac, events.clone(), clock);
    let recorder = recorder(&conf, rows, &counted, (events.clone(), clock));
    let door = Door::default();
    let response_cache = ResponseCache::start(events.clone());
    let drain = watch::Sender::new(false);
    let api = api_state(
        &conf,
        &control,
        (records, Arc::clone(&security_log), parts.old_uses),
        drain.subscribe(),
        (events.clone(), clock),
        response_cache,
    );
    let names_context = NameContext::new(
        snapshots.clone(),
        events.clone(),
        clock,
        drain.subscribe(),
        api.elsewhere().transfers.clone(),
    )?;
    let edge = Edge::new(EdgeParts {
        snapshots: snapshots.clone(),
        events: events.clone(),
        clock,
        scans,
        recorder: recorder.clone(),
        node: conf.node.clone(),
        door: door.clone(),
        challenge_keys: parts.challenge_keys,
        names: names_context.clone(),
        response_cache,
    });
    let app = proxy(edge, &conf)?;
    door.open(&app, drain.subscribe());
    let (bound, bindings) = mpsc::unbounded_channel();
    let connections = Connections::new(events.clone());
    let watchdog = watchdog(events.clone())?;
    let wanted = WantedNames::default();
    let context = ListenerContext {
        snapshots,
        wanted: wanted.clone(),
        tickets: conf.ticket_secret.clone(),
        queries: Arc::new(names_context.clone()),
        connections: connections.clone(),
        events: events.clone(),
        clock,
        watchdog,
        threads: conf.threads,
        drain: drain.clone(),
        resets: parts.resets,
        bound: bound.clone(),
    };
    add_listeners(&mut server, &conf, reserved, &app, &context)?;
    let names = add_name_servers(&mut server, name_sockets, &names_context);
    // Its place is behind the listeners.
    let last = conf.listeners.len();
    let exports = otlp_exports(&conf, &control, (events.clone(), clock));
    let kept = (security_log, exports.clone());
    server.add_service(upkeep(&conf, (control, wanted), &api, kept, (events.clone(), clock)));
    server.add_service(api::AdminService::new(conf.admin_address, reserved_admin, api, bound, last));
    server.add_service(Announcing { bindings, expected: last + 1, names, events, tells });

    let signals = Signals { drain, connections, grace: conf.graceful_stop, rows: recorder.clone(), exports };
    server.run(RunArgs { shutdown_signal: Box::new(signals) });
    recorder.flush();
    security_queue.flush();
    Ok(())
}

/// The server, with sockets that it took over, and those of the name server.
fn bootstrap(conf: &Conf, upgrade: bool) -> Result<(Server, Vec<NameSockets>), String> {
    let mut server = Server::new_with_opt_and_conf(Opt { upgrade, ..Opt::default() }, server_conf(conf)?);
    if upgrade {
        server.bootstrap();
        // Not earlier: the kernel gives queries to every socket, also to one that nobody reads yet.
        return Ok((server, bind_names(conf, NameSockets::take_over)?));
    }
    let names = bind_names(conf, NameSockets::bind)?;
    server.bootstrap();
    Ok((server, names))
}

fn watchdog(events: Events) -> Result<Watchdog, String> {
    Watchdog::start(events).map_err(|error| format!("cannot start the watch over the workers: {error}"))
}

/// What writes the AI log, with limits that have counted what was counted before.
fn recorder(
    conf: &Conf,
    rows: Box<dyn RecordLog>,
    counted: &[Counted],
    (events, clock): (Events, Clock),
) -> Recorder {
    let ledger = Arc::new(Ledger::default());
    ledger.recover(counted);
    Recorder::start(ledger, rows, Retention { age: conf.ai_log_retention, clock }, events)
}

fn scanners(conf: &Conf) -> Scanners {
    Scanners { threads: conf.scan_threads, cpu: conf.scan_cpu, max_bytes: conf.limits.scan_queue.0 }
}

/// The sockets of all listeners and of the admin port, if they are not taken over. An address that cannot be had ends the
/// process before it serves half of what it should.
fn reserve(
    conf: &Conf,
    upgrade: bool,
) -> Result<(Vec<Option<ReservedSockets>>, Option<TcpListener>), String> {
    if upgrade {
        return Ok((conf.listeners.iter().map(|_| None).collect(), None));
    }
    let cannot =
        |address: SocketAddr, what: &str, error| format!("cannot listen on {address} ({what}): {error}");
    let mut passed = PassedSockets::from_environment()?;
    let mut listeners = Vec::new();
    for listener in &conf.listeners {
        let reserved = ReservedSockets::new(listener.address, listener.speaks_http3, &mut passed);
        listeners
            .push(Some(reserved.map_err(|error| cannot(listener.address, "`listeners.address`", error))?));
    }
    let admin = passed.take_tcp(conf.admin_address).map_or_else(|| listener::reserve(conf.admin_address), Ok);
    let admin = admin.map_err(|error| cannot(conf.admin_address, "`admin.address`", error))?;
    passed.check_all_taken()?;
    Ok((listeners, Some(admin)))
}

fn add_listeners<A: HttpServerApp + Send + Sync + 'static>(
    server: &mut Server,
    conf: &Conf,
    reserved: Vec<Option<ReservedSockets>>,
    app: &Arc<A>,
    context: &ListenerContext,
) -> Result<(), String> {
    for ((index, listener), reserved) in conf.listeners.iter().enumerate().zip(reserved) {
        let service = EdgeListener::new(index, listener.clone(), reserved, Arc::clone(app), context.clone())
            .map_err(|error| format!("cannot set up TLS for {}: {error}", listener.address))?;
        server.add_service(service);
    }
    Ok(())
}

/// What serves the connections of all listeners.
fn proxy(edge: Edge, conf: &Conf) -> Result<Arc<Guarded<Edge>>, String> {
    let snapshots = edge.snapshots.clone();
    let mut proxy = HttpProxy::new(edge, Arc::new(server_conf(conf)?));
    proxy.handle_init_modules();
    Ok(Arc::new(Guarded::new(proxy, snapshots)))
}

/// Adds the name servers, and returns where they answer.
fn add_name_servers(
    server: &mut Server,
    sockets: Vec<NameSockets>,
    context: &NameContext,
) -> Vec<SocketAddr> {
    let addresses = sockets.iter().map(|sockets| sockets.address).collect();
    for sockets in sockets {
        server.add_service(NameServer::new(sockets, context));
    }
    addresses
}

/// What runs beside requests.
fn upkeep(
    conf: &Conf,
    (control, wanted): (Control, WantedNames),
    api: &api::State,
    (security_log, exports): (Arc<Mutex<SecurityLog>>, OtlpExports),
    (events, clock): (Events, Clock),
) -> Upkeep {
    Upkeep {
        control,
        security_log,
        old_uses: api.old_uses().clone(),
        may_be_private: conf.private_webhooks,
        elsewhere: api.elsewhere().clone(),
        looks: api.looks().clone(),
        wanted,
        secrets_key: conf.secrets_key.clone(),
        exports,
        events,
        clock,
    }
}

/// What sends spans, lines of the log, and spans of calls.
fn otlp_exports(conf: &Conf, control: &Control, (events, clock): (Events, Clock)) -> OtlpExports {
    let settings = conf.tracing.as_ref();
    let calls = CallSpanExport {
        service_name: settings.map_or("portcullis", |settings| &settings.service_name).to_owned(),
        handle: control.handle().clone(),
        events: events.clone(),
        clock,
        drains: Drains::default(),
    };
    let exported = |settings| {
        let spans = events.spans().map(|queue| otlp_export(queue, settings, control, (&events, clock)));
        let lines = events.exported().map(|queue| otlp_export(queue, settings, control, (&events, clock)));
        (spans, lines)
    };
    let (spans, lines) = settings.map(exported).unwrap_or_default();
    OtlpExports { spans, lines, calls }
}

fn otlp_export<Q: Clone>(
    queue: &Q,
    settings: &TracingSettings,
    control: &Control,
    (events, clock): (&Events, Clock),
) -> OtlpExport<Q> {
    let (settings, handle) = (settings.clone(), control.handle().clone());
    OtlpExport { queue: queue.clone(), settings, handle, events: events.clone(), clock }
}

/// The sockets of the name server, by one of its ways to have them.
fn bind_names(
    conf: &Conf,
    bind: fn(SocketAddr, usize) -> std::io::Result<NameSockets>,
) -> Result<Vec<NameSockets>, String> {
    let bind = |address: &SocketAddr| {
        bind(*address, conf.threads)
            .map_err(|error| format!("cannot listen on {address} (`dns.listeners`): {error}"))
    };
    conf.dns.listeners.iter().map(bind).collect()
}

/// What the admin port answers with.
fn api_state(
    conf: &Conf,
    control: &Control,
    logs: (Box<dyn RecordReader>, Arc<Mutex<SecurityLog>>, OldUses),
    draining: watch::Receiver<bool>,
    (events, clock): (Events, Clock),
    response_cache: &'static ResponseCache,
) -> api::State {
    let operators = Operators {
        tokens: conf.api_tokens.clone(),
        keys: conf.api_keys.clone(),
        rate_limit: conf.api_rate_limit,
        may_be_private: conf.private_webhooks,
    };
    let secrets_key = conf.secrets_key.clone();
    api::State::new(control.clone(), (events, clock), operators, draining, logs, secrets_key, response_cache)
}

fn server_conf(conf: &Conf) -> Result<ServerConf, String> {
    let folder = conf.state_dir.join("run");
    // The upgrade socket hands over listening sockets: only this user may reach it.
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .map_err(|error| format!("cannot make `{}`: {error}", folder.display()))?;
    let path = |name: &str| Path::join(&folder, name).display().to_string();
    Ok(ServerConf {
        threads: conf.threads,
        upgrade_sock: path("upgrade.sock"),
        pid_file: path("portcullis.pid"),
        grace_period_seconds: Some(conf.graceful_stop.as_secs()),
        graceful_shutdown_timeout_seconds: Some(1),
        upstream_keepalive_pool_size: conf.upstream.pool,
        max_retries: 4,
        // One thread has nobody to share work with, and its queue is cheaper without locks.
        work_stealing: conf.threads > 1,
        ..ServerConf::default()
    })
}

/// How long spans of calls wait for the rows of these calls when the process ends.
const LAST_ROWS: Duration = Duration::from_secs(2);

/// The signals that end the process.
///
/// `SIGTERM` drains: no new connections, requests under way finish, and the process ends when the
/// last connection does or the grace is over. `SIGQUIT` hands the sockets over and then drains.
/// `SIGINT` ends at once.
struct Signals {
    drain: watch::Sender<bool>,
    connections: Connections,
    grace: Duration,
    rows: Recorder,
    exports: OtlpExports,
}

#[async_trait]
impl ShutdownSignalWatch for Signals {
    async fn recv(&self) -> ShutdownSignal {
        // Those that tools send to ask for statistics or new log files end no server.
        let _ignored = (signal(SignalKind::user_defined1()), signal(SignalKind::user_defined2()));
        let (Ok(mut terminate), Ok(mut quit), Ok(mut interrupt)) =
            (signal(SignalKind::terminate()), signal(SignalKind::quit()), signal(SignalKind::interrupt()))
        else {
            return ShutdownSignal::FastShutdown;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => return ShutdownSignal::FastShutdown,
            _ = quit.recv() => return ShutdownSignal::GracefulUpgrade,
        }
        self.drain.send_replace(true);
        let drained = async {
            while self.connections.open() > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            () = drained => {}
            () = tokio::time::sleep(self.grace) => {}
            _ = interrupt.recv() => return ShutdownSignal::FastShutdown,
        }
        // Calls have spans once they are written.
        self.rows.written_within(LAST_ROWS).await;
        self.exports.finish().await;
        ShutdownSignal::FastShutdown
    }
}
