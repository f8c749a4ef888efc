//! What a worker needs besides the Log and the clock: hosts with their processes, messages, and the files of a run. On
//! a machine they are [`Machine`](super::machine::Machine); in the simulation they exist in memory alone.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use skillrun_collect::owner::HostMessage;
use skillrun_collect::protocol::{HostRequest, InterruptedProcess};
use skillrun_collect::{CollectError, HostResponse};
use skillrun_engine::descriptor::Calls as CallRule;
use skillrun_evidence::host_record::HostRecord;
use skillrun_lifecycle::Settled;
use skillrun_lifecycle::closing::ControlEvent;
use skillrun_lifecycle::run::{ChildRun, ProcessLeft, SessionLeft, State};
use skillrun_lifecycle::workflow::{Beginning, Checkpoint, UnjudgedChild};
use skillrun_model::checks::CheckEnded;
use skillrun_model::delegation::{SubagentEnded, SubagentRequested};
use skillrun_model::rasp::data::UserMessage;
use skillrun_model::verdict::{RunError, Verdict};
use skillrun_model::workflow::StepEnded;
use skillrun_model::{AttemptNumber, RunId};
use skillrun_runs::judge::Rules;
use skillrun_runs::record::RunCheck;

use crate::attempt::evidence::AttemptEvidence;
use crate::attempt::reading::AttemptRead;
use crate::error::RuntimeError;
use crate::mailbox::Mail;
use crate::run::Run;
use crate::runtime::LentSlot;

/// The hosts of one run, and the messages to its owner.
pub(crate) trait Hosts {
    /// Attaches to the host of an attempt, or returns the state of the attempt.
    fn attach(&self, attempt: AttemptNumber) -> Result<AttachedHost, CollectError>;

    /// Prepares the folder for hosts.
    fn prepare(&self) -> Result<(), CollectError>;

    /// Starts a host that claims the attempt and waits for the request to start.
    fn start(
        &self,
        run: &Run,
        rules: &Rules,
        attempt: AttemptNumber,
    ) -> Result<Result<Box<dyn HostLink>, NoHost>, RuntimeError>;

    /// Terminates an unresponsive host with everything that it started.
    fn terminate(&self, attempt: AttemptNumber) -> Result<(), CollectError>;

    /// No host of this run is alive.
    fn are_gone(&self) -> bool;

    fn response(&self) -> HostResponse;

    /// The last attempt that a host has claimed.
    fn last_attempt(&self) -> Option<AttemptNumber>;

    /// Removes the files of an attempt that was claimed and never begun.
    fn withdraw(&self, attempt: AttemptNumber) -> Result<(), CollectError>;

    /// Sets the files of an attempt aside, so that another host can claim it.
    fn put_aside(&self, attempt: AttemptNumber) -> Result<(), CollectError>;

    /// Undoes that.
    fn take_back(&self, attempt: AttemptNumber) -> Result<(), CollectError>;

    /// The process of the attempt has certainly received no input, and has written nothing.
    fn received_nothing(&self, attempt: AttemptNumber) -> bool;

    /// The next message to the run.
    fn take_mail(&self) -> Option<Mail>;
}

/// The children of one run.
pub(crate) trait Children {
    /// Makes a child that the Log has, or finds it made, with an owner.
    fn make(&self, run: &Run, child: &ChildRun) -> Result<(), ChildFault>;

    /// How a child ended, if it has.
    fn ending(&self, child: &ChildRun) -> Option<SubagentEnded>;

    /// Asks for the end of a child.
    fn cancel(&self, child: &ChildRun);

    /// Shows the children to the threads that answer requests of the process.
    fn post(&self, state: &State);

    /// The slot of the run is free for its children, until this is dropped.
    fn lend_slot(&self) -> Option<LentSlot>;

    /// A child may ask something: threads that wait for it look again.
    fn look_again(&self);

    /// Waits for a message while there is no host, for at most this long.
    fn wait_for_mail(&self, time: Duration);
}

/// The steps of a workflow.
pub(crate) trait Steps {
    /// Finds out with which values a step begins, and stores the request of its child.
    fn prepare(&self, run: &Run, beginning: &Beginning) -> Result<PreparedStep, RuntimeError>;

    /// What a child of a workflow has left.
    fn checkpoint(&self, run: &Run, child: &UnjudgedChild) -> Checkpoint;

    /// The outputs of a workflow, as far as the steps to which they point are ready.
    fn outputs(&self, run: &Run) -> Option<Map<String, Value>>;
}

/// A step that is about to begin.
pub(crate) enum PreparedStep {
    Child {
        child: RunId,
        /// The length of the list of a step that repeats.
        items: Option<u32>,
        fingerprint: String,
        asked: Box<SubagentRequested>,
    },
    /// It needs no child, or can have none.
    Ended(Box<StepEnded>),
}

