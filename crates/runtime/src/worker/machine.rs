//! Hosts, messages and files of a run on this machine. `checks` has the hosts of checks.

mod checks;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Map, Value};
use skillrun_base::whole_file;
use skillrun_collect::owner::HostMessage;
use skillrun_collect::protocol::{HostRequest, InterruptedProcess};
use skillrun_collect::{
    Attached, CollectError, HostConnection, HostResponse, InputGiven, attach_within, end_host, host_is_alive,
    host_responds, input_given, put_aside, start, take_back, withdraw,
};
use skillrun_engine::descriptor::{Calls as CallRule, Executable};
use skillrun_evidence::host_record::{HostRecord, Refusal, RefusalKind, RefusalList};
use skillrun_evidence::{Stream, names};
use skillrun_lifecycle::Settled;
use skillrun_lifecycle::closing::{self, ControlEvent};
use skillrun_lifecycle::run::{ChildRun, ProcessLeft, SessionLeft, State};
use skillrun_lifecycle::workflow::{Beginning, Checkpoint, UnjudgedChild};
use skillrun_log::{Epoch, EventLog, Seq};
use skillrun_model::confinement::{HostPort, NetworkAccess};
use skillrun_model::delegation::{SubagentEnded, SubagentStatus};
use skillrun_model::rasp::data::UserMessage;
use skillrun_model::verdict::{RunError, Verdict};
use skillrun_model::{AttemptNumber, Classified, Code, ErrorClass, IgnoredError, RunId};
use skillrun_runs::children::ChildLog;
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::judge::Rules;
use skillrun_runs::{artifacts, blobs, copy, login, settled_meta};

use super::found;
use super::outside::{
    AttachedHost, AttemptFiles, ChildFault, Children, HostLink, Hosts, NoHost, PreparedStep, Steps, TurnFiles,
};
use super::start::no_host;
use crate::attempt::confinement;
use crate::attempt::evidence::{AttemptEvidence, AuditFiles};
use crate::attempt::reading::AttemptRead;
use crate::attempt::{launch, message, opening};
use crate::conductor;
use crate::delegation::board::{ChildBoard, Posted};
use crate::error::RuntimeError;
use crate::mailbox::{Mail, Mailbox};
use crate::run::Run;
use crate::runtime::{Inner, LentSlot, RuntimeConfig};
use crate::views;
use crate::workspace::Places;

/// How long an unresponsive host is waited for before the run is left for a while. Messages to the run wait as long.
const HOST_ATTACH_TIMEOUT: Duration = Duration::from_secs(10);

/// The outside of one run.
#[derive(Debug)]
pub(crate) struct Machine<'a> {
    pub(crate) inner: &'a Arc<Inner>,
    pub(crate) config: &'a RuntimeConfig,
    pub(crate) mail: Arc<Mailbox>,
    pub(crate) folder: RunFolder,
    /// None: the run cannot delegate.
    pub(crate) board: Option<Arc<ChildBoard>>,
    /// The heads of the Logs of children when they were read last.
    looked: RefCell<HashMap<RunId, Option<(Epoch, Seq)>>>,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(
        inner: &'a Arc<Inner>,
        mail: Arc<Mailbox>,
        folder: RunFolder,
        board: Option<Arc<ChildBoard>>,
    ) -> Self {
        Self { inner, config: &inner.config, mail, folder, board, looked: RefCell::default() }
    }

    fn audit(&self) -> PathBuf {
        self.folder.audit()
    }

    fn link(&self, connection: Box<HostConnection>, child: Option<Child>) -> Box<dyn HostLink> {
        Box::new(SocketLink { connection, child, mail: self.mail.clone() })
    }
}

