//! Routes about the service itself: metrics, its description, and the login of browsers.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use skillrun_model::{RunId, Timestamp};

use super::Route;
use crate::blocking::blocking;
use crate::extract::{JsonBody, is_json, parsed, whole_up_to};
use crate::guard::{Reads, RequestOrigin};
use crate::openapi::{self, Operation};
use crate::places::ConnectionPlace;
use crate::problem::{HttpResult, Problem, ProblemCode, of_io};
use crate::service::Service;
use skillrun_auth::{AuthError, Scope, Who, links, random, tickets};

/// This body needs no token, so its size limit is small.
const BEGIN_MAX: usize = 4 << 10;

/// Longest address of a download, in bytes.
const PATH_MAX: usize = 8 << 10;

const SECOND_NANOS: u64 = 1_000_000_000;

pub(super) fn routes() -> Vec<Route> {
    vec![
        // `front` answers these two itself, before there is a router; they are declared here for the description.
        Route {
            operation: Operation::get("/healthz", "healthz", "Check that the process responds").answers_media(
                StatusCode::OK,
                "text/plain",
                "The process responds",
            ),
            handler: get(|| async { "ok\n" }),
        },
        Route {
            operation: Operation::get("/readyz", "readyz", "Check that the server has loaded the existing runs")
                .answers_media(StatusCode::OK, "text/plain", "The server is ready")
                .answers_media(StatusCode::SERVICE_UNAVAILABLE, "text/plain", "The server is not ready yet"),
            handler: get(|| async { "ready\n" }),
        },
        Route {
            operation: Operation::get("/metrics", "metrics", "Metrics, in the OpenMetrics text format")
                .scope(Scope::Read)
                .answers_media(StatusCode::OK, "application/openmetrics-text", "The metrics"),
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
                "Log a browser in with the code of a one-time link",
            )
            .json_body::<Begin>(json!({"code": "the code of a link"}))
            .answers::<SessionView>(StatusCode::OK, "The token of this browser")
            .problems(&[ProblemCode::Unauthorized]),
            handler: post(begin),
        },
        Route {
            operation: Operation::post("/v1/session/end", "end_session", "Log this browser out: its token is revoked")
                .scope(Scope::Read)
                .answers_nothing(StatusCode::NO_CONTENT, "The token is revoked"),
            handler: post(end),
        },
        Route {
            operation: Operation::post(
                "/v1/downloads",
                "create_download",
                "Create a download link for one file, valid for one minute without a token",
            )
            .scope(Scope::Read)
            .json_body::<CreateDownload>(
                json!({"path": "/v1/runs/0190c0de-0000-7000-8000-000000000000/bundle?full=true"}),
            )
            .answers::<DownloadView>(StatusCode::OK, "The link"),
            handler: post(download),
        },
    ]
}

async fn metrics(_: Reads, State(service): State<Arc<Service>>) -> HttpResult<Response> {
    let text = blocking(move || crate::metrics::all(&service)).await?;
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// The credential of a browser login.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BeginSession")]
pub(crate) struct Begin {
    /// The value after `#code=` in a link of `skillrun open`; valid once.
    #[schemars(length(max = 200))]
    code: String,
}

/// A browser session.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Session")]
pub(crate) struct SessionView {
    /// The token to send as `Authorization: Bearer`; shown only here.
    token: String,
    /// When the browser needs a new link.
    expires_at: Timestamp,
}

async fn begin(
    State(service): State<Arc<Service>>,
    axum::Extension(from): axum::Extension<RequestOrigin>,
    request: Request,
) -> HttpResult<Json<SessionView>> {
    if matches!(from, RequestOrigin::Allowed(_)) {
        return Err(Problem::new(ProblemCode::OriginRefused, "only the page of this server can open a session"));
    }
    if !is_json(request.headers()) {
        return Err(Problem::new(ProblemCode::MediaType, "the body must be application/json"));
    }
    let body: Begin = parsed(&whole_up_to(request, BEGIN_MAX).await?, "")?;
    let begun = blocking(move || {
        let now = service.now();
        if !links::take(service.data.root(), &body.code, now) {
            let detail = "this link was already used or has expired; `skillrun open` prints a new one";
            return Err(Problem::new(ProblemCode::Unauthorized, detail));
        }
        random::bytes().and_then(|random| service.guard.sessions().begin(now, random)).map_err(of_auth)
    })
    .await?;
    Ok(Json(SessionView { token: begun.token, expires_at: begun.expires_at }))
}

fn of_auth(error: AuthError) -> Problem {
    let full = if let AuthError::File { error, .. } = &error { of_io(error) } else { None };
    full.unwrap_or_else(|| Problem::new(ProblemCode::Internal, error.to_string()))
}

async fn end(
    Reads(who): Reads,
    axum::Extension(place): axum::Extension<ConnectionPlace>,
    State(service): State<Arc<Service>>,
) -> HttpResult<StatusCode> {
    let Who::Browser(id) = who.name else {
        let detail = "only a browser can be logged out here; `skillrun token revoke` revokes other tokens";
        return Err(Problem::new(ProblemCode::Forbidden, detail));
    };
    blocking(move || service.guard.sessions().end(id)).await.map_err(of_auth)?;
    // Streams opened before.
    place.close_others(&who.name);
    Ok(StatusCode::NO_CONTENT)
}

/// A file to download.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateDownload {
    /// Path and query of an artifact, a bundle, a recording or the bytes of an attempt, without a ticket.
    #[schemars(length(max = 8192), regex(pattern = FILE_PATTERN))]
    path: String,
}

