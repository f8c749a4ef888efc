//! The front: every request and every response passes through it.
//!
//! The port responds from the start: `/healthz` at once, everything else as soon as the existing runs are loaded. So no
//! request is lost that is sent after the port accepts connections.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::MatchedPath;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, header};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use skillrun_runtime::Clock;
use tokio::sync::watch;
use tower_service::Service as _;

use crate::guard::{Guard, RequestOrigin, Shown};
use crate::metrics::Metrics;
use crate::places::{ConnectionPlace, Purpose, Refused, UnderWay};
use crate::problem::{Fault, Problem, ProblemCode};
use crate::service::Complain;

/// No resources from other origins, no inline scripts, no framing.
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
    /// Set once the service is ready.
    router: watch::Receiver<Option<Router>>,
    clock: Arc<dyn Clock>,
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
        clock: Arc<dyn Clock>,
        complain: Complain,
    ) -> Self {
        Self { guard, metrics, router, clock, complain }
    }

    pub(crate) async fn answer(&self, request: Request<Incoming>, place: &ConnectionPlace) -> Response {
        let begin = Instant::now();
        let method = request.method().clone();
        let (mut response, from) = match self.admitted(request, place) {
            Ok(Admitted { request, from, under_way }) => {
                let response = self.routed(request, &from).await;
                (response.map(|body| Body::new(Accounted { body, _under_way: under_way })), from)
            }
            Err(problem) => (problem.into_response(), RequestOrigin::Unknown),
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
        if let RequestOrigin::Allowed(origin) = from {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, CORS_EXPOSED);
            headers.insert(header::VARY, HeaderValue::from_static("origin"));
            headers.insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
        }
        response
    }

    fn admitted(&self, request: Request<Incoming>, place: &ConnectionPlace) -> Result<Admitted, Problem> {
        let (mut parts, body) = request.into_parts();
        let from = self.guard.admits(&parts)?;
        parts.extensions.insert(from.clone());
        let under_way = if is_health(&parts.method, parts.uri.path()) {
            // Health checks need no credential and use up no share.
            place.begin_without()
        } else {
            let shown = self.guard.who(&mut parts, self.clock.now());
            let under_way = match &shown {
                Ok(granted) => place.begin(&granted.name, purpose(&parts.method)),
                Err(_) => place.begin_without(),
            };
            parts.extensions.insert(Shown(shown));
            parts.extensions.insert(place.clone());
            under_way
        };
        let under_way = under_way.map_err(no_place)?;
        Ok(Admitted { request: Request::from_parts(parts, Body::new(body)), from, under_way })
    }

    async fn routed(&self, request: Request<Body>, from: &RequestOrigin) -> Response {
        let is_preflight = request.method() == Method::OPTIONS
            && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        if is_preflight && matches!(from, RequestOrigin::Allowed(_)) {
            let allowed = [
                (header::ACCESS_CONTROL_ALLOW_METHODS, CORS_METHODS),
                (header::ACCESS_CONTROL_ALLOW_HEADERS, CORS_HEADERS),
            ];
            return (StatusCode::NO_CONTENT, allowed).into_response();
        }
        match (request.method(), request.uri().path()) {
            (&Method::GET | &Method::HEAD, HEALTHZ) => return "ok\n".into_response(),
            (&Method::GET | &Method::HEAD, READYZ) => return self.ready(),
            _ => {}
        }
        let mut router = self.router.clone();
        let found = router.wait_for(Option::is_some).await.ok().and_then(|router| router.clone());
        match found {
            // A router is always ready, and cannot fail.
            Some(mut router) => router.call(request).await.unwrap_or_else(|never| match never {}),
            None => Problem::new(ProblemCode::Stopping, "the server stopped before it was ready").into_response(),
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

const HEALTHZ: &str = "/healthz";
const READYZ: &str = "/readyz";

fn is_health(method: &Method, path: &str) -> bool {
    matches!(*method, Method::GET | Method::HEAD) && matches!(path, HEALTHZ | READYZ)
}

fn purpose(method: &Method) -> Purpose {
    match *method {
        Method::GET | Method::HEAD | Method::OPTIONS => Purpose::Read,
        _ => Purpose::Change,
    }
}

/// Seconds after which there may be a free place.
const RETRY_AFTER: u16 = 1;

/// The problem returned to a request without a place.
pub(crate) fn no_place(refused: Refused) -> Problem {
    let (code, detail) = match refused {
        Refused::Credential { limit } => {
            (ProblemCode::TooManyRequests, format!("the limit of {limit} concurrent requests of this token is reached"))
        }
        Refused::All { limit } => {
            (ProblemCode::TooManyRequests, format!("the limit of {limit} concurrent requests of the server is reached"))
        }
        Refused::CredentialStreams { limit } => {
            (ProblemCode::TooManyStreams, format!("the limit of {limit} streams of this token is reached"))
        }
        Refused::Streams { limit } => (ProblemCode::TooManyStreams, format!("the limit of {limit} streams is reached")),
        Refused::Gone => (ProblemCode::TooManyRequests, "another connection needed the place of this one".to_owned()),
    };
    Problem::new(code, detail).with_header(header::RETRY_AFTER, RETRY_AFTER)
}

/// A request that is passed on to the routes.
struct Admitted {
    request: Request<Body>,
    from: RequestOrigin,
    under_way: UnderWay,
}

/// The body of a response; the request is under way until the body is sent.
struct Accounted {
    body: Body,
    _under_way: UnderWay,
}

impl http_body::Body for Accounted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
