//! Event streams and histories of a run: RASP and FCMP.

use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skillrun_inspect::evidence_views;
use skillrun_log::{EventLog, Limits, LogError, ReadEnd};
use skillrun_model::rasp::Category;
use skillrun_model::{AttemptNumber, RunId, Stream, Timestamp};

use super::Route;
use crate::blocking::blocking;
use crate::extract::{OfRun, Params};
use crate::feed::conversation::{ConversationPage, Taker};
use crate::feed::frames::Ends;
use crate::feed::position::CURSOR_PATTERN;
use crate::feed::source::event_type;
use crate::feed::{Kind, Next, Position, Reader};
use crate::guard::Reads;
use crate::openapi::Operation;
use crate::places::ConnectionPlace;
use crate::problem::{HttpResult, Problem, ProblemCode};
use crate::service::Service;
use crate::sse::{self, LAST_EVENT_ID, PieceSource};
use skillrun_auth::Scope;

/// Events on one page of a history.
const PAGE: usize = 100;
const PAGE_MAX: usize = 1000;

/// Bytes on one page; one event of any size is always allowed.
const PAGE_BYTES: usize = 4 << 20;

/// Number of events read at once, even if fewer are requested.
const PAGE_READ_AHEAD: usize = 100;

/// Maximum number of events examined for one page when most of them do not match.
const PAGE_EXAMINED_MAX: usize = 20_000;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route {
            operation: streamed::<StreamParams>(
                Operation::get("/v1/runs/{run_id}/events", "stream_events", "Follow the events of a run (RASP)"),
                "Server-sent events `run_event`, whose `id` is the cursor; `reset` when the cursor is no longer valid",
            ),
            handler: get(events),
        },
        Route {
            operation: streamed::<ChatParams>(
                Operation::get("/v1/runs/{run_id}/chat", "stream_chat", "Follow the conversation of a run (FCMP)"),
                "Server-sent events `chat_event`, whose `id` is the cursor; `reset` when the cursor is no longer valid",
            ),
            handler: get(chat),
        },
        Route {
            operation: Operation::get(
                "/v1/runs/{run_id}/events/history",
                "events_history",
                "List events of a run, page by page (RASP)",
            )
            .query::<HistoryParams>()
            .query::<TaxonomyParams>()
            .answers_events("rasp")
            .scope(Scope::Read)
            .problems(HISTORY_PROBLEMS),
            handler: get(events_history),
        },
        Route {
            operation: Operation::get(
                "/v1/runs/{run_id}/chat/history",
                "chat_history",
                "List the conversation of a run, page by page (FCMP)",
            )
            .query::<HistoryParams>()
            .answers_events("fcmp")
            .scope(Scope::Read)
            .problems(HISTORY_PROBLEMS),
            handler: get(chat_history),
        },
        Route {
            operation: Operation::get(
                "/v1/runs/{run_id}/events/at",
                "events_at",
                "List the events derived from a byte of evidence",
            )
            .scope(Scope::Read)
            .query::<AtParams>()
            .answers_event_list()
            .problems(&[ProblemCode::RunNotFound, ProblemCode::RunRemoved]),
            handler: get(events_at),
        },
    ]
}

const HISTORY_PROBLEMS: &[ProblemCode] = &[ProblemCode::RunNotFound, ProblemCode::RunRemoved, ProblemCode::CursorReset];

fn streamed<P: JsonSchema>(operation: Operation, description: &'static str) -> Operation {
    operation
        .scope(Scope::Read)
        .query::<P>()
        .streams(description)
        .answers_nothing(StatusCode::NO_CONTENT, "The run is over and the client has every event")
        .problems(&[ProblemCode::RunNotFound, ProblemCode::RunRemoved, ProblemCode::TooManyStreams])
}

