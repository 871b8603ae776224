//! Dynamic routes of a gateway: made, listed, renamed, deleted; their versions and which of them is in force.
//!
//! Clients look for lists and renamed routes beside the envelope's `result`, under `data` and `route`: both are there.

mod shapes;
mod shown;

use gateway::dynamic_route::{self, RouteGraph};
use model::{
    AccountId, Declared, DynamicRoute, GatewayId, Resources, RouteDeployment, RouteId, RouteVersion,
};
use serde_json::Value;
use store::Change;

use super::gateways::{self, path_id};
use super::rule_input;
use super::rulesets_read::revision;
use crate::api::auth::Permission;
use crate::api::envelope::{ApiReply, SecondName};
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Operation, PAGE, PER_PAGE, ResultKind, Verb, new_id,
};
use shown::{list_data, shown, shown_deployment, shown_version};

/// Most routes of a gateway.
const MAX_ROUTES: usize = 100;
/// Versions and deployments that are kept of a route; older ones go, but never the one in force.
const KEPT: usize = 50;
/// Longest list of elements, in bytes of JSON.
const MAX_ELEMENTS_BYTES: usize = 64 << 10;

pub(in crate::api::resources) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Get,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/routes",
        summary: "Lists the dynamic routes of a gateway.",
        permission: Permission::GatewaysRead,
        query: &[PAGE, PER_PAGE],
        input: None,
        output: ResultKind::List(shapes::DYNAMIC_ROUTE),
        run: |call| Box::pin(list(call)),
    },
    Operation {
        verb: Verb::Post,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/routes",
        summary: "Makes a dynamic route; clients ask for it as the model `dynamic/{name}`.",
        permission: Permission::GatewaysWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::DYNAMIC_ROUTE)),
        output: ResultKind::One(shapes::DYNAMIC_ROUTE),
        run: |call| Box::pin(create(call)),
    },
    Operation {
        verb: Verb::Get,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/routes/{route_id}",
        summary: "Shows a dynamic route as it is in force.",
        permission: Permission::GatewaysRead,
        query: &[],
        input: None,
        output: ResultKind::One(shapes::DYNAMIC_ROUTE),
        run: |call| Box::pin(find_one(call)),
    },
    Operation {
        verb: Verb::Patch,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/routes/{route_id}",
        summary: "Gives a dynamic route another name.",
        permission: Permission::GatewaysWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::ROUTE_NAME)),
        output: ResultKind::One(shapes::DYNAMIC_ROUTE),
        run: |call| Box::pin(rename(call)),
    },
    Operation {
        verb: Verb::Delete,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/routes/{route_id}",
        summary: "Deletes a dynamic route with its versions; the result is what it was.",
        permission: Permission::GatewaysWrite,
        query: &[DRY_RUN],
        input: None,
        output: ResultKind::One(shapes::DYNAMIC_ROUTE),
        run: |call| Box::pin(delete(call)),
    },
    Operation {
        verb: Verb::Get,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/routes/{route_id}/versions",
        summary: "Lists the versions of a dynamic route, the newest first.",
        permission: Permission::GatewaysRead,
        query: &[PAGE, PER_PAGE],
        input: None,
        output: ResultKind::List(shapes::ROUTE_VERSION),
        run: |call| Box::pin(list_versions(call)),
    },
    Operation {
        verb: Verb::Post,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/routes/{route_id}/versions",
        summary: "Adds a version to a dynamic route; it takes calls once it is deployed.",
        permission: Permission::GatewaysWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::ROUTE_ELEMENTS)),
        output: ResultKind::One(shapes::DYNAMIC_ROUTE),
        run: |call| Box::pin(create_version(call)),
    },
    Operation {
        verb: Verb::Get,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/routes/{route_id}/versions/{version_id}",
        summary: "Shows a version of a dynamic route.",
        permission: Permission::GatewaysRead,
        query: &[],
        input: None,
        output: ResultKind::One(shapes::DYNAMIC_ROUTE),
        run: |call| Box::pin(find_version(call)),
    },
    Operation {
        verb: Verb::Get,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/routes/{route_id}/deployments",
        summary: "Lists when which version of a dynamic route came into force, the newest first.",
        permission: Permission::GatewaysRead,
        query: &[PAGE, PER_PAGE],
        input: None,
        output: ResultKind::List(shapes::ROUTE_DEPLOYMENT),
        run: |call| Box::pin(list_deployments(call)),
    },
    Operation {
        verb: Verb::Post,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/routes/{route_id}/deployments",
        summary: "Brings a version of a dynamic route into force.",
        permission: Permission::GatewaysWrite,
        query: &[DRY_RUN],
        input: Some(InputShape::Object(shapes::ROUTE_DEPLOYMENT)),
        output: ResultKind::One(shapes::DYNAMIC_ROUTE),
        run: |call| Box::pin(deploy(call)),
    },
];

/// Account, gateway and route of a path.
type RouteKey = (AccountId, GatewayId, RouteId);

fn key(call: &ApiCall) -> RouteKey {
    let (account, gateway) = path_id(call);
    (account, gateway, RouteId::new(call.parameter("route_id")))
}

