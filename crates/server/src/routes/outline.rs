//! The outline of a run: many events in a few numbers each, for clients that draw all of them at once.
//!
//! The outline consists of columns. The values at one index in `ts`, `types`, `levels`, `attempts` and `groups_of`
//! describe one event, whose seq is `first_seq` plus that index. Repeated strings are stored once, in `names` and
//! `groups`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::routing::get;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skillrun_log::{EventLog, Limits, ReadEnd};
use skillrun_model::rasp::{EventType, Level};
use skillrun_model::{AttemptNumber, InteractionId, RunId, Timestamp};

use super::Route;
use super::events::is_reset;
use crate::extract::{OfRun, Params};
use crate::feed::Position;
use crate::guard::Reads;
use crate::openapi::Operation;
use crate::problem::{HttpResult, Problem, ProblemCode};
use crate::service::Service;
use skillrun_auth::Scope;

/// Number of events in one response: the default, and the maximum.
const MANY: u64 = 20_000;
const MANY_MAX: u64 = 50_000;

/// Size of one read of a Log.
const PIECE: usize = 1 << 20;

/// Limits of a response. Only the number of events is exact: the last event may exceed the other limits.
#[derive(Debug, Clone, Copy)]
struct Most {
    events: u64,
    /// Bytes of the Log read for one response: events may be large.
    read: usize,
    /// Bytes of group ids, which engines choose.
    ids: usize,
}

impl Most {
    fn events(events: u64) -> Self {
        Self { events, read: 64 << 20, ids: 4 << 20 }
    }
}

pub(super) fn routes() -> Vec<Route> {
    vec![Route {
        operation: Operation::get(
            "/v1/runs/{run_id}/events/outline",
            "events_outline",
            "Many events of a run in a few numbers each, to draw them",
        )
        .scope(Scope::Read)
        .query::<OutlineParams>()
        .answers::<Outline>(StatusCode::OK, "The events, in columns")
        .problems(&[ProblemCode::RunNotFound, ProblemCode::RunRemoved, ProblemCode::CursorReset]),
        handler: get(events_outline),
    }]
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct OutlineParams {
    /// The first seq to return; default 1.
    from_seq: Option<u64>,
    /// Maximum number of events; default 20000, at most 50000.
    #[schemars(range(min = 1, max = 50_000))]
    limit: Option<u64>,
}

/// Events in columns: the values at one index describe one event. There may be fewer events than requested; continue
/// with `from_seq` after the last one until `last_seq` is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Outline {
    /// Changes when events were lost that a client may have seen.
    epoch: u32,
    /// The seq of the last event the run has at this moment.
    last_seq: u64,
    /// The seq of the first event in this response; the seqs of the others follow without gaps. If there are no events,
    /// the requested `from_seq`.
    first_seq: u64,
    /// The event types that occur in this response.
    names: Vec<EventType>,
    /// The groups that the events in this response belong to.
    groups: Vec<OutlineGroup>,
    /// The time of each event, in milliseconds since 1970.
    ts: Vec<u64>,
    /// The type of each event, as an index into `names`.
    types: Vec<u32>,
    /// The level of each event: 0 info, 1 warning, 2 error.
    #[schemars(inner(range(max = 2)))]
    levels: Vec<u8>,
    /// The attempt of each event; 0 before the first attempt.
    attempts: Vec<u32>,
    /// The group of each event, as an index into `groups`; null if it belongs to none.
    groups_of: Vec<Option<u32>>,
}

/// A group of related events.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub(crate) struct OutlineGroup {
    kind: OutlineGroupKind,
    /// The id, as in the correlation of the events.
    id: String,
}

/// The kind of a group of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutlineGroupKind {
    ToolCall,
    Interaction,
    Artifact,
}

/// An event of the Log without its data.
#[derive(Deserialize)]
struct Entry<'a> {
    ts: Timestamp,
    attempt_number: AttemptNumber,
    event: Kind,
    #[serde(borrow)]
    correlation: BelongsTo<'a>,
}

#[derive(Deserialize)]
struct Kind {
    r#type: EventType,
    level: Level,
}

/// Session and request are omitted: nearly all events of a run share them, so they distinguish nothing.
#[derive(Deserialize)]
struct BelongsTo<'a> {
    #[serde(borrow)]
    tool_call_id: Option<Cow<'a, str>>,
    interaction_id: Option<InteractionId>,
    #[serde(borrow)]
    artifact_id: Option<Cow<'a, str>>,
}

