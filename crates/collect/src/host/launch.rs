//! Starts the process of an attempt.

use rustix::process::Pid;
use skillrun_confine::{BoxInit, BoxNetwork, NetworkPlan};
use skillrun_evidence::Recorder;
use skillrun_evidence::host_record::HostError;
use skillrun_model::Code;

use super::deadlines::Deadlines;
use super::input::Inputs;
use super::part::AttemptEvidence;
use super::record;
use super::run::{Host, Running};
use super::streams::Streams;
use crate::limits::watch::Watch;
use crate::plan::{StdinPlan, Variable, VariableKind};
use crate::process::tree::Left;
use crate::secrets::{SHORTEST, Secrets};
use crate::spawn::{EngineCommand, NOT_FOUND, NotStarted, spawn};
use crate::wiring::{HostEnds, Wires, open_input_file, recorded_streams};

struct HostWires {
    ends: HostEnds,
    watch: Option<Watch>,
    init: Option<BoxInit>,
    file: Option<std::fs::File>,
}

/// The result of a launch.
pub(super) enum Launched {
    Running(Box<Running>),
    /// The record states why; these are the files that were created.
    Refused(Option<Box<AttemptEvidence>>),
}

impl Host {
    /// Creates the files and starts the process. If it does not start, the record states why, and the created files are
    /// returned.
    pub(super) fn launch(&mut self) -> Launched {
        let now = self.clock.now();
        self.record.started_at = record::wall_clock();
        let streams = recorded_streams(self.plan.wiring, &self.plan.stdin);
        let recorder = match Recorder::create(&self.audit, self.plan.attempt, streams) {
            Ok(recorder) => recorder,
            Err(error) => {
                self.not_started(NotStarted::before(format!("failed to create the recording: {error}")));
                return Launched::Refused(None);
            }
        };
        let part = AttemptEvidence::new(recorder, now);
        if let Some(ended_by) = self.ended_early() {
            self.record.ended_by = Some(ended_by);
            return Launched::Refused(Some(Box::new(part)));
        }
        let secrets = Secrets::of(&self.plan);
        self.warn_of_short_secrets();
        match self.start_process() {
            Ok((main, wires)) => {
                self.record.pid = Some(main.as_raw_nonzero().get().unsigned_abs());
                let file = wires.file;
                let host = wires.ends;
                let mut watch = wires.watch;
                let group = watch.as_mut().and_then(Watch::group);
                let mut running = Running {
                    main,
                    init: wires.init,
                    streams: Streams::new(host.streams, secrets, self.plan.limits.max_bytes, part),
                    deadlines: Deadlines::new(self.plan.limits, now),
                    ladder: None,
                    exit: None,
                    drained: 0,
                    inputs: Inputs::new(host.stdin, file),
                    // One that has the limits must not be left for another.
                    wants_group: group.is_none(),
                    group,
                    watch,
                    left: Left::Some,
                    is_at_top: false,
                    change_over_by: None,
                    meta_due: None,
                    held: host.held,
                };
                self.write_meta(&mut running, now);
                Launched::Running(Box::new(running))
            }
            Err(why) => {
                self.not_started(why);
                Launched::Refused(Some(Box::new(part)))
            }
        }
    }

    fn not_started(&mut self, why: NotStarted) {
        let NotStarted { exit_code, message } = why;
        // It contains the command, and users put secrets there too.
        let mut message = message.into_bytes();
        Secrets::of(&self.plan).mask(&mut message);
        let message = String::from_utf8_lossy(&message).into_owned();
        let code = match exit_code {
            Some(NOT_FOUND) => Code::EngineNotFound,
            Some(_) => Code::EngineNotStarted,
            None => Code::HostError,
        };
        record::set_not_started(&mut self.record, exit_code, HostError { code, message });
    }

    fn start_process(&mut self) -> Result<(Pid, HostWires), NotStarted> {
        let workspace = self.plan.workspace.as_path().to_owned();
        let shown = workspace.display();
        if !workspace.is_dir() {
            return Err(NotStarted::before(format!("the workspace {shown} is not a folder")));
        }
        if let Err(error) = rustix::fs::access(&workspace, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK) {
            return Err(NotStarted::before(format!("the workspace {shown} cannot be written to ({error})")));
        }
        let file = match &self.plan.stdin {
            StdinPlan::File(path) => Some(open_input_file(path.as_path()).map_err(|error| {
                NotStarted::before(format!("{}: cannot be read as input ({error})", path.as_path().display()))
            })?),
            StdinPlan::Null | StdinPlan::Pipe | StdinPlan::Tty => None,
        };
        let wires = Wires::new(self.plan.wiring, &self.plan.stdin)
            .map_err(|error| NotStarted::before(format!("failed to create a pipe or terminal ({error})")))?;
        if wires.pipes_are_small {
            record::warn(&mut self.record, Code::PipeSmall, Code::PipeSmall.summary());
        }
        let engine = EngineCommand { argv: &self.plan.argv, cwd: &workspace, variables: &self.plan.variables };
        let (nonce, temporary) = (&self.plan.nonce, &self.temporary);
        let mut watch = self.plan.resources.as_ref().map(|plan| Watch::prepare(plan, nonce, temporary));
        let entries = watch.as_ref().map_or_else(|| Ok(Vec::new()), Watch::entries);
        let entries = entries.map_err(|error| {
            NotStarted::before(format!("failed to open the control group with the limits ({error})"))
        })?;
        let spawned = spawn(engine, wires.engine, self.plan.confinement.as_ref(), (&self.temporary, &entries))?;
        if let Some(watch) = &mut watch {
            watch.started(spawned.main, spawned.init.as_ref().map(BoxInit::pid), self.clock.now());
        }
        self.network = match (spawned.network, self.plan.confinement.as_ref().map(|plan| &plan.network)) {
            (Some(sockets), Some(NetworkPlan::Only(reachable))) => {
                let network = BoxNetwork::serve(sockets, reachable.clone());
                // Without its threads nothing is reached, and the engine reports that.
                network
                    .map_err(|error| {
                        let message = format!("the network of the box is not served ({error})");
                        record::warn(&mut self.record, Code::HostError, message);
                    })
                    .ok()
            }
            (Some(_) | None, _) => None,
        };
        Ok((spawned.main, HostWires { ends: wires.host, watch, init: spawned.init, file }))
    }

    fn warn_of_short_secrets(&mut self) {
        let is_short =
            |variable: &&Variable| variable.kind == VariableKind::Secret && variable.value.as_bytes().len() < SHORTEST;
        for variable in self.plan.variables.iter().filter(is_short) {
            let message = format!("{} is too short to be masked", variable.name.as_path().display());
            record::warn(&mut self.record, Code::SecretShort, message);
        }
    }
}
