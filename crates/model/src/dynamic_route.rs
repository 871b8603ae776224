//! Dynamic routes of gateways. A client asks for a route in place of a model. A route has versions; one is deployed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::id::{AccountId, GatewayId, RouteId};

/// A route of a gateway. Clients ask for it as the model `dynamic/NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DynamicRoute {
    pub account: AccountId,
    pub gateway: GatewayId,
    pub id: RouteId,
    /// Unique in its gateway.
    pub name: String,
    /// The oldest first; never empty.
    pub versions: Vec<RouteVersion>,
    /// The oldest first; never empty. The last one is in force.
    pub deployments: Vec<RouteDeployment>,
    /// RFC 3339; empty if a file declares it.
    pub created_on: String,
    pub modified_on: String,
}

/// A graph that a route has or had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteVersion {
    pub id: String,
    /// As the crate `gateway` reads them.
    pub elements: Vec<Value>,
    pub created_on: String,
}

/// When a version came into force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteDeployment {
    pub id: String,
    pub version: String,
    pub created_on: String,
}

impl DynamicRoute {
    /// The version in force, and the deployment that made it so. `None` never in practice.
    pub fn deployed(&self) -> Option<(&RouteVersion, &RouteDeployment)> {
        let deployment = self.deployments.last()?;
        Some((self.version(&deployment.version)?, deployment))
    }

    pub fn version(&self, id: &str) -> Option<&RouteVersion> {
        self.versions.iter().find(|version| version.id == id)
    }
}
