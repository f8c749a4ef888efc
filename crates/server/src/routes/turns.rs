//! Routes for the turns of a run: interrupt the open one, and close a conversation between two of them.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http::StatusCode;
use serde_json::json;
use skillrun_auth::Scope;
use skillrun_base::sync::lock;
use skillrun_lifecycle::run::State as StateOfRun;
use skillrun_log::{Cursor, EventLog, Limits, ReadEnd};
use skillrun_model::RunId;
use skillrun_runs::prompt;

use super::Route;
use super::runs::{WaitParams, current, looked_until, optional_body, view};
use crate::api::{InterruptRun, RunView};
use crate::blocking::blocking;
use crate::extract::{OfRun, Params};
use crate::guard::Runs;
use crate::openapi::Operation;
use crate::problem::{HttpResult, Problem, ProblemCode};
use crate::service::Service;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route {
            operation: Operation::post(
                "/v1/runs/{run_id}/interrupt",
                "interrupt_run",
                "Stop the open turn; the run then waits for the next prompt",
            )
            .scope(Scope::Run)
            .query::<WaitParams>()
            .json_body::<InterruptRun>(json!({"say": "Use the other file."}))
            .answers::<RunView>(StatusCode::OK, "The turn is interrupted")
            .answers::<RunView>(StatusCode::ACCEPTED, "The turn is being interrupted")
            .problems(&[
                ProblemCode::RunNotFound,
                ProblemCode::RunRemoved,
                ProblemCode::WrongState,
                ProblemCode::OwnerSilent,
                ProblemCode::CannotRun,
            ]),
            handler: post(interrupt),
        },
        Route {
            operation: Operation::post(
                "/v1/runs/{run_id}/close",
                "close_run",
                "Close a conversation that waits for the next prompt",
            )
            .scope(Scope::Run)
            .answers::<RunView>(StatusCode::OK, "The conversation is closed")
            .problems(&[
                ProblemCode::RunNotFound,
                ProblemCode::RunRemoved,
                ProblemCode::RunOver,
                ProblemCode::WrongState,
                ProblemCode::OwnerSilent,
            ]),
            handler: post(close),
        },
    ]
}

async fn interrupt(
    Runs(who): Runs,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<WaitParams>,
    request: Request,
) -> HttpResult<Response> {
    let wait = params.wait()?;
    let body: InterruptRun = optional_body(request).await?;
    let checked = body.say.as_deref().map_or(Ok(()), prompt::check);
    checked.map_err(|fault| Problem::field("say", fault.to_string()).with_code(ProblemCode::CannotRun).of_run(run))?;
    let interrupting = service.clone();
    let interrupted = blocking(move || {
        let mut reader = StateReader::default();
        let attempt = reader.read_on(&interrupting, run)?.attempt;
        interrupting.runtime.interrupt_anywhere(run, &who.name.to_string(), body.say.as_deref())?;
        Ok::<_, Problem>((reader, attempt))
    });
    let (reader, attempt) = match interrupted.await {
        Ok(interrupted) => interrupted,
        Err(problem) => return Err(problem.with_current(current(&service, run).await)),
    };
    let looking = service.clone();
    let reader = Mutex::new(reader);
    let look = move || Ok((lock(&reader).read_on(&looking, run)?, view(&looking, run)?));
    let is_settled = |seen: &(StateOfRun, RunView)| seen.0.is_settled(attempt);
    let (state, view) = looked_until(&service, run, wait, look, is_settled).await?;
    match (state.is_settled(attempt), state.interrupted == Some(attempt)) {
        (false, _) => Ok((StatusCode::ACCEPTED, Json(view)).into_response()),
        (true, true) => Ok((StatusCode::OK, Json(view)).into_response()),
        (true, false) => {
            let detail = "the turn had ended before the interrupt, and keeps its verdict";
            let current = serde_json::to_value(view).unwrap_or_default();
            Err(Problem::new(ProblemCode::WrongState, detail.to_owned()).of_run(run).with_current(current))
        }
    }
}

/// The state of a run, and how far its Log was read. Kept between two looks, so that a run that writes much is not read
/// from the beginning each time.
#[derive(Debug)]
struct StateReader {
    state: StateOfRun,
    cursor: Cursor,
}

impl Default for StateReader {
    fn default() -> Self {
        Self { state: StateOfRun::default(), cursor: Cursor::BEGINNING }
    }
}

impl StateReader {
    /// Reads on to the end of the Log. Blocking.
    fn read_on(&mut self, service: &Service, run: RunId) -> HttpResult<StateOfRun> {
        loop {
            let state = &mut self.state;
            let end = service.log.for_each(run, self.cursor, Limits::default(), |line| {
                state.evolve(&line.event()?);
                Ok::<_, Problem>(ControlFlow::Continue(()))
            })?;
            match end {
                ReadEnd::At(cursor) => {
                    self.cursor = cursor;
                    return Ok(self.state.clone());
                }
                // A writer has cut a torn end just now.
                ReadEnd::Reset(_) => *self = Self::default(),
            }
        }
    }
}

async fn close(Runs(who): Runs, State(service): State<Arc<Service>>, OfRun(run): OfRun) -> HttpResult<Json<RunView>> {
    let closing = service.clone();
    let closed = blocking(move || closing.runtime.close_anywhere(run, &who.name.to_string())).await;
    if let Err(error) = closed {
        let current = current(&service, run).await;
        return Err(Problem::from(error).with_current(current));
    }
    blocking(move || view(&service, run)).await.map(Json)
}
