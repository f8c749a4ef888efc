//! One run held by its owner: its Log, and the state that is the fold over it.
//!
//! The holder of a [`Run`] is the writer of its Log; dropping it releases the Log. Decisions are appended before they
//! are carried out, and `result.json` is on disk before the last event is.

use std::sync::Arc;
use std::time::Duration;

use skillrun_base::files;
use skillrun_base::whole_file;
use skillrun_engine::Engines;
use skillrun_lifecycle::advice;
use skillrun_lifecycle::closing::ControlEvent;
use skillrun_lifecycle::run::{
    self as life, Decision, Effect, HostState, Input, Opening, Refusal, RunOptions, SessionLeft, State,
};
use skillrun_log::{Durability, EventLog, FileLog, LogError, LogErrorKind, Seq};
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::rasp::{ControlData, Correlation, Data, Event, EvidenceData};
use skillrun_model::verdict::RunError;
use skillrun_model::{AttemptNumber, EngineName, RunId, Timestamp};
use skillrun_runs::data_folder::{DataFolder, RESULT, RunFolder};
use skillrun_runs::record::RunRecord;
use skillrun_runs::result::ResultFold;
use skillrun_translate::EventBuilder;

use crate::accept;
use crate::attempt::message;
use crate::clock::{Clock, time_left};
use crate::error::RuntimeError;
use crate::runtime::Counters;
use crate::store::RunStore;
use crate::variables::{ProcessVariables, SealedVariables, random_salt};
use crate::views::ViewWriter;

#[cfg(test)]
mod tests;

pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) folder: RunFolder,
    pub(crate) record: Arc<RunRecord>,
    pub(crate) state: State,
    /// Folded as `state` is, so that the end of the run need not read the Log again.
    result: ResultFold,
    views: OwnViews,
    pub(crate) builder: EventBuilder,
    store: Arc<dyn RunStore>,
    clock: Arc<dyn Clock>,
    counters: Arc<Counters>,
    /// The moment of the last decision, in wall time and in running time.
    decided_at: Option<(Timestamp, Duration)>,
}

impl Drop for Run {
    fn drop(&mut self) {
        self.store.release(self.id);
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("id", &self.id).field("status", &self.state.status).finish_non_exhaustive()
    }
}

/// The files of lines beside the Log of a run, as far as the owner writes them along with it.
#[derive(Debug)]
enum OwnViews {
    /// There was no evidence yet.
    NotYet,
    Open(Box<ViewWriter>),
    /// They are made from the Log when the run waits or is over.
    Elsewhere,
}

/// What every owner needs.
#[derive(Debug, Clone)]
pub(crate) struct Tools {
    pub(crate) data: DataFolder,
    pub(crate) engines: Arc<Engines>,
    pub(crate) log: Arc<FileLog>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) variables: Arc<ProcessVariables>,
}

impl Run {
    /// A new run, whose Log was created and is empty. Its record is on disk.
    pub(crate) fn new(tools: &Tools, record: RunRecord) -> Self {
        let folder = tools.data.run(record.run_id);
        let (clock, counters) = (tools.clock.clone(), tools.counters.clone());
        Self::stored(Arc::new(tools.clone()), folder, clock, counters, Arc::new(record))
    }

    /// The same, wherever its Log is.
    pub(crate) fn stored(
        store: Arc<dyn RunStore>,
        folder: RunFolder,
        clock: Arc<dyn Clock>,
        counters: Arc<Counters>,
        record: Arc<RunRecord>,
    ) -> Self {
        Self {
            id: record.run_id,
            folder,
            builder: EventBuilder::new(record.run_id, EngineName::new(record.engine.name.clone())),
            record,
            state: State::default(),
            result: ResultFold::default(),
            views: OwnViews::NotYet,
            store,
            clock,
            counters,
            decided_at: None,
        }
    }

    /// Becomes the owner of a run, and reads its state from its Log.
    pub(crate) fn open(tools: &Tools, id: RunId) -> Result<Self, RuntimeError> {
        let folder = tools.data.run(id);
        // First, so that nothing is repaired in a run that this version does not understand.
        let record = RunRecord::read(&folder.record())?;
        let recovered = tools.log.open(id)?;
        let mut run = Self::new(tools, record);
        if let Some(damage) = recovered.damage {
            return Err(LogError { run: id, kind: LogErrorKind::Damaged(damage) }.into());
        }
        run.fold()?;
        Ok(run)
    }

