//! The door: every request goes through it, and every answer.
//!
//! The port answers from its first moment: `/healthz` at once, everything else as soon as the runs of before are found
//! again. So nothing that is sent after the port accepts is lost.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::MatchedPath;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, header};
use hyper::body::Incoming;
use tokio::sync::watch;
use tower_service::Service as _;

use crate::guard::{From, Guard};
use crate::metrics::Metrics;
use crate::problem::{Fault, Problem, ProblemCode};
use crate::service::Complain;

/// Nothing from elsewhere, no inline script, in no frame.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; object-src 'none'; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const SAFE_HEADERS: [(HeaderName, HeaderValue); 5] = [
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
];

const CORS_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, DELETE");
const CORS_HEADERS: HeaderValue =
    HeaderValue::from_static("authorization, content-type, idempotency-key, last-event-id, range");
const CORS_EXPOSED: HeaderValue = HeaderValue::from_static("content-range, location, retry-after, content-disposition");

pub(crate) struct Front {
    guard: Arc<Guard>,
    metrics: Arc<Metrics>,
    /// There once everything is ready.
    router: watch::Receiver<Option<Router>>,
    complain: Complain,
}

impl std::fmt::Debug for Front {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Front").field("guard", &self.guard).finish_non_exhaustive()
    }
}

impl Front {
    pub(crate) fn new(
        guard: Arc<Guard>,
        metrics: Arc<Metrics>,
        router: watch::Receiver<Option<Router>>,
        complain: Complain,
    ) -> Self {
        Self { guard, metrics, router, complain }
    }

    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Response {
        let begin = Instant::now();
        let method = request.method().clone();
        let (mut response, from) = match self.admitted(request) {
            Ok((request, from)) => (self.routed(request, &from).await, from),
            Err(problem) => (problem.into_response(), From::Unknown),
        };
        let route = response.extensions_mut().remove::<MatchedPath>();
        if let Some(Fault(what)) = response.extensions_mut().remove() {
            let route = route.as_ref().map_or("?", MatchedPath::as_str);
            (self.complain)(&format!("{method} {route}: {what}"));
        }
        self.metrics.answered(&method, route.as_ref().map(MatchedPath::as_str), response.status(), begin.elapsed());
        let headers = response.headers_mut();
        for (name, value) in SAFE_HEADERS {
            headers.entry(name).or_insert(value);
        }
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        if let From::Allowed(origin) = from {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, CORS_EXPOSED);
            headers.insert(header::VARY, HeaderValue::from_static("origin"));
            headers.insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
        }
        response
    }

    fn admitted(&self, request: Request<Incoming>) -> Result<(Request<Body>, From), Problem> {
        let (mut parts, body) = request.into_parts();
        let from = self.guard.admits(&parts)?;
        parts.extensions.insert(from.clone());
        Ok((Request::from_parts(parts, Body::new(body)), from))
    }

    async fn routed(&self, request: Request<Body>, from: &From) -> Response {
        let is_preflight = request.method() == Method::OPTIONS
            && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        if is_preflight && matches!(from, From::Allowed(_)) {
            let allowed = [
                (header::ACCESS_CONTROL_ALLOW_METHODS, CORS_METHODS),
                (header::ACCESS_CONTROL_ALLOW_HEADERS, CORS_HEADERS),
            ];
            return (StatusCode::NO_CONTENT, allowed).into_response();
        }
        match (request.method(), request.uri().path()) {
            (&Method::GET | &Method::HEAD, "/healthz") => return "ok\n".into_response(),
            (&Method::GET | &Method::HEAD, "/readyz") => return self.ready(),
            _ => {}
        }
        let mut router = self.router.clone();
        let found = router.wait_for(Option::is_some).await.ok().and_then(|router| router.clone());
        match found {
            // A router is always ready, and cannot fail.
            Some(mut router) => router.call(request).await.unwrap_or_else(|never| match never {}),
            None => Problem::new(ProblemCode::Stopping, "the server stops before it was ready").into_response(),
        }
    }

    fn ready(&self) -> Response {
        if self.router.borrow().is_some() {
            "ready\n".into_response()
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "starting\n").into_response()
        }
    }
}
