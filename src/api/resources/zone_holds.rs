//! Holds of zones: while one is held, nobody else makes it or, if its hold says so, a zone below it.

use model::zone::ZoneHold;
use model::{AccountId, Resources, Zone};
use serde::Serialize;
use store::Change;

use super::rulesets_read::revision;
use super::{rule_input, shapes};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Kind, Operation, QueryParameter, ResultKind, Verb,
};

const PATH: &str = "/zones/{zone_id}/hold";
const ONE: ResultKind = ResultKind::One(shapes::ZONE_HOLD);

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: PATH,
        summary: "Says whether a zone is held.",
        permission: Permission::ZoneRead,
        query: &[],
        input: None,
        output: ONE,
        run: |call| Box::pin(async move { shown(call.zone()?.hold.as_ref(), &call.now) }),
    },
    Operation {
        verb: Verb::Post,
        path: PATH,
        summary: "Holds a zone.",
        permission: Permission::ZoneWrite,
        query: &[
            DRY_RUN,
            QueryParameter {
                name: "include_subdomains",
                kind: Kind::Flag,
                doc: "Whether zones below it are held too.",
            },
        ],
        input: None,
        output: ONE,
        run: |call| Box::pin(hold(call)),
    },
    Operation {
        verb: Verb::Patch,
        path: PATH,
        summary: "Changes from when on a zone is held, and whether zones below it are.",
        permission: Permission::ZoneWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::ZONE_HOLD)),
        output: ONE,
        run: |call| Box::pin(change(call)),
    },
    Operation {
        verb: Verb::Delete,
        path: PATH,
        summary: "Releases a zone, for good or until `hold_after`.",
        permission: Permission::ZoneWrite,
        query: &[
            DRY_RUN,
            QueryParameter {
                name: "hold_after",
                kind: Kind::Text,
                doc: "When it is held again without a request (RFC 3339).",
            },
        ],
        input: None,
        output: ONE,
        run: |call| Box::pin(release(call)),
    },
];

#[derive(Debug, Serialize)]
struct ShownHold<'a> {
    hold: bool,
    include_subdomains: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    hold_after: &'a str,
}

fn shown(hold: Option<&ZoneHold>, now: &str) -> Answer {
    ApiReply::of(&ShownHold {
        hold: hold.is_some_and(|hold| hold.is_in_force(now)),
        include_subdomains: hold.is_some_and(|hold| hold.include_subdomains),
        hold_after: hold.map_or("", |hold| &hold.hold_after),
    })
}

/// Refuses a new zone of an account whose name, or one above it, another account holds.
///
/// # Errors
/// If it is held.
pub(super) fn check<'n>(
    resources: &Resources,
    account: &AccountId,
    name: &'n str,
    now: &str,
) -> Result<(), ApiErrors> {
    let holds = |zone: &Zone| {
        zone.account != *account
            && zone.hold.as_ref().is_some_and(|hold| hold.include_subdomains && hold.is_in_force(now))
    };
    let above = |name: &&'n str| name.split_once('.').map(|(_, above)| above);
    let mut names = std::iter::successors(above(&name), above);
    if names.any(|name| resources.zones.named(name).is_some_and(|zone| holds(zone))) {
        let message = "The zone name provided is subject to a hold which disallows the creation of this zone. Please \
                       contact the domain owner to have this hold removed.";
        return Err(ApiError::at(error::ZONE_HELD, "/name", message).into());
    }
    Ok(())
}

/// A time that a client gave, as times are compared; none is now.
fn moment(text: &str, now: &str) -> Result<String, ApiErrors> {
    if text.is_empty() {
        return Ok(now.to_owned());
    }
    let parsed = text.parse::<jiff::Timestamp>().map(|at| format!("{at:.6}"));
    parsed.map_err(|_| {
        let message =
            format!("expected a time such as `2030-01-31T00:00:00Z` for `hold_after`, found `{text}`");
        ApiError::at(error::BAD_FIELD, "/hold_after", message).into()
    })
}

async fn edit(
    call: &ApiCall,
    change: impl Fn(Option<&ZoneHold>) -> Option<ZoneHold> + Send + 'static,
) -> Result<Option<ZoneHold>, ApiErrors> {
    let (id, path, precondition) = (call.zone()?.id.clone(), call.path.clone(), call.precondition());
    let of = id.clone();
    let applied = call
        .write(move |resources| {
            let known = resources.zones.get(&of).ok_or_else(|| ApiError::unknown(&path))?;
            precondition.check(revision(known))?;
            let hold = change(known.hold.as_ref());
            if hold == known.hold {
                return Ok(Vec::new());
            }
            Ok(vec![Change::PutZone { zone: Box::new(Zone { hold, ..known.value.clone() }) }])
        })
        .await?;
    Ok(applied.resources.zones.get(&id).and_then(|zone| zone.hold.clone()))
}

async fn hold(call: ApiCall) -> Answer {
    let include_subdomains = call.asked("include_subdomains") == Some("true");
    let now = call.now.clone();
    let hold = edit(&call, move |_| Some(ZoneHold { include_subdomains, hold_after: now.clone() })).await?;
    shown(hold.as_ref(), &call.now)
}

async fn change(call: ApiCall) -> Answer {
    let ((after, include), unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["hold"]);
        Some((fields.text("hold_after").map(str::to_owned), fields.bool("include_subdomains")))
    })?;
    let after = after.map(|after| moment(&after, &call.now)).transpose()?;
    let now = call.now.clone();
    let hold = edit(&call, move |known| {
        let known = known.cloned().unwrap_or(ZoneHold { include_subdomains: false, hold_after: now.clone() });
        Some(ZoneHold {
            include_subdomains: include.unwrap_or(known.include_subdomains),
            hold_after: after.clone().unwrap_or(known.hold_after),
        })
    });
    Ok(shown(hold.await?.as_ref(), &call.now)?.passing_over(unknown))
}

async fn release(call: ApiCall) -> Answer {
    let after = call.asked("hold_after").map(|after| moment(after, &call.now)).transpose()?;
    let hold = edit(&call, move |known| {
        let after = after.clone()?;
        known.map(|known| ZoneHold { hold_after: after, ..known.clone() })
    });
    shown(hold.await?.as_ref(), &call.now)
}
