//! The outcome of a run: result, artifacts, bundle, changed files, diagnosis.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skillrun_inspect::bundle::{self, BundleError, Contents};
use skillrun_inspect::diagnose::{Diagnosis, RunOwner, diagnose};
use skillrun_inspect::verify::{NotedHead, Verification, verify_against};
use skillrun_log::EventLog;
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::{AttemptNumber, IgnoredError, RunId, RunStatus};
use skillrun_runs::artifacts::{self, NotServed};
use skillrun_runs::changes::{Changes, WorkspaceChange};
use skillrun_runs::result::{self, RunResult};
use skillrun_runtime::owners;

use super::Route;
use super::evidence::{each_event, record};
use super::runs::view;
use crate::blocking::blocking;
use crate::download::{self, Bytewise, Called, Whole};
use crate::extract::{InPath, OfRun, Params};
use crate::guard::Reads;
use crate::openapi::Operation;
use crate::problem::{HttpResult, Problem, ProblemCode};
use crate::service::Service;
use skillrun_auth::Scope;
use skillrun_webhooks::Delivery;

/// Maximum number of changes in one response.
const CHANGES: usize = 10_000;

pub(super) fn routes() -> Vec<Route> {
    let missing = [ProblemCode::RunNotFound, ProblemCode::RunRemoved];
    vec![
        Route {
            operation: Operation::get(
                "/v1/runs/{run_id}/result",
                "get_result",
                "Show the result of a run that is over",
            )
            .scope(Scope::Read)
            .answers::<RunResult>(StatusCode::OK, "The result")
            .problems(&missing)
            .problems(&[ProblemCode::NotYet]),
            handler: get(run_result),
        },
        Route {
            operation: Operation::get("/v1/runs/{run_id}/artifacts", "list_artifacts", "List the artifacts of a run")
                .scope(Scope::Read)
                .answers::<ArtifactList>(StatusCode::OK, "The artifacts, sorted by path")
                .problems(&missing),
            handler: get(list),
        },
        Route {
            operation: Operation::get("/v1/runs/{run_id}/artifacts/{*path}", "get_artifact", "Download one artifact")
                .scope(Scope::Read)
                .takes_ticket()
                .answers_media(StatusCode::OK, "application/octet-stream", "The file")
                .answers_media(StatusCode::PARTIAL_CONTENT, "application/octet-stream", "The requested range")
                .problems(&missing)
                .problems(&[ProblemCode::NotFound, ProblemCode::ArtifactChanged, ProblemCode::RangeNotSatisfiable]),
            handler: get(artifact),
        },
        Route {
            operation: Operation::get(
                "/v1/runs/{run_id}/bundle",
                "get_bundle",
                "Download result and artifacts of a run as a zip",
            )
            .scope(Scope::Read)
            .takes_ticket()
            .query::<BundleParams>()
            .answers_media(StatusCode::OK, "application/zip", "The bundle")
            .answers_media(StatusCode::PARTIAL_CONTENT, "application/zip", "The requested range")
            .problems(&missing)
            .problems(&[ProblemCode::NotYet, ProblemCode::RangeNotSatisfiable]),
            handler: get(bundle),
        },
        Route {
            operation: Operation::get(
                "/v1/runs/{run_id}/diff",
                "get_diff",
                "List the files each attempt created, changed and deleted",
            )
            .scope(Scope::Read)
            .query::<DiffParams>()
            .answers::<Diff>(StatusCode::OK, "The changes")
            .problems(&missing)
            .problems(&[ProblemCode::EvidenceRemoved]),
            handler: get(diff),
        },
        Route {
            operation: Operation::get(
                "/v1/runs/{run_id}/diagnosis",
                "get_diagnosis",
                "Explain the state of a run and what to do",
            )
            .scope(Scope::Read)
            .answers::<Diagnosis>(StatusCode::OK, "The diagnosis")
            .problems(&missing),
            handler: get(diagnosis),
        },
        Route {
            operation: Operation::get(
                "/v1/runs/{run_id}/verification",
                "verify_run",
                "Verify the stored files of a run",
            )
            .scope(Scope::Read)
            .query::<VerifyParams>()
            .answers::<Verification>(StatusCode::OK, "The checks and their results")
            .problems(&missing)
            .problems(&[ProblemCode::InvalidRequest]),
            handler: get(verification),
        },
        Route {
            operation: Operation::get(
                "/v1/runs/{run_id}/webhooks",
                "list_deliveries",
                "List the webhook messages of a run and their delivery state",
            )
            .scope(Scope::Read)
            .answers::<DeliveryList>(StatusCode::OK, "Oldest first")
            .problems(&missing),
            handler: get(deliveries),
        },
    ]
}

