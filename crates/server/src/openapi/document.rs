//! The OpenAPI document: routes, parameters, bodies and responses, and every type in them once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use http::Method;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use skillrun_model::{fcmp, rasp};

use super::bounds;
use super::operation::{Body, Content, Header, Operation, OperationResponse};
use crate::problem::{ProblemBody, ProblemCode};
use crate::routes;

const COMPONENTS: &str = "#/components/schemas/";

/// Generates the schemas of types. A field that may be omitted from a request is always present in a response, so there
/// is one generator for requests and one for responses.
struct Types {
    asked: SchemaGenerator,
    given: SchemaGenerator,
}

impl Types {
    fn new() -> Self {
        let mut settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(only_plain_defaults));
        settings.definitions_path = COMPONENTS.trim_start_matches('#').into();
        Self { asked: settings.clone().into_generator(), given: settings.for_serialize().into_generator() }
    }

    /// Every type used, by name, first those of requests and then those of responses.
    fn definitions(mut self) -> [Map<String, Value>; 2] {
        let events =
            [("RaspEvent", rasp::schema::event(&mut self.given)), ("FcmpEvent", fcmp::schema::event(&mut self.given))];
        let mut given = self.given.take_definitions(true);
        given.extend(events.map(|(name, schema)| (name.to_owned(), schema)));
        [self.asked.take_definitions(true), given]
    }
}

/// An omitted member needs no null default, nor a default object whose members are all omitted.
fn only_plain_defaults(schema: &mut Schema) {
    if matches!(schema.get("default"), Some(Value::Null | Value::Object(_) | Value::Array(_))) {
        schema.remove("default");
    }
}

/// The document as text; generated once, because it does not change while the program runs.
pub fn text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| document().to_string())
}

/// OpenAPI 3.1 of the whole service.
pub fn document() -> Value {
    let (paths, definitions) = parts();
    // A test checks that a name means the same in both.
    let schemas: BTreeMap<String, Value> = definitions.into_iter().flatten().collect();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "skillrun",
            "version": env!("CARGO_PKG_VERSION"),
            "description": INTRODUCTION,
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "The token in the token file of the server, one created with `skillrun token create`, or that of a browser opened with a link of `skillrun open`."},
                "ticket": {"type": "apiKey", "in": "query", "name": skillrun_auth::tickets::PARAMETER, "description": "Valid for one file and one minute, from `POST /v1/downloads`; always the last parameter."},
            },
        },
    });
    bounds::add(&mut document);
    document
}

const INTRODUCTION: &str = "\
Runs agent skills on coding agents and reports exactly what happened.

A conversation frontend reads FCMP (`/v1/runs/{run_id}/chat`), a tool that needs every event reads RASP \
(`/v1/runs/{run_id}/events`). Both are streams that resume after the last `id` a client has, and both have a history. \
Every response that reports a problem is `application/problem+json` with a stable `code`. More members \
may be added to responses: ignore members you do not know.";

pub(super) type Paths = BTreeMap<String, Map<String, Value>>;

/// The paths, and the types that occur in them.
pub(super) fn parts() -> (Paths, [Map<String, Value>; 2]) {
    let mut types = Types::new();
    let problem = types.given.subschema_for::<ProblemBody>();
    let mut paths = Paths::new();
    for route in routes::all() {
        let operation = &route.operation;
        let described = described(operation, &mut types, &problem);
        // OpenAPI cannot express a parameter that spans several path segments.
        paths
            .entry(operation.path.replace("{*", "{"))
            .or_default()
            .insert(operation.method.as_str().to_ascii_lowercase(), described);
    }
    (paths, types.definitions())
}

fn described(operation: &Operation, types: &mut Types, problem: &Schema) -> Value {
    let mut parameters: Vec<Value> = path_names(operation.path).map(path_parameter).collect();
    for query in &operation.query {
        // Parameters are described inline; their types are not components.
        let mut generator = types.asked.clone();
        let schema = query(&mut generator);
        parameters.extend(query_parameters(&schema, &generator));
    }
    parameters.extend(operation.headers.iter().map(|Header { name, pattern, description }| {
        let schema = json!({"type": "string", "pattern": pattern});
        json!({"name": name, "in": "header", "required": false, "description": description, "schema": schema})
    }));
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "responses": responses(operation, &mut types.given, problem),
    });
    if !parameters.is_empty() {
        described["parameters"] = parameters.into();
    }
    if !operation.bodies.is_empty() {
        let content: Map<String, Value> =
            operation.bodies.iter().map(|body| body_content(body, &mut types.asked)).collect();
        described["requestBody"] = json!({"required": true, "content": content});
    }
    match operation.scope {
        Some(scope) => described["description"] = format!("Needs the scope `{scope}`.").into(),
        None => described["security"] = json!([]),
    }
    if operation.takes_ticket {
        described["security"] = json!([{"token": []}, {"ticket": []}]);
    }
    described
}

