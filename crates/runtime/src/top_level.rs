//! Runs without a parent, as the tools for agents ask for them: the MCP server of a user, and the one of the server.
//!
//! States are those of the catalog, which follows from the Logs. A wait looks at its runs when their Logs change.

mod state;
mod waiting;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use skillrun_base::sync::lock;
use skillrun_catalog::{Catalog, CatalogError, Query, Row};
use skillrun_lifecycle::run::State;
use skillrun_log::EventLog;
use skillrun_model::delegation::{
    ChildRequest, ChildWorkspace, DelegatedResult, DelegatedRun, DelegatedState, DelegationRefusal, DelegationRequest,
    DelegationResponse, RefusalReason,
};
use skillrun_model::{Classified, ErrorClass, InteractionId, RunId};
use skillrun_runs::events::read_all;
use skillrun_runs::record::Sharing;
use skillrun_runs::request_entries::RequestKey;
use skillrun_runs::result;
use skillrun_skill::{SearchPath, Skill};

use crate::accept::{NewRun, Options, RunTask};
use crate::clock::Clock;
use crate::mailbox::Reply;
use crate::requests::{SubmitError, WasNew};
use crate::runtime::Runtime;
use skillrun_runs::children::patch_of;
use waiting::Waits;

/// Runs in a list.
const LIST_MAX: usize = 50;

/// Runs of one wait.
const WAIT_RUNS_MAX: usize = 100;

/// Whether a skill may be named by its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillFolders {
    Allowed,
    /// Only by its name.
    Refused,
}

/// Which process works on new runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewRuns {
    /// This one.
    Here,
    /// Another one, to which the keeper hands them before anything is started.
    Elsewhere,
}

/// Where a desk finds what requests name.
#[derive(Debug)]
pub struct TopLevelConfig {
    pub skills: SearchPath,
    pub skill_folders: SkillFolders,
    /// Relative folders of skills start here.
    pub cwd: PathBuf,
    /// The engine for requests that name none.
    pub engine: Option<String>,
    /// The folder of the agent that asks, if it has one here.
    pub workspace: Option<PathBuf>,
    pub new_runs: NewRuns,
    pub clock: Arc<dyn Clock>,
}

/// Who works on runs that were accepted or answered here.
pub trait RunKeeper: Send + Sync {
    /// A new run has no owner yet. Called for [`NewRuns::Elsewhere`] alone.
    fn hand_over(&self, run: RunId);

    /// This process owns a run from now on, because it has written an answer or a cancel into its Log.
    fn keep(&self, run: RunId);

    /// Another process may have the variables of a run, which this one lacks. True if it has accepted the answer.
    fn reply_elsewhere(&self, run: RunId, reply: Reply) -> bool;

    /// Runs whose owner has died are taken over.
    fn take_over_orphans(&self);
}

/// The desk of a user.
pub struct TopLevelDesk {
    runtime: Arc<Runtime>,
    config: TopLevelConfig,
    keeper: Box<dyn RunKeeper>,
    /// None until it is needed.
    catalog: Mutex<Option<Catalog>>,
    waits: Waits,
}

impl fmt::Debug for TopLevelDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopLevelDesk").field("config", &self.config).finish_non_exhaustive()
    }
}

fn refusal(reason: RefusalReason, message: impl Into<String>) -> DelegationRefusal {
    DelegationRefusal { reason, message: message.into() }
}

/// The refusal for an error: its own sentence.
fn refused(error: &impl Classified) -> DelegationRefusal {
    let reason = match error.class() {
        ErrorClass::Usage => RefusalReason::Invalid,
        ErrorClass::NotFound | ErrorClass::Gone => RefusalReason::NotFound,
        ErrorClass::Conflict => RefusalReason::WrongState,
        ErrorClass::Busy | ErrorClass::StorageFull | ErrorClass::Internal => RefusalReason::Unavailable,
    };
    refusal(reason, error.to_string())
}

type Asked<T> = Result<T, DelegationRefusal>;

