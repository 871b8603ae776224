//! DNSSEC of zones: signed or not, and the DS record for the zone above.

use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dns::Name;
use dns::denial::takes_hashes;
use dns::dnssec::{ALGORITHM, DIGEST_TYPE, FLAGS, ZoneKey};
use gateway::vault::MasterKey;
use model::{KeyRollover, RolloverStage, Secret, Zone, ZoneDnssec};
use serde::Serialize;
use store::Change;

use super::shapes;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{Answer, ApiCall, DRY_RUN, InputShape, Operation, ResultKind, Verb};
use crate::api::resources::rule_input;
use crate::clock::rfc3339;
use crate::compile::zone_keys::{opened_key, zone_belonging};
use crate::names::parent_ds::ParentRecords;

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
    Operation {
        verb: Verb::Post,
        path: ROLLOVER,
        summary: "Begins to change the key of a signed zone.",
        permission: Permission::DnsWrite,
        query: &[DRY_RUN],
        input: None,
        output: ResultKind::One(shapes::DNSSEC),
        run: |call| Box::pin(roll(call)),
    },
    Operation {
        verb: Verb::Post,
        path: "/zones/{zone_id}/dnssec/rollover/advance",
        summary: "Goes on with the change of a key at once, whatever the zone above has.",
        permission: Permission::DnsWrite,
        query: &[DRY_RUN],
        input: None,
        output: ResultKind::One(shapes::DNSSEC),
        run: |call| Box::pin(advance(call)),
    },
    Operation {
        verb: Verb::Delete,
        path: ROLLOVER,
        summary: "Keeps the key that a zone is signed with, and deletes the one that was to come.",
        permission: Permission::DnsWrite,
        query: &[DRY_RUN],
        input: None,
        output: ResultKind::One(shapes::DNSSEC),
        run: |call| Box::pin(keep(call)),
    },
];

const ROLLOVER: &str = "/zones/{zone_id}/dnssec/rollover";

/// The key that comes or goes while a key is changed.
#[derive(Debug, Serialize)]
struct ShownRollover {
    stage: RolloverStage,
    since: String,
    key_tag: u16,
    ds: String,
    public_key: String,
}

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
    /// Only while a key is changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    rollover: Option<ShownRollover>,
}

/// The DS record of a key, and its hash in it.
fn ds_of(key: &ZoneKey, apex: &Name) -> (String, String) {
    let digest = key.digest(apex).iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02X}");
        text
    });
    (format!("{apex}. 3600 IN DS {} {ALGORITHM} {DIGEST_TYPE} {digest}", key.key_tag()), digest)
}

fn public_key(key: &ZoneKey) -> String {
    STANDARD.encode(key.dnskey().get(4..).unwrap_or(&[]))
}

/// `active` if the zone above vouches for the key, `pending` until it does, `pending-disabled` while it still does.
fn status(is_active: bool, key: &ZoneKey, apex: &Name, parents: &ParentRecords) -> &'static str {
    let is_vouched_for = parents.of(apex).is_some_and(|parent| parent.has(key, apex));
    match (is_active, is_vouched_for) {
        (true, true) => "active",
        (true, false) => "pending",
        (false, true) => "pending-disabled",
        (false, false) => "disabled",
    }
}