fn find<'r>(resources: &'r Resources, key: &RouteKey) -> Result<&'r Declared<DynamicRoute>, ApiErrors> {
    gateways::find(resources, &(key.0.clone(), key.1.clone()))?;
    let missing = || {
        ApiError::new(error::NOT_FOUND, format!("the gateway `{}` has no route `{}`", key.1, key.2)).into()
    };
    resources.dynamic_routes.get(key).ok_or_else(missing)
}

fn version<'r>(route: &'r DynamicRoute, id: &str) -> Result<&'r RouteVersion, ApiErrors> {
    let missing =
        || ApiError::new(error::NOT_FOUND, format!("the route `{}` has no version `{id}`", route.name));
    Ok(route.version(id).ok_or_else(missing)?)
}

fn deployed(route: &DynamicRoute) -> Result<&RouteVersion, ApiErrors> {
    let none = || ApiError::new(error::NOT_FOUND, format!("the route `{}` has no version", route.name));
    Ok(route.deployed().ok_or_else(none)?.0)
}

/// The name of a body.
fn name(fields: &Fields<'_>) -> Option<String> {
    let text = fields.required_text("name")?;
    if let Err(message) = dynamic_route::check_name(text) {
        fields.refuse(error::BAD_FIELD, "name", message);
    }
    Some(text.to_owned())
}

/// The elements of a body, every fault at its place.
fn elements(fields: &Fields<'_>) -> Option<Vec<Value>> {
    let Some(list) = fields.list("elements") else {
        if fields.value("elements").is_none() {
            fields.refuse(
                error::BAD_FIELD,
                "elements",
                "`elements` is required: expected a list of elements",
            );
        }
        return None;
    };
    if Value::from(list).to_string().len() > MAX_ELEMENTS_BYTES {
        let message = format!("expected at most {} KiB of elements", MAX_ELEMENTS_BYTES >> 10);
        fields.refuse(error::BAD_FIELD, "elements", message);
    }
    for fault in RouteGraph::parse(list).err().unwrap_or_default() {
        fields.refuse(error::BAD_FIELD, &format!("elements{}", fault.pointer), fault.message);
    }
    Some(list.to_vec())
}

/// Refuses a name that another route of the gateway has.
fn check_name(resources: &Resources, key: &RouteKey, name: &str) -> Result<(), ApiErrors> {
    let mut others = resources.routes_of(&key.0, &key.1).filter(|route| route.id != key.2);
    match others.any(|route| route.name == name) {
        true => {
            let message = format!("the gateway has a route `{name}`");
            Err(ApiError::at(error::CONFLICT, "/name", message).into())
        }
        false => Ok(()),
    }
}

async fn list(call: ApiCall) -> Answer {
    let paging = call.paging(20, 100)?;
    let gateway = path_id(&call);
    let (resources, modified) = (&call.snapshot.resources, &call.snapshot.modified);
    gateways::find(resources, &gateway)?;
    let mut routes: Vec<_> = resources.routes_of(&gateway.0, &gateway.1).collect();
    routes.sort_by(|a, b| (&a.created_on, &a.name).cmp(&(&b.created_on, &b.name)));
    let (routes, info) = paging.of(routes);
    let shown = |route| Ok(shown(route, deployed(route)?, modified));
    let routes = routes.into_iter().map(shown).collect::<Result<Vec<_>, ApiErrors>>()?;
    let data = list_data("routes", &routes, info, "asc");
    ApiReply::page(&routes, info)?.also_as(SecondName::Data, &data)
}

async fn list_versions(call: ApiCall) -> Answer {
    let paging = call.paging(20, 50)?;
    let route = find(&call.snapshot.resources, &key(&call))?;
    let (versions, info) = paging.of(route.versions.iter().rev().collect());
    let versions: Vec<_> = versions.into_iter().map(|version| shown_version(version, route)).collect();
    let data = list_data("versions", &versions, info, "desc");
    ApiReply::page(&versions, info)?.also_as(SecondName::Data, &data)
}

async fn list_deployments(call: ApiCall) -> Answer {
    let paging = call.paging(20, 50)?;
    let route = find(&call.snapshot.resources, &key(&call))?;
    let (deployments, info) = paging.of(route.deployments.iter().rev().collect());
    let deployments: Vec<_> = deployments.into_iter().map(shown_deployment).collect();
    let data = list_data("deployments", &deployments, info, "desc");
    ApiReply::page(&deployments, info)?.also_as(SecondName::Data, &data)
}

async fn find_one(call: ApiCall) -> Answer {
    let route = find(&call.snapshot.resources, &key(&call))?;
    Ok(ApiReply::of(&shown(route, deployed(route)?, &call.snapshot.modified))?.tagged(revision(route)))
}

async fn find_version(call: ApiCall) -> Answer {
    let route = find(&call.snapshot.resources, &key(&call))?;
    let version = version(route, call.parameter("version_id"))?;
    ApiReply::of(&shown(route, version, &call.snapshot.modified))
}

