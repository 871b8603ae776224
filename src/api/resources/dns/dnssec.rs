//! DNSSEC of zones: signed or not, and the DS record for the zone above.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dns::Name;
use dns::dnssec::{ALGORITHM, DIGEST_TYPE, FLAGS, ZoneKey};
use gateway::vault::MasterKey;
use model::{Secret, Zone, ZoneDnssec};
use serde::Serialize;
use store::Change;

use super::shapes;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{Answer, ApiCall, DRY_RUN, InputShape, Operation, ResultKind, Verb};
use crate::api::resources::rule_input;
use crate::compile::zone_keys::{opened_key, zone_belonging};

const PATH: &str = "/zones/{zone_id}/dnssec";

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: PATH,
        summary: "Shows whether a zone is signed, and its DS record.",
        permission: Permission::DnsRead,
        query: &[],
        input: None,
        output: ResultKind::One(shapes::DNSSEC),
        run: |call| Box::pin(find(call)),
    },
    Operation {
        verb: Verb::Patch,
        path: PATH,
        summary: "Signs a zone, or signs it no more; its key is kept.",
        permission: Permission::DnsWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::DNSSEC)),
        output: ResultKind::One(shapes::DNSSEC),
        run: |call| Box::pin(change(call)),
    },
    Operation {
        verb: Verb::Delete,
        path: PATH,
        summary: "Signs a zone no more, and deletes its key.",
        permission: Permission::DnsWrite,
        query: &[DRY_RUN],
        input: None,
        output: ResultKind::Value,
        run: |call| Box::pin(delete(call)),
    },
];

#[derive(Debug, Default, Serialize)]
struct ShownDnssec {
    status: &'static str,
    flags: Option<u16>,
    algorithm: Option<String>,
    key_type: Option<&'static str>,
    digest_type: Option<String>,
    digest_algorithm: Option<&'static str>,
    digest: Option<String>,
    ds: Option<String>,
    key_tag: Option<u16>,
    public_key: Option<String>,
    dnssec_multi_signer: bool,
    dnssec_presigned: bool,
    dnssec_use_nsec3: bool,
    modified_on: Option<String>,
}

fn shown(zone: &Zone, master: Option<&MasterKey>) -> Result<ShownDnssec, ApiErrors> {
    let Some(dnssec) = &zone.dnssec else {
        return Ok(ShownDnssec { status: "disabled", ..ShownDnssec::default() });
    };
    let failed = |message| ApiErrors::from(ApiError::new(error::UNAVAILABLE, message));
    let key = opened_key(zone, dnssec, master).map_err(failed)?;
    let name = Name::parse(&zone.name, None).map_err(failed)?;
    let digest = key.digest(&name).iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02X}");
        text
    });
    let ds = format!("{}. 3600 IN DS {} {ALGORITHM} {DIGEST_TYPE} {digest}", zone.name, key.key_tag());
    Ok(ShownDnssec {
        status: if dnssec.is_active { "active" } else { "disabled" },
        flags: Some(FLAGS),
        algorithm: Some(ALGORITHM.to_string()),
        key_type: Some("ECDSAP256SHA256"),
        digest_type: Some(DIGEST_TYPE.to_string()),
        digest_algorithm: Some("SHA256"),
        digest: Some(digest),
        ds: Some(ds),
        key_tag: Some(key.key_tag()),
        public_key: Some(STANDARD.encode(key.dnskey().get(4..).unwrap_or(&[]))),
        dnssec_multi_signer: dnssec.multi_signer,
        dnssec_presigned: false,
        dnssec_use_nsec3: false,
        modified_on: Some(dnssec.modified_on.clone()),
    })
}

async fn find(call: ApiCall) -> Answer {
    ApiReply::of(&shown(&call.zone()?.value, call.shared.secrets_key.as_ref())?)
}