impl TopLevelDesk {
    pub fn new(runtime: Arc<Runtime>, config: TopLevelConfig, keeper: Box<dyn RunKeeper>) -> Self {
        Self { runtime, config, keeper, catalog: Mutex::new(None), waits: Waits::default() }
    }

    /// Carries out a request. `scope` distinguishes the keys of callers that do not know of each other, and `by` names
    /// the caller. Blocking: a wait takes at most as long as it says.
    pub fn ask(&self, request: DelegationRequest, scope: &str, by: &str) -> DelegationResponse {
        let response = match request {
            DelegationRequest::Spawn { request } => self.spawn(*request, scope),
            DelegationRequest::Wait { runs, timeout_sec } => self.wait(&runs, timeout_sec),
            DelegationRequest::Send { run, text, interaction_id } => self.send(run, &text, interaction_id),
            DelegationRequest::Cancel { run } => self.cancel(run, by),
            DelegationRequest::List => self.list(),
            DelegationRequest::Result { run } => self.result(run),
        };
        response.unwrap_or_else(|refusal| DelegationResponse::Refused { refusal })
    }

    /// Ends all waits: they return what they know.
    pub fn stop(&self) {
        self.waits.stop();
    }

    fn spawn(&self, request: ChildRequest, scope: &str) -> Asked<DelegationResponse> {
        let new = self.new_run(&request)?;
        let starts = self.config.new_runs;
        let (run_id, was_new) = match &request.key {
            None => {
                let made = match starts {
                    NewRuns::Here => self.runtime.submit(new),
                    NewRuns::Elsewhere => self.runtime.accept(new),
                };
                (made.map_err(|error| refused(&error))?, WasNew::New)
            }
            Some(key) => {
                let name = blake3::hash(format!("{scope}\n{key}").as_bytes()).to_hex();
                let name = RequestKey::new(&format!("mcp-{name}"))
                    .map_err(|error| refusal(RefusalReason::Invalid, error.to_string()))?;
                // A repeated call has another id.
                let same = ChildRequest { call_id: None, ..request.clone() };
                let fingerprint = blake3::hash(&serde_json::to_vec(&same).unwrap_or_default());
                let make = || Ok::<_, SubmitError>(new);
                let made = match starts {
                    NewRuns::Here => self.runtime.submit_once(&name, fingerprint, make),
                    NewRuns::Elsewhere => self.runtime.accept_once(&name, fingerprint, make),
                };
                let made = made.map_err(|error| refused(&error))?;
                (made.run, made.was_new)
            }
        };
        match (starts, was_new) {
            (NewRuns::Elsewhere, WasNew::New) => self.keeper.hand_over(run_id),
            (NewRuns::Elsewhere, WasNew::Before) | (NewRuns::Here, _) => {}
        }
        Ok(DelegationResponse::Spawned { run_id, was_new: was_new == WasNew::New })
    }

    fn new_run(&self, request: &ChildRequest) -> Asked<NewRun> {
        let invalid = |message: &str| Err(refusal(RefusalReason::Invalid, message));
        if request.on_parent_end.is_some() {
            return invalid("this run has no parent, so on_parent_end has no meaning; leave it out");
        }
        let task = match (&request.prompt, &request.skill) {
            (Some(prompt), None) => RunTask::Prompt(prompt.clone()),
            (None, Some(skill)) => self.skill(skill)?.into(),
            (None, None) | (Some(_), Some(_)) => return invalid("a run has either a prompt or a skill"),
        };
        let of_skill = task.skill().map_or(&[][..], |skill| &skill.runner.engines[..]);
        let engine = match (&request.engine, &self.config.engine, of_skill) {
            (Some(engine), _, _) | (None, Some(engine), _) => engine.clone(),
            (None, None, [only]) => only.to_string(),
            (None, None, _) => {
                return invalid("no engine is given, and no default is set; give one, such as codex or claude");
            }
        };
        let (workspace, copy_of) = match (request.workspace, &self.config.workspace) {
            (ChildWorkspace::Own, _) => (None, None),
            (ChildWorkspace::Shared, Some(folder)) => (Some((folder.clone(), Sharing::Allowed)), None),
            (ChildWorkspace::Copy, Some(folder)) => (None, Some(folder.clone())),
            (ChildWorkspace::Shared | ChildWorkspace::Copy, None) => {
                return invalid(
                    "your folder is not known here; leave workspace out, and give what it needs in the prompt",
                );
            }
        };
        Ok(NewRun {
            mode: request.mode,
            input: request.input.clone(),
            parameter: request.parameter.clone(),
            workspace,
            copy_of,
            options: Options {
                model: request.model.clone(),
                hard_timeout_sec: request.timeout_sec,
                ..Options::default()
            },
            ..NewRun::of(task, engine)
        })
    }

