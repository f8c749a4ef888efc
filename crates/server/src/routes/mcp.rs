//! `/mcp`: the tools for agents over streamable HTTP, for runs without a parent.
//!
//! It is not in the OpenAPI document: its messages are those of the Model Context Protocol.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use skillrun_mcp::{Access, Caller, DeskKind, HttpServer, RunDesk};
use skillrun_model::RunId;
use skillrun_model::delegation::{DelegationRequest, DelegationResponse};
use skillrun_runtime::Reply;
use skillrun_runtime::top_level::{RunKeeper, TopLevelDesk};

use crate::guard::Reads;
use crate::problem::{Problem, ProblemCode};
use crate::service::Service;
use crate::stopping::stopped;
use skillrun_auth::{Granted, Scope};

pub(super) fn router() -> Router<Arc<Service>> {
    let http = Arc::new(HttpServer::new(DeskKind::TopLevel));
    Router::new().route("/mcp", any(move |who, service, request| answer(http.clone(), who, service, request)))
}

async fn answer(
    http: Arc<HttpServer>,
    Reads(who): Reads,
    State(service): State<Arc<Service>>,
    request: Request,
) -> Response {
    let access = if who.scope.allows(Scope::Run) { Access::Run } else { Access::Read };
    let desk = Arc::new(ClientDesk { desk: service.desk.clone(), who });
    let mut stopping = service.feeds.stopping();
    tokio::select! {
        response = http.answer(request, Caller { desk, access }) => response.map(Body::new),
        () = stopped(&mut stopping) => Problem::new(ProblemCode::Stopping, "the server is stopping").into_response(),
    }
}

/// The desk for the client of one request.
struct ClientDesk {
    desk: Arc<TopLevelDesk>,
    who: Granted,
}

impl RunDesk for ClientDesk {
    fn ask(&self, request: DelegationRequest) -> DelegationResponse {
        let who = self.who.name.to_string();
        // Clients of one token know of each other's keys.
        self.desk.ask(request, &format!("http {who}"), &who)
    }
}

/// The runs stay with this process, which takes over those of others by itself.
pub(crate) struct ServerKeeper;

impl RunKeeper for ServerKeeper {
    fn hand_over(&self, _: RunId) {}

    fn keep(&self, _: RunId) {}

    fn reply_elsewhere(&self, _: RunId, _: Reply) -> bool {
        false
    }

    fn take_over_orphans(&self) {}
}
