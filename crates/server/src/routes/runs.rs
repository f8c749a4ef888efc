//! Routes for runs: create, list, show, cancel, retry.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use skillrun_catalog::{ParentFilter, Query};
use skillrun_log::EventLog;
use skillrun_model::confinement::BoxChoice;
use skillrun_model::delegation::{ChildRequest, DelegationRefusal, RefusalReason};
use skillrun_model::limits::{LimitName, ResourceLimits};
use skillrun_model::status::Permission;
use skillrun_model::workspace_settings::WorkspaceSettings;
use skillrun_model::{RunId, RunStatus};
use skillrun_runs::record::HomeChoice;
use skillrun_runs::request_entries::RequestKey;
use skillrun_runs::retention::{WhySkipped, remove_run};
use skillrun_runs::{RunRecord, result};
use skillrun_runtime::retry::{Again, Overrides, SkillFrom, again};
use skillrun_runtime::{AcceptError, NewRun, RunTask};
use skillrun_skill::search::FindError;
use skillrun_skill::{Existing, Skill, archive};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Route;
use crate::api::{CreateRun, CreateRunForm, RetryRun, RunList, RunOptions, RunView};
use crate::blocking::blocking;
use crate::extract::{JsonBody, OfRun, Params, media_type, parsed, whole};
use crate::guard::{Administers, Reads, Runs};
use crate::look_pace::look_until;
use crate::openapi::Operation;
use crate::problem::{HttpResult, Problem, ProblemCode};
use crate::service::Service;
use crate::upload::{self, UploadedForm};
use skillrun_auth::{Granted, Scope};

/// For the OpenAPI description.
const KEY_PATTERN: &str = "^[!-~]{1,255}$";

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Longest wait for an end or a question.
const WAIT_MAX: u32 = 600;

const LIST: usize = 50;
const LIST_MAX: usize = 500;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route {
            operation: creating(
                Operation::post("/v1/runs", "create_run", "Run a skill or a prompt").problems(&[
                    ProblemCode::SkillNotFound,
                    ProblemCode::RunNotFound,
                    ProblemCode::WrongState,
                    ProblemCode::OwnerSilent,
                ]),
                "The run was accepted",
            )
            .json_body::<CreateRun>(
                json!({"skill": "count-words", "engine": "scripted", "input": {"text": "one two three"}}),
            )
            .multipart_body::<CreateRunForm>()
            .problems(&[ProblemCode::RunRemoved]),
            handler: post(create),
        },
        Route {
            operation: Operation::get("/v1/runs", "list_runs", "List runs, the newest first")
                .scope(Scope::Read)
                .query::<ListParams>()
                .answers::<RunList>(StatusCode::OK, "A page of runs"),
            handler: get(list),
        },
        Route {
            operation: Operation::get("/v1/runs/{run_id}", "get_run", "Show a run, or wait for it")
                .scope(Scope::Read)
                .query::<WaitParams>()
                .answers::<RunView>(StatusCode::OK, "The run")
                .problems(&[ProblemCode::RunNotFound, ProblemCode::RunRemoved]),
            handler: get(one),
        },
        Route {
            operation: Operation::delete("/v1/runs/{run_id}", "delete_run", "Remove a run that is over")
                .scope(Scope::Admin)
                .answers_nothing(StatusCode::NO_CONTENT, "The run was removed, with its Log and its evidence")
                .problems(&[ProblemCode::RunNotFound, ProblemCode::RunRemoved, ProblemCode::NotYet]),
            handler: delete(remove),
        },
        Route {
            operation: Operation::post("/v1/runs/{run_id}/cancel", "cancel_run", "Cancel a run")
                .scope(Scope::Run)
                .query::<WaitParams>()
                .answers::<RunView>(StatusCode::OK, "The run is canceled")
                .answers::<RunView>(StatusCode::ACCEPTED, "The run is being canceled")
                .problems(&[
                    ProblemCode::RunNotFound,
                    ProblemCode::RunRemoved,
                    ProblemCode::RunOver,
                    ProblemCode::OwnerSilent,
                ]),
            handler: post(cancel),
        },
        Route {
            operation: creating(
                Operation::post(
                    "/v1/runs/{run_id}/retry",
                    "retry_run",
                    "Start a new run with the same request, optionally with changes",
                )
                .problems(&[ProblemCode::RunNotFound, ProblemCode::RunRemoved]),
                "The new run was accepted",
            )
            .json_body::<RetryRun>(json!({"input": {"text": "four five"}})),
            handler: post(retry),
        },
    ]
}

