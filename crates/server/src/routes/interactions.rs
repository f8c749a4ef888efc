//! Questions: pending and earlier ones, and answers.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;
use skillrun_catalog::Waiting;
use skillrun_inspect::interactions::{AskedQuestion, History};
use skillrun_log::EventLog;
use skillrun_model::interaction::Pending;
use skillrun_model::{InteractionId, RunId};
use skillrun_runtime::owners::OwnerErrorKind;
use skillrun_runtime::runtime::Delivery;
use skillrun_runtime::{Reply, reply_files};

use super::Route;
use super::evidence::each_event;
use super::runs::{Until, WaitParams, current, not_a_cursor, page_limit, view, waited_for};
use crate::api::RunView;
use crate::blocking::blocking;
use crate::extract::{OfRun, Params, media_type, parsed, whole};
use crate::guard::{Reads, Runs};
use crate::openapi::Operation;
use crate::problem::{HttpResult, Problem, ProblemCode};
use crate::service::Service;
use crate::upload::{self, UploadedForm};
use skillrun_auth::Scope;
use skillrun_model::integers::integer;

pub(super) fn routes() -> Vec<Route> {
    let missing = [ProblemCode::RunNotFound, ProblemCode::RunRemoved];
    vec![
        Route {
            operation: Operation::get(
                "/v1/interactions",
                "list_open_interactions",
                "List the pending questions of all runs",
            )
            .scope(Scope::Read)
            .query::<OpenParams>()
            .answers::<OpenList>(StatusCode::OK, "A page of questions, nearest deadline first"),
            handler: get(open),
        },
        Route {
            operation: Operation::get(
                "/v1/runs/{run_id}/interaction",
                "get_interaction",
                "Show the pending question of a run",
            )
            .scope(Scope::Read)
            .answers::<Pending>(StatusCode::OK, "The question")
            .answers_nothing(StatusCode::NO_CONTENT, "The run has no pending question")
            .problems(&missing),
            handler: get(pending),
        },
        Route {
            operation: Operation::get(
                "/v1/runs/{run_id}/interactions",
                "list_interactions",
                "List all questions of a run and their outcomes",
            )
            .scope(Scope::Read)
            .answers::<HistoryList>(StatusCode::OK, "Oldest first")
            .problems(&missing),
            handler: get(history),
        },
        Route {
            operation: Operation::post(
                "/v1/runs/{run_id}/interaction/reply",
                "reply",
                "Answer the pending question of a run",
            )
            .scope(Scope::Run)
            .query::<WaitParams>()
            .json_body::<ReplyBody>(json!({"interaction_id": 1, "text": "Aurora"}))
            .multipart_body::<ReplyForm>()
            .answers::<RunView>(StatusCode::OK, "The answer was accepted; the current state of the run")
            .problems(&missing)
            .problems(&[
                ProblemCode::StaleInteraction,
                ProblemCode::OtherVariables,
                ProblemCode::RunOver,
                ProblemCode::OwnerSilent,
                ProblemCode::CannotRun,
            ]),
            handler: post(reply),
        },
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct OpenParams {
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
    /// Maximum number of questions; default 50, at most 500.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
}

/// Questions of all runs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OpenInteractionList")]
pub(crate) struct OpenList {
    interactions: Vec<Waiting>,
    /// The `cursor` of the next page; null when there is none.
    next_cursor: Option<String>,
    /// The number of pending questions on all pages.
    total: u64,
}

async fn open(
    _: Reads,
    State(service): State<Arc<Service>>,
    Params(params): Params<OpenParams>,
) -> HttpResult<Json<OpenList>> {
    let limit = page_limit(params.limit)?;
    let after = params.cursor.as_deref().map(str::parse).transpose().map_err(|_| not_a_cursor())?;
    let (mut interactions, total) = blocking(move || service.summaries.waiting(after, limit + 1)).await?;
    let has_more = interactions.len() > limit;
    interactions.truncate(limit);
    let next_cursor = interactions.last().filter(|_| has_more).map(|waiting| waiting.position().to_string());
    Ok(Json(OpenList { interactions, next_cursor, total }))
}

async fn pending(_: Reads, State(service): State<Arc<Service>>, OfRun(run): OfRun) -> HttpResult<Response> {
    let found = blocking(move || view(&service, run)).await?.interaction;
    Ok(found.map_or_else(|| StatusCode::NO_CONTENT.into_response(), |question| Json(question).into_response()))
}

/// Questions of one run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "InteractionList")]
pub(crate) struct HistoryList {
    interactions: Vec<AskedQuestion>,
}

async fn history(_: Reads, State(service): State<Arc<Service>>, OfRun(run): OfRun) -> HttpResult<Json<HistoryList>> {
    service
        .clone()
        .heavily(move || {
            let mut history = History::default();
            each_event(&service, run, |event| history.take(&event))?;
            Ok(Json(HistoryList { interactions: history.into_list() }))
        })
        .await
}

/// An answer: free text, whatever the kind of question.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Reply")]
pub(crate) struct ReplyBody {
    /// The id of the question being answered.
    #[serde(deserialize_with = "interaction_id")]
    interaction_id: InteractionId,
    /// The answer, or the `value` of an option.
    text: String,
    /// A repeated request with the same key has no second effect.
    #[serde(default)]
    #[schemars(length(max = 255))]
    idempotency_key: Option<String>,
}

fn interaction_id<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<InteractionId, D::Error> {
    integer(deserializer).map(InteractionId)
}

/// An answer with files: parts of a form.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "only its schema is used: parts are read as they come")]
#[schemars(deny_unknown_fields)]
pub(crate) struct ReplyForm {
    /// The request as JSON, as when it is sent without files.
    request: ReplyBody,
    /// Any number of files.
    #[schemars(default, with = "Vec<String>", extend("contentMediaType" = "application/octet-stream"))]
    files: (),
}

async fn reply(
    Runs(_): Runs,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<WaitParams>,
    request: Request,
) -> HttpResult<Response> {
    let wait = params.wait()?;
    let (body, form) = answer(&service, request).await?;
    if body.idempotency_key.as_ref().is_some_and(|key| key.chars().count() > 255) {
        return Err(Problem::field("idempotency_key", "must have at most 255 characters"));
    }
    let saying = service.clone();
    let said = blocking(move || say(&saying, run, body, form.as_ref())).await;
    if let Err(problem) = said {
        let is_late = matches!(problem.code, ProblemCode::StaleInteraction | ProblemCode::RunOver);
        return Err(if is_late { problem.with_current(current(&service, run).await) } else { problem });
    }
    Ok(Json(waited_for(&service, run, wait, Until::Rest).await?).into_response())
}

async fn answer(service: &Service, request: Request) -> HttpResult<(ReplyBody, Option<UploadedForm>)> {
    match media_type(request.headers()) {
        Some(kind) if kind.eq_ignore_ascii_case("application/json") => Ok((parsed(&whole(request).await?, "")?, None)),
        Some(kind) if kind.eq_ignore_ascii_case("multipart/form-data") => {
            let form = upload::receive(service, request).await?;
            form.only(|part| part == "files")?;
            let json = form.request.as_deref().ok_or_else(|| Problem::field("request", "is missing"))?;
            Ok((parsed(json, "request")?, Some(form)))
        }
        Some(_) | None => {
            let detail = "the body must be application/json, or multipart/form-data when files are included";
            Err(Problem::new(ProblemCode::MediaType, detail))
        }
    }
}

/// Blocking.
fn say(service: &Service, run: RunId, body: ReplyBody, form: Option<&UploadedForm>) -> HttpResult<()> {
    service.log.head(run)?;
    let ReplyBody { interaction_id, text, idempotency_key } = body;
    // Before its files are copied.
    service.runtime.check_reply(run, interaction_id, &text)?;
    let paths: Vec<PathBuf> = form.into_iter().flat_map(|form| &form.files).map(|(_, path)| path.clone()).collect();
    let files = reply_files(&service.data.run(run), interaction_id, &paths)?;
    let names = files.clone();
    let heard = service.runtime.reply_anywhere(run, Reply { interaction_id, text, files, request_id: idempotency_key });
    // Files of a rejected answer are removed. If it is unknown whether the answer was accepted, they are kept.
    let is_of_no_use = match &heard {
        Ok(Delivery::Here | Delivery::Elsewhere) => false,
        Ok(Delivery::Before) => true,
        Err(error) => {
            let kind = error.kind();
            matches!(
                kind,
                OwnerErrorKind::Stale
                    | OwnerErrorKind::Repeated
                    | OwnerErrorKind::Over
                    | OwnerErrorKind::NotFound
                    | OwnerErrorKind::OtherVariables
            )
        }
    };
    if is_of_no_use {
        let inputs = service.data.run(run).inputs();
        names.iter().for_each(|name| drop(std::fs::remove_file(inputs.join(name))));
    }
    heard?;
    Ok(())
}
