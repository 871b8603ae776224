//! `/zones/{zone_id}/custom_hostnames/{custom_hostname_id}/diagnose`: why a hostname is as it is, and what comes next.

use std::net::IpAddr;

use hostnames::{FallbackState, backoff};
use model::{CertificatePack, CustomHostname, HostnameStatus, Zone};
use serde::Serialize;

use super::records::{of_path, operation};
use super::shapes;
use super::shown::{ShownMistake, ShownValidation, due, pack_of, status, time};
use crate::api::envelope::ApiReply;
use crate::api::operation::{Answer, ApiCall, Operation, ResultKind, Verb};
use crate::jobs::look::Looked;
use crate::jobs::verifying::{question, seen};

const PATH: &str = "/zones/{zone_id}/custom_hostnames/{custom_hostname_id}/diagnose";

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[operation(
    Verb::Get,
    PATH,
    "Shows each look at a custom hostname, and when it is looked at next.",
    (None, ResultKind::One(shapes::DIAGNOSIS)),
    |call| Box::pin(async move { diagnose(&call) }),
)];

#[derive(Debug, Serialize)]
struct Diagnosis<'a> {
    hostname: &'a str,
    status: &'static str,
    since: String,
    attempts: u32,
    attempts_left: u32,
    next_attempt: Option<String>,
    verification_errors: &'a [Box<str>],
    looked_at: Option<String>,
    probes: Vec<Probe>,
    ssl: Option<DiagnosedPack<'a>>,
}

/// One look: what it is for, what it expects and what it found.
#[derive(Debug, Serialize)]
struct Probe {
    probe: &'static str,
    target: String,
    expected: String,
    /// `null` if nobody could say, or it was not looked at yet.
    found: Option<Vec<String>>,
    holds: bool,
}

#[derive(Debug, Serialize)]
struct DiagnosedPack<'a> {
    id: String,
    status: &'static str,
    since: String,
    attempts: u32,
    next_attempt: Option<String>,
    order: Option<&'a str>,
    validation_records: Vec<ShownValidation>,
    validation_errors: Vec<ShownMistake<'a>>,
}

fn probes(call: &ApiCall, zone: &Zone, hostname: &CustomHostname, looked: Option<&Looked>) -> Vec<Probe> {
    let (snapshot, question) = (&call.snapshot, question(hostname));
    let token = hostname.ownership_token.to_string();
    let texts = |addresses: &[IpAddr]| addresses.iter().map(ToString::to_string).collect::<Vec<_>>();
    let nothing = Looked::default();
    let Looked { aliases, addresses, texts: found_texts, page } = looked.unwrap_or(&nothing);
    let seen = seen(snapshot, hostname, looked.unwrap_or(&nothing), &call.now);
    let fallback_name = zone.fallback_origin.as_ref().map(|fallback| fallback.origin.clone());
    vec![
        Probe {
            probe: "cname",
            target: question.host.clone(),
            expected: format!("an alias of a name in `{}`", zone.name),
            found: aliases.clone(),
            holds: seen.has_alias_here == Some(true),
        },
        Probe {
            probe: "addresses",
            target: question.host.clone(),
            expected: format!("addresses of this edge: {}", texts(&snapshot.dns.addresses).join(", ")),
            found: addresses.as_deref().map(texts),
            holds: seen.has_own_addresses == Some(true),
        },
        Probe {
            probe: "txt",
            target: question.text_name,
            expected: token.clone(),
            found: found_texts.clone(),
            holds: seen.has_text,
        },
        Probe {
            probe: "http",
            target: format!("http://{}{}", question.host, question.page_path),
            expected: token,
            found: page.clone().map(|page| vec![page]),
            holds: seen.has_page,
        },
        Probe {
            probe: "fallback_origin",
            target: zone.name.clone(),
            expected: "a name with a proxied record".to_owned(),
            found: Some(fallback_name.into_iter().collect()),
            holds: seen.fallback == FallbackState::Active,
        },
    ]
}

fn diagnosed(pack: &CertificatePack) -> DiagnosedPack<'_> {
    DiagnosedPack {
        id: pack.id.to_string(),
        status: pack.status.word(),
        since: time(pack.since),
        attempts: pack.attempts,
        next_attempt: due(pack.next_step),
        order: pack.order.as_ref().and_then(|order| order.url.as_deref()),
        validation_records: ShownValidation::of_pack(pack),
        validation_errors: ShownMistake::of_pack(pack),
    }
}

fn diagnose(call: &ApiCall) -> Answer {
    let zone = call.zone()?;
    let hostname = of_path(call, &call.snapshot.resources, &zone)?;
    let pack = pack_of(&call.snapshot.resources, hostname);
    let looked = call.shared.looks.of(hostname.id);
    let attempts_left = match hostname.status {
        HostnameStatus::Pending | HostnameStatus::Blocked => {
            backoff::HOSTNAME_ATTEMPTS.saturating_sub(hostname.attempts)
        }
        HostnameStatus::Active | HostnameStatus::ActiveRedeploying | HostnameStatus::Moved => 0,
    };
    ApiReply::of(&Diagnosis {
        hostname: &hostname.hostname,
        status: status(hostname, pack),
        since: time(hostname.since),
        attempts: hostname.attempts,
        attempts_left,
        next_attempt: due(hostname.next_check),
        verification_errors: &hostname.verification_errors,
        looked_at: looked.as_ref().map(|(at, _)| time(*at)),
        probes: probes(call, &zone, hostname, looked.as_ref().map(|(_, looked)| looked)),
        ssl: pack.map(diagnosed),
    })
}