/// An operation that creates a run.
pub(super) fn creating(operation: Operation, accepted: &'static str) -> Operation {
    let rests = "The current state of the run: over or waiting for an answer, if `wait` was long enough";
    operation
        .scope(Scope::Run)
        .query::<WaitParams>()
        .header("Idempotency-Key", KEY_PATTERN, "A repeated request with the same key does not create a second run")
        .answers::<RunView>(StatusCode::ACCEPTED, accepted)
        .answers::<RunView>(StatusCode::OK, rests)
        .problems(&[
            ProblemCode::CannotRun,
            ProblemCode::InputInvalid,
            ProblemCode::SkillInvalid,
            ProblemCode::AddressRefused,
            ProblemCode::KeyReused,
            ProblemCode::WorkspaceInUse,
            ProblemCode::QueueFull,
        ])
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
pub(crate) struct WaitParams {
    /// Seconds to wait for the end of the run or for a question; at most 600.
    #[schemars(range(max = 600))]
    wait: Option<u32>,
}

impl WaitParams {
    pub(crate) fn wait(self) -> HttpResult<Duration> {
        let seconds = self.wait.unwrap_or(0);
        if seconds > WAIT_MAX {
            return Err(Problem::field("query.wait", format!("must be at most {WAIT_MAX}")));
        }
        Ok(Duration::from_secs(seconds.into()))
    }
}

/// A request and the files sent with it.
struct Asked {
    create: CreateRun,
    form: Option<UploadedForm>,
    fingerprint: blake3::Hash,
}

async fn asked(service: &Service, request: Request) -> HttpResult<Asked> {
    match media_type(request.headers()) {
        Some(kind) if kind.eq_ignore_ascii_case("application/json") => {
            let json = whole(request).await?;
            Ok(Asked { create: parsed(&json, "")?, form: None, fingerprint: blake3::hash(&json) })
        }
        Some(kind) if kind.eq_ignore_ascii_case("multipart/form-data") => {
            let form = upload::receive(service, request).await?;
            form.only(|part| part == "skill" || part == "script" || part.starts_with("files."))?;
            let create = form.request.as_deref().map(|json| parsed(json, "request")).transpose()?.unwrap_or_default();
            let fingerprint = form.fingerprint;
            Ok(Asked { create, form: Some(form), fingerprint })
        }
        Some(_) | None => {
            let detail = "the body must be application/json, or multipart/form-data when files are included";
            Err(Problem::new(ProblemCode::MediaType, detail))
        }
    }
}

pub(super) fn key(headers: &HeaderMap) -> HttpResult<Option<RequestKey>> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let key = value.to_str().ok().and_then(|key| RequestKey::new(key).ok());
    key.map(Some).ok_or_else(|| {
        let wanted = "must have 1 to 255 visible ASCII characters, without spaces";
        Problem::field("header.Idempotency-Key", wanted)
    })
}

async fn create(
    Runs(who): Runs,
    State(service): State<Arc<Service>>,
    Params(params): Params<WaitParams>,
    request: Request,
) -> HttpResult<Response> {
    let wait = params.wait()?;
    let key = key(request.headers())?;
    let Asked { create, form, fingerprint } = asked(&service, request).await?;
    let urls = webhooks(&service, &create.webhooks)?;
    let making = service.clone();
    let run = service
        .heavily(move || {
            let run = match create.parent_run_id {
                None => submit(&making, key, fingerprint, || new_run(&making, &who, &create, form.as_ref()))?,
                Some(parent) => child(&making, &who, parent, key.as_ref(), &create, form.is_some())?,
            };
            // The files are stored in the run by now.
            drop(form);
            watch(&making, run, urls);
            Ok::<_, Problem>(run)
        })
        .await?;
    accepted(&service, run, wait).await
}

pub(super) fn webhooks(service: &Service, urls: &[String]) -> HttpResult<Vec<skillrun_webhooks::Url>> {
    service
        .webhooks
        .check_urls(urls)
        .map_err(|error| Problem::field("webhooks", error.to_string()).with_code(ProblemCode::AddressRefused))
}

/// The run exists, so it is reported even if the webhooks fail: a client that repeated the request would create a
/// second run.
pub(super) fn watch(service: &Service, run: RunId, urls: Vec<skillrun_webhooks::Url>) {
    if let Err(error) = service.webhooks.watch(run, urls) {
        (service.complain)(&format!("run {run}: failed to register its webhooks ({error})"));
    }
}