impl BelongsTo<'_> {
    fn group(self) -> Option<OutlineGroup> {
        let of = |kind, id: String| Some(OutlineGroup { kind, id });
        match self {
            Self { tool_call_id: Some(id), .. } => of(OutlineGroupKind::ToolCall, id.into_owned()),
            Self { interaction_id: Some(id), .. } => of(OutlineGroupKind::Interaction, id.0.to_string()),
            Self { artifact_id: Some(id), .. } => of(OutlineGroupKind::Artifact, id.into_owned()),
            Self { tool_call_id: None, interaction_id: None, artifact_id: None } => None,
        }
    }
}

fn number(level: Level) -> u8 {
    match level {
        Level::Info => 0,
        Level::Warning => 1,
        Level::Error => 2,
    }
}

/// An outline under construction.
struct Drawing {
    outline: Outline,
    places: HashMap<OutlineGroup, u32>,
    read: usize,
    ids: usize,
}

impl Drawing {
    fn new(end: Position, first_seq: u64) -> Self {
        let outline = Outline {
            epoch: end.epoch.0,
            last_seq: end.after,
            first_seq,
            names: Vec::new(),
            groups: Vec::new(),
            ts: Vec::new(),
            types: Vec::new(),
            levels: Vec::new(),
            attempts: Vec::new(),
            groups_of: Vec::new(),
        };
        Self { outline, places: HashMap::new(), read: 0, ids: 0 }
    }

    fn has_room(&self, most: Most) -> bool {
        self.read < most.read && self.ids < most.ids
    }

    /// Adds the next line, if it is an event.
    fn add(&mut self, json: &[u8]) -> serde_json::Result<()> {
        let Entry { ts, attempt_number, event, correlation } = serde_json::from_slice(json)?;
        let outline = &mut self.outline;
        let known = outline.names.iter().position(|name| *name == event.r#type);
        let name = known.unwrap_or_else(|| {
            outline.names.push(event.r#type);
            outline.names.len() - 1
        });
        let group = correlation.group().map(|group| {
            let groups = &mut outline.groups;
            *self.places.entry(group).or_insert_with_key(|group| {
                self.ids += group.id.len();
                groups.push(group.clone());
                place(groups.len() - 1)
            })
        });
        outline.ts.push(ts.millis_since(Timestamp::EPOCH).unwrap_or(0));
        outline.types.push(place(name));
        outline.levels.push(number(event.level));
        outline.attempts.push(attempt_number.0);
        outline.groups_of.push(group);
        self.read += json.len();
        Ok(())
    }
}

/// There are at most [`MANY_MAX`] of anything.
fn place(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The outline of the events from `from_seq` on.
fn outline(log: &impl EventLog, run: RunId, from_seq: u64, most: Most) -> HttpResult<Outline> {
    let head = log.head(run)?;
    let end = Position { epoch: head.epoch, after: head.next_seq.0.saturating_sub(1) };
    let from_seq = from_seq.max(1);
    let last = end.after.min((from_seq - 1).saturating_add(most.events));
    let at = Position { epoch: head.epoch, after: from_seq - 1 };
    let mut drawing = Drawing::new(end, from_seq);
    if at.after >= last {
        return Ok(drawing.outline);
    }
    let events = usize::try_from(last - at.after).unwrap_or(usize::MAX);
    let read = log.for_each(run, at.cursor(), Limits { events, bytes: PIECE }, |line| {
        drawing.add(line.json()).map_err(|error| {
            let words = format!("failed to read event {} ({error})", line.seq.0);
            Problem::new(ProblemCode::Internal, words).of_run(run)
        })?;
        let is_enough = line.seq.0 >= last || !drawing.has_room(most);
        Ok::<_, Problem>(if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    match read {
        ReadEnd::At(_) => Ok(drawing.outline),
        ReadEnd::Reset(_) => Err(is_reset(run)),
    }
}

async fn events_outline(
    _: Reads,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(OutlineParams { from_seq, limit }): Params<OutlineParams>,
) -> HttpResult<Json<Outline>> {
    let limit = limit.unwrap_or(MANY);
    if !(1..=MANY_MAX).contains(&limit) {
        return Err(Problem::field("query.limit", format!("must be from 1 to {MANY_MAX}")));
    }
    let (from_seq, most) = (from_seq.unwrap_or(1), Most::events(limit));
    service.clone().heavily(move || outline(&*service.log, run, from_seq, most)).await.map(Json)
}

#[cfg(test)]
mod tests;
