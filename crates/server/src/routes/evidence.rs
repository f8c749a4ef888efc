//! The output of the engine: raw bytes, attempts, and a recording.

use std::io;
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skillrun_inspect::attempts::{Attempt, Attempts};
use skillrun_inspect::evidence_views::cast::{CastWriter, LONGEST_PAUSE};
use skillrun_inspect::evidence_views::raw::{RawError, RawKind, RawStream};
use skillrun_log::{Cursor, EventLog, Limits, LogError, ReadEnd};
use skillrun_model::rasp::Event;
use skillrun_model::{AttemptNumber, RunId};
use skillrun_runs::RunRecord;

use super::Route;
use crate::blocking::blocking;
use crate::download::{self, ByteRange, Bytewise, Called, Whole, satisfiable};
use crate::extract::{OfRun, Params};
use crate::guard::Reads;
use crate::openapi::Operation;
use crate::problem::{HttpResult, Problem, ProblemCode};
use crate::service::Service;
use skillrun_auth::Scope;

pub(super) fn routes() -> Vec<Route> {
    let missing = [ProblemCode::RunNotFound, ProblemCode::RunRemoved, ProblemCode::EvidenceRemoved];
    vec![
        Route {
            operation: Operation::get(
                "/v1/runs/{run_id}/raw",
                "get_raw",
                "Download bytes the engine wrote or received, with secrets masked",
            )
            .scope(Scope::Read)
            .takes_ticket()
            .query::<RawParams>()
            .answers_media(StatusCode::OK, "application/octet-stream", "All bytes")
            .answers_media(
                StatusCode::PARTIAL_CONTENT,
                "application/octet-stream",
                "The requested range; Content-Range has the total size",
            )
            .problems(&missing)
            .problems(&[ProblemCode::NotFound, ProblemCode::RangeNotSatisfiable]),
            handler: get(raw),
        },
        Route {
            operation: Operation::get(
                "/v1/runs/{run_id}/attempts",
                "list_attempts",
                "Show what happened in each attempt",
            )
            .scope(Scope::Read)
            .answers::<AttemptList>(StatusCode::OK, "The attempts")
            .problems(&missing[..2]),
            handler: get(attempts),
        },
        Route {
            operation: Operation::get(
                "/v1/runs/{run_id}/recording.cast",
                "get_recording",
                "Download the run as a recording for a terminal player (asciicast v3)",
            )
            .scope(Scope::Read)
            .takes_ticket()
            .answers_media(StatusCode::OK, "application/x-asciicast", "The recording, with a marker per event")
            .answers_media(StatusCode::PARTIAL_CONTENT, "application/x-asciicast", "The requested range")
            .problems(&missing)
            .problems(&[ProblemCode::RangeNotSatisfiable]),
            handler: get(recording),
        },
    ]
}

/// A stream of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RawName {
    Stdout,
    Stderr,
    Pty,
    Stdin,
}

impl From<RawName> for RawKind {
    fn from(name: RawName) -> Self {
        match name {
            RawName::Stdout => Self::Stdout,
            RawName::Stderr => Self::Stderr,
            RawName::Pty => Self::Pty,
            RawName::Stdin => Self::Stdin,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RawParams {
    /// The attempt, from 1.
    attempt: NonZeroU32,
    stream: RawName,
    /// The offset of the first byte; the header `Range` has the same effect.
    from: Option<u64>,
    /// The offset after the last byte.
    to: Option<u64>,
}

impl Bytewise for RawStream {
    fn size(&self) -> u64 {
        Self::size(self)
    }

    fn read(&self, from: u64, limit: usize) -> io::Result<Vec<u8>> {
        Self::read(self, from, limit).map_err(io::Error::other)
    }
}

/// The record of an existing run.
pub(super) fn record(service: &Service, run: RunId) -> HttpResult<RunRecord> {
    service.log.head(run)?;
    RunRecord::read(&service.data.run(run).record()).map_err(|error| Problem::from(error).of_run(run))
}

async fn raw(
    _: Reads,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<RawParams>,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let attempt = AttemptNumber(params.attempt.get());
    let kind = RawKind::from(params.stream);
    let stream = blocking(move || {
        let record = record(&service, run)?;
        RawStream::open(&service.data.run(run), &record, attempt, kind).map_err(|error| raw_problem(&error).of_run(run))
    })
    .await?;
    let size = Bytewise::size(&stream);
    let part = match (params.from, params.to) {
        (None, None) => download::range(&headers, size)?,
        (from, to) => Some(satisfiable(ByteRange { from: from.unwrap_or(0), to: to.unwrap_or(size).min(size) }, size)?),
    };
    let called = Called { media: "application/octet-stream", name: format!("{}.{attempt}.log", kind.as_str()) };
    Ok(download::send(stream, part, &called))
}

fn raw_problem(error: &RawError) -> Problem {
    let code = match error {
        RawError::EvidenceRemoved(_) => ProblemCode::EvidenceRemoved,
        RawError::NoAttempt(_) | RawError::NoStream(..) => ProblemCode::NotFound,
        RawError::Patterns(_) | RawError::Evidence(_) | RawError::Io { .. } => ProblemCode::Internal,
    };
    Problem::new(code, error.to_string())
}

/// Attempts, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AttemptList {
    attempts: Vec<Attempt>,
}

/// Every event of a run that this version knows, in order. Blocking.
pub(super) fn each_event(service: &Service, run: RunId, mut take: impl FnMut(Event)) -> HttpResult<()> {
    let end = service.log.for_each(run, Cursor::BEGINNING, Limits::default(), |line| {
        line.known_event().into_iter().for_each(|event| take(event.into_owned()));
        Ok::<_, LogError>(ControlFlow::Continue(()))
    })?;
    match end {
        ReadEnd::At(_) => Ok(()),
        ReadEnd::Reset(_) => {
            Err(Problem::new(ProblemCode::CursorReset, "the Log was repaired while it was being read").of_run(run))
        }
    }
}

async fn attempts(_: Reads, State(service): State<Arc<Service>>, OfRun(run): OfRun) -> HttpResult<Json<AttemptList>> {
    service
        .clone()
        .heavily(move || {
            let mut attempts = Attempts::default();
            each_event(&service, run, |event| attempts.take(&event))?;
            attempts.measure(&service.data.run(run).audit());
            Ok(Json(AttemptList { attempts: attempts.into_list() }))
        })
        .await
}

async fn recording(
    _: Reads,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let made = service
        .clone()
        .heavily(move || {
            let record = record(&service, run)?;
            let folder = service.data.run(run);
            Whole::made(service.data.root(), |file| {
                let writer = CastWriter::new(&*service.log, &folder, &record, LONGEST_PAUSE);
                writer.write(file).map_err(|error| Problem::new(ProblemCode::Internal, error.to_string()).of_run(run))
            })
        })
        .await?;
    let part = download::range(&headers, made.size())?;
    Ok(download::send(made, part, &Called { media: "application/x-asciicast", name: format!("{run}.cast") }))
}
