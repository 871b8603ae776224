//! `/zones/{zone_id}/custom_hostnames/fallback_origin`: where requests of custom hostnames go.

use hostnames::{FallbackState, fallback};
use model::{FallbackOrigin, Resources, Zone};
use serde::Serialize;

use super::records::operation;
use super::{checks, shapes};
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{Answer, ApiCall, InputShape, Operation, ResultKind, Verb};
use crate::api::resources::rule_input;
use crate::api::resources::zone_edit::{EditedZone, edit_zone};

const PATH: &str = "/zones/{zone_id}/custom_hostnames/fallback_origin";
const ONE: ResultKind = ResultKind::One(shapes::FALLBACK_ORIGIN);

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    operation(Verb::Get, PATH, "Shows the fallback origin of a zone.", (None, ONE), |call| {
        Box::pin(async move {
            let zone = call.zone()?;
            shown(&zone, &call.snapshot.resources)
        })
    }),
    operation(
        Verb::Put,
        PATH,
        "Sets the fallback origin of a zone.",
        (Some(InputShape::Object(shapes::FALLBACK_ORIGIN)), ONE),
        |call| Box::pin(put(call)),
    ),
    operation(Verb::Delete, PATH, "Takes the fallback origin of a zone away.", (None, ONE), |call| {
        Box::pin(delete(call))
    }),
];

#[derive(Debug, Serialize)]
struct ShownFallback<'z> {
    origin: &'z str,
    status: &'static str,
    errors: Vec<String>,
    created_at: &'z str,
    updated_at: &'z str,
}

fn shown(zone: &Zone, resources: &Resources) -> Answer {
    let Some(known) = zone.fallback_origin.as_deref() else {
        let message = "The zone has no fallback origin; set one with PUT.";
        return Err(ApiError::new(error::NO_FALLBACK_ORIGIN, message).into());
    };
    let (status, errors) = match fallback::state(zone, resources.records.get(&zone.id)) {
        FallbackState::Active => ("active", Vec::new()),
        FallbackState::WithoutRecord | FallbackState::Missing => {
            let message = format!("the zone has no proxied A, AAAA or CNAME record `{}`", known.origin);
            ("pending_deployment", vec![message])
        }
    };
    ApiReply::of(&ShownFallback {
        origin: &known.origin,
        status,
        errors,
        created_at: &known.created_at,
        updated_at: &known.updated_at,
    })
}

async fn put(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    let (origin, unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["status", "errors", "created_at", "updated_at"]);
        let text = fields.required_text("origin")?;
        // One without a record is taken, and shown as not deployed: the record may follow.
        match checks::origin_name(&zone, text) {
            Ok(name) => Some(name),
            Err((code, message)) => {
                fields.refuse(code, "origin", message);
                None
            }
        }
    })?;
    let now = call.now.clone();
    let EditedZone { zone, applied } = edit(&call, move |known| {
        let created_at = known.map_or_else(|| now.clone(), |known| known.created_at.clone());
        let updated_at = now.clone();
        match known.filter(|known| known.origin == origin) {
            Some(known) => Some(known.clone()),
            None => Some(FallbackOrigin { origin: origin.clone(), created_at, updated_at }),
        }
    })
    .await?;
    Ok(shown(&zone, &applied.resources)?.passing_over(unknown))
}

async fn delete(call: ApiCall) -> Answer {
    let zone = call.zone()?;
    let shown = shown(&zone, &call.snapshot.resources)?;
    edit(&call, |_| None).await?;
    Ok(shown)
}

async fn edit(
    call: &ApiCall,
    change: impl Fn(Option<&FallbackOrigin>) -> Option<FallbackOrigin> + Send + 'static,
) -> Result<EditedZone, ApiErrors> {
    edit_zone(call, move |known| {
        let fallback_origin = change(known.fallback_origin.as_deref()).map(Box::new);
        Ok(Zone { fallback_origin, ..known.clone() })
    })
    .await
}
