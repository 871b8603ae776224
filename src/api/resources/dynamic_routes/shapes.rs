//! The fields of dynamic routes, as the description of the API shows them.

use crate::api::operation::{Kind, ObjectShape, field, required};

pub(super) const ROUTE_VERSION: &ObjectShape = &ObjectShape {
    name: "RouteVersion",
    fields: &[
        field("version_id", Kind::Text, "Identifier of the version."),
        field("active", Kind::Words(&["true", "false"]), "Whether it is in force."),
        field("data", Kind::Text, "Its elements as a text of JSON."),
        field("created_at", Kind::Text, "When it was made (RFC 3339)."),
        field("is_valid", Kind::Flag, "Whether it can be in force."),
    ],
};

pub(super) const ROUTE_DEPLOYMENT: &ObjectShape = &ObjectShape {
    name: "RouteDeployment",
    fields: &[
        field("deployment_id", Kind::Text, "Identifier of the deployment."),
        required("version_id", Kind::Text, "The version that came into force."),
        field("created_at", Kind::Text, "When it did (RFC 3339)."),
    ],
};

pub(super) const ROUTE_NAME: &ObjectShape = &ObjectShape {
    name: "RouteName",
    fields: &[required("name", Kind::Text, "1 to 64 letters, digits, `-`, `_` and `.`.")],
};

pub(super) const ROUTE_ELEMENTS: &ObjectShape = &ObjectShape {
    name: "RouteElements",
    fields: &[required(
        "elements",
        Kind::Any,
        "The elements of the graph, each with its id, type and outputs.",
    )],
};

pub(super) const DYNAMIC_ROUTE: &ObjectShape = &ObjectShape {
    name: "DynamicRoute",
    fields: &[
        field("id", Kind::Text, "Identifier of the route."),
        field("account_tag", Kind::Text, "The account of its gateway."),
        field("gateway_id", Kind::Text, "Its gateway."),
        required("name", Kind::Text, "Clients ask for the model `dynamic/` and this name."),
        required("elements", Kind::Any, "The elements of the graph, each with its id, type and outputs."),
        field("created_at", Kind::Text, "When it was made (RFC 3339)."),
        field("modified_at", Kind::Text, "When it was last changed (RFC 3339)."),
        field("deployment", Kind::Object(ROUTE_DEPLOYMENT), "Since when the version in force is so."),
        field("version", Kind::Object(ROUTE_VERSION), "The version that is shown."),
        field("version_id", Kind::Text, "The version that is shown."),
        field("active", Kind::Words(&["true", "false"]), "Whether the version that is shown is in force."),
        field("data", Kind::Text, "Its elements as a text of JSON."),
        field("is_valid", Kind::Flag, "Whether it can be in force."),
        field("declared_at", Kind::Any, "The place in a file, if a file declares the route."),
    ],
};