    fn skill(&self, name: &str) -> Asked<Skill> {
        let is_folder = name.contains('/') || name.starts_with('.');
        let found = match (is_folder, self.config.skill_folders) {
            (false, _) => self.config.skills.find(name),
            (true, SkillFolders::Allowed) => self.config.skills.resolve(name, &self.config.cwd),
            (true, SkillFolders::Refused) => {
                let message = "a skill is named by its name here, and not by its folder; ask the user to install it";
                return Err(refusal(RefusalReason::NotAllowed, message));
            }
        };
        found.map_err(|error| refusal(RefusalReason::NotFound, error.to_string()))
    }

    fn send(&self, run: RunId, text: &str, interaction_id: Option<InteractionId>) -> Asked<DelegationResponse> {
        let state = self.state(run)?;
        let open = state.question.as_ref().map(|question| question.interaction_id);
        // The answer may be on disk although the caller saw no response. Without a number, it is the last one that was
        // given, unless another question is open: that may have the same answer.
        let last = state.requests.values().max().copied().filter(|_| open.is_none());
        if let Some(given) = interaction_id.or(last)
            && state.requests.get(&reply_key(run, given, text)) == Some(&given)
        {
            return Ok(DelegationResponse::Done);
        }
        let Some(interaction_id) = interaction_id.or(open) else {
            let message = match state.is_over() {
                true => format!("run {run} has ended, so it takes no answer; start another run instead"),
                false => format!("run {run} asks nothing now; call wait_runs, which returns when it does"),
            };
            return Err(refusal(RefusalReason::WrongState, message));
        };
        let request_id = Some(reply_key(run, interaction_id, text));
        let reply = Reply { interaction_id, text: text.to_owned(), files: Vec::new(), request_id };
        // An answer to a run that rests starts an attempt.
        if state.rests()
            && let Err(error) = self.runtime.check_variables(run)
        {
            return match self.keeper.reply_elsewhere(run, reply) {
                true => Ok(DelegationResponse::Done),
                false => Err(refused(&error)),
            };
        }
        let delivery = self.runtime.reply_anywhere(run, reply).map_err(|error| refused(&error))?;
        self.delivered(run, delivery);
        Ok(DelegationResponse::Done)
    }

    fn delivered(&self, run: RunId, delivery: crate::Delivery) {
        match delivery {
            crate::Delivery::Here => self.keeper.keep(run),
            crate::Delivery::Elsewhere | crate::Delivery::Before => {}
        }
    }

    fn cancel(&self, run: RunId, by: &str) -> Asked<DelegationResponse> {
        let [found] = &self.runs(&[run])?[..] else { return Err(unknown(run)) };
        match found.state {
            DelegatedState::Cancelled => return Ok(DelegationResponse::Done),
            DelegatedState::Completed
            | DelegatedState::Failed
            | DelegatedState::TimedOut
            | DelegatedState::Detached => {
                let message = format!("run {run} has ended already ({}), so there is nothing to cancel", found.state);
                return Err(refusal(RefusalReason::WrongState, message));
            }
            DelegatedState::Queued | DelegatedState::Running | DelegatedState::NeedsOrchestrator => {}
        }
        let delivery = match self.runtime.cancel_anywhere(run, by) {
            Ok(delivery) => delivery,
            // An earlier cancel may have ended it in the meantime.
            Err(error) => {
                let ended = self.runs(&[run])?.pop().map(|found| found.state);
                let is_canceled = ended == Some(DelegatedState::Cancelled);
                return if is_canceled { Ok(DelegationResponse::Done) } else { Err(refused(&error)) };
            }
        };
        self.delivered(run, delivery);
        Ok(DelegationResponse::Done)
    }

