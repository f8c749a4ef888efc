//! The description of one route.

use http::{Method, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::problem::ProblemCode;
use skillrun_auth::Scope;

pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

fn schema_of<T: JsonSchema>() -> SchemaOf {
    |generator| generator.subschema_for::<T>()
}

#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// Never changes: clients are generated from it.
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    /// None: no token is required.
    pub(crate) scope: Option<Scope>,
    pub(crate) query: Vec<SchemaOf>,
    pub(crate) headers: Vec<Header>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) answers: Vec<OperationResponse>,
    pub(crate) problems: Vec<ProblemCode>,
    /// Whether the route accepts a ticket of `POST /v1/downloads`.
    pub(crate) takes_ticket: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Header {
    pub(crate) name: &'static str,
    pub(crate) pattern: &'static str,
    pub(crate) description: &'static str,
}

#[derive(Debug, Clone)]
pub(crate) struct Body {
    pub(crate) media: &'static str,
    pub(crate) schema: SchemaOf,
    /// A test sends it.
    pub(crate) example: Option<Value>,
}

#[derive(Debug, Clone)]
pub(crate) struct OperationResponse {
    pub(crate) status: StatusCode,
    pub(crate) description: &'static str,
    pub(crate) content: Content,
}

#[derive(Debug, Clone)]
pub(crate) enum Content {
    Nothing,
    Json(SchemaOf),
    /// A page of events of a protocol.
    Events(&'static str),
    /// Related RASP events.
    EventList,
    /// Bytes or text of this kind.
    Media(&'static str),
}

impl Operation {
    fn new(method: Method, path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self {
            method,
            path,
            id,
            summary,
            scope: None,
            query: Vec::new(),
            headers: Vec::new(),
            bodies: Vec::new(),
            answers: Vec::new(),
            problems: Vec::new(),
            takes_ticket: false,
        }
    }

    pub(crate) fn get(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::new(Method::GET, path, id, summary)
    }

    pub(crate) fn post(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::new(Method::POST, path, id, summary)
    }

    pub(crate) fn delete(path: &'static str, id: &'static str, summary: &'static str) -> Self {
        Self::new(Method::DELETE, path, id, summary)
    }

    pub(crate) fn scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    pub(crate) fn takes_ticket(mut self) -> Self {
        self.takes_ticket = true;
        self
    }

    /// Adds the parameters of the query string.
    pub(crate) fn query<T: JsonSchema>(mut self) -> Self {
        self.query.push(schema_of::<T>());
        self
    }

    pub(crate) fn header(mut self, name: &'static str, pattern: &'static str, description: &'static str) -> Self {
        self.headers.push(Header { name, pattern, description });
        self
    }

    pub(crate) fn json_body<T: JsonSchema>(self, example: Value) -> Self {
        self.body::<T>("application/json", Some(example))
    }

    pub(crate) fn multipart_body<T: JsonSchema>(self) -> Self {
        self.body::<T>("multipart/form-data", None)
    }

    fn body<T: JsonSchema>(mut self, media: &'static str, example: Option<Value>) -> Self {
        self.bodies.push(Body { media, schema: schema_of::<T>(), example });
        self
    }

    pub(crate) fn answers<T: JsonSchema>(self, status: StatusCode, description: &'static str) -> Self {
        self.answer(status, description, Content::Json(schema_of::<T>()))
    }

    pub(crate) fn answers_nothing(self, status: StatusCode, description: &'static str) -> Self {
        self.answer(status, description, Content::Nothing)
    }

    pub(crate) fn answers_events(self, protocol: &'static str) -> Self {
        self.answer(StatusCode::OK, "A page of events", Content::Events(protocol))
    }

    pub(crate) fn answers_event_list(self) -> Self {
        self.answer(StatusCode::OK, "The events, in order", Content::EventList)
    }

    pub(crate) fn answers_media(self, status: StatusCode, media: &'static str, description: &'static str) -> Self {
        self.answer(status, description, Content::Media(media))
    }

    pub(crate) fn streams(self, description: &'static str) -> Self {
        self.answer(StatusCode::OK, description, Content::Media("text/event-stream"))
    }

    fn answer(mut self, status: StatusCode, description: &'static str, content: Content) -> Self {
        self.answers.push(OperationResponse { status, description, content });
        self
    }

    pub(crate) fn problems(mut self, codes: &[ProblemCode]) -> Self {
        self.problems.extend_from_slice(codes);
        self
    }
}