/// A download link for one file.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Download")]
pub(crate) struct DownloadView {
    /// Path and query, with a ticket for GET. It gives access to this file and to nothing else.
    url: String,
    /// When the link expires, one minute from now.
    expires_at: Timestamp,
}

async fn download(
    Reads(who): Reads,
    State(service): State<Arc<Service>>,
    JsonBody(body): JsonBody<CreateDownload>,
) -> HttpResult<Json<DownloadView>> {
    if !is_file(&body.path) {
        return Err(Problem::field("path", "must be the path of an artifact, a bundle, a recording or raw bytes"));
    }
    let now = service.now();
    let ticket = service.guard.tickets().make(&body.path, &who.name, now);
    let expires_at = now.plus_nanos(tickets::LIFETIME_SECONDS * SECOND_NANOS);
    Ok(Json(DownloadView { url: tickets::with_ticket(&body.path, &ticket), expires_at }))
}

/// The pattern that [`is_file`] accepts, for the OpenAPI description.
const FILE_PATTERN: &str = r"^/v1/runs/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/(artifacts/[A-Za-z0-9._~%!*'()/-]+|bundle|raw|recording\.cast)(\?[A-Za-z0-9._~%&=-]*)?$";

/// Whether it is the address, as browsers send it, of a file that can be downloaded.
fn is_file(path: &str) -> bool {
    let (address, query) = path.split_once('?').unwrap_or((path, ""));
    let Some((run, rest)) = address.strip_prefix("/v1/runs/").and_then(|rest| rest.split_once('/')) else {
        return false;
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._~%-".contains(&byte);
    let is_named =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| is_plain(byte) || b"!*'()/".contains(&byte));
    let is_known = matches!(rest, "bundle" | "raw" | "recording.cast");
    path.len() <= PATH_MAX
        && run.parse::<RunId>().is_ok_and(|id| id.to_string() == run)
        && (is_known || rest.strip_prefix("artifacts/").is_some_and(is_named))
        && query.bytes().all(|byte| is_plain(byte) || b"&=".contains(&byte))
        // The link gets its own ticket.
        && !query.split('&').any(|pair| pair.split('=').next() == Some(tickets::PARAMETER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_runs_are_downloaded() {
        let run = "/v1/runs/0190c0de-0000-7000-8000-000000000000";
        for good in [
            "bundle",
            "bundle?",
            "bundle?full=true",
            "raw?attempt=1&stream=stdout",
            "recording.cast",
            "artifacts/a/b%20c.md",
        ] {
            assert!(is_file(&format!("{run}/{good}")), "{good}");
        }
        for bad in [
            "",
            "result",
            "events",
            "artifacts",
            "artifacts/",
            "bundle/x",
            "bundle?ticket=x",
            "bundle#x",
            "raw x",
            "interaction/reply",
        ] {
            assert!(!is_file(&format!("{run}/{bad}")), "{bad}");
        }
        for bad in [
            "",
            "/",
            "/v1/runs",
            "/v1/runs/x/bundle",
            "/v1/runs/0190C0DE-0000-7000-8000-000000000000/raw",
            "http://localhost/v1/runs/x/bundle",
            "/v1/skills/a/bundle",
        ] {
            assert!(!is_file(bad), "{bad}");
        }
        assert!(!is_file(&format!("{run}/artifacts/{}", "a".repeat(PATH_MAX))));
    }
}
