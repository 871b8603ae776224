//! `/zones/{zone_id}/ssl/universal/settings`: whether a zone gets certificates automatically.

use model::{Zone, ZoneTls};
use serde::Serialize;

use super::shapes;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error;
use crate::api::operation::{Answer, ApiCall, DRY_RUN, InputShape, Operation, ResultKind, Verb};
use crate::api::resources::rule_input;
use crate::api::resources::zone_edit::edit_zone;

const PATH: &str = "/zones/{zone_id}/ssl/universal/settings";
const ONE: ResultKind = ResultKind::One(shapes::UNIVERSAL);

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: PATH,
        summary: "Says whether a zone gets certificates automatically.",
        permission: Permission::CertificatesRead,
        query: &[],
        input: None,
        output: ONE,
        run: |call| Box::pin(async move { shown(&call, call.zone()?.tls.is_automatic) }),
    },
    Operation {
        verb: Verb::Patch,
        path: PATH,
        summary: "Switches automatic certificates of a zone on or off.",
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
    edit_zone(&call, move |known| {
        let tls = ZoneTls { is_automatic: enabled, ..known.tls.clone() };
        Ok(Zone { tls, ..known.clone() })
    })
    .await?;
    Ok(shown(&call, enabled)?.passing_over(unknown))
}