impl Hosts for Machine<'_> {
    fn attach(&self, attempt: AttemptNumber) -> Result<AttachedHost, CollectError> {
        Ok(match attach_within(&self.audit(), attempt, HOST_ATTACH_TIMEOUT)? {
            Attached::NotBegun => AttachedHost::NotBegun,
            Attached::Live(connection) => AttachedHost::Live(self.link(connection, None)),
            Attached::Ended(record) => AttachedHost::Ended { process_continues: record.process_continues },
            Attached::Lost { .. } => AttachedHost::Lost,
        })
    }

    fn prepare(&self) -> Result<(), CollectError> {
        start::prepare_folder(self.folder.root()).map(drop)
    }

    fn start(
        &self,
        run: &Run,
        rules: &Rules,
        attempt: AttemptNumber,
    ) -> Result<Result<Box<dyn HostLink>, NoHost>, RuntimeError> {
        let plan = match launch::plan(self.config, run, rules, attempt) {
            Ok(plan) => plan,
            Err(error) => return Ok(Err(NoHost::Never(error))),
        };
        let child = match start::start((self.config.host_command)(), &plan) {
            Ok(child) => child,
            Err(error @ (CollectError::Taken(_) | CollectError::HostGone)) => {
                return Ok(Err(NoHost::InTheWay(no_host(&error))));
            }
            Err(error) => return Ok(Err(NoHost::Never(no_host(&error)))),
        };
        match attach_within(&self.audit(), attempt, HOST_ATTACH_TIMEOUT) {
            Ok(Attached::Live(connection)) => Ok(Ok(self.link(connection, Some(child)))),
            Ok(Attached::NotBegun | Attached::Ended(_) | Attached::Lost { .. }) => {
                reap(child);
                Ok(Err(NoHost::InTheWay(no_host(&CollectError::HostGone))))
            }
            Err(error) => {
                reap(child);
                Err(error.into())
            }
        }
    }

    fn terminate(&self, attempt: AttemptNumber) -> Result<(), CollectError> {
        end_host(&self.audit(), attempt)
    }

    fn are_gone(&self) -> bool {
        matches!(host_is_alive(&self.audit()), Ok(false))
    }

    fn response(&self) -> HostResponse {
        host_responds(&self.audit())
    }

    fn last_attempt(&self) -> Option<AttemptNumber> {
        start::last_number(&self.audit()).ok()
    }

    fn withdraw(&self, attempt: AttemptNumber) -> Result<(), CollectError> {
        withdraw(&self.audit(), attempt)
    }

    fn put_aside(&self, attempt: AttemptNumber) -> Result<(), CollectError> {
        put_aside(&self.audit(), attempt)
    }

    fn take_back(&self, attempt: AttemptNumber) -> Result<(), CollectError> {
        take_back(&self.audit(), attempt)
    }

    fn received_nothing(&self, attempt: AttemptNumber) -> bool {
        let audit = self.audit();
        let logs = Stream::ALL.map(|stream| names::log(stream, attempt));
        let is_empty = |name: &String| {
            std::fs::metadata(audit.join(name))
                .map_or_else(|error| error.kind() == std::io::ErrorKind::NotFound, |file| file.len() == 0)
        };
        // A host records an input after it has passed it on, and makes a mark before. A host that was killed, or could
        // not write, may have passed the answer on without a trace in the record; where there is no mark either, it has
        // not.
        let record = HostRecord::read(&audit, attempt).ok().flatten();
        let has_record = record.is_some_and(|record| record.error.is_none());
        let host_knows = has_record || input_given(&audit, attempt) == InputGiven::Nothing;
        host_knows && [names::stdin(attempt)].iter().chain(&logs).all(is_empty)
    }

    fn take_mail(&self) -> Option<Mail> {
        self.mail.take()
    }
}