/// The checks of one run, each with its number.
pub(crate) trait Checks {
    /// How far a check is.
    fn find(&self, number: u32) -> Result<CheckFound, CollectError>;

    /// Starts its command under a host.
    fn start(
        &self,
        run: &Run,
        check: (u32, &RunCheck),
        recording: AttemptNumber,
    ) -> Result<Result<Box<dyn HostLink>, NoHost>, RuntimeError>;

    /// Terminates its unresponsive host, with everything that it started.
    fn terminate(&self, number: u32) -> Result<(), CollectError>;

    /// How it ended, according to its host.
    fn ended(&self, run: &Run, check: (u32, &RunCheck), record: &HostRecord) -> Result<CheckEnded, RuntimeError>;

    /// How it ended, where its last host was lost and there is no other one.
    fn lost(&self, run: &Run, check: (u32, &RunCheck), recording: AttemptNumber) -> CheckEnded;
}

/// The state of a check, from its files.
pub(crate) enum CheckFound {
    NotBegun,
    /// Its host is alive, and this worker is its owner.
    Live(Box<dyn HostLink>),
    Ended(Box<HostRecord>),
    /// The host of this recording, the last one, is gone without a record.
    Lost(AttemptNumber),
}

/// Why a child is not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChildFault {
    /// It exists, and has no owner for now.
    #[error("{0}")]
    Later(String),
    #[error("{0}")]
    Never(String),
}

/// The state of an attempt.
pub(crate) enum AttachedHost {
    /// It has not begun.
    NotBegun,
    /// Its host is alive, and this worker is its owner.
    Live(Box<dyn HostLink>),
    Ended {
        /// The same process goes on with the next attempt.
        process_continues: bool,
    },
    /// Its host is gone and left no record.
    Lost,
}

/// Why there is no host.
#[derive(Debug)]
pub(crate) enum NoHost {
    /// Another host has the attempt or had it, or this one was killed; it can be retried.
    InTheWay(RunError),
    Never(RunError),
}

/// The connection to a living host. Dropping it leaves the host running.
pub(crate) trait HostLink {
    fn host_pid(&self) -> u32;

    /// The attempt that was under way when this worker attached.
    fn attempt(&self) -> AttemptNumber;

    fn send(&mut self, request: &HostRequest) -> Result<(), CollectError>;

    /// The next message, without waiting for it.
    fn receive(&mut self) -> Result<HostMessage, CollectError>;

    /// Waits until the host or the mailbox has a message, for at most this long.
    fn wait(&self, time: Option<Duration>);

    /// The host has closed the connection, and exits in a moment.
    fn reap(self: Box<Self>);
}

/// The files of one run.
pub(crate) trait AttemptFiles {
    fn rules(&self, run: &Run) -> Arc<Rules>;

    fn evidence(&self, run: &Run, attempt: AttemptNumber) -> Result<Box<dyn AttemptEvidence>, RuntimeError>;

    /// Whether another process can load the session of one that is gone.
    fn session_left(&self, run: &Run) -> SessionLeft;

    /// The message that the next attempt begins with.
    fn message(&self, run: &Run, rules: &Rules) -> Result<UserMessage, RunError>;

    /// Whether the prompt of an attempt is sent at the start of its process, and not as an answer to a running one.
    fn has_opening(&self, run: &Run, attempt: AttemptNumber) -> bool;

    /// How calls are decided where no user is asked; none for an engine that is not known any more.
    fn call_rule(&self, run: &Run) -> Option<CallRule>;

    /// What becomes of the process of an agent whose turn is interrupted.
    fn interrupted_agent(&self, run: &Run) -> InterruptedProcess;

    /// A warning if the engine's version is not one that its format was tested with.
    fn untested_version(&self, run: &Run) -> Option<ControlEvent>;

    /// Warnings of what was found in the workspace when the run was accepted.
    fn found_in_workspace(&self, run: &Run) -> Vec<ControlEvent>;

    /// Gives the login of a run back to the user, as far as its process is gone. Returns what could not be kept.
    fn give_back_login(&self, run: RunId, process: ProcessLeft) -> Vec<ControlEvent>;

    /// What a turn has left, before its verdict is in the Log.
    fn turn_files(&self, run: &Run, rules: &Rules, attempt: AttemptNumber, settled: &Settled) -> TurnFiles;

    /// The verdict is in the Log.
    fn note_settled(&self, run: &Run, attempt: AttemptNumber, read: &AttemptRead, verdict: &Verdict);

    /// The run is over: writes what is missing beside its Log.
    fn write_views(&self, run: RunId);

    /// The same for a run that begins to wait, perhaps for days.
    fn write_waiting_views(&self, run: RunId);
}

#[derive(Debug, Default)]
pub(crate) struct TurnFiles {
    pub(crate) artifacts: Vec<ControlEvent>,
    /// Of the host's record.
    pub(crate) host_hash: Option<String>,
}