/// Creates the run, or finds the one that has the key.
pub(super) fn submit(
    service: &Service,
    key: Option<RequestKey>,
    fingerprint: blake3::Hash,
    make: impl FnOnce() -> HttpResult<NewRun>,
) -> HttpResult<RunId> {
    let Some(key) = key else { return Ok(service.runtime.submit(make()?)?) };
    Ok(service.runtime.submit_once(&key, fingerprint, make)?.run)
}

/// Asks another run for a child, which is made by the owner of that run. Blocking.
fn child(
    service: &Service,
    who: &Granted,
    parent: RunId,
    key: Option<&RequestKey>,
    create: &CreateRun,
    has_form: bool,
) -> HttpResult<RunId> {
    let record = super::evidence::record(service, parent)?;
    // The child has what its parent has, which may be more than the token allows.
    let reaches = record.request.permission == Permission::Full
        || record.request.home == HomeChoice::User
        || record.request.workspace_settings == WorkspaceSettings::Allow;
    if reaches && !who.scope.allows(Scope::Admin) {
        return Err(only_admin("parent_run_id"));
    }
    let of_parent = |field: &str| {
        let message = "cannot be given with parent_run_id; a child has what its parent has";
        Err(Problem::field(field, message).with_code(ProblemCode::CannotRun))
    };
    if has_form {
        return of_parent("files");
    }
    if create.workspace.is_some() {
        return of_parent("workspace");
    }
    let hard_timeout_sec = create.options.hard_timeout_sec;
    if create.options != (RunOptions { hard_timeout_sec, ..RunOptions::default() }) {
        return of_parent("options");
    }
    let request = ChildRequest {
        key: key.map(|key| key.as_str().to_owned()),
        engine: create.engine.clone(),
        skill: create.skill.clone(),
        prompt: create.prompt.clone(),
        mode: create.mode,
        input: create.input.clone(),
        parameter: create.parameter.clone(),
        model: create.model.clone(),
        timeout_sec: hard_timeout_sec,
        ..ChildRequest::ask("")
    };
    match service.runtime.delegate_anywhere(parent, &request) {
        Ok(child) => Ok(child.run_id),
        Err(refusal) => Err(refused_child(service, parent, &refusal)),
    }
}

fn refused_child(service: &Service, parent: RunId, refusal: &DelegationRefusal) -> Problem {
    let code = match refusal.reason {
        RefusalReason::NotAllowed | RefusalReason::Invalid => ProblemCode::CannotRun,
        RefusalReason::LimitReached
        | RefusalReason::TurnOver
        | RefusalReason::WrongState
        | RefusalReason::WrongToken => ProblemCode::WrongState,
        RefusalReason::NotFound => ProblemCode::RunNotFound,
        RefusalReason::Unavailable => ProblemCode::OwnerSilent,
    };
    let problem = Problem::new(code, refusal.message.clone()).of_run(parent);
    let current = view(service, parent).ok().and_then(|view| serde_json::to_value(view).ok());
    match current.filter(|_| code == ProblemCode::WrongState) {
        Some(current) => problem.with_current(current),
        None => problem,
    }
}

/// Blocking.
fn new_run(service: &Service, who: &Granted, create: &CreateRun, form: Option<&UploadedForm>) -> HttpResult<NewRun> {
    may(service, who, &create.options)?;
    let is_admin = who.scope.allows(Scope::Admin);
    if create.workspace.is_some() && !is_admin {
        return Err(only_admin("workspace"));
    }
    let task = task(service, is_admin, create, form)?;
    let engines = match &task {
        RunTask::Skill(skill) => &skill.runner.engines[..],
        RunTask::Prompt(_) | RunTask::Workflow(_) => &[],
    };
    let engine = match (&create.engine, &service.around.engine, engines) {
        (Some(engine), _, _) | (None, Some(engine), _) => engine.clone(),
        (None, None, [only]) => only.to_string(),
        (None, None, _) => {
            return Err(Problem::field("engine", "is missing; use one of GET /v1/engines"));
        }
    };
    let chosen = create.workspace.as_ref();
    if chosen.is_some_and(|chosen| !Path::new(&chosen.path).is_absolute()) {
        return Err(Problem::field("workspace.path", "must be absolute"));
    }
    if chosen.is_some_and(|chosen| chosen.copy && chosen.share) {
        return Err(Problem::field("workspace.share", "has no meaning for a copy, which no other run uses"));
    }
    let (copied, used) = (chosen.filter(|chosen| chosen.copy), chosen.filter(|chosen| !chosen.copy));
    Ok(NewRun {
        mode: create.mode,
        input: create.input.clone(),
        parameter: create.parameter.clone(),
        files: form.map(UploadedForm::slots).transpose()?.unwrap_or_default(),
        workspace: used.map(|chosen| (PathBuf::from(&chosen.path), chosen.sharing())),
        copy_of: copied.map(|chosen| PathBuf::from(&chosen.path)),
        script: form.map(|form| form.one("script")).transpose()?.flatten(),
        profile: create.options.profile,
        continuation: create.options.continuation,
        options: create.options.options(create.model.clone())?,
        ..NewRun::of(task, engine)
    })
}