    /// Reads its state from its Log.
    pub(crate) fn fold(&mut self) -> Result<(), RuntimeError> {
        let (mut state, mut result) = (State::default(), ResultFold::default());
        // Names of the last attempt: an open attempt is read again, and produces them again.
        let mut last: Vec<String> = Vec::new();
        let builder = &mut self.builder;
        self.store.read_all(self.id, &mut |event, prev| {
            let before = state.attempt;
            state.evolve(event);
            result.linked(event, prev);
            if state.attempt != before {
                last.drain(..).for_each(|name| builder.recall(&name));
            }
            if let Data::Evidence(EvidenceData::MessageFinal(message)) = &event.data {
                last.push(message.message_id.clone());
            }
            Ok(())
        })?;
        if !state.attempt_is_open {
            last.iter().for_each(|name| builder.recall(name));
        }
        builder.renumber(state.last_seq + 1, &mut []);
        builder.set_attempt(state.attempt, EngineName::new(self.record.engine.name.clone()));
        (self.state, self.result) = (state, result);
        Ok(())
    }

    pub(crate) fn options(&self) -> RunOptions {
        self.record.options()
    }

    pub(crate) fn store(&self) -> &Arc<dyn RunStore> {
        &self.store
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Time that does not depend on the wall clock.
    pub(crate) fn running(&self) -> Duration {
        self.clock.running()
    }

    /// The running time at which the deadline of a question of this run is reached.
    pub(crate) fn time_up_at(&self, deadline: Timestamp) -> Duration {
        // From the moment of the decision, if that was here: the wall clock may have been set since.
        let (now, running) = self.decided_at.unwrap_or_else(|| (self.now(), self.running()));
        running.saturating_add(time_left(now, deadline, self.options().session_timeout))
    }

    /// The moment of a decision, by both clocks.
    fn decides_now(&mut self) -> Timestamp {
        let now = self.now();
        self.decided_at = Some((now, self.running()));
        now
    }

    /// Applies an input: the decision is appended, and its effects are returned to be carried out.
    pub(crate) fn apply(&mut self, input: Input<'_>) -> Result<Vec<Effect>, RuntimeError> {
        let now = self.decides_now();
        let decision = self.decide(now, input)?;
        self.write(now, decision)
    }

    /// Appends a decision about a workflow.
    pub(crate) fn conduct(&mut self, decision: Decision) -> Result<Vec<Effect>, RuntimeError> {
        let now = self.decides_now();
        self.write(now, decision)
    }

    /// The running time at a moment of the wall clock.
    pub(crate) fn moment_at(&self, at: Timestamp) -> Duration {
        let left = at.millis_since(self.now()).unwrap_or(0);
        self.running().saturating_add(Duration::from_millis(left))
    }

    /// The same where a process may wait between two turns, which is ended by `end_process` if the run ends with this
    /// input.
    pub(crate) fn apply_idle(
        &mut self,
        input: Input<'_>,
        end_process: impl FnOnce(),
    ) -> Result<Vec<Effect>, RuntimeError> {
        let now = self.decides_now();
        let decision = self.decide(now, input)?;
        if decision.effects.iter().any(|effect| matches!(effect, Effect::Start { .. })) {
            // Before anything is written: an answer that cannot be carried out here must still be possible elsewhere.
            self.check_variables()?;
        }
        planted!(EndsAfterLastEvent => { return self.write(now, decision); });
        match self.write_idle(now, decision, end_process) {
            // The input is in the Log, and the end follows from the state.
            Err(error) if self.state.lacks_end() => {
                tracing::debug!(%error, "the end of the run is not written yet; it follows from the state");
                Ok(Vec::new())
            }
            written => written,
        }
    }

    /// Resumes a run of an earlier owner. There may be a process that waits between two turns.
    pub(crate) fn recover(
        &mut self,
        found: HostState,
        session: SessionLeft,
        end_process: impl FnOnce(),
    ) -> Result<Vec<Effect>, RuntimeError> {
        let now = self.decides_now();
        let decision = life::recover(&self.state, self.options(), self.id, now, found, session);
        planted!(SkipsTheRestOfABatch => {
            self.clock.sleep(Duration::from_millis(1));
            return Ok(decision.effects);
        });
        self.write_idle(now, decision, end_process)
    }

    /// Appends a decision about a run whose process may wait between two turns.
    fn write_idle(
        &mut self,
        now: Timestamp,
        mut decision: Decision,
        end_process: impl FnOnce(),
    ) -> Result<Vec<Effect>, RuntimeError> {
        planted!(EndsBeforeReason => { if decision.ends_run() { end_process(); return self.write(now, decision); } });
        let end = decision.take_end();
        let effects = self.write(now, decision)?;
        let Some(end) = end else { return Ok(effects) };
        planted!(LeavesProcessAtClose => { if self.state.closing.is_some() { return self.write(now, end); } });
        end_process();
        self.write(now, end)
    }

    /// Whether an attempt may be started by this process: it has the variables that the run was made with.
    pub(crate) fn check_variables(&self) -> Result<(), RuntimeError> {
        self.store.check_variables(self.id)
    }

    /// From here on, the variables of this process are those of the run.
    pub(crate) fn use_own_variables(&self, variables: &ProcessVariables) -> Result<(), RuntimeError> {
        let path = self.folder.variables();
        let failed = |doing| RuntimeError::file(path.clone(), doing);
        let Some(sealed) = SealedVariables::read(&path).map_err(failed("read"))? else { return Ok(()) };
        let salt = random_salt().map_err(failed("written"))?;
        sealed.again(variables, salt).write(&path).map_err(failed("written"))
    }

    /// Ends a run whose Log has lost every event. Its request is in its record, but what happened to it is unknown: the
    /// evidence stays, and nothing is started again.
    pub(crate) fn end_without_log(&mut self) -> Result<(), RuntimeError> {
        // They belong to a Log that no longer exists.
        for path in [self.folder.result(), self.folder.fcmp(), self.folder.diagnostics()] {
            files::remove_if_exists(&path).map_err(RuntimeError::file(&path, "removed"))?;
        }
        let record_hash = whole_file::hash(&self.folder.record()).ok().map(|(hash, _)| hash);
        self.apply(Input::Accepted(accept::started(&self.record, record_hash)))?;
        let message = "the Log was lost before its first event ended; what is left of it is kept beside it".to_owned();
        let error = RunError {
            category: ErrorCategory::Host,
            code: Code::LogLost,
            message,
            details: Vec::new(),
            reset_at: None,
        };
        self.apply(Input::CannotStart(error)).map(drop)
    }

    fn decide(&self, now: Timestamp, input: Input<'_>) -> Result<Decision, RuntimeError> {
        let decided = life::decide(&self.state, self.options(), self.id, now, input);
        decided.map_err(|refusal: Refusal| RuntimeError::Refused { run: self.id, refusal })
    }

    fn write(&mut self, now: Timestamp, decision: Decision) -> Result<Vec<Effect>, RuntimeError> {
        let is_end = decision.ends_run() || self.state.is_over();
        let Decision { events, opening, effects } = decision;
        let named = |event| self.with_names(self.state.attempt, event);
        let events: Vec<ControlEvent> = events.into_iter().map(named).collect::<Result<_, _>>()?;
        let opening = opening.map(|Opening { attempt, events }| {
            let named = |event| self.with_names(attempt, event);
            Ok::<_, RuntimeError>((attempt, events.into_iter().map(named).collect::<Result<Vec<_>, _>>()?))
        });
        let opening = opening.transpose()?;
        let mut batch: Vec<Event> = events.into_iter().map(|event| self.control(now, event)).collect();
        if let Some((attempt, events)) = opening {
            let engine = EngineName::new(self.record.engine.name.clone());
            self.builder.set_attempt(attempt, engine);
            batch.extend(events.into_iter().map(|event| self.control(now, event)).collect::<Vec<_>>());
        }
        let ended = is_end.then(|| self.result_with(&batch));
        if let Some(ended) = &ended {
            self.store.prepare_end(&self.folder, &self.record, ended.clone());
        }
        if !batch.is_empty() {
            self.append(batch, Durability::Synced)?.iter().for_each(log_control_event);
        }
        if let Some(ended) = ended {
            self.result = ended;
        }
        if self.state.is_over() {
            // The events it was reserved for are written; the views may use it.
            self.store.free_reserve(self.id);
        }
        Ok(effects)
    }

    /// Adds what only the runtime knows: the file with the result, the hashes of files that come with an answer, the
    /// exact text of a message, the skill, the engine and the engine's own login command in the next actions.
    fn with_names(&self, attempt: AttemptNumber, mut event: ControlEvent) -> Result<ControlEvent, RuntimeError> {
        if let ControlData::MessageUser(message) = event.data {
            let failed = RuntimeError::file(self.folder.audit(), "written");
            let message = message::for_event(&self.folder, attempt, message).map_err(failed)?;
            event.data = ControlData::MessageUser(message);
        } else if let ControlData::RunCompleted(completed) = &mut event.data {
            completed.result = Some(RESULT.to_owned());
        } else if let ControlData::InteractionReplied(replied) = &mut event.data {
            let inputs = self.folder.inputs();
            let hash = |name: &String| Some((name.clone(), whole_file::hash(&inputs.join(name)).ok()?.0));
            replied.file_hashes = replied.files.iter().filter_map(hash).collect();
        } else if let ControlData::RunFailed(failed) = &mut event.data {
            let skill = self.record.skill.as_ref().map(|skill| skill.source.as_path().to_string_lossy().into_owned());
            advice::name_parts(&mut failed.next_actions, &self.record.engine.name, skill.as_deref());
            if let Some(login) = &self.record.engine.login {
                advice::name_login(&mut failed.next_actions, login);
            }
        }
        Ok(event)
    }

    /// A control event with its place in the Log.
    fn control(&mut self, now: Timestamp, event: ControlEvent) -> Event {
        let session_id = event.correlation.session_id.or_else(|| self.state.session_id.clone());
        // A reply is a request of its own, and its key shows whether it was already carried out.
        let is_reply = matches!(event.data, ControlData::InteractionReplied(_));
        let of_run = || self.record.request.request_id.clone().filter(|_| !is_reply);
        let request_id = event.correlation.request_id.or_else(of_run);
        let parent_run_id = self.record.parent.as_ref().map(|link| link.run_id);
        let correlation = Correlation { session_id, request_id, parent_run_id, ..event.correlation };
        self.builder.control(now, event.level, event.data, correlation)
    }

    /// Appends one event, synced to disk.
    pub(crate) fn record(&mut self, event: ControlEvent) -> Result<(), RuntimeError> {
        let now = self.now();
        self.builder.renumber(self.state.last_seq + 1, &mut []);
        self.write(now, Decision { events: vec![event], ..Decision::default() }).map(drop)
    }

    /// A note that changes no state, such as a heartbeat.
    pub(crate) fn note(&mut self, event: ControlEvent) -> Result<(), RuntimeError> {
        // Events that were made and wait to be appended get their numbers after this one.
        self.builder.renumber(self.state.last_seq + 1, &mut []);
        let event = self.control(self.now(), event);
        self.append(vec![event], Durability::Derived).map(drop)
    }

    /// Events made from evidence. They can be made again, so they need not be synced at once.
    pub(crate) fn append_evidence(&mut self, mut batch: Vec<Event>) -> Result<(), RuntimeError> {
        self.builder.renumber(self.state.last_seq + 1, &mut batch);
        if batch.is_empty() {
            return Ok(());
        }
        self.append(batch, Durability::Derived)?;
        self.translate_views();
        Ok(())
    }

    /// Translates the events of this batch for the views of a new run. A failure does not stop the run: the views are
    /// made from the Log later.
    fn translate_views(&mut self) {
        let Some(log) = self.store.file_log() else { return };
        if let OwnViews::NotYet = self.views {
            let opened = ViewWriter::of_new(self.record.translator, log, self.id, &self.folder);
            self.views = match opened {
                Ok(Some(writer)) => OwnViews::Open(Box::new(writer)),
                Ok(None) | Err(_) => OwnViews::Elsewhere,
            };
        }
        if let OwnViews::Open(writer) = &mut self.views
            && writer.catch_up(log).is_err()
        {
            self.views = OwnViews::Elsewhere;
        }
    }

    /// Finishes the views that were written along with the run. False if there are none, or if it failed.
    pub(crate) fn finish_views(&mut self) -> bool {
        match (std::mem::replace(&mut self.views, OwnViews::Elsewhere), self.store.file_log()) {
            (OwnViews::Open(writer), Some(log)) => writer.finish(log).is_ok(),
            (OwnViews::Open(_) | OwnViews::NotYet | OwnViews::Elsewhere, _) => false,
        }
    }

    /// Appends events, and folds them.
    fn append(&mut self, batch: Vec<Event>, durability: Durability) -> Result<Arc<[Event]>, RuntimeError> {
        let batch: Arc<[Event]> = batch.into();
        let expected = Seq(self.state.last_seq + 1);
        let append = || self.store.append(self.id, expected, &batch, durability);
        let appended = match append() {
            Err(LogError { kind: LogErrorKind::NoSpace { .. }, .. }) if durability == Durability::Synced => {
                self.store.free_reserve(self.id);
                append()
            }
            other => other,
        };
        match appended {
            Ok(()) => {
                self.counters.appended(batch.len());
                planted!(ForgetsToEvolve => { if durability == Durability::Synced { return Ok(batch); } });
                for event in &*batch {
                    self.state.evolve(event);
                    self.result.event(event);
                }
                Ok(batch)
            }
            Err(error) => {
                self.builder.renumber(self.state.last_seq + 1, &mut []);
                planted!(KeepsTheNumber => { return Err(error.into()); });
                self.builder.set_attempt(self.state.attempt, EngineName::new(self.record.engine.name.clone()));
                Err(error.into())
            }
        }
    }

    /// The result with these events at the end of the Log.
    fn result_with(&self, batch: &[Event]) -> ResultFold {
        let mut fold = self.result.clone();
        for (event, at) in batch.iter().zip(0..) {
            let is_end = matches!(
                event.data,
                Data::Control(ControlData::RunCompleted(_))
                    | Data::Control(ControlData::RunFailed(_))
                    | Data::Control(ControlData::RunCanceled(_))
            );
            // The hash of the line before it, which is not appended yet.
            let prev = match (is_end, batch.first()) {
                (true, Some(first)) => self.store.hash_after(self.id, Seq(first.seq), &batch[..at]),
                (true, None) | (false, _) => None,
            };
            fold.linked(event, prev);
        }
        fold
    }
}

/// Whether this process has the variables that a run was made with.
pub(crate) fn check_variables(
    run: RunId,
    folder: &RunFolder,
    variables: &ProcessVariables,
) -> Result<(), RuntimeError> {
    let path = folder.variables();
    let sealed = SealedVariables::read(&path).map_err(RuntimeError::file(path, "read"))?;
    let changed = sealed.map(|sealed| sealed.changed(variables)).unwrap_or_default();
    if changed.is_empty() { Ok(()) } else { Err(RuntimeError::OtherVariables { run, changed }) }
}

/// Logs an event that was decided, without the texts of users and agents.
fn log_control_event(event: &Event) {
    let detail = if let Data::Control(ControlData::RunStatus(change)) = &event.data {
        change.status.map(|status| format!("{status:?}"))
    } else if let Data::Control(ControlData::AttemptEnded(ended)) = &event.data {
        let verdict = &ended.verdict;
        Some(format!("rule {:?}, {:?}, {}", verdict.rule, verdict.turn, verdict.reason_code))
    } else if let Data::Control(ControlData::RunFailed(failed)) = &event.data {
        Some(failed.reason_code.to_string())
    } else {
        None
    };
    let (seq, attempt, kind) = (event.seq, event.attempt_number.0, event.event_type());
    tracing::info!(seq, attempt, detail = detail.unwrap_or_default(), "{kind:?}");
}
