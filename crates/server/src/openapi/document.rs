//! The document: routes, parameters, bodies and answers, and every type in them once.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::operation::{Answer, Body, Content, Operation};
use crate::problem::{Problem, ProblemCode};
use crate::routes;

const COMPONENTS: &str = "#/components/schemas/";

/// OpenAPI 3.1 of the whole service.
pub fn document() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = COMPONENTS.trim_start_matches('#').into();
    let mut generator = settings.into_generator();
    let mut schemas = Map::new();
    for (name, schema) in [("RaspEvent", skillrun_model::rasp::schema::schema()), ("FcmpEvent", skillrun_model::fcmp::schema::schema())] {
        hoist(name, schema, &mut schemas);
    }
    let problem = generator.subschema_for::<Problem>();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in routes::all() {
        let operation = &route.operation;
        let told = told(operation, &mut generator, &problem);
        paths.entry(operation.path).or_default().insert(operation.method.as_str().to_ascii_lowercase(), told);
    }
    schemas.extend(generator.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "skillrun",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Runs agent skills on coding agents, and tells the truth about what happened.",
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "security": [{"token": []}, {"session": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "From the token file of the server, or made with `skillrun token create`."},
                "session": {"type": "apiKey", "in": "cookie", "name": crate::auth::cookie::NAME, "description": "Of a browser that was opened with a link of `skillrun open`."},
            },
        },
    })
}

/// A schema that stands alone, with its definitions put among all others.
fn hoist(name: &str, mut schema: Value, schemas: &mut Map<String, Value>) {
    let Some(fields) = schema.as_object_mut() else { return };
    fields.remove("$schema");
    let own = fields.remove("$defs");
    let mut all: Map<String, Value> = own.and_then(|own| own.as_object().cloned()).unwrap_or_default();
    all.insert(name.to_owned(), schema);
    for (name, mut schema) in all {
        point_at_components(&mut schema);
        schemas.insert(name, schema);
    }
}

fn point_at_components(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get_mut("$ref")
                && let Some(name) = target.strip_prefix("#/$defs/")
            {
                *target = format!("{COMPONENTS}{name}");
            }
            fields.values_mut().for_each(point_at_components);
        }
        Value::Array(values) => values.iter_mut().for_each(point_at_components),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn told(operation: &Operation, generator: &mut SchemaGenerator, problem: &Schema) -> Value {
    let mut parameters: Vec<Value> = path_names(operation.path).map(path_parameter).collect();
    if let Some(query) = operation.query {
        let schema = query(generator);
        parameters.extend(query_parameters(&schema, generator));
    }
    parameters.extend(operation.headers.iter().map(|(name, description)| {
        json!({"name": name, "in": "header", "required": false, "description": description, "schema": {"type": "string"}})
    }));
    let mut told = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "responses": responses(operation, generator, problem),
    });
    if !parameters.is_empty() {
        told["parameters"] = parameters.into();
    }
    if !operation.bodies.is_empty() {
        let content: Map<String, Value> = operation.bodies.iter().map(|body| body_content(body, generator)).collect();
        told["requestBody"] = json!({"required": true, "content": content});
    }
    match operation.scope {
        Some(scope) => told["description"] = format!("Needs the scope `{scope}`.").into(),
        None => told["security"] = json!([]),
    }
    told
}

fn path_names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn path_parameter(name: &str) -> Value {
    let bare = name.trim_start_matches('*');
    let schema = match bare {
        "run_id" => json!({"type": "string", "format": "uuid"}),
        _ => json!({"type": "string"}),
    };
    json!({"name": bare, "in": "path", "required": true, "schema": schema})
}

/// One parameter per field of a type.
fn query_parameters(schema: &Schema, generator: &SchemaGenerator) -> Vec<Value> {
    let named = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.rsplit('/').next());
    let found = named.and_then(|name| generator.definitions().get(name));
    let Some(fields) = found.or_else(|| schema.as_value().into()) else { return Vec::new() };
    let required: BTreeSet<&str> =
        fields["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let each = |(name, schema): (&String, &Value)| {
        let mut schema = schema.clone();
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let mut parameter =
            json!({"name": name, "in": "query", "required": required.contains(name.as_str()), "schema": without_null(schema)});
        if let Some(description) = description {
            parameter["description"] = description;
        }
        parameter
    };
    fields["properties"].as_object().into_iter().flatten().map(each).collect()
}

