//! How zones are served to resolvers: settings of zones, and what an account's new zones begin with.

use std::ops::RangeInclusive;

use dns::Name;
use model::dns_settings::{AccountDnsSettings, NameServerSet, SoaSettings, ZoneDnsSettings};
use model::{Account, Resources};
use serde::Serialize;
use store::Change;

use super::shapes;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError};
use crate::api::input::Fields;
use crate::api::operation::{Answer, ApiCall, DRY_RUN, InputShape, Operation, ResultKind, Verb};
use crate::api::resources::rulesets_read::revision;
use crate::api::resources::zone_edit::{EditedZone, edit_zone};
use crate::api::resources::{accounts, rule_input};
use crate::conf::NameServerSets;

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: "/zones/{zone_id}/dns_settings",
        summary: "Shows how a zone is served to resolvers.",
        permission: Permission::DnsRead,
        query: &[],
        input: None,
        output: ResultKind::One(shapes::ZONE_SETTINGS),
        run: |call| Box::pin(of_zone(call)),
    },
    Operation {
        verb: Verb::Patch,
        path: "/zones/{zone_id}/dns_settings",
        summary: "Changes how a zone is served to resolvers.",
        permission: Permission::DnsWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::ZONE_SETTINGS)),
        output: ResultKind::One(shapes::ZONE_SETTINGS),
        run: |call| Box::pin(change_zone(call)),
    },
    Operation {
        verb: Verb::Get,
        path: "/accounts/{account_id}/dns_settings",
        summary: "Shows what new zones of an account begin with.",
        permission: Permission::AccountRead,
        query: &[],
        input: None,
        output: ResultKind::One(shapes::ACCOUNT_SETTINGS),
        run: |call| Box::pin(of_account(call)),
    },
    Operation {
        verb: Verb::Patch,
        path: "/accounts/{account_id}/dns_settings",
        summary: "Changes what new zones of an account begin with.",
        permission: Permission::AccountWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::ACCOUNT_SETTINGS)),
        output: ResultKind::One(shapes::ACCOUNT_SETTINGS),
        run: |call| Box::pin(change_account(call)),
    },
];

/// The sets of name servers that a zone may have.
const SETS: [&str; 5] =
    ["svc.standard", "svc.advanced", "custom.account", "custom.tenant", NameServerSet::OF_ZONE];
/// Those that an account may give its zones.
pub(in crate::api::resources) const SETS_OF_ACCOUNTS: [&str; 4] =
    ["svc.standard", "svc.standard.random", "custom.account", "custom.tenant"];

#[derive(Debug, Serialize)]
struct ShownSettings<'a> {
    flatten_all_cnames: bool,
    foundation_dns: bool,
    multi_provider: bool,
    secondary_overrides: bool,
    ns_ttl: u32,
    zone_mode: model::dns_settings::ZoneMode,
    nameservers: &'a NameServerSet,
    soa: SoaSettings,
    internal_dns: InternalDns,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct InternalDns {
    reference_zone_id: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct ShownAccountSettings<'a> {
    zone_defaults: ShownSettings<'a>,
    enforce_dns_only: bool,
}

/// `zone` is the name of the zone that they are of; a mail address that is not set is then one below it.
fn shown<'a>(settings: &'a ZoneDnsSettings, zone: Option<&str>) -> ShownSettings<'a> {
    let default = zone.map(|zone| format!("hostmaster.{zone}"));
    let rname = settings.soa.rname.clone().or(default);
    ShownSettings {
        flatten_all_cnames: settings.flatten_all_cnames,
        foundation_dns: settings.foundation_dns,
        multi_provider: settings.multi_provider,
        secondary_overrides: settings.secondary_overrides,
        ns_ttl: settings.ns_ttl,
        zone_mode: settings.zone_mode,
        nameservers: &settings.nameservers,
        soa: SoaSettings { rname, ..settings.soa.clone() },
        internal_dns: InternalDns { reference_zone_id: None },
    }
}

