//! `portcullis trace`: what each rule of a zone does with a request, without sending it.

use std::fmt::Write;
use std::net::IpAddr;
use std::path::PathBuf;

use bytes::Bytes;
use clap::Args;

use super::{Failure, deployment, print, printable, waf_explain};
use crate::admission;
use crate::control::{self, ConfSource};
use crate::regression::RawRequest;
use crate::ruleset::{Trace, TraceEnd, TracedRequest, TracedRule, actions::challenge};
use crate::snapshot::{CompiledZone, HostRoute, Site, Snapshot};
use seclang::BodyLimits;
use store::MemoryStore;

/// Show what each rule of a zone does with a raw HTTP request, phase by phase, without sending it.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  printf 'GET /admin HTTP/1.1\\r\\nHost: shop.example\\r\\n\\r\\n' | portcullis trace --conf portcullis.toml --request -"
)]
pub(super) struct TraceCommand {
    /// The configuration that declares the zone of the request's host.
    #[arg(long, value_name = "FILE")]
    conf: PathBuf,
    /// The request: head and body as they go over the wire. `-` is standard input.
    #[arg(long, value_name = "FILE")]
    request: PathBuf,
    /// The address that the request comes from.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    client: IpAddr,
    /// The request comes over TLS.
    #[arg(long)]
    tls: bool,
    /// Its client has passed every challenge.
    #[arg(long)]
    skip_challenges: bool,
}

impl TraceCommand {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let start = control::start(&ConfSource::File(self.conf.clone()), &MemoryStore::default())?;
        let raw = waf_explain::read_request(&self.request)?;
        let raw = RawRequest::split(&raw)?;
        let (method, target, protocol) = raw.parts()?;
        let mut head = deployment::head(method, target, protocol, &raw.headers);
        head.client = self.client;
        let named = raw.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(b"host"));
        let named = named.map_or("", |(_, value)| std::str::from_utf8(value).unwrap_or(""));
        let mut buffer = String::new();
        let host = admission::host::normal_form(named, &mut buffer)
            .map_err(|_| "the request names no valid host; add a field `Host`".to_owned())?;
        let zone = zone(&start.snapshot, host)?;
        let body = Bytes::copy_from_slice(raw.body);
        let hostname_metadata = match start.snapshot.route(host) {
            HostRoute::Hostname { hostname, .. } => hostname.hostname.metadata.as_deref(),
            _ => None,
        };
        let skips_challenges = self.skip_challenges;
        let request = TracedRequest { head, host, tls: self.tls, hostname_metadata, body, skips_challenges };
        let trace = {
            let limits = BodyLimits::from(&start.snapshot.limits);
            zone.entry_points.trace(&request, limits, &*start.snapshot.geo)
        };
        print(&described(zone, &trace))
    }
}

fn zone<'s>(snapshot: &'s Snapshot, host: &str) -> Result<&'s CompiledZone, Failure> {
    let site = match snapshot.route(host) {
        HostRoute::Site { site, .. } => Some(site),
        HostRoute::Hostname { zone, .. } => return Ok(zone),
        HostRoute::Unverified => {
            return Err(Failure::Input(format!("`{host}` is a custom hostname that is not verified")));
        }
        HostRoute::Unknown => None,
    };
    match site {
        Some(Site::Zone(zone)) => Ok(zone),
        Some(Site::Names) => Err(Failure::Input(format!("`{host}` answers DNS queries, and has no rules"))),
        Some(Site::Gateway) => Err(Failure::Input(format!("`{host}` is a gateway host, which has no rules"))),
        None => {
            Err(Failure::Input(format!("the configuration has no zone for `{host}`; name one in `Host`")))
        }
    }
}

// INVARIANT: writing to a `String` cannot fail.
fn described(zone: &CompiledZone, trace: &Trace) -> String {
    let mut text = format!("zone {}\n", zone.name);
    for traced in &trace.phases {
        let _ = writeln!(text, "{}", traced.phase.word());
        describe(&mut text, &traced.rules, 1);
    }
    for m in trace.verdict.matches.iter().filter(|m| m.score != 0) {
        let _ = writeln!(text, "managed rule {} (+{}) {}", m.rule, m.score, printable(&m.message));
    }
    let _ = match &trace.end {
        TraceEnd::Sent => {
            let target = String::from_utf8_lossy(&trace.target).into_owned();
            let origin = match &trace.origin.origin {
                None => "an origin of the zone".to_owned(),
                Some(origin) => format!(
                    "the origin {}{}",
                    origin.host.as_deref().unwrap_or("of the zone"),
                    origin.port.map(|port| format!(" on port {port}")).unwrap_or_default()
                ),
            };
            writeln!(text, "goes to {origin} for {}, score {}", printable(&target), trace.verdict.score.all)
        }
        TraceEnd::Blocked { status } => {
            writeln!(text, "blocked with {status}, score {}", trace.verdict.score.all)
        }
        TraceEnd::Challenged(level) => {
            writeln!(text, "answered with a {}", challenge::action(*level).word())
        }
        TraceEnd::Redirected { status, location: Some(location) } => {
            writeln!(text, "redirected with {status} to {}", printable(location))
        }
        TraceEnd::Redirected { .. } => {
            writeln!(text, "answered with 400, because the redirect leads to no address that is safe")
        }
    };
    text
}

fn describe(text: &mut String, rules: &[TracedRule], depth: usize) {
    for rule in rules {
        let matched = if rule.is_matched { "match" } else { "-    " };
        let rate = if rule.has_rate { " past a rate" } else { "" };
        let _ = writeln!(
            text,
            "{:indent$}{matched}  {}{rate}  {}  {}{}",
            "",
            rule.action.word(),
            printable(&rule.expression),
            printable(&rule.source.reference),
            match rule.source.description.as_str() {
                "" => String::new(),
                description => format!(" ({})", printable(description)),
            },
            indent = depth * 2
        );
        describe(text, &rule.rules, depth + 1);
    }
}
