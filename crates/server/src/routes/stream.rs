//! All runs in a few words, as they change: for lists.
//!
//! ```text
//! id: <epoch>-<number>
//! event: reset            forget what you have; data: {"runs": [...]}, the newest
//! event: run              a run as it is now
//! event: removed          {"run_id": ...}
//! ```

use std::collections::VecDeque;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use http::HeaderMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Notify;

use super::Route;
use crate::auth::Scope;
use crate::blocking::blocking;
use crate::extract::Params;
use crate::guard::Reads;
use crate::openapi::Operation;
use crate::problem::{ProblemCode, Result};
use crate::service::Service;
use crate::sse::{self, Giver, LAST_EVENT_ID};
use crate::summaries::{Change, Epoch, Guard, Since, Summaries};

pub(super) fn routes() -> Vec<Route> {
    vec![Route {
        operation: Operation::get("/v1/stream", "stream_runs", "Follow all runs, in a few words each")
            .scope(Scope::Read)
            .query::<Cursor>()
            .streams("Server-sent events `reset` (the newest runs), `run` and `removed`; the `id` is the cursor")
            .problems(&[ProblemCode::TooManyStreams]),
        handler: get(follow),
    }]
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Cursor {
    /// The id of the last event you have; one of another server run, or none, is answered with `reset`.
    cursor: Option<String>,
}

/// What is no cursor of ours is as good as none: everything is given.
fn position(headers: &HeaderMap, cursor: Option<&str>) -> Option<(Epoch, u64)> {
    let header = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty());
    let (epoch, number) = header.or(cursor)?.split_once('-')?;
    Some((epoch.parse().ok()?, number.parse().ok()?))
}

async fn follow(
    _: Reads,
    State(service): State<Arc<Service>>,
    Params(params): Params<Cursor>,
    headers: HeaderMap,
) -> Result<Response> {
    let open = service.stream()?;
    let bell = Arc::new(Notify::new());
    let rung = bell.clone();
    let guard = service.summaries.subscribe(Arc::new(move || rung.notify_one()));
    let cursor = position(&headers, params.cursor.as_deref());
    let changes = Changes { summaries: service.summaries.clone(), cursor, bell, ready: VecDeque::new(), _guard: guard };
    Ok(sse::stream(changes, service.feeds.stopping(), open))
}

struct Changes {
    summaries: Arc<Summaries>,
    cursor: Option<(Epoch, u64)>,
    bell: Arc<Notify>,
    ready: VecDeque<Bytes>,
    _guard: Guard,
}

impl Giver for Changes {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(piece);
            }
            let (summaries, cursor) = (self.summaries.clone(), self.cursor);
            let since = blocking(move || summaries.since(cursor)).await.ok()?;
            let epoch = self.summaries.epoch();
            match since {
                Since::Reset { snapshot, number } => {
                    self.cursor = Some((epoch, number));
                    self.ready.push_back(frame(epoch, number, "reset", &json!({ "runs": snapshot })));
                }
                Since::Changes(changes) if changes.is_empty() => self.bell.notified().await,
                Since::Changes(changes) => {
                    for (number, change) in changes {
                        let piece = match change {
                            Change::Row(row) => frame(epoch, number, "run", &json!(row)),
                            Change::Removed(run) => frame(epoch, number, "removed", &json!({ "run_id": run })),
                        };
                        self.ready.push_back(piece);
                        self.cursor = Some((epoch, number));
                    }
                }
            }
        }
    }
}

fn frame(epoch: Epoch, number: u64, event: &str, data: &serde_json::Value) -> Bytes {
    Bytes::from(format!("id: {epoch}-{number}\nevent: {event}\ndata: {data}\n\n"))
}