fn shown(zone: &Zone, call: &ApiCall) -> Result<ShownDnssec, ApiErrors> {
    let Some(dnssec) = &zone.dnssec else {
        return Ok(ShownDnssec { status: "disabled", ..ShownDnssec::default() });
    };
    let failed = |message| ApiErrors::from(ApiError::new(error::UNAVAILABLE, message));
    let opened = |kept: &str, is_sealed| {
        opened_key(zone, kept, is_sealed, call.shared.secrets_key.as_ref()).map_err(failed)
    };
    let key = opened(&dnssec.key, dnssec.is_sealed)?;
    let apex = Name::parse(&zone.name, None).map_err(failed)?;
    let (ds, digest) = ds_of(&key, &apex);
    let rollover = dnssec.rollover.as_ref().map(|rollover| {
        let other = opened(&rollover.key, rollover.is_sealed)?;
        Ok::<_, ApiErrors>(ShownRollover {
            stage: rollover.stage,
            since: rfc3339(UNIX_EPOCH + Duration::from_secs(rollover.since)),
            key_tag: other.key_tag(),
            ds: ds_of(&other, &apex).0,
            public_key: public_key(&other),
        })
    });
    Ok(ShownDnssec {
        status: status(dnssec.is_active, &key, &apex, &call.shared.elsewhere.parents),
        flags: Some(FLAGS),
        algorithm: Some(ALGORITHM.to_string()),
        key_type: Some("ECDSAP256SHA256"),
        digest_type: Some(DIGEST_TYPE.to_string()),
        digest_algorithm: Some("SHA256"),
        digest: Some(digest),
        ds: Some(ds),
        key_tag: Some(key.key_tag()),
        public_key: Some(public_key(&key)),
        dnssec_multi_signer: dnssec.multi_signer,
        dnssec_presigned: false,
        dnssec_use_nsec3: dnssec.uses_nsec3,
        modified_on: Some(dnssec.modified_on.clone()),
        rollover: rollover.transpose()?,
    })
}

async fn find(call: ApiCall) -> Answer {
    ApiReply::of(&shown(&call.zone()?.value, &call)?)
}

/// A new key for a zone, and whether it is sealed: it is if there is something to seal it with.
fn new_key(zone: &Zone, master: Option<&MasterKey>) -> Result<(String, bool), ApiErrors> {
    let failed = |message| ApiErrors::from(ApiError::new(error::UNAVAILABLE, message));
    let key = STANDARD.encode(ZoneKey::generate().map_err(failed)?);
    match master {
        Some(master) => Ok((master.seal(zone_belonging(zone), &Secret::new(key)).map_err(failed)?, true)),
        None => Ok((key, false)),
    }
}

/// What is to be changed; `None` for what stays.
struct WantedDnssec {
    is_active: Option<bool>,
    multi_signer: Option<bool>,
    uses_nsec3: Option<bool>,
}

fn wanted(fields: &Fields<'_>, zone: &Zone) -> WantedDnssec {
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
        "rollover",
    ]);
    if fields.bool("dnssec_presigned") == Some(true) {
        fields.refuse(error::BAD_FIELD, "dnssec_presigned", "zones here cannot be signed elsewhere");
    }
    let uses_nsec3 = fields.bool("dnssec_use_nsec3");
    let takes_hashes = || Name::parse(&zone.name, None).is_ok_and(|apex| takes_hashes(&apex));
    if uses_nsec3 == Some(true) && !takes_hashes() {
        let message = "the name of the zone is too long for hashes of names in front of it";
        fields.refuse(error::BAD_FIELD, "dnssec_use_nsec3", message);
    }
    let is_active = match fields.text("status") {
        None => None,
        // Clients send back what they read.
        Some("active" | "pending") => Some(true),
        Some("disabled" | "pending-disabled") => Some(false),
        Some(other) => {
            let message = format!("expected `active` or `disabled` for `status`, found `{other:.40}`");
            fields.refuse(error::BAD_FIELD, "status", message);
            None
        }
    };
    WantedDnssec { is_active, multi_signer: fields.bool("dnssec_multi_signer"), uses_nsec3 }
}

async fn change(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    let (wanted, unknown) = rule_input::read(&call.body, |fields| Some(wanted(fields, &zone)))?;
    let (key, is_sealed) = new_key(&zone, call.shared.secrets_key.as_ref())?;
    let fresh = ZoneDnssec {
        is_active: false,
        key,
        is_sealed,
        multi_signer: false,
        uses_nsec3: false,
        rollover: None,
        modified_on: String::new(),
    };
    let (id, path, now) = (zone.id.clone(), call.path.clone(), call.now.clone());
    let of = id.clone();
    let applied = call
        .write(move |resources| {
            let known = resources.zones.get(&of).ok_or_else(|| ApiError::unknown(&path))?;
            let before = known.dnssec.as_deref();
            if before.is_none() && wanted.is_active != Some(true) {
                return Ok(Vec::new());
            }
            let mut dnssec = before.cloned().unwrap_or_else(|| fresh.clone());
            dnssec.is_active = wanted.is_active.unwrap_or(dnssec.is_active);
            dnssec.multi_signer = wanted.multi_signer.unwrap_or(dnssec.multi_signer);
            dnssec.uses_nsec3 = wanted.uses_nsec3.unwrap_or(dnssec.uses_nsec3);
            if before == Some(&dnssec) {
                return Ok(Vec::new());
            }
            if dnssec.is_active && known.is_handed_over() {
                let message = "other name servers have the zone from here, and would answer without its signatures; \
                               disable outgoing transfers first";
                return Err(ApiError::new(error::CONFLICT, message).into());
            }
            dnssec.modified_on.clone_from(&now);
            Ok(vec![put(&known.value, Some(dnssec), &now)])
        })
        .await?;
    let zone = applied.resources.zones.get(&id).ok_or_else(|| ApiError::unknown(&call.path))?;
    Ok(ApiReply::of(&shown(&zone.value, &call)?)?.passing_over(unknown))
}

