//! The request of a run, as it was accepted. Names of variables are shown, values never; secrets in the request itself
//! are masked.

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
use skillrun_model::confinement::{BoxChoice, BoxReport, HostPattern, NetworkAccess};
use skillrun_model::continues::Continues;
use skillrun_model::interaction::DecisionPolicy;
use skillrun_model::limits::ResourceLimits;
use skillrun_model::mcp::McpServers;
use skillrun_model::status::{Continuation, OnQuota, Permission, Posture};
use skillrun_model::workspace_settings::{WorkspaceSettings, WorkspaceStart};
use skillrun_model::{ExecutionMode, ProfileId, RunId, Timestamp};
use skillrun_runs::RunRecord;
use skillrun_runs::copy::{CopiedFrom, LeftOut};
use skillrun_runs::hidden::Hidden;
use skillrun_runs::record::{HomeChoice, Sharing, Snapshot, Workspace};

use super::Route;
use super::evidence::record;
use crate::extract::OfRun;
use crate::guard::Reads;
use crate::openapi::Operation;
use crate::problem::{HttpResult, Problem, ProblemCode};
use crate::service::Service;
use skillrun_auth::Scope;

pub(super) fn routes() -> Vec<Route> {
    vec![Route {
        operation: Operation::get(
            "/v1/runs/{run_id}/request",
            "get_request",
            "Show the request of a run, as it was accepted",
        )
        .scope(Scope::Read)
        .answers::<RunRequest>(StatusCode::OK, "The request, with every default filled in and secrets masked")
        .problems(&[ProblemCode::RunNotFound, ProblemCode::RunRemoved]),
        handler: get(request),
    }]
}

/// The request of a run, with every default filled in.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct RunRequest {
    run_id: RunId,
    created_at: Timestamp,
    /// The run that this one is a retry of.
    retry_of: Option<RunId>,
    /// The run whose conversation this one continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    continues: Option<Continues>,
    /// The run does not begin before this time; null: as soon as a slot is free.
    not_before: Option<Timestamp>,
    /// The caller's own name for the request.
    request_id: Option<String>,
    /// Null for a run without a skill.
    skill: Option<RequestSkill>,
    /// The first message of a run without a skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    /// The name of the workflow, if the run is one; `input` has its inputs, and `GET /v1/runs/{run_id}/workflow` its
    /// steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow: Option<String>,
    engine: RequestEngine,
    /// What the box of its processes holds, and by what; null without a box.
    #[serde(rename = "box")]
    confinement: Option<BoxReport>,
    /// What files of the workspace could start, as it was when the run was accepted, and what becomes of it.
    workspace_starts: Vec<WorkspaceStart>,
    /// Names of files in the workspace that look like credentials.
    workspace_credentials: Vec<String>,
    mode: ExecutionMode,
    /// The engine's name of the model; null: the engine's choice.
    model: Option<String>,
    input: Map<String, Value>,
    parameter: Map<String, Value>,
    /// Input files by slot.
    files: Vec<RequestFile>,
    /// The workspace; null: a folder inside the run.
    workspace: Option<RequestWorkspace>,
    options: AcceptedOptions,
    /// A command that starts a new run with the same request.
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
    /// Null when the engine reported none.
    version: Option<String>,
    /// Whether the permission of the run is enforced, by the engine or by a box.
    posture: Posture,
}

/// A file sent with the request.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RequestFile {
    slot: String,
    name: String,
    /// Null when the file no longer exists.
    size: Option<u64>,
}

/// A folder of the user in which the engine works, or of which it has a copy.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RequestWorkspace {
    path: String,
    /// Whether other runs may work there at the same time.
    share: bool,
    /// Null: the engine works in the folder itself.
    copy: Option<RequestCopy>,
}

/// The copy of a folder, as it was made.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RequestCopy {
    kind: CopiedFrom,
    /// Files and links.
    files: u64,
    bytes: u64,
    /// Entries that the copy lacks, other than ignored files; the first of them.
    left_out: Vec<LeftOut>,
    /// The number of all of them.
    left_out_count: u64,
}