/// The set of name servers that a word means. Clients have another word in the place of `svc`.
pub(in crate::api::resources) fn set_of<'s>(kind: &str, sets: &[&'s str]) -> Option<&'s str> {
    let neutral = kind.split_once('.').map(|(_, rest)| format!("svc.{rest}"));
    sets.iter().find(|set| **set == kind || neutral.as_deref() == Some(**set)).copied()
}

/// Reads changes of settings; what is not named stays.
fn changed(fields: &Fields<'_>, known: &ZoneDnsSettings, sets: &[&str], numbers: &[u8]) -> ZoneDnsSettings {
    fields.ignore(&["internal_dns"]);
    let flag = |name, known| fields.bool(name).unwrap_or(known);
    let mut settings = ZoneDnsSettings {
        flatten_all_cnames: flag("flatten_all_cnames", known.flatten_all_cnames),
        foundation_dns: flag("foundation_dns", known.foundation_dns),
        multi_provider: flag("multi_provider", known.multi_provider),
        secondary_overrides: flag("secondary_overrides", known.secondary_overrides),
        ns_ttl: seconds(fields, "ns_ttl", known.ns_ttl, ZoneDnsSettings::NS_TTL),
        zone_mode: fields.word("zone_mode", error::BAD_FIELD).unwrap_or(known.zone_mode),
        nameservers: known.nameservers.clone(),
        vanity_name_servers: known.vanity_name_servers.clone(),
        soa: known.soa.clone(),
    };
    if let Some(servers) = fields.object("nameservers") {
        servers.ignore(&["nameserver_set_id"]);
        if let Some(kind) = servers.text("type") {
            match set_of(kind, sets) {
                Some(NameServerSet::OF_ZONE) if known.vanity_name_servers.is_empty() => {
                    let message = "the zone has no `vanity_name_servers`; give it some first";
                    servers.refuse(error::BAD_FIELD, "type", message);
                }
                Some(set) => set.clone_into(&mut settings.nameservers.r#type),
                None => {
                    let message = format!("expected one of {}, found `{kind:.40}`", sets.join(", "));
                    servers.refuse(error::BAD_FIELD, "type", message);
                }
            }
        }
        let last = i64::from(NameServerSets::LAST);
        let set = servers.within("ns_set", 1..=last).and_then(|set| u8::try_from(set).ok());
        if let Some(set) = set.filter(|set| !numbers.contains(set)) {
            let known: Vec<String> = numbers.iter().map(u8::to_string).collect();
            let message =
                format!("the configuration has no set {set} of name servers, but {}", known.join(" and "));
            servers.refuse(error::BAD_FIELD, "ns_set", message);
        }
        settings.nameservers.ns_set = set.unwrap_or(known.nameservers.ns_set);
    }
    if let Some(soa) = fields.object("soa") {
        settings.soa = changed_soa(&soa, &known.soa);
    }
    settings
}

fn changed_soa(fields: &Fields<'_>, known: &SoaSettings) -> SoaSettings {
    let name = |field, known: &Option<String>, encode: fn(&str) -> String| {
        if !fields.has(field) {
            return known.clone();
        }
        let text = encode(fields.text(field)?);
        match Name::parse(&text, None).ok().filter(|name| !name.is_root() && name.count() > 1) {
            Some(name) => Some(name.to_string()),
            None => {
                fields.refuse(
                    error::BAD_FIELD,
                    field,
                    format!("`{text:.80}` is no name: expected one such as `ns1.example.com`"),
                );
                None
            }
        }
    };
    let soa = SoaSettings {
        mname: name("mname", &known.mname, str::to_owned),
        rname: name("rname", &known.rname, SoaSettings::encoded_rname),
        refresh: seconds(fields, "refresh", known.refresh, SoaSettings::REFRESH),
        retry: seconds(fields, "retry", known.retry, SoaSettings::RETRY),
        expire: seconds(fields, "expire", known.expire, SoaSettings::EXPIRE),
        min_ttl: seconds(fields, "min_ttl", known.min_ttl, SoaSettings::MIN_TTL),
        ttl: seconds(fields, "ttl", known.ttl, SoaSettings::TTL),
    };
    if soa.retry > soa.refresh {
        let message = format!("`retry` is at most `refresh`: found {} and {}", soa.retry, soa.refresh);
        fields.refuse(error::BAD_FIELD, "retry", message);
    }
    if soa.expire < soa.refresh {
        let message = format!("`expire` is at least `refresh`: found {} and {}", soa.expire, soa.refresh);
        fields.refuse(error::BAD_FIELD, "expire", message);
    }
    soa
}

fn seconds(fields: &Fields<'_>, name: &'static str, known: u32, bounds: RangeInclusive<u32>) -> u32 {
    let bounds = i64::from(*bounds.start())..=i64::from(*bounds.end());
    fields.within(name, bounds).and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or(known)
}

async fn of_zone(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    Ok(ApiReply::of(&shown(&zone.dns, Some(&zone.name)))?.tagged(revision(&zone)))
}

async fn change_zone(call: ApiCall) -> Answer {
    let (zone, body, numbers) = (call.zone()?, call.body.clone(), call.snapshot.dns.name_servers.numbers());
    let (_, unknown) = rule_input::read(&body, |fields| Some(changed(fields, &zone.dns, &SETS, &numbers)))?;
    let EditedZone { zone, .. } = edit_zone(&call, move |known| {
        let (dns, _) = rule_input::read(&body, |fields| Some(changed(fields, &known.dns, &SETS, &numbers)))?;
        Ok(model::Zone { dns, ..known.clone() })
    })
    .await?;
    Ok(ApiReply::of(&shown(&zone.dns, Some(&zone.name)))?.tagged(revision(&zone)).passing_over(unknown))
}

fn settings_of(resources: &Resources, call: &ApiCall) -> AccountDnsSettings {
    let account = resources.accounts.get(&call.account());
    account.and_then(|account| account.dns.as_deref().cloned()).unwrap_or_default()
}

fn shown_account(settings: &AccountDnsSettings) -> ShownAccountSettings<'_> {
    ShownAccountSettings {
        zone_defaults: shown(&settings.zone_defaults, None),
        enforce_dns_only: settings.enforce_dns_only,
    }
}

