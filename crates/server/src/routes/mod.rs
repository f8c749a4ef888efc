//! The routes, one file per topic. Each route is declared together with its documentation, from which `/openapi.json`
//! is generated, so neither exists without the other.

mod about;
mod authoring;
mod catalogs;
mod copies;
mod events;
mod evidence;
mod family;
mod handover;
mod interactions;
mod mcp;
mod outline;
mod replay;
mod request;
mod results;
pub(crate) mod runs;
mod stream;
mod turns;
mod workflows;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use tower_http::catch_panic::CatchPanicLayer;

pub(crate) use events::PageFoot;
pub(crate) use mcp::ServerKeeper;
pub(crate) use stream::Pages;

use crate::openapi::Operation;
use crate::page;
use crate::problem::{Problem, ProblemCode};
use crate::service::Service;

/// One route.
pub(crate) struct Route {
    pub(crate) operation: Operation,
    pub(crate) handler: MethodRouter<Arc<Service>>,
}

/// All routes.
pub(crate) fn all() -> Vec<Route> {
    let groups = [
        runs::routes(),
        turns::routes(),
        events::routes(),
        outline::routes(),
        interactions::routes(),
        evidence::routes(),
        results::routes(),
        replay::routes(),
        handover::routes(),
        family::routes(),
        workflows::routes(),
        request::routes(),
        catalogs::routes(),
        copies::routes(),
        authoring::routes(),
        stream::routes(),
        about::routes(),
    ];
    groups.into_iter().flatten().collect()
}

pub(crate) fn router(service: Arc<Service>) -> Router {
    let mut by_path: BTreeMap<&'static str, MethodRouter<Arc<Service>>> = BTreeMap::new();
    for route in all() {
        let handlers = by_path.remove(route.operation.path).unwrap_or_default().merge(route.handler);
        by_path.insert(route.operation.path, handlers);
    }
    let router = by_path.into_iter().fold(Router::new(), |router, (path, handlers)| router.route(path, handlers));
    router
        .merge(page::router())
        .merge(mcp::router())
        .layer(DefaultBodyLimit::disable())
        .method_not_allowed_fallback(|| async {
            Problem::new(ProblemCode::MethodNotAllowed, "this method is not allowed here")
        })
        .fallback(|| async { Problem::new(ProblemCode::NotFound, "there is no such route") })
        .layer(CatchPanicLayer::custom(|_| {
            Problem::new(ProblemCode::Internal, "the request failed because of a bug in skillrun").into_response()
        }))
        .route_layer(from_fn(add_route))
        .with_state(service)
}

/// For the metrics.
async fn add_route(path: MatchedPath, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.extensions_mut().insert(path);
    response
}