pub(super) fn only_admin(field: &str) -> Problem {
    Problem::field(field, "needs a token with the scope admin").with_code(ProblemCode::Forbidden)
}

/// Options that reach beyond the run need the scope `admin`.
pub(super) fn may(service: &Service, who: &Granted, options: &RunOptions) -> HttpResult<()> {
    if who.scope.allows(Scope::Admin) {
        return Ok(());
    }
    let reaching = [
        ("options.permission", options.permission == Some(Permission::Full)),
        ("options.home", options.home == Some(HomeChoice::User)),
        ("options.box", leaves_box(options.confinement, service.runtime.defaults().confinement)),
        ("options.limits", exceeds(options.limits, service.runtime.defaults().limits)),
        ("options.workspace_settings", options.workspace_settings == Some(WorkspaceSettings::Allow)),
        ("options.env", !options.env.is_empty()),
        ("options.secrets", !options.secrets.is_empty()),
        ("options.mcp_servers", !options.mcp_servers.is_empty()),
        ("options.checks", !options.checks.is_empty()),
    ];
    reaching.into_iter().find(|(_, reaches)| *reaches).map_or(Ok(()), |(field, _)| Err(only_admin(field)))
}

/// Whether a request asks for no box where the settings have one.
fn leaves_box(asked: Option<BoxChoice>, settings: Option<BoxChoice>) -> bool {
    asked == Some(BoxChoice::Off) && settings.is_some_and(|choice| choice != BoxChoice::Off)
}

/// Whether a request asks for more than the settings allow.
fn exceeds(asked: ResourceLimits, settings: ResourceLimits) -> bool {
    let is_more = |name: &LimitName| match (asked.get(*name), settings.get(*name)) {
        (Some(asked), Some(allowed)) => asked > allowed,
        (Some(_) | None, _) => false,
    };
    LimitName::ALL.iter().any(is_more)
}

/// The same check for a retry. Another user may have created the run, and a retry with changed input uses all options
/// of that run.
fn may_again(service: &Service, who: &Granted, again: &Again) -> HttpResult<()> {
    if who.scope.allows(Scope::Admin) {
        return Ok(());
    }
    let (options, defaults) = (&again.new.options, service.runtime.defaults());
    let is_listed = || match &again.new.task {
        RunTask::Skill(skill) => service.around.skills.list().skills.iter().any(|found| found.root == skill.root),
        RunTask::Prompt(_) | RunTask::Workflow(_) => true,
    };
    let reaching = [
        (
            "options.permission",
            options.permission == Some(Permission::Full) && options.permission != defaults.permission,
        ),
        ("options.home", options.home == Some(HomeChoice::User) && options.home != defaults.home),
        ("options.box", leaves_box(options.confinement, defaults.confinement)),
        ("options.limits", exceeds(options.limits, defaults.limits)),
        ("options.workspace_settings", options.workspace_settings == Some(WorkspaceSettings::Allow)),
        ("options.env", !options.env.is_empty()),
        ("options.secrets", !options.secrets.is_empty()),
        ("options.mcp_servers", !options.mcp_servers.is_empty()),
        ("options.checks", !options.checks.is_empty()),
        ("workspace", again.new.workspace.is_some() || again.new.copy_of.is_some()),
        ("skill", again.skill_from == SkillFrom::Source && !is_listed()),
    ];
    reaching.into_iter().find(|(_, reaches)| *reaches).map_or(Ok(()), |(field, _)| Err(only_admin(field)))
}

