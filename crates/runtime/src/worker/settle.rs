//! Settles an attempt: reads the rest of its evidence, applies the gate, and writes the result as one batch.

use skillrun_base::whole_file;
use skillrun_engine::descriptor::Executable;
use skillrun_evidence::names;
use skillrun_lifecycle::closing::{self, ControlEvent};
use skillrun_lifecycle::run::{Input, ProcessLeft, SettledAttempt};
use skillrun_model::rasp::Correlation;
use skillrun_model::status::Continuation;
use skillrun_model::{Code, IgnoredError, RunStatus};
use skillrun_runs::judge::{ending, judge};
use skillrun_runs::{artifacts, blobs, login, settled_meta};

use super::{Worker, WorkerStep};
use crate::attempt::reading::{AttemptRead, Reading};
use crate::error::RuntimeError;

impl Worker<'_> {
    /// No process is left that could write more of it.
    pub(super) fn settle_what_is_left(&mut self) -> Result<WorkerStep, RuntimeError> {
        let attempt = self.run.state.attempt;
        if self.host.is_none() && self.is_free_for_another(attempt) {
            return Ok(WorkerStep::Start(attempt));
        }
        let reading = Reading::open(&self.run, attempt)?;
        let process = if self.host.is_some() { ProcessLeft::Living } else { ProcessLeft::Gone };
        self.settle(reading, process)
    }

    pub(super) fn settle(&mut self, reading: Reading, process: ProcessLeft) -> Result<WorkerStep, RuntimeError> {
        let attempt = reading.attempt;
        let read = reading.finish(&mut self.run)?;
        let run = &mut self.run;
        let settled = judge(&run.record, &self.rules, &run.state, attempt, &read.facts, &read.meta);
        if let Some(output) = &settled.verdict.output {
            // The event has its size; only then it is looked for here.
            if blobs::is_large(output) {
                // It can be made again from the evidence.
                blobs::write_output(&run.folder, attempt, output).ignored();
            }
        }
        if process == ProcessLeft::Living && settled.verdict.run_status.is_terminal() {
            // Before the end is in the Log: no process looks for the process of a run that is over.
            self.end_process();
        }
        let mut beside = noticed(&read);
        beside.extend(self.untested_version());
        beside.extend(self.undelivered_answer(attempt));
        beside.extend(login::give_back(&self.config.tools.data, self.run.id, process));
        let run = &mut self.run;
        let rules = self.rules.skill.as_ref().map(|skill| skill.runner.artifacts.as_slice()).unwrap_or_default();
        let diff = run.folder.audit().join(format!("fs-diff.{attempt}.json"));
        let found = artifacts::artifacts(&run.folder.workspace(), &diff, settled.verdict.output.as_ref(), rules);
        beside.extend(artifacts::control_events(&found));
        if settled.verdict.run_status.is_terminal() {
            // Until then a later turn may make it.
            beside.extend(artifacts::missing_warnings(&found));
        }
        // Written once, before the host reports that the attempt is over.
        let host_hash = whole_file::hash(&run.folder.audit().join(names::host(attempt))).ok().map(|(hash, _)| hash);
        let effects = run.apply(Input::Settled(SettledAttempt {
            facts: &read.facts,
            settled: &settled,
            ending: ending(&run.record, &read.meta, read.elapsed_ms, host_hash),
            artifacts: beside,
            process,
        }))?;
        let counters = &self.config.tools.counters;
        counters.settled(&run.record.engine.name, settled.verdict.turn, &read.facts.parse, read.bytes);
        // A view; its content is in the Log.
        settled_meta::write(&run.folder, attempt, &read.facts, &settled.verdict, run.state.session_id.as_deref())
            .ignored();
        let next = self.carry_out(effects)?;
        let waits = self.run.state.status == Some(RunStatus::WaitingUser);
        if waits && process == ProcessLeft::Gone && self.run.record.engine.continuation == Continuation::Sticky {
            return self.process_gone();
        }
        Ok(next)
    }
}

impl Worker<'_> {
    /// A warning if the engine's version is not one that its format was tested with. Engines that are part of this
    /// program have its version.
    fn untested_version(&self) -> Option<ControlEvent> {
        let engine = &self.run.record.engine;
        let version = engine.version.as_deref()?;
        let descriptor = self.config.engines.get(&engine.name).ok()?;
        let is_ours = matches!(descriptor.executable, Executable::Own);
        let is_untested = !is_ours && descriptor.version_is_untested(version);
        let message = format!("{} {version} is outside the versions {} was tested on", engine.name, engine.profile);
        is_untested.then(|| closing::warning(Code::EngineVersionUntested, message))
    }
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
    let index = read.problems.iter().map(|problem| closing::warning(Code::ChunkIndexTorn, problem.clone()));
    let withheld = read.withheld.iter().map(|problem| closing::warning(Code::MaskIncomplete, problem.clone()));
    host.chain(meta).chain(index).chain(withheld).chain(unlogged).collect()
}
