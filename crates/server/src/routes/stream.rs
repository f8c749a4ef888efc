//! A stream of the summaries of all runs as they change, for lists.
//!
//! ```text
//! id: <epoch>-<number>
//! event: reset            forget what you have; data: {"runs": [...]}, the newest
//! event: run              a run as it is now
//! event: removed          {"run_id": ...}
//! ```

mod pages;

use std::collections::VecDeque;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use http::HeaderMap;
pub(crate) use pages::Pages;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Notify;

use super::Route;
use crate::extract::Params;
use crate::guard::Reads;
use crate::openapi::Operation;
use crate::places::ConnectionPlace;
use crate::problem::{HttpResult, ProblemCode};
use crate::service::Service;
use crate::sse::{self, LAST_EVENT_ID, PieceSource};
use crate::summaries::{Epoch, Guard};
use skillrun_auth::Scope;

pub(super) fn routes() -> Vec<Route> {
    vec![Route {
        operation: Operation::get("/v1/stream", "stream_runs", "Follow the summaries of all runs")
            .scope(Scope::Read)
            .query::<Cursor>()
            .streams("Server-sent events `reset` (the newest runs), `run` and `removed`; the `id` is the cursor")
            .problems(&[ProblemCode::TooManyStreams]),
        handler: get(follow),
    }]
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Cursor {
    /// The id of the last event the client has; without one, or with one from before a restart of the server, the
    /// stream begins with `reset`.
    cursor: Option<String>,
}

/// An invalid cursor is treated as none: the stream begins with `reset`.
fn position(headers: &HeaderMap, cursor: Option<&str>) -> Option<(Epoch, u64)> {
    let header = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty());
    let (epoch, number) = header.or(cursor)?.split_once('-')?;
    Some((epoch.parse().ok()?, number.parse().ok()?))
}

async fn follow(
    _: Reads,
    Extension(place): Extension<ConnectionPlace>,
    State(service): State<Arc<Service>>,
    Params(params): Params<Cursor>,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let open = service.stream(&place)?;
    let bell = Arc::new(Notify::new());
    let rung = bell.clone();
    let guard = service.summaries.subscribe(Arc::new(move || rung.notify_one()));
    let epoch = service.summaries.epoch();
    let position = position(&headers, params.cursor.as_deref()).filter(|(of, _)| *of == epoch);
    let stop = service.feeds.stopping();
    let number = position.map(|(_, number)| number);
    let changes = Changes { service, number, ready: VecDeque::new(), bell, _guard: guard };
    Ok(sse::stream(changes, stop, open))
}

struct Changes {
    service: Arc<Service>,
    /// The number of the last change that is in `ready` or was sent.
    number: Option<u64>,
    ready: VecDeque<Bytes>,
    bell: Arc<Notify>,
    _guard: Guard,
}

impl PieceSource for Changes {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(piece);
            }
            let summaries = &self.service.summaries;
            if self.number == Some(summaries.last()) {
                self.bell.notified().await;
                continue;
            }
            let page = self.service.pages.after(self.number, summaries).await?;
            self.number = Some(page.to);
            self.ready.extend(page.pieces.iter().cloned());
        }
    }
}