/// The skill or the prompt of a request: exactly one of them.
fn task(service: &Service, is_admin: bool, create: &CreateRun, form: Option<&UploadedForm>) -> HttpResult<RunTask> {
    let sent = form.map(|form| form.one("skill").map(|zip| Some((zip?, form.folder.path())))).transpose()?.flatten();
    let cannot_run = |field: &str, message| Err(Problem::field(field, message).with_code(ProblemCode::CannotRun));
    match (&create.skill, sent, &create.prompt) {
        (Some(_), Some(_), _) => cannot_run("skill", "was both named and sent; do only one of these"),
        (None, None, None) => {
            cannot_run("skill", "is missing; use one of GET /v1/skills, send a zip, or give a prompt instead")
        }
        (Some(_), None, Some(_)) | (None, Some(_), Some(_)) => {
            cannot_run("prompt", "was given with a skill; give only one of them")
        }
        (None, None, Some(prompt)) => Ok(RunTask::Prompt(prompt.clone())),
        (None, Some((zip, folder)), None) => {
            let skill = unpacked(&zip, folder)?;
            // Consent is given for a name, which a skill that is sent can choose.
            if !skill.runner.checks.is_empty() && !is_admin {
                return Err(only_admin("skill"));
            }
            Ok(skill.into())
        }
        (Some(name), None, None) => {
            let is_path = name.contains('/');
            if is_path && !is_admin {
                return Err(only_admin("skill"));
            }
            let found = if is_path {
                service.around.skills.resolve(name, &service.around.cwd)
            } else {
                service.around.skills.find(name)
            };
            found.map(RunTask::from).map_err(|error| match error {
                FindError::NotFound { .. } => {
                    Problem::field("skill", error.to_string()).with_code(ProblemCode::SkillNotFound)
                }
                FindError::Unusable(error) => AcceptError::Skill(error).into(),
            })
        }
    }
}

fn unpacked(zip: &Path, folder: &Path) -> HttpResult<Skill> {
    let installed = archive::install(zip, &folder.join("skill"), Existing::Refuse);
    installed.map(|installed| installed.skill).map_err(|error| super::catalogs::refused(&error))
}

async fn retry(
    Runs(who): Runs,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<WaitParams>,
    request: Request,
) -> HttpResult<Response> {
    let make = move |service: &Service, who: &Granted, old: &RunRecord, body: &RetryRun| {
        let now = Overrides {
            engine: body.engine.clone(),
            mode: body.mode,
            input: body.input.clone(),
            parameter: body.parameter.clone(),
            profile: body.options.profile,
            continuation: body.options.continuation,
            options: body.options.options(body.model.clone())?,
            ..Overrides::default()
        };
        let again = again(old, &service.data.run(run), now).map_err(AcceptError::Skill)?;
        may_again(service, who, &again)?;
        Ok(again.new)
    };
    begin_from(&service, who, run, params, request, make).await
}

/// A request for a new run that is made from an earlier one.
pub(super) trait FromEarlier: Default + DeserializeOwned + Serialize + Send + 'static {
    /// Distinguishes the kinds of requests that are sent with the same idempotency key.
    const KIND: &'static str;
    fn options(&self) -> &RunOptions;
    fn webhooks(&self) -> &[String];
}

impl FromEarlier for RetryRun {
    const KIND: &'static str = "";

    fn options(&self) -> &RunOptions {
        &self.options
    }

    fn webhooks(&self) -> &[String] {
        &self.webhooks
    }
}

/// Creates a run from an earlier one, or finds the one that has the key.
pub(super) async fn begin_from<B: FromEarlier>(
    service: &Arc<Service>,
    who: Granted,
    run: RunId,
    params: WaitParams,
    request: Request,
    make: impl FnOnce(&Service, &Granted, &RunRecord, &B) -> HttpResult<NewRun> + Send + 'static,
) -> HttpResult<Response> {
    let wait = params.wait()?;
    let key = key(request.headers())?;
    let body: B = optional_body(request).await?;
    may(service, &who, body.options())?;
    let urls = webhooks(service, body.webhooks())?;
    let making = service.clone();
    let new = blocking(move || {
        let old = super::evidence::record(&making, run)?;
        let mut fingerprint = blake3::Hasher::new();
        fingerprint.update(B::KIND.as_bytes()).update(run.to_string().as_bytes());
        fingerprint.update(&serde_json::to_vec(&body).unwrap_or_default());
        let new = submit(&making, key, fingerprint.finalize(), || make(&making, &who, &old, &body))?;
        watch(&making, new, urls);
        Ok::<_, Problem>(new)
    })
    .await?;
    accepted(service, new, wait).await
}