/// Which events of RASP are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Taxonomy {
    #[default]
    All,
    /// Without internal events of the runtime; seqs then have gaps.
    Frontend,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct StreamParams {
    /// The id of the last event the client has; the header `Last-Event-ID` takes precedence.
    #[schemars(regex(pattern = CURSOR_PATTERN))]
    cursor: Option<String>,
    #[serde(default)]
    taxonomy: Taxonomy,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ChatParams {
    /// The id of the last event the client has; the header `Last-Event-ID` takes precedence.
    #[schemars(regex(pattern = CURSOR_PATTERN))]
    cursor: Option<String>,
}

fn position(headers: &HeaderMap, cursor: Option<&str>) -> HttpResult<Position> {
    let header = headers.get(LAST_EVENT_ID).map(HeaderValue::to_str);
    let (field, text) = match header {
        Some(Ok("")) | None => ("query.cursor", cursor),
        Some(Ok(id)) => ("header.Last-Event-ID", Some(id)),
        Some(Err(_)) => return Err(Problem::field("header.Last-Event-ID", "is not a cursor")),
    };
    let Some(text) = text else { return Ok(Position::BEGINNING) };
    text.parse().map_err(|error: crate::feed::position::NoCursor| Problem::field(field, error.to_string()))
}

async fn events(
    _: Reads,
    Extension(place): Extension<ConnectionPlace>,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<StreamParams>,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let kind = match params.taxonomy {
        Taxonomy::All => Kind::Events,
        Taxonomy::Frontend => Kind::Frontend,
    };
    follow(&service, &place, run, kind, position(&headers, params.cursor.as_deref())?).await
}

async fn chat(
    _: Reads,
    Extension(place): Extension<ConnectionPlace>,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<ChatParams>,
    headers: HeaderMap,
) -> HttpResult<Response> {
    follow(&service, &place, run, Kind::Chat, position(&headers, params.cursor.as_deref())?).await
}

async fn follow(
    service: &Arc<Service>,
    place: &ConnectionPlace,
    run: RunId,
    kind: Kind,
    position: Position,
) -> HttpResult<Response> {
    let open = service.stream(place)?;
    if let Some(reader) = service.feeds.read_going(run, kind, position) {
        return Ok(sse::stream(reader, service.feeds.stopping(), open));
    }
    let feeds = service.feeds.clone();
    let open_source = move || {
        let source = feeds.source(run, kind)?;
        let standing = source.standing()?;
        Ok::<_, skillrun_log::LogError>((source, standing))
    };
    // A conversation may have to be translated first, which can take long.
    let (source, standing) = match kind {
        Kind::Chat => service.heavily(open_source).await?,
        Kind::Events | Kind::Frontend => blocking(open_source).await?,
    };
    let last = Position { epoch: standing.head.epoch, after: standing.head.next_seq.0.saturating_sub(1) };
    if standing.ends == Ends::Here && position == last {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let reader = service.feeds.read(source, position).await?;
    Ok(sse::stream(reader, service.feeds.stopping(), open))
}

impl PieceSource for Reader {
    async fn next(&mut self) -> Option<Bytes> {
        match Reader::next(self).await {
            Next::Bytes(bytes) => Some(bytes),
            // The error is reported when the client reconnects.
            Next::End | Next::Failed => None,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct HistoryParams {
    /// Return events after this one: `next_cursor` of the previous page.
    #[schemars(regex(pattern = CURSOR_PATTERN))]
    cursor: Option<String>,
    /// The first seq to return.
    from_seq: Option<u64>,
    /// The last seq to return.
    to_seq: Option<u64>,
    /// Only events at or after this time (RFC 3339).
    from_ts: Option<Timestamp>,
    /// Only events at or before this time (RFC 3339).
    to_ts: Option<Timestamp>,
    /// Maximum number of events; default 100, at most 1000.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
}

/// Only for events: a conversation has no others.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TaxonomyParams {
    #[serde(default)]
    taxonomy: Taxonomy,
}

/// The filters of a page of a history.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    after: Option<Position>,
    from_seq: u64,
    to_seq: u64,
    from_ts: Option<Timestamp>,
    to_ts: Option<Timestamp>,
    limit: usize,
    taxonomy: Taxonomy,
}

impl Wanted {
    /// Whether its cursor is beyond the end, or of another epoch.
    fn is_foreign_to(&self, end: Position) -> bool {
        self.after.is_some_and(|after| after.after > end.after || (after.after > 0 && after.epoch != end.epoch))
    }
}

impl HistoryParams {
    fn wanted(&self, taxonomy: Taxonomy) -> HttpResult<Wanted> {
        let limit = self.limit.unwrap_or(PAGE);
        if !(1..=PAGE_MAX).contains(&limit) {
            return Err(Problem::field("query.limit", format!("must be from 1 to {PAGE_MAX}")));
        }
        let after = self.cursor.as_deref().map(|_| position(&HeaderMap::new(), self.cursor.as_deref())).transpose()?;
        Ok(Wanted {
            after,
            from_seq: self.from_seq.unwrap_or(1),
            to_seq: self.to_seq.unwrap_or(u64::MAX),
            from_ts: self.from_ts,
            to_ts: self.to_ts,
            limit,
            taxonomy,
        })
    }
}

/// A page being filled with events as stored in a file.
struct Filling {
    wanted: Wanted,
    json: Vec<u8>,
    count: usize,
    looked_at: usize,
    /// The last event examined.
    last: Option<u64>,
    is_full: bool,
}

/// The fields needed to select an event.
#[derive(Deserialize)]
struct Moment {
    ts: Timestamp,
}

impl Filling {
    fn new(wanted: Wanted) -> Self {
        Self { wanted, json: Vec::new(), count: 0, looked_at: 0, last: None, is_full: false }
    }

    fn fits(&self, json: &[u8]) -> bool {
        let Wanted { from_ts, to_ts, taxonomy, .. } = self.wanted;
        let in_time = (from_ts.is_none() && to_ts.is_none())
            || serde_json::from_slice::<Moment>(json)
                .is_ok_and(|Moment { ts }| from_ts.is_none_or(|from| from <= ts) && to_ts.is_none_or(|to| ts <= to));
        let in_taxonomy = taxonomy == Taxonomy::All
            || event_type(json).is_none_or(|event_type| event_type.category() != Category::Runtime);
        in_time && in_taxonomy
    }

    fn offer(&mut self, seq: u64, json: &[u8]) {
        if self.is_full {
            return;
        }
        if seq > self.wanted.to_seq {
            self.is_full = true;
            return;
        }
        if self.fits(json) {
            if self.count > 0 && self.json.len() + json.len() > PAGE_BYTES {
                self.is_full = true;
                return;
            }
            if self.count > 0 {
                self.json.push(b',');
            }
            self.json.extend_from_slice(json);
            self.count += 1;
        }
        (self.last, self.looked_at) = (Some(seq), self.looked_at + 1);
        self.is_full = self.count >= self.wanted.limit || self.looked_at >= PAGE_EXAMINED_MAX;
    }

    /// `end` is the last event there is.
    fn page(self, end: Position) -> Response {
        let stopped_at = self.last.unwrap_or(end.after);
        let has_more = stopped_at < end.after.min(self.wanted.to_seq);
        let cursor = Position { epoch: end.epoch, after: stopped_at }.to_string();
        let next_cursor = has_more.then(|| cursor.clone());
        let foot = PageFoot { cursor, next_cursor, last_seq: end.after, epoch: end.epoch.0 };
        let foot = serde_json::to_string(&foot).unwrap_or_default();
        let mut body = b"{\"events\":[".to_vec();
        body.extend_from_slice(&self.json);
        body.extend_from_slice(b"],");
        body.extend_from_slice(foot.trim_start_matches('{').as_bytes());
        ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
    }
}

/// The members after the events of a page.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PageFoot {
    /// The cursor with which a stream continues after this page.
    pub(crate) cursor: String,
    /// The `cursor` of the next page; null when there is none.
    pub(crate) next_cursor: Option<String>,
    /// The seq of the last event the run has at this moment.
    pub(crate) last_seq: u64,
    /// Changes when events were lost that a client may have seen.
    pub(crate) epoch: u32,
}

pub(super) fn is_reset(run: RunId) -> Problem {
    Problem::new(ProblemCode::CursorReset, "this cursor is no longer valid for this run").of_run(run)
}

async fn events_history(
    _: Reads,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<HistoryParams>,
    Params(TaxonomyParams { taxonomy }): Params<TaxonomyParams>,
) -> HttpResult<Response> {
    let wanted = params.wanted(taxonomy)?;
    blocking(move || {
        let log = &service.log;
        let head = log.head(run)?;
        let end = Position { epoch: head.epoch, after: head.next_seq.0.saturating_sub(1) };
        let mut filling = Filling::new(wanted);
        let from_moment = match wanted.from_ts {
            Some(moment) => log.first_at(run, moment)?.map_or(u64::MAX, |seq| seq.0),
            None => 1,
        };
        let first = wanted.from_seq.max(from_moment).max(1);
        let at = match wanted.after {
            Some(after) if after.after.saturating_add(1) >= first => after,
            Some(_) | None => Position { epoch: head.epoch, after: first - 1 },
        };
        if wanted.is_foreign_to(end) {
            return Err(is_reset(run));
        }
        if at.after >= end.after {
            return Ok(filling.page(end));
        }
        let limits = Limits { events: wanted.limit.max(PAGE_READ_AHEAD), bytes: PAGE_BYTES };
        let read = log.for_each(run, at.cursor(), limits, |line| {
            filling.offer(line.seq.0, line.json());
            Ok::<_, LogError>(if filling.is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        match read {
            ReadEnd::At(_) => Ok(filling.page(end)),
            ReadEnd::Reset(_) => Err(is_reset(run)),
        }
    })
    .await
}

async fn chat_history(
    _: Reads,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<HistoryParams>,
) -> HttpResult<Response> {
    let wanted = params.wanted(Taxonomy::All)?;
    service
        .clone()
        .heavily(move || {
            let conversation = service.feeds.conversation(run)?;
            let head = conversation.standing()?.head;
            let end = Position { epoch: head.epoch, after: head.next_seq.0.saturating_sub(1) };
            if wanted.is_foreign_to(end) {
                return Err(is_reset(run));
            }
            let from_moment = wanted.from_ts.map(|moment| conversation.before(moment)).transpose()?.unwrap_or(0);
            let after =
                wanted.after.map_or(0, |after| after.after).max(wanted.from_seq.saturating_sub(1)).max(from_moment);
            let mut at = Position { epoch: head.epoch, after };
            let mut filling = Filling::new(wanted);
            if at.after >= end.after {
                return Ok(filling.page(end));
            }
            while !filling.is_full {
                let limits = Limits { events: wanted.limit.max(PAGE_READ_AHEAD), bytes: PAGE_BYTES };
                match conversation.read(at, limits, &mut filling)? {
                    ConversationPage::Some(_) => {
                        at.after = filling.last.map_or(at.after + 1, |last| last.max(at.after + 1))
                    }
                    ConversationPage::Nothing => break,
                    ConversationPage::Reset(_) => return Err(is_reset(run)),
                }
            }
            Ok(filling.page(end))
        })
        .await
}

impl Taker for Filling {
    fn take(&mut self, seq: u64, json: &[u8]) {
        self.offer(seq, json);
    }
    fn begin(&mut self, _: Position) {}
}

/// Streams that events are derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AtStream {
    Stdout,
    Stderr,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AtParams {
    /// The attempt, from 1.
    attempt: NonZeroU32,
    stream: AtStream,
    /// The offset of the byte in that stream of that attempt.
    offset: u64,
}

/// Events derived from a byte.
#[derive(Debug, Serialize)]
struct AtPage {
    events: Vec<Box<serde_json::value::RawValue>>,
    /// There are more events than these.
    cut: bool,
}

async fn events_at(
    _: Reads,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<AtParams>,
) -> HttpResult<Response> {
    let stream = match params.stream {
        AtStream::Stdout => Stream::Stdout,
        AtStream::Stderr => Stream::Stderr,
    };
    let found = service
        .clone()
        .heavily(move || {
            evidence_views::events_at::events_at(
                &*service.log,
                run,
                AttemptNumber(params.attempt.get()),
                stream,
                params.offset,
                PAGE_MAX,
            )
        })
        .await?;
    Ok(Json(AtPage { events: found.events, cut: found.rest == evidence_views::events_at::EventsRest::CutOff })
        .into_response())
}
