//! What was asked for, as it was accepted. Names of variables are told, values never; secrets that stand in the request
//! itself are masked.

use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::routing::get;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use skillrun_lifecycle::advice;
use skillrun_model::codes::NextActionKind;
use skillrun_model::interaction::DecisionPolicy;
use skillrun_model::status::{Continuation, OnQuota, Permission, Posture};
use skillrun_model::{ExecutionMode, ProfileId, RunId, Timestamp};
use skillrun_runtime::RunRecord;
use skillrun_runtime::looking::hidden::Hidden;
use skillrun_runtime::record::{HomeChoice, Sharing, Snapshot, Workspace};

use super::Route;
use super::evidence::record;
use crate::auth::Scope;
use crate::extract::OfRun;
use crate::guard::Reads;
use crate::openapi::Operation;
use crate::problem::{Problem, ProblemCode, Result};
use crate::service::Service;

pub(super) fn routes() -> Vec<Route> {
    vec![Route {
        operation: Operation::get("/v1/runs/{run_id}/request", "get_request", "What was asked for, as it was accepted")
            .scope(Scope::Read)
            .answers::<RunRequest>(StatusCode::OK, "The request, with every default filled in and secrets masked")
            .problems(&[ProblemCode::RunNotFound, ProblemCode::RunRemoved]),
        handler: get(request),
    }]
}

/// What was asked for, with every default filled in.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct RunRequest {
    run_id: RunId,
    created_at: Timestamp,
    /// The run that this one is a retry of.
    retry_of: Option<RunId>,
    /// It does not begin before this; null: as soon as there is a slot.
    not_before: Option<Timestamp>,
    /// The caller's own name for the request.
    request_id: Option<String>,
    skill: RequestSkill,
    engine: RequestEngine,
    mode: ExecutionMode,
    /// In the engine's own words; null: the engine's choice.
    model: Option<String>,
    input: Map<String, Value>,
    parameter: Map<String, Value>,
    /// By slot.
    files: Vec<RequestFile>,
    /// Null: a folder inside the run.
    workspace: Option<RequestWorkspace>,
    options: AcceptedOptions,
    /// Runs the same again, as a new run.
    command: String,
}

/// The skill as it was when the run was accepted.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RequestSkill {
    name: String,
    version: Option<String>,
    /// blake3 of all its files.
    hash: String,
}

/// The engine as it was when the run was accepted.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RequestEngine {
    name: String,
    /// Null when it told none.
    version: Option<String>,
    /// Whether it keeps to the permission of the run.
    posture: Posture,
}

/// A file that came with the request.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RequestFile {
    slot: String,
    name: String,
    /// Null when it is not there any more.
    size: Option<u64>,
}

/// A folder of the user that the engine works in.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RequestWorkspace {
    path: String,
    /// Whether other runs may work there at the same time.
    share: bool,
}

/// How a run is carried out: what the request says, else the skill, else the settings.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct AcceptedOptions {
    permission: Permission,
    /// The engine's home folder.
    home: HomeChoice,
    /// How hard the model thinks, in the engine's own words; null: the engine's choice.
    effort: Option<String>,
    /// An attempt that takes longer is ended.
    hard_timeout_sec: f64,
    /// An attempt that is silent for longer is ended.
    stall_timeout_sec: f64,
    /// So long a process may stay after it has finished its answer; null: the engine's own time.
    linger_sec: Option<f64>,
    /// An attempt that writes more is ended.
    max_bytes: u64,
    /// False: when nobody answers in time, it is decided without a person.
    interactive_require_user_reply: bool,
    /// So long a question waits.
    session_timeout_sec: f64,
    /// So often it is decided without a person.
    auto_decision_limit: u32,
    /// What to do when nobody answers; null: what the skill says, else the question.
    default_decision_policy: Option<DecisionPolicy>,
    /// So many turns the run may have; null: any number.
    max_attempt: Option<u32>,
    /// Whether an auto run fails when the agent gives no done marker.
    require_marker: bool,
    /// Whether the workspace is compared before and after.
    snapshot: Snapshot,
    /// When the same is tried again by itself.
    retry: AcceptedRetry,
    /// Names of variables that the engine gets.
    env: Vec<String>,
    /// The same, and their values are masked wherever they turn up.
    secrets: Vec<String>,
    /// Higher is sooner.
    priority: i32,
    /// How the engine's output is read.
    profile: ProfileId,
    /// How the engine goes on after a question.
    continuation: Continuation,
}