/// The options of a run: from the request, else the skill, else the settings.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct AcceptedOptions {
    permission: Permission,
    /// Whether the processes of the run start in a box.
    #[serde(rename = "box")]
    confinement: BoxChoice,
    /// What they reach over the network.
    network: NetworkAccess,
    /// Hosts that they reach in addition to the model of the engine.
    allow_hosts: Vec<HostPattern>,
    /// What the processes of an attempt may use; what is missing is not limited.
    limits: ResourceLimits,
    /// Whether files of the workspace may start programs and name addresses.
    workspace_settings: WorkspaceSettings,
    /// The engine's home folder.
    home: HomeChoice,
    /// The reasoning effort, in the terms of the engine; null: the engine's choice.
    effort: Option<String>,
    /// An attempt that takes longer is terminated.
    hard_timeout_sec: f64,
    /// An attempt without output for longer is terminated.
    stall_timeout_sec: f64,
    /// How long the engine process may keep running after the end of its turn; null: the engine's default.
    linger_sec: Option<f64>,
    /// An attempt that writes more is terminated.
    max_bytes: u64,
    /// False: when no user answers in time, the question is answered automatically.
    interactive_require_user_reply: bool,
    /// How long a question waits for an answer.
    session_timeout_sec: f64,
    idle_sec: f64,
    /// Maximum number of questions answered automatically.
    auto_decision_limit: u32,
    /// What to do when no user answers; null: as the skill says, else as the question says.
    default_decision_policy: Option<DecisionPolicy>,
    /// Maximum number of turns; null: no limit.
    max_attempt: Option<u32>,
    /// Whether an auto run fails when the agent gives no done marker.
    require_marker: bool,
    /// Whether changes of the workspace are recorded.
    snapshot: Snapshot,
    /// When a failed run is retried automatically.
    retry: AcceptedRetry,
    /// Names of environment variables passed to the engine.
    env: Vec<String>,
    /// Names of environment variables passed to the engine, whose values are masked wherever they occur.
    secrets: Vec<String>,
    /// MCP servers for the engine, by name: those of the request and of the skill.
    #[schemars(with = "McpServers")]
    mcp_servers: Map<String, Value>,
    /// Runs with a higher priority start sooner.
    priority: i32,
    /// How the engine's output is read.
    profile: ProfileId,
    /// How the engine resumes after a question.
    continuation: Continuation,
}

/// When a failed run is retried automatically, as a new run with the same request.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct AcceptedRetry {
    /// What to do when the quota of the engine is exhausted.
    quota: OnQuota,
    /// Maximum number of consecutive automatic retries.
    quota_max: u32,
}

async fn request(_: Reads, State(service): State<Arc<Service>>, OfRun(run): OfRun) -> HttpResult<Json<RunRequest>> {
    service
        .clone()
        .heavily(move || {
            let record = record(&service, run)?;
            // The redaction patterns are unknown: nothing is shown.
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
        continues: record.continues.clone(),
        not_before: record.not_before(),
        request_id: words(&request.request_id),
        skill: record.skill.as_ref().map(|skill| RequestSkill {
            name: skill.name.clone(),
            version: skill.version.clone(),
            hash: skill.hash.clone(),
        }),
        prompt: words(&request.prompt),
        workflow: record.workflow().map(|plan| hidden.text(&plan.name)),
        engine: RequestEngine {
            name: record.engine.name.clone(),
            version: record.engine.version.clone(),
            posture: record.engine.posture,
        },
        confinement: record.confinement.clone(),
        workspace_starts: record.workspace_starts.clone(),
        workspace_credentials: record.workspace_credentials.clone(),
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
                copy: None,
            }),
            Workspace::Copy(copy) => Some(RequestWorkspace {
                path: hidden.text(&copy.from.as_path().to_string_lossy()),
                share: false,
                copy: Some(RequestCopy {
                    kind: copy.kind,
                    files: copy.files,
                    bytes: copy.bytes,
                    left_out: copy.left_out.clone(),
                    left_out_count: copy.left_out_count,
                }),
            }),
        },
        options: AcceptedOptions {
            permission: request.permission,
            confinement: request.confinement,
            network: request.network,
            allow_hosts: request.allow_hosts.clone(),
            limits: request.limits,
            workspace_settings: request.workspace_settings,
            home: request.home,
            effort: words(&request.effort),
            hard_timeout_sec: request.timeouts.hard_sec,
            stall_timeout_sec: request.timeouts.stall_sec,
            linger_sec: request.timeouts.linger_sec,
            max_bytes: request.max_bytes,
            interactive_require_user_reply: request.interactive_require_user_reply,
            session_timeout_sec: request.session_timeout_sec,
            idle_sec: request.idle_sec,
            auto_decision_limit: request.auto_decision_limit,
            default_decision_policy: request.default_decision_policy,
            max_attempt: request.max_attempt,
            require_marker: request.require_marker,
            snapshot: request.snapshot,
            retry: AcceptedRetry { quota: request.retry.quota, quota_max: request.retry.quota_max },
            env: request.env.clone(),
            secrets: request.secrets.clone(),
            mcp_servers: hidden.object(&as_object(&request.mcp_servers)),
            priority: request.priority,
            profile: record.engine.profile,
            continuation: record.engine.continuation,
        },
        command: advice::command(NextActionKind::Retry, record.run_id),
    }
}

/// The servers as they were written.
fn as_object(servers: &McpServers) -> Map<String, Value> {
    match serde_json::to_value(servers) {
        Ok(Value::Object(servers)) => servers,
        // They are always an object.
        Ok(_) | Err(_) => Map::new(),
    }
}

fn file(slot: &str, kept: &str, hidden: &Hidden, inputs: &Path) -> RequestFile {
    // In the run, its name has a number as a prefix, because two slots may have files of the same name.
    let name = kept.split_once('-').map_or(kept, |(_, name)| name);
    let found = std::fs::symlink_metadata(inputs.join(kept)).ok().filter(std::fs::Metadata::is_file);
    RequestFile { slot: hidden.text(slot), name: hidden.text(name), size: found.map(|found| found.len()) }
}
