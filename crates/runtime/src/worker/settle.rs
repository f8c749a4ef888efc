//! Settles an attempt: reads the rest of its evidence, applies the gate, and writes the result as one batch.

use std::borrow::Cow;

use skillrun_lifecycle::closing::{self, ControlEvent};
use skillrun_lifecycle::run::{Input, ProcessLeft, RunStep, SettledAttempt, State};
use skillrun_model::rasp::Correlation;
use skillrun_model::status::Continuation;
use skillrun_model::{AttemptNumber, Code, RunStatus};
use skillrun_runs::judge::{ending, judge};

use super::Worker;
use super::outside::TurnFiles;
use crate::attempt::reading::{AttemptRead, Reading};
use crate::error::RuntimeError;

impl Worker<'_> {
    /// No process is left that could write more of it.
    pub(super) fn settle_what_is_left(&mut self) -> Result<RunStep, RuntimeError> {
        let attempt = self.run.state.attempt;
        if self.host.is_none() && self.is_free_for_another(attempt) {
            return Ok(RunStep::Start(attempt));
        }
        let reading = self.reading(attempt)?;
        let process = if self.host.is_some() { ProcessLeft::Living } else { ProcessLeft::Gone };
        self.settle(reading, process)
    }

    /// Reads an attempt from its first byte.
    pub(super) fn reading(&self, attempt: AttemptNumber) -> Result<Reading, RuntimeError> {
        let evidence = self.files.evidence(&self.run, attempt)?;
        planted!(RepeatsEvidence => { return Reading::begin(&self.run, attempt, evidence); });
        Reading::open(&self.run, attempt, evidence)
    }

    pub(super) fn settle(&mut self, reading: Reading, process: ProcessLeft) -> Result<RunStep, RuntimeError> {
        let attempt = reading.attempt;
        let read = reading.finish(&mut self.run)?;
        let run = &mut self.run;
        let state = judged_state(&run.state);
        let settled = judge(&run.record, &self.rules, &state, attempt, &read.facts, &read.meta);
        if process == ProcessLeft::Living && settled.verdict.run_status.is_terminal() {
            // Before the end is in the Log: no process looks for the process of a run that is over.
            self.end_process();
        }
        let mut beside = noticed(&read);
        beside.extend(self.files.untested_version(&self.run));
        if attempt == AttemptNumber(1) {
            beside.extend(self.files.found_in_workspace(&self.run));
        }
        beside.extend(self.undelivered_answer(attempt));
        beside.extend(self.files.give_back_login(self.run.id, process));
        let run = &mut self.run;
        let TurnFiles { artifacts, host_hash } = self.files.turn_files(run, &self.rules, attempt, &settled);
        beside.extend(artifacts);
        let effects = run.apply(Input::Settled(SettledAttempt {
            facts: &read.facts,
            settled: &settled,
            ending: ending(&run.record, &run.state, &read.meta, read.elapsed_ms, host_hash),
            artifacts: beside,
            process,
        }))?;
        self.files.note_settled(run, attempt, &read, &settled.verdict);
        let next = self.carry_out(effects)?;
        planted!(SaysAnyway => {
            let (say, question) = (self.run.state.say.clone(), self.run.state.question.clone());
            if let (Some(text), Some(question)) = (say, question) {
                let interaction_id = question.interaction_id;
                let reply = Input::Reply { interaction_id, text, files: Vec::new(), request_id: None };
                let effects = self.run.apply(reply)?;
                return self.carry_out(effects);
            }
        });
        let waits = self.run.state.status == Some(RunStatus::WaitingUser);
        if waits && process == ProcessLeft::Gone && self.run.record.engine.continuation == Continuation::Sticky {
            return self.process_gone();
        }
        Ok(next)
    }
}

/// The state that the gate receives.
fn judged_state(state: &State) -> Cow<'_, State> {
    planted!(HidesTheCancel => { return Cow::Owned(State { canceling: None, ..state.clone() }); });
    Cow::Borrowed(state)
}

/// What the host reported, and what of the evidence could not be read.
fn noticed(read: &AttemptRead) -> Vec<ControlEvent> {
    let host = read.meta.warnings.iter().map(|warning| closing::warning(warning.code, warning.message.clone()));
    let meta = read.meta.problems.iter().map(|problem| closing::warning(Code::MetaMissing, problem.clone()));
    let unlogged = read.is_full.then(|| {
        let message = "the disk was full, so not all events of this attempt are in the Log; its bytes are in .audit";
        // The events with the session id are among those, and the next turn continues the session.
        let session_id = read.facts.session_id.as_deref().map(Into::into);
        let correlation = Correlation { session_id, ..Correlation::default() };
        ControlEvent { correlation, ..closing::warning(Code::EventsNotLogged, message.to_owned()) }
    });
    let index = read.totals.problems.iter().map(|problem| closing::warning(Code::ChunkIndexTorn, problem.clone()));
    let withheld = read.totals.withheld.iter().map(|problem| closing::warning(Code::MaskIncomplete, problem.clone()));
    host.chain(meta).chain(index).chain(withheld).chain(unlogged).collect()
}