async fn create(call: ApiCall) -> Answer {
    let ((name, elements), unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&[
            "id",
            "account_tag",
            "gateway_id",
            "created_at",
            "modified_at",
            "deployment",
            "version",
        ]);
        fields.ignore(&["version_id", "active", "data", "is_valid", "declared_at"]);
        let (name, elements) = (name(fields), elements(fields));
        Some((name?, elements?))
    })?;
    let (account, gateway) = path_id(&call);
    let (id, version, now) = (RouteId::new(new_id()?), new_id()?, call.now.clone());
    let route = DynamicRoute {
        account: account.clone(),
        gateway: gateway.clone(),
        id: id.clone(),
        name,
        versions: vec![RouteVersion { id: version.clone(), elements, created_on: now.clone() }],
        deployments: vec![RouteDeployment { id: new_id()?, version, created_on: now.clone() }],
        created_on: now.clone(),
        modified_on: now,
    };
    let key = (account, gateway, id);
    let of = key.clone();
    let applied = call
        .write(move |resources| {
            gateways::find(resources, &(of.0.clone(), of.1.clone()))?;
            check_name(resources, &of, &route.name)?;
            if resources.routes_of(&of.0, &of.1).count() >= MAX_ROUTES {
                let message = format!("a gateway has at most {MAX_ROUTES} dynamic routes");
                return Err(ApiError::new(error::CONFLICT, message).into());
            }
            Ok(vec![Change::PutRoute { route: Box::new(route.clone()) }])
        })
        .await?;
    let route = find(&applied.resources, &key)?;
    Ok(ApiReply::of(&shown(route, deployed(route)?, ""))?.tagged(revision(route)).passing_over(unknown))
}

/// Changes a route; what it is then.
async fn change(
    call: &ApiCall,
    change: impl Fn(&mut DynamicRoute, &Resources) -> Result<(), ApiErrors> + Send + 'static,
) -> Result<Declared<DynamicRoute>, ApiErrors> {
    let (key, precondition, now) = (key(call), call.precondition(), call.now.clone());
    find(&call.snapshot.resources, &key)?;
    let of = key.clone();
    let applied = call
        .write(move |resources| {
            let known = find(resources, &of)?;
            precondition.check(revision(known))?;
            let mut route = known.value.clone();
            change(&mut route, resources)?;
            if route == known.value {
                return Ok(Vec::new());
            }
            route.modified_on.clone_from(&now);
            Ok(vec![Change::PutRoute { route: Box::new(route) }])
        })
        .await?;
    Ok(find(&applied.resources, &key)?.clone())
}

async fn rename(call: ApiCall) -> Answer {
    let (name, unknown) = rule_input::read(&call.body, name)?;
    let key = key(&call);
    let route = change(&call, move |route, resources| {
        check_name(resources, &key, &name)?;
        route.name.clone_from(&name);
        Ok(())
    })
    .await?;
    let shown = shown(&route, deployed(&route)?, &call.snapshot.modified);
    let reply = ApiReply::of(&shown)?.also_as(SecondName::Route, &shown)?;
    Ok(reply.tagged(revision(&route)).passing_over(unknown))
}

async fn create_version(call: ApiCall) -> Answer {
    let (elements, unknown) = rule_input::read(&call.body, elements)?;
    let added = RouteVersion { id: new_id()?, elements, created_on: call.now.clone() };
    let id = added.id.clone();
    let route = change(&call, move |route, _| {
        route.versions.push(added.clone());
        let in_force = route.deployments.last().map(|deployment| deployment.version.clone());
        let oldest = route.versions.iter().position(|version| Some(&version.id) != in_force.as_ref());
        if let Some(oldest) = oldest.filter(|_| route.versions.len() > KEPT) {
            route.versions.remove(oldest);
        }
        Ok(())
    })
    .await?;
    let shown = shown(&route, version(&route, &id)?, &call.snapshot.modified);
    Ok(ApiReply::of(&shown)?.tagged(revision(&route)).passing_over(unknown))
}

async fn deploy(call: ApiCall) -> Answer {
    let (asked, unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["deployment_id", "created_at"]);
        fields.required_text("version_id").map(str::to_owned)
    })?;
    let deployment = RouteDeployment { id: new_id()?, version: asked, created_on: call.now.clone() };
    let route = change(&call, move |route, _| {
        version(route, &deployment.version)?;
        route.deployments.push(deployment.clone());
        if route.deployments.len() > KEPT {
            route.deployments.remove(0);
        }
        Ok(())
    })
    .await?;
    let shown = shown(&route, deployed(&route)?, &call.snapshot.modified);
    Ok(ApiReply::of(&shown)?.tagged(revision(&route)).passing_over(unknown))
}

async fn delete(call: ApiCall) -> Answer {
    let (key, precondition) = (key(&call), call.precondition());
    let of = key.clone();
    call.write(move |resources| {
        precondition.check(revision(find(resources, &of)?))?;
        let (account, gateway, id) = of.clone();
        Ok(vec![Change::DeleteRoute { account, gateway, id }])
    })
    .await?;
    // As it was when the request began, if not when it was deleted.
    let route = find(&call.snapshot.resources, &key)?;
    ApiReply::of(&shown(route, deployed(route)?, &call.snapshot.modified))
}