/// A new key for a zone, sealed if there is something to seal it with.
fn new_key(zone: &Zone, master: Option<&MasterKey>) -> Result<ZoneDnssec, ApiErrors> {
    let failed = |message| ApiErrors::from(ApiError::new(error::UNAVAILABLE, message));
    let key = STANDARD.encode(ZoneKey::generate().map_err(failed)?);
    let (key, is_sealed) = match master {
        Some(master) => (master.seal(zone_belonging(zone), &Secret::new(key)).map_err(failed)?, true),
        None => (key, false),
    };
    Ok(ZoneDnssec { is_active: false, key, is_sealed, multi_signer: false, modified_on: String::new() })
}

async fn change(call: ApiCall) -> Answer {
    let ((is_active, multi_signer), unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&[
            "flags",
            "algorithm",
            "key_type",
            "digest_type",
            "digest_algorithm",
            "digest",
            "ds",
            "key_tag",
            "public_key",
            "modified_on",
        ]);
        for (name, what) in
            [("dnssec_presigned", "signed elsewhere"), ("dnssec_use_nsec3", "denied by NSEC3 records")]
        {
            if fields.bool(name) == Some(true) {
                fields.refuse(error::BAD_FIELD, name, format!("zones here cannot be {what}"));
            }
        }
        let is_active = match fields.text("status") {
            None => None,
            Some("active") => Some(true),
            Some("disabled") => Some(false),
            Some(other) => {
                let message = format!("expected `active` or `disabled` for `status`, found `{other:.40}`");
                fields.refuse(error::BAD_FIELD, "status", message);
                None
            }
        };
        Some((is_active, fields.bool("dnssec_multi_signer")))
    })?;
    let zone = call.zone()?;
    let fresh = new_key(&zone, call.shared.secrets_key.as_ref())?;
    let (id, path, now) = (zone.id.clone(), call.path.clone(), call.now.clone());
    let of = id.clone();
    let applied = call
        .write(move |resources| {
            let known = resources.zones.get(&of).ok_or_else(|| ApiError::unknown(&path))?;
            let before = known.dnssec.as_deref();
            if before.is_none() && is_active != Some(true) {
                return Ok(Vec::new());
            }
            let mut dnssec = before.cloned().unwrap_or_else(|| fresh.clone());
            dnssec.is_active = is_active.unwrap_or(dnssec.is_active);
            dnssec.multi_signer = multi_signer.unwrap_or(dnssec.multi_signer);
            if before == Some(&dnssec) {
                return Ok(Vec::new());
            }
            let is_handed_over = known.outgoing.as_deref().is_some_and(|outgoing| outgoing.is_enabled);
            if dnssec.is_active && is_handed_over {
                let message = "other name servers have the zone from here, and would answer without its signatures; \
                               disable outgoing transfers first";
                return Err(ApiError::new(error::CONFLICT, message).into());
            }
            dnssec.modified_on.clone_from(&now);
            Ok(vec![put(&known.value, Some(dnssec), &now)])
        })
        .await?;
    let zone = applied.resources.zones.get(&id).ok_or_else(|| ApiError::unknown(&call.path))?;
    Ok(ApiReply::of(&shown(&zone.value, call.shared.secrets_key.as_ref())?)?.passing_over(unknown))
}

fn put(zone: &Zone, dnssec: Option<ZoneDnssec>, now: &str) -> Change {
    let zone = Zone { dnssec: dnssec.map(Box::new), modified_on: now.to_owned(), ..zone.clone() };
    Change::PutZone { zone: Box::new(zone) }
}

async fn delete(call: ApiCall) -> Answer {
    let (id, path, now) = (call.zone()?.id.clone(), call.path.clone(), call.now.clone());
    call.write(move |resources| {
        let known = resources.zones.get(&id).ok_or_else(|| ApiError::unknown(&path))?;
        if known.dnssec.is_none() {
            return Ok(Vec::new());
        }
        Ok(vec![put(&known.value, None, &now)])
    })
    .await?;
    ApiReply::of(&"")
}