/// A parameter is there or not; it is never null.
fn without_null(mut schema: Value) -> Value {
    if let Some(kinds) = schema["type"].as_array() {
        let kinds: Vec<Value> = kinds.iter().filter(|kind| *kind != "null").cloned().collect();
        schema["type"] = if let [only] = &kinds[..] { only.clone() } else { kinds.into() };
    }
    let alone = schema["anyOf"].as_array().and_then(|any| {
        let others: Vec<&Value> = any.iter().filter(|one| one["type"] != "null").collect();
        if let [only] = others[..] { Some(only.clone()) } else { None }
    });
    let mut schema = alone.unwrap_or(schema);
    if let Some(fields) = schema.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    schema
}

fn body_content(body: &Body, generator: &mut SchemaGenerator) -> (String, Value) {
    let mut content = json!({"schema": (body.schema)(generator)});
    if let Some(example) = &body.example {
        content["example"] = example.clone();
    }
    (body.media.to_owned(), content)
}

fn responses(operation: &Operation, generator: &mut SchemaGenerator, problem: &Schema) -> Value {
    let mut responses = Map::new();
    for Answer { status, description, content } in &operation.answers {
        let mut told = json!({"description": description});
        match content {
            Content::Nothing => {}
            Content::Json(schema) => told["content"] = json!({"application/json": {"schema": schema(generator)}}),
            Content::Events(protocol) => {
                told["content"] = json!({"application/json": {"schema": page_of(protocol, generator)}});
            }
            Content::EventList => {
                let schema = json!({
                    "type": "object",
                    "required": ["events", "cut"],
                    "properties": {
                        "events": {"type": "array", "items": {"$ref": format!("{COMPONENTS}RaspEvent")}},
                        "cut": {"type": "boolean", "description": "There are more than these."},
                    },
                });
                told["content"] = json!({"application/json": {"schema": schema}});
            }
            Content::Media(media) => told["content"] = json!({*media: {"schema": {"type": "string"}}}),
        }
        responses.insert(status.as_str().to_owned(), told);
    }
    for (status, codes) in problems_of(operation) {
        let codes: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
        let told = json!({
            "description": format!("A problem: {}", codes.join(", ")),
            "content": {"application/problem+json": {"schema": problem}},
        });
        responses.insert(status, told);
    }
    responses.into()
}

/// Those of the route, and those that every route has.
fn problems_of(operation: &Operation) -> BTreeMap<String, BTreeSet<ProblemCode>> {
    let mut all: BTreeSet<ProblemCode> = operation.problems.iter().copied().collect();
    all.extend([ProblemCode::HostRefused, ProblemCode::OriginRefused, ProblemCode::Stopping, ProblemCode::InvalidRequest]);
    if operation.scope.is_some() {
        all.extend([ProblemCode::Unauthorized, ProblemCode::Forbidden]);
    }
    if !operation.bodies.is_empty() {
        all.extend([ProblemCode::BodyTooLarge, ProblemCode::BodyTooSlow, ProblemCode::MediaType]);
    }
    if operation.method != Method::GET {
        all.insert(ProblemCode::DiskFull);
    }
    let mut by_status: BTreeMap<String, BTreeSet<ProblemCode>> = BTreeMap::new();
    for code in all {
        by_status.entry(code.status().as_str().to_owned()).or_default().insert(code);
    }
    by_status
}

fn page_of(protocol: &str, generator: &mut SchemaGenerator) -> Value {
    let event = match protocol {
        "fcmp" => "FcmpEvent",
        _ => "RaspEvent",
    };
    let foot = generator.subschema_for::<routes::PageFoot>();
    json!({
        "allOf": [foot, {
            "type": "object",
            "required": ["events"],
            "properties": {"events": {"type": "array", "items": {"$ref": format!("{COMPONENTS}{event}")}}},
        }],
    })
}