async fn of_account(call: ApiCall) -> Answer {
    if !accounts::exists(&call.snapshot.resources, &call.account()) {
        return Err(ApiError::unknown(&call.path).into());
    }
    ApiReply::of(&shown_account(&settings_of(&call.snapshot.resources, &call)))
}

fn changed_account(fields: &Fields<'_>, known: &AccountDnsSettings, numbers: &[u8]) -> AccountDnsSettings {
    let defaults = fields.object("zone_defaults");
    AccountDnsSettings {
        zone_defaults: defaults.map_or_else(
            || known.zone_defaults.clone(),
            |fields| changed(&fields, &known.zone_defaults, &SETS_OF_ACCOUNTS, numbers),
        ),
        enforce_dns_only: fields.bool("enforce_dns_only").unwrap_or(known.enforce_dns_only),
    }
}

async fn change_account(call: ApiCall) -> Answer {
    let known = settings_of(&call.snapshot.resources, &call);
    let numbers = call.snapshot.dns.name_servers.numbers();
    let (id, path, body) = (call.account(), call.path.clone(), call.body.clone());
    let (_, unknown) = rule_input::read(&body, |fields| Some(changed_account(fields, &known, &numbers)))?;
    let of = id.clone();
    let applied = call
        .write(move |resources| {
            let account: Account =
                accounts::find_account(resources, &of).ok_or_else(|| ApiError::unknown(&path))?;
            let known = account.dns.as_deref().cloned().unwrap_or_default();
            let (dns, _) = rule_input::read(&body, |fields| Some(changed_account(fields, &known, &numbers)))?;
            if dns == known {
                return Ok(Vec::new());
            }
            Ok(vec![Change::PutAccount { account: Account { dns: Some(Box::new(dns)), ..account } }])
        })
        .await?;
    let settings = settings_of(&applied.resources, &call);
    Ok(ApiReply::of(&shown_account(&settings))?.passing_over(unknown))
}