fn put(zone: &Zone, dnssec: Option<ZoneDnssec>, now: &str) -> Change {
    let zone = Zone { dnssec: dnssec.map(Box::new), modified_on: now.to_owned(), ..zone.clone() };
    Change::PutZone { zone: Box::new(zone) }
}

/// Changes DNSSEC of a zone that has a key, and shows it as it is then.
async fn change_key(
    call: &ApiCall,
    edit: impl Fn(&ZoneDnssec) -> Result<ZoneDnssec, ApiErrors> + Send + 'static,
) -> Answer {
    let (id, path, now) = (call.zone()?.id.clone(), call.path.clone(), call.now.clone());
    let of = id.clone();
    let applied = call
        .write(move |resources| {
            let known = resources.zones.get(&of).ok_or_else(|| ApiError::unknown(&path))?;
            let dnssec = known.dnssec.as_deref().filter(|dnssec| dnssec.is_active).ok_or_else(|| {
                let message =
                    format!("the zone `{}` is not signed; set `status` to `active` first", known.name);
                ApiError::new(error::CONFLICT, message)
            })?;
            let changed = ZoneDnssec { modified_on: now.clone(), ..edit(dnssec)? };
            Ok(vec![put(&known.value, Some(changed), &now)])
        })
        .await?;
    let zone = applied.resources.zones.get(&id).ok_or_else(|| ApiError::unknown(&call.path))?;
    ApiReply::of(&shown(&zone.value, call)?)
}

/// The change of the key that is under way.
fn rollover(dnssec: &ZoneDnssec) -> Result<&KeyRollover, ApiErrors> {
    let message = "the key of the zone is not being changed";
    dnssec.rollover.as_ref().ok_or_else(|| ApiError::new(error::CONFLICT, message).into())
}

async fn roll(call: ApiCall) -> Answer {
    let (key, is_sealed) = new_key(&call.zone()?.value, call.shared.secrets_key.as_ref())?;
    let since = call.unix;
    change_key(&call, move |dnssec| {
        if dnssec.rollover.is_some() {
            let message = "the key of the zone is being changed already; advance or delete that first";
            return Err(ApiError::new(error::CONFLICT, message).into());
        }
        let stage = RolloverStage::Published;
        let rollover = Some(KeyRollover { stage, key: key.clone(), is_sealed, since });
        Ok(ZoneDnssec { rollover, ..dnssec.clone() })
    })
    .await
}

async fn advance(call: ApiCall) -> Answer {
    let now = call.unix;
    change_key(&call, move |dnssec| {
        Ok(match rollover(dnssec)?.stage {
            RolloverStage::Published => dnssec.advanced(RolloverStage::Announced, now),
            RolloverStage::Announced => dnssec.advanced(RolloverStage::Retiring, now),
            RolloverStage::Retiring => ZoneDnssec { rollover: None, ..dnssec.clone() },
        })
    })
    .await
}

async fn keep(call: ApiCall) -> Answer {
    change_key(&call, |dnssec| {
        if rollover(dnssec)?.stage == RolloverStage::Retiring {
            let message = "the new key signs the zone already; begin another change to replace it";
            return Err(ApiError::new(error::CONFLICT, message).into());
        }
        Ok(ZoneDnssec { rollover: None, ..dnssec.clone() })
    })
    .await
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
