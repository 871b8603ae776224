//! The description of the API (OpenAPI 3.1), made from the lists of operations.

use deprecations::{DeprecationKind, SHIPPED};
use serde_json::{Map, Value, json};

use super::all;
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::operation::{Answer, InputShape, Kind, ObjectShape, Operation, ResultKind, Verb};

pub(super) const OPERATIONS: &[Operation] = &[Operation {
    verb: Verb::Get,
    path: "/openapi.json",
    summary: "Describes this API.",
    permission: Permission::Any,
    query: &[],
    input: None,
    output: ResultKind::Text("application/json"),
    run: |_| Box::pin(document()),
}];

async fn document() -> Answer {
    Ok(ApiReply::text("application/json", describe().to_string()))
}

/// The whole description.
pub(super) fn describe() -> Value {
    let mut schemas = Map::new();
    let mut paths: Map<String, Value> = Map::new();
    for operation in all() {
        let described = operation_of(operation, &mut schemas);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(operation.verb.word().to_ascii_lowercase(), described);
        }
    }
    schemas.insert(
        "Item".to_owned(),
        json!({
            "type": "object", "required": ["code", "message"],
            "properties": {"code": {"type": "integer"}, "message": {"type": "string"},
                "source": {"type": "object", "properties": {"pointer": {"type": "string"}}}},
        }),
    );
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Portcullis management API", "version": env!("CARGO_PKG_VERSION")},
        "servers": [{"url": "/client/v4"}],
        "security": [{"token": []}, {"email": [], "key": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "email": {"type": "apiKey", "in": "header", "name": "X-Auth-Email"},
                "key": {"type": "apiKey", "in": "header", "name": "X-Auth-Key"},
            },
        },
    })
}

fn operation_of(operation: &Operation, schemas: &mut Map<String, Value>) -> Value {
    let in_path = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = in_path
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect();
    parameters.extend(operation.query.iter().map(|parameter| {
        let (name, description) = (parameter.name, parameter.doc);
        json!({"name": name, "in": "query", "description": description, "schema": schema(parameter.kind, schemas)})
    }));
    let (status, body) = match operation.output {
        ResultKind::One(shape) => ("200", Some(envelope(&reference(shape, schemas)))),
        ResultKind::Value => ("200", Some(envelope(&json!({})))),
        ResultKind::List(shape) => {
            let items = reference(shape, schemas);
            ("200", Some(envelope(&json!({"type": "array", "items": items}))))
        }
        ResultKind::Nothing => ("204", None),
        ResultKind::Text(_) => ("200", None),
    };
    let description = "The result.";
    let result = match (operation.output, body) {
        (ResultKind::Text(media_type), _) => {
            json!({"description": description, "content": {media_type: {"schema": {}}}})
        }
        (_, Some(body)) => {
            json!({"description": description, "content": {"application/json": {"schema": body}}})
        }
        (_, None) => json!({"description": "Done."}),
    };
    let failure = json!({
        "type": "object", "required": ["result", "success", "errors", "messages"],
        "properties": {
            "result": {"type": "null"}, "success": {"const": false},
            "errors": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}},
            "messages": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}},
        },
    });
    let refused = json!({"description": "Refused.", "content": {"application/json": {"schema": failure}}});
    let mut responses = Map::new();
    responses.insert(status.to_owned(), result);
    responses.insert("4XX".to_owned(), refused.clone());
    responses.insert("503".to_owned(), refused);
    let mut described = json!({
        "summary": operation.summary, "parameters": parameters, "responses": responses,
        "x-permission": operation.permission.name(),
    });
    let mut rows = SHIPPED.about(operation.name());
    if let (true, Some(described)) =
        (rows.any(|row| row.what == DeprecationKind::Route), described.as_object_mut())
    {
        described.insert("deprecated".to_owned(), true.into());
    }
    if let (Some(shape), Some(described)) = (operation.input, described.as_object_mut()) {
        let schema = match shape {
            InputShape::Object(shape) | InputShape::Form(shape) => reference(shape, schemas),
            InputShape::List(shape) => json!({"type": "array", "items": reference(shape, schemas)}),
        };
        let media_type = match shape {
            InputShape::Form(_) => "multipart/form-data",
            InputShape::Object(_) | InputShape::List(_) => "application/json",
        };
        let body = json!({"content": {media_type: {"schema": schema}}});
        described.insert("requestBody".to_owned(), body);
    }
    described
}

fn envelope(result: &Value) -> Value {
    json!({
        "type": "object", "required": ["result", "success", "errors", "messages"],
        "properties": {
            "result": {"anyOf": [result, {"type": "null"}]}, "success": {"const": true},
            "errors": {"type": "array", "maxItems": 0},
            "messages": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}},
            "result_info": {"type": "object"},
        },
    })
}

/// Names a shape, which is described once.
fn reference(shape: &'static ObjectShape, schemas: &mut Map<String, Value>) -> Value {
    if !schemas.contains_key(shape.name) {
        schemas.insert(shape.name.to_owned(), Value::Null);
        let mut properties = Map::new();
        for field in shape.fields {
            let mut described = schema(field.kind, schemas);
            if let Some(described) = described.as_object_mut() {
                described.insert("description".to_owned(), field.doc.into());
            }
            properties.insert(field.name.to_owned(), described);
        }
        let required: Vec<&str> =
            shape.fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
        // What must be written need not be what is shown.
        let described = json!({"type": "object", "properties": properties, "x-required-on-write": required});
        schemas.insert(shape.name.to_owned(), described);
    }
    json!({"$ref": format!("#/components/schemas/{}", shape.name)})
}

fn schema(kind: Kind, schemas: &mut Map<String, Value>) -> Value {
    match kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Whole => json!({"type": "integer"}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Words(words) => json!({"type": "string", "enum": words}),
        Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Kind::Object(shape) => json!({"allOf": [reference(shape, schemas)]}),
        Kind::Objects(shape) => json!({"type": "array", "items": reference(shape, schemas)}),
        Kind::Any => json!({}),
    }
}
