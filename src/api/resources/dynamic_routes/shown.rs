//! Dynamic routes, their versions and deployments as answers show them.

use gateway::dynamic_route::RouteGraph;
use model::{Declared, DynamicRoute, RouteDeployment, RouteVersion};
use serde::Serialize;
use serde_json::{Value, json};

use crate::api::envelope::ResultInfo;

#[derive(Debug, Serialize)]
pub(super) struct ShownRoute<'a> {
    id: &'a str,
    account_tag: &'a str,
    gateway_id: &'a str,
    name: &'a str,
    elements: &'a [Value],
    created_at: &'a str,
    modified_at: &'a str,
    deployment: ShownDeployment<'a>,
    version: ShownVersion<'a>,
    version_id: &'a str,
    /// Those of `version`, because clients read one version from the top.
    active: &'static str,
    data: String,
    is_valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    declared_at: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct ShownDeployment<'a> {
    deployment_id: &'a str,
    version_id: &'a str,
    created_at: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct ShownVersion<'a> {
    version_id: &'a str,
    /// A word, as clients expect it.
    active: &'static str,
    /// The elements as a text of JSON.
    data: String,
    created_at: &'a str,
    is_valid: bool,
}

/// A list as clients of routes look for it, by the word that they have for its entries.
pub(super) fn list_data<T: Serialize>(name: &str, entries: &[T], info: ResultInfo, direction: &str) -> Value {
    let ResultInfo { page, per_page, .. } = info;
    json!({name: entries, "order_by": "created_at", "order_by_direction": direction, "page": page, "per_page": per_page})
}

pub(super) fn shown_deployment(deployment: &RouteDeployment) -> ShownDeployment<'_> {
    let RouteDeployment { id, version, created_on } = deployment;
    ShownDeployment { deployment_id: id, version_id: version, created_at: created_on }
}

pub(super) fn shown_version<'a>(version: &'a RouteVersion, route: &DynamicRoute) -> ShownVersion<'a> {
    let is_active = route.deployed().is_some_and(|(deployed, _)| deployed.id == version.id);
    ShownVersion {
        version_id: &version.id,
        active: if is_active { "true" } else { "false" },
        data: Value::from(version.elements.clone()).to_string(),
        created_at: &version.created_on,
        is_valid: RouteGraph::parse(&version.elements).is_ok(),
    }
}

/// A route with one of its versions. `modified` is when the configuration was last changed.
pub(super) fn shown<'a>(
    route: &'a Declared<DynamicRoute>,
    version: &'a RouteVersion,
    modified: &'a str,
) -> ShownRoute<'a> {
    let or_modified = |moment: &'a str| if moment.is_empty() { modified } else { moment };
    let mut shown_version = shown_version(version, route);
    shown_version.created_at = or_modified(shown_version.created_at);
    let deployment = route.deployments.last().map(shown_deployment);
    let mut deployment =
        deployment.unwrap_or(ShownDeployment { deployment_id: "", version_id: "", created_at: "" });
    deployment.created_at = or_modified(deployment.created_at);
    ShownRoute {
        id: route.id.as_str(),
        account_tag: route.account.as_str(),
        gateway_id: route.gateway.as_str(),
        name: &route.name,
        elements: &version.elements,
        created_at: or_modified(&route.created_on),
        modified_at: or_modified(&route.modified_on),
        deployment,
        version_id: &version.id,
        active: shown_version.active,
        data: shown_version.data.clone(),
        is_valid: shown_version.is_valid,
        version: shown_version,
        declared_at: route.place().map(diagnostic::Place::label),
    }
}