/// The body of a request that needs none.
pub(super) async fn optional_body<B: Default + DeserializeOwned>(request: Request) -> HttpResult<B> {
    if request.headers().contains_key(header::CONTENT_TYPE) {
        return Ok(JsonBody::<B>::from_request(request, &()).await?.0);
    }
    Ok(B::default())
}

/// The response to the creation of a run.
pub(super) async fn accepted(service: &Arc<Service>, run: RunId, wait: Duration) -> HttpResult<Response> {
    let view = waited_for(service, run, wait, Until::Rest).await?;
    let status = if rests(&view) && !wait.is_zero() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let location = HeaderValue::from_str(&format!("/v1/runs/{run}")).ok();
    let mut response = (status, Json(view)).into_response();
    response.headers_mut().extend(location.map(|location| (header::LOCATION, location)));
    Ok(response)
}

/// The condition of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// Until the end, or a question.
    Rest,
    End,
}

fn rests(view: &RunView) -> bool {
    view.row.status.is_some_and(|status| status.is_terminal() || status == RunStatus::WaitingUser)
}

/// The run, as soon as the condition holds or the time is up.
pub(super) async fn waited_for(
    service: &Arc<Service>,
    run: RunId,
    wait: Duration,
    until: Until,
) -> HttpResult<RunView> {
    let is_so = |view: &RunView| match until {
        Until::Rest => rests(view),
        Until::End => view.row.status.is_some_and(RunStatus::is_terminal),
    };
    let looking = service.clone();
    looked_until(service, run, wait, move || view(&looking, run), is_so).await
}

/// What `look` sees of a run, as soon as it is as wanted or the time is up.
pub(super) async fn looked_until<T: Send + 'static>(
    service: &Arc<Service>,
    run: RunId,
    wait: Duration,
    look: impl Fn() -> HttpResult<T> + Send + Sync + 'static,
    is_so: impl Fn(&T) -> bool,
) -> HttpResult<T> {
    let bell = Arc::new(Notify::new());
    let _subscription = if wait.is_zero() {
        None
    } else {
        let (log, rung) = (service.log.clone(), bell.clone());
        // Subscribed before the first look: later appends ring the bell.
        Some(blocking(move || log.subscribe(run, Arc::new(move || rung.notify_one()))).await?)
    };
    let look = Arc::new(look);
    let look = || {
        let look = look.clone();
        blocking(move || look())
    };
    look_until(&bell, Instant::now() + wait, service.feeds.stopping(), look, is_so).await
}

/// Blocking.
pub(super) fn view(service: &Service, run: RunId) -> HttpResult<RunView> {
    let Some(row) = service.summaries.get(run)? else {
        // Removed, or never existed.
        service.log.head(run)?;
        return Err(Problem::run_not_found(run));
    };
    let is_over = row.status.is_some_and(RunStatus::is_terminal);
    let interaction = match row.status {
        Some(RunStatus::WaitingUser) => service.summaries.pending(run)?,
        Some(_) | None => None,
    };
    let result = if is_over {
        // A damaged file is regenerated from the Log.
        let made = result::read_or_make(&service.log, &service.data.run(run), run)?;
        made.map(|result| result::answered(result, &*service.log))
    } else {
        None
    };
    let runtime = &service.runtime;
    let trouble = if is_over { runtime.trouble_after_end(run) } else { runtime.trouble(run) };
    Ok(RunView { row, interaction, result, trouble })
}

async fn one(
    _: Reads,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<WaitParams>,
) -> HttpResult<Json<RunView>> {
    waited_for(&service, run, params.wait()?, Until::Rest).await.map(Json)
}

async fn cancel(
    Runs(who): Runs,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<WaitParams>,
) -> HttpResult<Response> {
    let wait = params.wait()?;
    let canceling = service.clone();
    let canceled = blocking(move || canceling.runtime.cancel_anywhere(run, &who.name.to_string())).await;
    if let Err(error) = canceled {
        let current = current(&service, run).await;
        return Err(Problem::from(error).with_current(current));
    }
    let view = waited_for(&service, run, wait, Until::End).await?;
    let is_over = view.row.status.is_some_and(RunStatus::is_terminal);
    Ok((if is_over { StatusCode::OK } else { StatusCode::ACCEPTED }, Json(view)).into_response())
}