async fn run_result(_: Reads, State(service): State<Arc<Service>>, OfRun(run): OfRun) -> HttpResult<Json<RunResult>> {
    let view = blocking(move || view(&service, run)).await?;
    view.result.map(Json).ok_or_else(|| {
        let status = view.row.status.map_or("does not exist", RunStatus::as_str);
        Problem::new(ProblemCode::NotYet, format!("the run is {status} and has no result yet")).of_run(run)
    })
}

/// A file that a run made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ArtifactEntry {
    path: String,
    size: u64,
    /// blake3.
    hash: String,
    r#type: String,
    role: Option<String>,
}

/// Files that a run made.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ArtifactList {
    artifacts: Vec<ArtifactEntry>,
}

/// As recorded in the Log. Blocking.
fn artifacts_of(service: &Service, run: RunId) -> HttpResult<Vec<ArtifactEntry>> {
    let mut found = BTreeMap::new();
    each_event(service, run, |event| {
        if let Data::Control(ControlData::ArtifactIndexed(made)) = event.data {
            let entry = ArtifactEntry {
                path: made.path.clone(),
                size: made.size,
                hash: made.hash,
                r#type: made.media_type,
                role: made.role,
            };
            found.insert(made.path, entry);
        }
    })?;
    Ok(found.into_values().collect())
}

async fn list(_: Reads, State(service): State<Arc<Service>>, OfRun(run): OfRun) -> HttpResult<Json<ArtifactList>> {
    let artifacts = service.clone().heavily(move || artifacts_of(&service, run)).await?;
    Ok(Json(ArtifactList { artifacts }))
}

async fn artifact(
    _: Reads,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    InPath(names): InPath<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let path = names.get("path").cloned().unwrap_or_default();
    let missing = move || Problem::new(ProblemCode::NotFound, "the run has no such artifact").of_run(run);
    let name = Path::new(&path).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let file = service
        .clone()
        .heavily(move || {
            // Only files that the run declared, and only while they are unchanged; symbolic links are not followed.
            let artifacts = artifacts_of(&service, run)?;
            let entry = artifacts.iter().find(|entry| entry.path == path).ok_or_else(missing)?;
            let workspace = service.data.run(run).workspace();
            let opened = artifacts::open_unchanged(&workspace, Path::new(&path), entry.size, &entry.hash);
            opened.map(Whole::unchanged).map_err(|why| match why {
                NotServed::Changed | NotServed::HardLink => {
                    Problem::new(ProblemCode::ArtifactChanged, format!("{path} is not served: {why}")).of_run(run)
                }
                NotServed::Gone | NotServed::Unreadable(_) => missing(),
            })
        })
        .await?;
    let part = download::range(&headers, file.size())?;
    Ok(download::send(file, part, &Called { media: "application/octet-stream", name }))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct BundleParams {
    /// Include the Log and the evidence; secrets are masked.
    #[serde(default)]
    full: bool,
}

async fn bundle(
    _: Reads,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<BundleParams>,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let made = service
        .clone()
        .heavily(move || {
            service.log.head(run)?;
            let folder = service.data.run(run);
            let hidden = if params.full {
                let hidden = service.runtime.hidden(&record(&service, run)?);
                Some(hidden.map_err(|error| Problem::from(error).of_run(run))?)
            } else {
                None
            };
            let contents = hidden.as_ref().map_or(Contents::Result, Contents::Full);
            // The bundle contains the file; a damaged one is regenerated.
            result::read_or_make(&service.log, &folder, run).ignored();
            Whole::made(service.data.root(), |file| {
                bundle::write(&folder, contents, file).map(drop).map_err(|error| {
                    let code = match error {
                        BundleError::NoResult => ProblemCode::NotYet,
                        BundleError::Read { .. }
                        | BundleError::Evidence(_)
                        | BundleError::Log(_)
                        | BundleError::Write(_)
                        | BundleError::Zip(_) => ProblemCode::Internal,
                    };
                    Problem::new(code, error.to_string()).of_run(run)
                })
            })
        })
        .await?;
    let part = download::range(&headers, made.size())?;
    Ok(download::send(made, part, &Called { media: "application/zip", name: format!("{run}.zip") }))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct DiffParams {
    /// Only this attempt.
    attempt: Option<NonZeroU32>,
}

/// Files that changed, attempt by attempt.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Diff {
    attempts: Vec<AttemptChanges>,
}

/// Files that changed in one attempt.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AttemptChanges {
    attempt: AttemptNumber,
    changes: Vec<WorkspaceChange>,
    /// There are more changes than these.
    cut: bool,
}