fn path_names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn path_parameter(name: &str) -> Value {
    let bare = name.trim_start_matches('*');
    let (schema, description) = match bare {
        "run_id" => (json!({"type": "string", "format": "uuid"}), "The run."),
        "path" => (
            json!({"type": "string"}),
            "The path of the file, as given in the list of artifacts; slashes are not escaped.",
        ),
        _ => (json!({"type": "string"}), "The name of the skill, as given in the list of skills."),
    };
    json!({"name": bare, "in": "path", "required": true, "description": description, "schema": schema})
}

/// One parameter per field of a type.
fn query_parameters(schema: &Schema, generator: &SchemaGenerator) -> Vec<Value> {
    let fields = in_place(schema.as_value().clone(), generator);
    let required: BTreeSet<&str> =
        fields["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let each = |(name, schema): (&String, &Value)| {
        let mut schema = in_place(without_null(schema.clone()), generator);
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let mut parameter =
            json!({"name": name, "in": "query", "required": required.contains(name.as_str()), "schema": schema});
        if let Some(description) = description {
            parameter["description"] = description;
        }
        parameter
    };
    fields["properties"].as_object().into_iter().flatten().map(each).collect()
}

/// Replaces a reference by its target; members next to the reference take precedence.
fn in_place(mut schema: Value, generator: &SchemaGenerator) -> Value {
    let Some(fields) = schema.as_object_mut() else { return schema };
    let target = fields.remove("$ref");
    let name = target.as_ref().and_then(Value::as_str).and_then(|target| target.rsplit('/').next());
    let Some(Value::Object(found)) = name.and_then(|name| generator.definitions().get(name)) else { return schema };
    let mut all = found.clone();
    all.append(fields);
    all.into()
}

/// A parameter is present or absent; it is never null.
fn without_null(mut schema: Value) -> Value {
    if let Some(kinds) = schema["type"].as_array() {
        let kinds: Vec<Value> = kinds.iter().filter(|kind| *kind != "null").cloned().collect();
        schema["type"] = if let [only] = &kinds[..] { only.clone() } else { kinds.into() };
    }
    let alone = schema["anyOf"].as_array().and_then(|any| {
        let others: Vec<&Value> = any.iter().filter(|one| one["type"] != "null").collect();
        if let [only] = others[..] { Some(only.clone()) } else { None }
    });
    if let Some(mut only) = alone {
        only["description"] = schema["description"].take();
        schema = only;
    }
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
    for OperationResponse { status, description, content } in &operation.answers {
        let mut described = json!({"description": description});
        match content {
            Content::Nothing => {}
            Content::Json(schema) => described["content"] = json!({"application/json": {"schema": schema(generator)}}),
            Content::Events(protocol) => {
                described["content"] = json!({"application/json": {"schema": page_of(protocol, generator)}});
            }
            Content::EventList => {
                let schema = json!({
                    "type": "object",
                    "required": ["events", "cut"],
                    "properties": {
                        "events": {"type": "array", "items": {"$ref": format!("{COMPONENTS}RaspEvent")}},
                        "cut": {"type": "boolean", "description": "There are more events than these."},
                    },
                });
                described["content"] = json!({"application/json": {"schema": schema}});
            }
            Content::Media(media) => described["content"] = json!({*media: {"schema": {"type": "string"}}}),
        }
        responses.insert(status.as_str().to_owned(), described);
    }
    for (status, codes) in problems_of(operation) {
        let codes: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
        let codes = codes.join(", ");
        // A route may use the same status for a response that is not a problem.
        let described = responses.entry(status).or_insert_with(|| json!({}));
        described["description"] = match described["description"].as_str() {
            Some(words) => format!("{words}, or a problem: {codes}").into(),
            None => format!("A problem: {codes}").into(),
        };
        described["content"]["application/problem+json"] = json!({"schema": problem});
    }
    responses.into()
}

/// The problems of the route, and those that every route has.
fn problems_of(operation: &Operation) -> BTreeMap<String, BTreeSet<ProblemCode>> {
    let mut all: BTreeSet<ProblemCode> = operation.problems.iter().copied().collect();
    all.extend([
        ProblemCode::HostRefused,
        ProblemCode::OriginRefused,
        ProblemCode::Stopping,
        ProblemCode::InvalidRequest,
    ]);
    if operation.scope.is_some() {
        all.extend([ProblemCode::Unauthorized, ProblemCode::Forbidden, ProblemCode::TooManyRequests]);
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