async fn remove(_: Administers, State(service): State<Arc<Service>>, OfRun(run): OfRun) -> HttpResult<StatusCode> {
    blocking(move || {
        // A run that never existed, or that was removed before, has another problem than one that is not over.
        service.log.head(run)?;
        let removed = remove_run(&service.log, &service.data, run, service.now());
        removed.map(|_| StatusCode::NO_CONTENT).map_err(|why| {
            let (code, detail) = match &why {
                WhySkipped::NotOver => (ProblemCode::NotYet, format!("run {run} is not over; cancel it first")),
                WhySkipped::Held { .. } => (ProblemCode::NotYet, format!("run {run} cannot be removed now: {why}")),
                WhySkipped::Gone => (ProblemCode::RunRemoved, format!("run {run} was removed")),
                WhySkipped::Failed(_) => (ProblemCode::Internal, format!("run {run} cannot be removed: {why}")),
            };
            Problem::new(code, detail).of_run(run)
        })
    })
    .await
}

/// The current state of the run, for a request that assumed another one.
pub(super) async fn current(service: &Arc<Service>, run: RunId) -> serde_json::Value {
    let looking = service.clone();
    let view = blocking(move || view(&looking, run)).await;
    view.ok().and_then(|view| serde_json::to_value(view).ok()).unwrap_or_default()
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ListParams {
    /// One status, or several separated by commas.
    #[schemars(extend("pattern" = statuses_pattern()))]
    status: Option<String>,
    /// Only runs of this skill.
    skill: Option<String>,
    /// Only runs of this engine.
    engine: Option<String>,
    /// Only runs that this run has asked for.
    #[schemars(extend("format" = "uuid"))]
    parent: Option<String>,
    /// Words to search for in ids, skills, engines, codes and questions.
    #[schemars(length(max = 200))]
    q: Option<String>,
    /// `next_cursor` of the previous page.
    #[schemars(extend("format" = "uuid"))]
    cursor: Option<String>,
    /// Maximum number of runs; default 50, at most 500.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
}

fn statuses_pattern() -> String {
    let words = RunStatus::ALL.iter().map(|status| status.as_str()).collect::<Vec<_>>().join("|");
    format!("^(({words})(,({words}))*)?$")
}

/// The number of rows on a page.
pub(super) fn page_limit(limit: Option<usize>) -> HttpResult<usize> {
    let limit = limit.unwrap_or(LIST);
    if (1..=LIST_MAX).contains(&limit) {
        Ok(limit)
    } else {
        Err(Problem::field("query.limit", format!("must be from 1 to {LIST_MAX}")))
    }
}

pub(super) fn not_a_cursor() -> Problem {
    Problem::field("query.cursor", "is not a cursor; use next_cursor of the previous page")
}

async fn list(
    _: Reads,
    State(service): State<Arc<Service>>,
    Params(params): Params<ListParams>,
) -> HttpResult<Json<RunList>> {
    let limit = page_limit(params.limit)?;
    let words = params.status.as_deref().unwrap_or_default().split(',').filter(|word| !word.is_empty());
    let statuses = words
        .map(|word| word.parse())
        .collect::<HttpResult<Vec<RunStatus>, _>>()
        .map_err(|error| Problem::field("query.status", error.to_string()))?;
    let after = params.cursor.as_deref().map(str::parse).transpose().map_err(|_| not_a_cursor())?;
    let parent = params.parent.as_deref().map(str::parse).transpose();
    let parent = parent.map_err(|_| Problem::field("query.parent", "must be the id of a run"))?;
    if params.q.as_ref().is_some_and(|text| text.chars().count() > 200) {
        return Err(Problem::field("query.q", "must have at most 200 characters"));
    }
    let query = Query {
        statuses,
        skill: params.skill,
        engine: params.engine,
        parent: parent.map_or(ParentFilter::Any, ParentFilter::Of),
        text: params.q.filter(|text| !text.is_empty()),
        since: None,
        limit: Some(limit + 1),
        after,
    };
    let mut runs = blocking(move || service.summaries.list(&query)).await?;
    let has_more = runs.len() > limit;
    runs.truncate(limit);
    let next_cursor = runs.last().filter(|_| has_more).map(|row| row.run_id.to_string());
    Ok(Json(RunList { runs, next_cursor }))
}