async fn diff(
    _: Reads,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<DiffParams>,
) -> HttpResult<Json<Diff>> {
    service
        .clone()
        .heavily(move || {
            let last = view(&service, run)?.row.attempt;
            let wanted = params.attempt.map_or(1..=last.0, |number| number.get()..=number.get().min(last.0));
            let failed = |error: skillrun_runs::changes::ChangesError| {
                Problem::new(ProblemCode::Internal, error.to_string()).of_run(run)
            };
            let mut attempts = Vec::new();
            let mut left = CHANGES;
            for attempt in wanted.map(AttemptNumber) {
                let Some(mut list) = Changes::open(&service.data.run(run), attempt).map_err(failed)? else { continue };
                let mut changes = Vec::new();
                let mut cut = false;
                while let Some(change) = list.next_change().map_err(failed)? {
                    if left == 0 {
                        cut = true;
                        break;
                    }
                    left -= 1;
                    changes.push(change);
                }
                attempts.push(AttemptChanges { attempt, changes, cut });
            }
            Ok(Json(Diff { attempts }))
        })
        .await
}

async fn diagnosis(_: Reads, State(service): State<Arc<Service>>, OfRun(run): OfRun) -> HttpResult<Json<Diagnosis>> {
    service
        .clone()
        .heavily(move || {
            record(&service, run)?;
            let owner = owner(&service, run);
            Ok(Json(diagnose(&service.data, &service.log, run, owner, service.now())?))
        })
        .await
}

/// The pattern that [`NotedHead`] accepts.
const HEAD_PATTERN: &str = "^([1-9][0-9]{0,18}:)?[0-9a-f]{64}$";

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct VerifyParams {
    /// A `log_head` from an earlier response, as `HASH` or `SEQ:HASH`; the Log must still contain it.
    #[schemars(regex(pattern = HEAD_PATTERN))]
    head: Option<String>,
}

async fn verification(
    _: Reads,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<VerifyParams>,
) -> HttpResult<Json<Verification>> {
    let noted = params.head.map(|head| head.parse::<NotedHead>()).transpose();
    let noted = noted.map_err(|why| Problem::new(ProblemCode::InvalidRequest, format!("head: {why}")))?;
    service
        .clone()
        .heavily(move || {
            record(&service, run)?;
            Ok(Json(verify_against(&service.data, &service.log, run, noted)?.into()))
        })
        .await
}

/// Whether a process owns the run: this one, or another one that responds.
pub(super) fn owner(service: &Service, run: RunId) -> RunOwner {
    if service.runtime.has(run) {
        return RunOwner::Process { pid: Some(std::process::id()) };
    }
    let pid = service.log.last_writer(run).filter(|pid| *pid != std::process::id());
    let answers = |pid: &u32| owners::ask(&service.data, *pid, owners::OwnerRequest::Hello).is_ok();
    pid.filter(answers).map_or(RunOwner::NoProcess, |pid| RunOwner::Process { pid: Some(pid) })
}

/// Messages about a run.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeliveryList {
    deliveries: Vec<Delivery>,
}

async fn deliveries(
    _: Reads,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
) -> HttpResult<Json<DeliveryList>> {
    blocking(move || {
        service.log.head(run)?;
        let deliveries = service.webhooks.records(run);
        let deliveries =
            deliveries.map_err(|error| Problem::new(ProblemCode::Internal, error.to_string()).of_run(run))?;
        Ok(Json(DeliveryList { deliveries }))
    })
    .await
}
