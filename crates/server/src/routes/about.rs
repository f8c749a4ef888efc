//! About the service itself: numbers, its description, and how a browser gets in.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::Route;
use crate::auth::cookie::{Transport, forget_cookie, set_cookie};
use crate::auth::{Scope, links, random};
use crate::blocking::blocking;
use crate::extract::{is_json, parsed, whole_up_to};
use crate::guard::{From, Reads};
use crate::openapi::{self, Operation};
use crate::problem::{Problem, ProblemCode, Result};
use crate::service::Service;

/// Anybody may send this body, so little of it is held.
const BEGIN_MAX: usize = 4 << 10;

pub(super) fn routes() -> Vec<Route> {
    vec![
        // The door answers these two itself, before there is a router; they stand here to be described.
        Route {
            operation: Operation::get("/healthz", "healthz", "Whether the process answers").answers_media(
                StatusCode::OK,
                "text/plain",
                "It does",
            ),
            handler: get(|| async { "ok\n" }),
        },
        Route {
            operation: Operation::get("/readyz", "readyz", "Whether the runs of before are found")
                .answers_media(StatusCode::OK, "text/plain", "They are")
                .answers_media(StatusCode::SERVICE_UNAVAILABLE, "text/plain", "Not yet"),
            handler: get(|| async { "ready\n" }),
        },
        Route {
            operation: Operation::get("/metrics", "metrics", "Numbers, in the text format of OpenMetrics")
                .scope(Scope::Read)
                .answers_media(StatusCode::OK, "application/openmetrics-text", "The numbers"),
            handler: get(metrics),
        },
        Route {
            operation: Operation::get("/openapi.json", "openapi", "This description").answers_media(
                StatusCode::OK,
                "application/json",
                "OpenAPI 3.1",
            ),
            handler: get(|| async { ([(header::CONTENT_TYPE, "application/json")], openapi::text()) }),
        },
        Route {
            operation: Operation::post(
                "/v1/session",
                "begin_session",
                "Let a browser in, with the code of a one-time link",
            )
            .json_body::<Begin>(json!({"code": "the code of a link"}))
            .answers_nothing(StatusCode::NO_CONTENT, "The cookie is set")
            .problems(&[ProblemCode::Unauthorized]),
            handler: post(begin),
        },
        Route {
            operation: Operation::post("/v1/session/end", "end_session", "Make this browser forget its session")
                .answers_nothing(StatusCode::NO_CONTENT, "The cookie is forgotten"),
            handler: post(end),
        },
    ]
}

async fn metrics(_: Reads, State(service): State<Arc<Service>>) -> Result<Response> {
    let text = blocking(move || crate::metrics::all(&service)).await?;
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// What lets a browser in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BeginSession")]
pub(crate) struct Begin {
    /// What stands behind `#code=` in a link of `skillrun open`; good once.
    #[schemars(length(max = 200))]
    code: String,
}

async fn begin(
    State(service): State<Arc<Service>>,
    axum::Extension(from): axum::Extension<From>,
    request: Request,
) -> Result<Response> {
    if matches!(from, From::Allowed(_)) {
        return Err(Problem::new(ProblemCode::OriginRefused, "a session is for the page of this server alone"));
    }
    if !is_json(request.headers()) {
        return Err(Problem::new(ProblemCode::MediaType, "the body must be application/json"));
    }
    let body: Begin = parsed(&whole_up_to(request, BEGIN_MAX).await?, "")?;
    let cookie = blocking(move || {
        let now = service.now();
        if !links::take(&service.data, &body.code, now) {
            let detail = "this link was used or is too old; `skillrun open` prints a new one";
            return Err(Problem::new(ProblemCode::Unauthorized, detail));
        }
        let random = random::bytes().map_err(|error| Problem::new(ProblemCode::Internal, error.to_string()))?;
        Ok(service.guard.sessions().new_cookie(now, random))
    })
    .await?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, set_cookie(&cookie, Transport::Plain))]).into_response())
}

async fn end() -> Response {
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, forget_cookie(Transport::Plain))]).into_response()
}
