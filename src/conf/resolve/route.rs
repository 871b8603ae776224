//! `[[gateways.routes]]` resolved.

use ::gateway::dynamic_route::{self, RouteGraph};
use model::{Declared, DynamicRoute, Gateway, Resources, RouteDeployment, RouteId, RouteVersion};

use super::Resolving;
use crate::conf::route_file::RouteFile;

impl Resolving<'_> {
    /// A route of a gateway, with the one version that its file declares.
    pub(super) fn route(&mut self, file: RouteFile, gateway: &Gateway, resources: &mut Resources) {
        let RouteFile { name, elements } = file;
        if let Err(message) = dynamic_route::check_name(&name.value) {
            self.bad(&name.place, message);
        }
        if let Err(faults) = RouteGraph::parse(&elements.value.0) {
            for fault in faults {
                let message = format!("`gateways.routes.elements{}`: {}", fault.pointer, fault.message);
                self.bad(&elements.place, message);
            }
        }
        let named = format!("{}/{}/{}", gateway.account, gateway.id, name.value);
        let id = RouteId::derived("dynamic route", &named);
        let version = RouteId::derived("version of a dynamic route", &named).to_string();
        let route = DynamicRoute {
            account: gateway.account.clone(),
            gateway: gateway.id.clone(),
            id: id.clone(),
            name: name.value,
            versions: vec![RouteVersion {
                id: version.clone(),
                elements: elements.value.0,
                created_on: String::new(),
            }],
            deployments: vec![RouteDeployment { id: version.clone(), version, created_on: String::new() }],
            created_on: String::new(),
            modified_on: String::new(),
        };
        let key = (gateway.account.clone(), gateway.id.clone(), id);
        let route = Declared::in_file(route, name.place.clone());
        if resources.dynamic_routes.insert(key, route).is_some() {
            self.conflict(&name.place, "this route is declared twice");
        }
    }
}