/// When a run that failed is tried again by itself, as a new run of the same.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct AcceptedRetry {
    /// When the engine has no quota left.
    quota: OnQuota,
    /// So many runs are made so, one after the other.
    quota_max: u32,
}

async fn request(_: Reads, State(service): State<Arc<Service>>, OfRun(run): OfRun) -> Result<Json<RunRequest>> {
    service
        .clone()
        .heavily(move || {
            let record = record(&service, run)?;
            // What is to be hidden is not known: then nothing is shown.
            let hidden = service.runtime.hidden(&record).map_err(|error| Problem::from(error).of_run(run))?;
            Ok(Json(shown(&record, &hidden, &service.data.run(run).inputs())))
        })
        .await
}

fn shown(record: &RunRecord, hidden: &Hidden, inputs: &Path) -> RunRequest {
    let request = &record.request;
    let words = |text: &Option<String>| text.as_deref().map(|text| hidden.text(text));
    RunRequest {
        run_id: record.run_id,
        created_at: record.created_at,
        retry_of: record.retry_of,
        not_before: record.not_before(),
        request_id: words(&request.request_id),
        skill: RequestSkill {
            name: record.skill.name.clone(),
            version: record.skill.version.clone(),
            hash: record.skill.hash.clone(),
        },
        engine: RequestEngine {
            name: record.engine.name.clone(),
            version: record.engine.version.clone(),
            posture: record.engine.posture,
        },
        mode: request.mode,
        model: words(&request.model),
        input: hidden.object(&request.input),
        parameter: hidden.object(&request.parameter),
        files: request.files.iter().map(|(slot, name)| file(slot, name, hidden, inputs)).collect(),
        workspace: match &request.workspace {
            Workspace::Own => None,
            Workspace::Folder { path, sharing } => Some(RequestWorkspace {
                path: hidden.text(&path.as_path().to_string_lossy()),
                share: match sharing {
                    Sharing::Alone => false,
                    Sharing::Allowed => true,
                },
            }),
        },
        options: AcceptedOptions {
            permission: request.permission,
            home: request.home,
            effort: words(&request.effort),
            hard_timeout_sec: request.timeouts.hard_sec,
            stall_timeout_sec: request.timeouts.stall_sec,
            linger_sec: request.timeouts.linger_sec,
            max_bytes: request.max_bytes,
            interactive_require_user_reply: request.interactive_require_user_reply,
            session_timeout_sec: request.session_timeout_sec,
            auto_decision_limit: request.auto_decision_limit,
            default_decision_policy: request.default_decision_policy,
            max_attempt: request.max_attempt,
            require_marker: request.require_marker,
            snapshot: request.snapshot,
            retry: AcceptedRetry { quota: request.retry.quota, quota_max: request.retry.quota_max },
            env: request.env.clone(),
            secrets: request.secrets.clone(),
            priority: request.priority,
            profile: record.engine.profile,
            continuation: record.engine.continuation,
        },
        command: advice::command(NextActionKind::Retry, record.run_id),
    }
}

fn file(slot: &str, kept: &str, hidden: &Hidden, inputs: &Path) -> RequestFile {
    // In the run it has a number before its name, because two slots may have files of one name.
    let name = kept.split_once('-').map_or(kept, |(_, name)| name);
    let found = std::fs::symlink_metadata(inputs.join(kept)).ok().filter(std::fs::Metadata::is_file);
    RequestFile { slot: hidden.text(slot), name: hidden.text(name), size: found.map(|found| found.len()) }
}
