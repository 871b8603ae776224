//! `/zones/{zone_id}/ssl/universal/settings`: whether a zone gets certificates by itself.

use model::{Zone, ZoneTls};
use serde::Serialize;
use store::Change;

use super::shapes;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError};
use crate::api::operation::{Answer, ApiCall, DRY_RUN, InputShape, Operation, ResultKind, Verb};
use crate::api::resources::rule_input;
use crate::api::resources::rulesets_read::revision;

const PATH: &str = "/zones/{zone_id}/ssl/universal/settings";
const ONE: ResultKind = ResultKind::One(shapes::UNIVERSAL);

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: PATH,
        summary: "Says whether a zone gets certificates by itself.",
        permission: Permission::CertificatesRead,
        query: &[],
        input: None,
        output: ONE,
        run: |call| Box::pin(async move { shown(&call, call.zone()?.tls.is_automatic) }),
    },
    Operation {
        verb: Verb::Patch,
        path: PATH,
        summary: "Lets a zone get certificates by itself, or ends that.",
        permission: Permission::CertificatesWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::UNIVERSAL)),
        output: ONE,
        run: |call| Box::pin(change(call)),
    },
];

#[derive(Debug, Serialize)]
struct ShownUniversal<'a> {
    enabled: bool,
    certificate_authority: &'a str,
}

fn shown(call: &ApiCall, enabled: bool) -> Answer {
    let first = call.snapshot.certificate_settings.authorities.first();
    let certificate_authority = first.map_or("", |authority| authority.name.as_str());
    ApiReply::of(&ShownUniversal { enabled, certificate_authority })
}

async fn change(call: ApiCall) -> Answer {
    let (enabled, unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["certificate_authority"]);
        if fields.value("enabled").is_none() {
            fields.refuse(error::BAD_FIELD, "enabled", "`enabled` is required: expected `true` or `false`");
        }
        fields.bool("enabled")
    })?;
    let (id, path, now) = (call.zone()?.id.clone(), call.path.clone(), call.now.clone());
    let precondition = call.precondition();
    call.write(move |resources| {
        let known = resources.zones.get(&id).ok_or_else(|| ApiError::unknown(&path))?;
        precondition.check(revision(known))?;
        if known.tls.is_automatic == enabled {
            return Ok(Vec::new());
        }
        let tls = ZoneTls { is_automatic: enabled, ..known.tls.clone() };
        let zone = Zone { tls, modified_on: now.clone(), ..known.value.clone() };
        Ok(vec![Change::PutZone { zone: Box::new(zone) }])
    })
    .await?;
    Ok(shown(&call, enabled)?.passing_over(unknown))
}