    fn list(&self) -> Asked<DelegationResponse> {
        let rows = self.with_catalog(|catalog| {
            catalog.refresh(self.runtime.log())?;
            catalog.list(&Query { limit: Some(LIST_MAX), ..Query::default() })
        })?;
        let runs = rows.into_iter().map(|row| self.run(row)).collect::<Asked<_>>()?;
        Ok(DelegationResponse::Listed { runs })
    }

    fn result(&self, run: RunId) -> Asked<DelegationResponse> {
        let Some(mut found) = self.runs(&[run])?.pop() else { return Err(unknown(run)) };
        if !found.state.is_ended() {
            let message = format!("run {run} has not ended ({}); call wait_runs first", found.state);
            return Err(refusal(RefusalReason::WrongState, message));
        }
        let folder = self.runtime.data().run(run);
        let result = result::read_or_make(self.runtime.log(), &folder, run).map_err(|error| refused(&error))?;
        let patch = result.as_ref().and_then(|result| patch_of(result, &folder));
        let (text, output, next_actions) = match result {
            Some(result) => (result.text, result.output, result.next_actions),
            None => (None, None, Vec::new()),
        };
        found.next_actions = next_actions;
        let is_completed = found.state == DelegatedState::Completed;
        let result = DelegatedResult {
            run: found,
            patch,
            text: text.filter(|_| is_completed),
            output: output.filter(|_| is_completed).map(serde_json::Value::Object),
        };
        Ok(DelegationResponse::Result { result: Box::new(result) })
    }

    /// The state that the Log has now.
    fn state(&self, run: RunId) -> Asked<State> {
        self.runtime.log().head(run).map_err(|_| unknown(run))?;
        let mut state = State::default();
        read_all(self.runtime.log(), run, |event| {
            state.evolve(&event);
            Ok(())
        })
        .map_err(|error| refused(&error))?;
        Ok(state)
    }

    /// Runs as they are now, in the given order.
    fn runs(&self, ids: &[RunId]) -> Asked<Vec<DelegatedRun>> {
        let current = self.with_catalog(|catalog| catalog.refresh_some(self.runtime.log(), ids))?;
        current
            .into_iter()
            .map(|current| {
                let (_, row) = current.row.ok_or_else(|| unknown(current.run_id))?;
                self.run(row)
            })
            .collect()
    }

    fn run(&self, row: Row) -> Asked<DelegatedRun> {
        let question = match row.question {
            Some(_) => self.with_catalog(|catalog| catalog.pending(row.run_id))?,
            None => None,
        };
        Ok(state::run(row, question, self.config.clock.now()))
    }

    fn with_catalog<T>(&self, ask: impl FnOnce(&mut Catalog) -> Result<T, CatalogError>) -> Asked<T> {
        let mut kept = lock(&self.catalog);
        let data = self.runtime.data();
        let opened = match kept.take() {
            Some(catalog) => Ok(catalog),
            None => Catalog::open(&data.catalog(), &data.runs()).map(|(catalog, _)| catalog),
        };
        let asked = opened.and_then(|catalog| ask(kept.insert(catalog)));
        asked.map_err(|error| refused(&error))
    }
}

fn unknown(run: RunId) -> DelegationRefusal {
    refusal(RefusalReason::NotFound, format!("there is no run {run}; list_runs shows the ids of the newest runs"))
}

/// The same answer to the same question has the same key.
fn reply_key(run: RunId, question: InteractionId, text: &str) -> String {
    format!("mcp-{}", blake3::hash(format!("{run}\n{}\n{text}", question.0).as_bytes()).to_hex())
}