impl AttemptFiles for Machine<'_> {
    fn rules(&self, run: &Run) -> Arc<Rules> {
        Arc::new(Rules::of(&run.folder, &run.record))
    }

    fn evidence(&self, run: &Run, attempt: AttemptNumber) -> Result<Box<dyn AttemptEvidence>, RuntimeError> {
        Ok(Box::new(AuditFiles::open(run, attempt)?))
    }

    fn session_left(&self, run: &Run) -> SessionLeft {
        opening::session_left(run)
    }

    fn message(&self, run: &Run, rules: &Rules) -> Result<UserMessage, RunError> {
        let record = &run.record;
        let descriptor = launch::descriptor(self.config, record)?;
        let places = Places::of(&run.folder, record, descriptor, &self.config.user_home);
        message::compose(&self.config.tools, run, rules, descriptor, &places)
    }

    fn has_opening(&self, run: &Run, attempt: AttemptNumber) -> bool {
        opening::is_there(&run.folder, attempt)
    }

    fn call_rule(&self, run: &Run) -> Option<CallRule> {
        let engine = self.config.engines.get(&run.record.engine.name).ok()?;
        let permission = confinement::engine_permission(&run.record, engine);
        Some(engine.permissions.rule(permission).calls)
    }

    fn interrupted_agent(&self, run: &Run) -> InterruptedProcess {
        match self.config.engines.get(&run.record.engine.name) {
            Ok(engine) if engine.cancel_leaves_commands => InterruptedProcess::Ends,
            Ok(_) | Err(_) => InterruptedProcess::Stays,
        }
    }

    fn untested_version(&self, run: &Run) -> Option<ControlEvent> {
        let engine = &run.record.engine;
        let version = engine.version.as_deref()?;
        let descriptor = self.config.engines.get(&engine.name).ok()?;
        // Engines that are part of this program have its version.
        let is_ours = matches!(descriptor.executable, Executable::Own);
        let is_untested = !is_ours && descriptor.version_is_untested(version);
        let message = format!("{} {version} is outside the versions {} was tested on", engine.name, engine.profile);
        is_untested.then(|| closing::warning(Code::EngineVersionUntested, message))
    }

    fn found_in_workspace(&self, run: &Run) -> Vec<ControlEvent> {
        found::warnings(&run.record)
    }

    fn give_back_login(&self, run: RunId, process: ProcessLeft) -> Vec<ControlEvent> {
        login::give_back(&self.config.tools.data, run, process)
    }

    fn turn_files(&self, run: &Run, rules: &Rules, attempt: AttemptNumber, settled: &Settled) -> TurnFiles {
        let output = settled.verdict.output.as_ref();
        if let Some(output) = output.filter(|output| blobs::is_large(output)) {
            // The event has its size; only then it is looked for here. It can be made again from the evidence.
            blobs::write_output(&run.folder, attempt, output).ignored();
        }
        let declared = rules.skill.as_ref().map(|skill| skill.runner.artifacts.as_slice()).unwrap_or_default();
        let diff = run.folder.audit().join(format!("fs-diff.{attempt}.json"));
        let wanted = &run.record.request.artifacts;
        let mut found = artifacts::artifacts(&run.folder.workspace(), &diff, output, declared, wanted);
        let is_copy = run.record.request.workspace.copy().is_some();
        let patch = is_copy.then(|| copy::write_patch(&run.folder, run.id, attempt)).transpose();
        let no_patch = match patch.map(Option::flatten) {
            Ok(patch) => {
                patch.into_iter().for_each(|(created, indexed)| found.add(created, indexed));
                None
            }
            Err(error) => {
                let message = format!("the patch of the copy cannot be made: {error}");
                Some(closing::warning(Code::SnapshotFailed, message))
            }
        };
        let mut artifacts = artifacts::control_events(&found);
        artifacts.extend(no_patch);
        if settled.verdict.run_status.is_terminal() {
            // Until then a later turn may make it.
            artifacts.extend(artifacts::missing_warnings(&found));
        }
        artifacts.extend(refusals(&run.folder.audit(), attempt, run.record.request.network));
        // Written once, before the host reports that the attempt is over.
        let host_hash = whole_file::hash(&run.folder.audit().join(names::host(attempt))).ok().map(|(hash, _)| hash);
        TurnFiles { artifacts, host_hash }
    }

    fn note_settled(&self, run: &Run, attempt: AttemptNumber, read: &AttemptRead, verdict: &Verdict) {
        let counters = &self.config.tools.counters;
        counters.settled(&run.record.engine.name, verdict.turn, &read.facts.parse, read.totals.bytes);
        // A view; its content is in the Log.
        settled_meta::write(&run.folder, attempt, &read.facts, verdict, run.state.session_id.as_deref()).ignored();
    }

    fn write_views(&self, run: RunId) {
        views::write(&self.config.tools, run);
    }

    fn write_waiting_views(&self, run: RunId) {
        views::write_waiting(&self.config.tools, run);
    }
}

/// What the network of a box refused, from the record of the host process: a warning for each.
fn refusals(audit: &Path, attempt: AttemptNumber, network: NetworkAccess) -> Vec<ControlEvent> {
    let Ok(Some(record)) = HostRecord::read(audit, attempt) else { return Vec::new() };
    let Some(RefusalList { refused, others }) = record.network else { return Vec::new() };
    let warning = |text: String| closing::warning(Code::ConnectionRefused, text);
    let mut warnings: Vec<ControlEvent> = refused
        .into_iter()
        .map(|Refusal { kind, host, port, times }| {
            let shown = port.map_or_else(|| host.clone(), |port| HostPort { host: host.clone(), port }.to_string());
            let what = match kind {
                RefusalKind::Name => format!("the name {shown}"),
                RefusalKind::Proxy | RefusalKind::Tcp => format!("a connection to {shown}"),
                RefusalKind::Udp => format!("a datagram to {shown}"),
            };
            let times = if times > 1 { format!(", {times} times") } else { String::new() };
            warning(format!("{what} was refused{times}: the network of this run is {network}"))
        })
        .collect();
    if others > 0 {
        warnings.push(warning(format!("{others} other requests to the network were refused")));
    }
    warnings
}

impl Children for Machine<'_> {
    fn make(&self, run: &Run, child: &ChildRun) -> Result<(), ChildFault> {
        self.inner.make_child(run, child)
    }

    fn ending(&self, child: &ChildRun) -> Option<SubagentEnded> {
        let tools = &self.config.tools;
        // A Log that has no event more has no end now, if it had none before. The size of its file does not show that: an
        // event is in the file before readers have it.
        let head = tools.log.head(child.run_id).ok().map(|head| (head.epoch, head.next_seq));
        if head.is_some() && self.looked.borrow_mut().insert(child.run_id, head) == Some(head) {
            return None;
        }
        match ChildLog::read(&tools.log, &tools.data, child) {
            Ok(log) => log?.ending(child),
            // Its Log was removed, or cannot be read.
            Err(error) if error.class() == ErrorClass::Gone && child.is_open() => {
                Some(child.ended(SubagentStatus::Detached, Code::LogLost, tools.clock.now()))
            }
            Err(error) => {
                tracing::warn!(child = %child.run_id, %error, "the Log of a child cannot be read");
                self.looked.borrow_mut().remove(&child.run_id);
                None
            }
        }
    }

    fn cancel(&self, child: &ChildRun) {
        let by = format!("parent {}", self.folder.root().file_name().unwrap_or_default().to_string_lossy());
        // One that is over has been canceled, or needs it no longer; any other failure shows in the Log of the child.
        self.inner.cancel_anywhere(child.run_id, &by).ignored();
    }

    fn post(&self, state: &State) {
        if let Some(board) = &self.board {
            board.post(Posted::of(state));
        }
    }

    fn lend_slot(&self) -> Option<LentSlot> {
        let run = self.folder.root().file_name()?.to_str()?.parse().ok()?;
        Some(self.inner.lend_slot(run))
    }

    fn look_again(&self) {
        if let Some(board) = &self.board {
            board.look_again();
        }
    }

    fn wait_for_mail(&self, time: Duration) {
        let time = Timespec::try_from(time).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        // An interruption means that there is something to check.
        poll(&mut [PollFd::new(&*self.mail, PollFlags::IN)], Some(&time)).ignored();
    }
}

impl Steps for Machine<'_> {
    fn prepare(&self, run: &Run, beginning: &Beginning) -> Result<PreparedStep, RuntimeError> {
        conductor::prepare(self.config, run, beginning)
    }

    fn checkpoint(&self, run: &Run, child: &UnjudgedChild) -> Checkpoint {
        conductor::checkpoint(self.config, run, child)
    }

    fn outputs(&self, run: &Run) -> Option<Map<String, Value>> {
        conductor::outputs(&self.config.tools, run)
    }
}

/// A connection, and the host's process if this process started it.
struct SocketLink {
    connection: Box<HostConnection>,
    child: Option<Child>,
    mail: Arc<Mailbox>,
}

impl Drop for SocketLink {
    /// A process that leaves a running host is still its parent.
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            reap_later(child);
        }
    }
}

impl HostLink for SocketLink {
    fn host_pid(&self) -> u32 {
        self.connection.host_pid()
    }

    fn attempt(&self) -> AttemptNumber {
        self.connection.attempt()
    }

    fn send(&mut self, request: &HostRequest) -> Result<(), CollectError> {
        self.connection.send(request)
    }

    fn receive(&mut self) -> Result<HostMessage, CollectError> {
        self.connection.receive(Duration::ZERO)
    }

    fn wait(&self, time: Option<Duration>) {
        let time = time.map(|time| Timespec::try_from(time).unwrap_or(Timespec { tv_sec: 3600, tv_nsec: 0 }));
        let mut fds = [PollFd::new(&*self.connection, PollFlags::IN), PollFd::new(&*self.mail, PollFlags::IN)];
        // An interruption means that there is something to check.
        poll(&mut fds, time.as_ref()).ignored();
    }

    fn reap(mut self: Box<Self>) {
        if let Some(child) = self.child.take() {
            reap(child);
        }
    }
}

/// The connection to a host that was over before it could be attached to.
struct GoneLink {
    attempt: AttemptNumber,
}

impl HostLink for GoneLink {
    fn host_pid(&self) -> u32 {
        0
    }

    fn attempt(&self) -> AttemptNumber {
        self.attempt
    }

    fn send(&mut self, _: &HostRequest) -> Result<(), CollectError> {
        Ok(())
    }

    fn receive(&mut self) -> Result<HostMessage, CollectError> {
        Ok(HostMessage::Gone)
    }

    fn wait(&self, _: Option<Duration>) {}

    fn reap(self: Box<Self>) {}
}

/// Reaps a host that has closed its connection. It exits in a moment; one that does not is not waited for here, because
/// it may have closed only this connection.
fn reap(child: Child) {
    let moment = Timespec { tv_sec: 1, tv_nsec: 0 };
    if let Ok(handle) = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
        poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&moment)).ignored();
    }
    reap_later(child);
}

/// The same for a host that may run for long.
fn reap_later(mut child: Child) {
    if !matches!(child.try_wait(), Ok(Some(_))) {
        // Without a thread for it, it stays a zombie until this process ends.
        drop(std::thread::Builder::new().name("reaper".to_owned()).spawn(move || child.wait()));
    }
}
