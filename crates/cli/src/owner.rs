//! This process as the owner of runs, and owner processes in the background.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use skillrun_auth::{Server, ServerNote};
use skillrun_model::RunId;
use skillrun_runs::owner_sockets::crashed;
use skillrun_runs::record::Snapshot;
use skillrun_runtime::{Options, OwnerRole, Reply, Runtime, RuntimeSetup, SystemClock};

use crate::failure::Failure;
use crate::place::note;
use crate::settings::Settings;
use skillrun_model::IgnoredError;
use skillrun_runtime::owners::{Listening, OwnerErrorKind, OwnerReply, OwnerRequest, ask};

/// The line that an owner process in the background prints when it has taken over.
pub(crate) const READY: &str = "ready";

/// A runtime that other processes can send requests to.
pub(crate) struct OwnerProcess {
    pub(crate) runtime: Arc<Runtime>,
    listening: Listening,
    settings: Settings,
    leaving: Leaving,
}

/// What happens to unfinished runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    /// An owner process in the background resumes them.
    HandOver,
    /// The next start resumes them.
    Leave,
}

impl Drop for OwnerProcess {
    /// No run is left without an owner, whatever the reason to exit: unfinished runs continue in the background, and if
    /// that fails, the socket of this process stays, so that the next process finds the runs.
    fn drop(&mut self) {
        // From here on, no request of another process is accepted.
        self.listening.close();
        let unfinished = self.runtime.leave();
        if self.leaving == Leaving::Leave && !unfinished.is_empty() {
            return self.listening.leave_runs();
        }
        let take = match unfinished.as_slice() {
            [] => return,
            [run] => Take::One(*run),
            // One owner process takes all of them.
            [_, ..] => Take::All,
        };
        if in_background(&self.settings, take).is_err() {
            self.listening.leave_runs();
        }
    }
}

impl OwnerProcess {
    /// For the user of a command.
    pub(crate) fn new(settings: &Settings) -> Result<Self, Failure> {
        Self::with_role(settings, OwnerRole::Caller)
    }

    /// For the clients of a server.
    pub(crate) fn for_server(settings: &Settings) -> Result<Self, Failure> {
        Self::with_role(settings, OwnerRole::Server)
    }

    fn with_role(settings: &Settings, role: OwnerRole) -> Result<Self, Failure> {
        let around = &settings.surroundings;
        let setup = RuntimeSetup {
            role,
            data: settings.data.clone(),
            clock: Arc::new(SystemClock),
            engines: settings.engines(),
            layers: settings.layers()?,
            skills: settings.search_path(settings.cwd()),
            defaults: Options {
                permission: Some(settings.permission),
                confinement: Some(settings.confinement),
                network: Some(settings.network),
                limits: settings.limits,
                home: Some(settings.home),
                hard_timeout_sec: Some(settings.hard_timeout.as_secs_f64()),
                stall_timeout_sec: Some(settings.stall_timeout.as_secs_f64()),
                session_timeout_sec: Some(settings.session_timeout.as_secs_f64()),
                idle_sec: Some(settings.idle.as_secs_f64()),
                require_user_reply: Some(settings.interactive_require_user_reply),
                auto_decision_limit: Some(settings.auto_decision_limit),
                require_marker: Some(settings.require_marker),
                snapshot: Some(Snapshot::Taken),
                ..Options::default()
            },
            consents: settings.consent.clone(),
            redact_patterns: settings.redact.clone(),
            environment: around.environment.clone(),
            own_program: around.own.clone(),
            cwd: around.cwd.clone(),
            user_home: around.home().map_or_else(|| PathBuf::from("/"), ToOwned::to_owned),
            programs: settings.programs.clone(),
            temporary: std::env::temp_dir(),
            host_command: Box::new(|| program("attempt-host")),
        };
        let runtime = Arc::new(Runtime::new(setup, settings.slots.clone()));
        let listening = Listening::begin(&runtime)?;
        Ok(Self { runtime, listening, settings: settings.clone(), leaving: Leaving::HandOver })
    }
}

impl OwnerProcess {
    /// Leaves unfinished runs without an owner for now: their hosts keep running, and the next owner process takes the
    /// runs up.
    pub(crate) fn leave_runs(mut self) {
        self.leaving = Leaving::Leave;
    }
}

/// The program file of this process: its path may name a newer program by now.
fn program(command: &str) -> Command {
    let mut program = Command::new("/proc/self/exe");
    program.arg0("skillrun").arg(command);
    program
}

/// Which runs an owner process in the background takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Take {
    One(RunId),
    /// All runs without an owner.
    All,
}

/// The command for an owner process that outlives this one.
fn background(settings: &Settings, take: Take) -> Command {
    let mut owner = program("own");
    match take {
        Take::One(run) => owner.arg(run.to_string()),
        Take::All => owner.arg("--all"),
    };
    owner.arg("--data").arg(settings.data.root());
    if settings.file.path.exists() {
        owner.arg("--config").arg(&settings.file.path);
    }
    owner.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    owner
}

/// Starts an owner process in the background. When this returns, it has taken over.
pub(crate) fn in_background(settings: &Settings, take: Take) -> Result<(), Failure> {
    let words = |why: &str| format!("failed to hand the run over to a background process: {why}");
    let failed = |error: std::io::Error| Failure::internal(words(&error.to_string()), error);
    let mut child = background(settings, take).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut word = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut word).map_err(failed)?;
    }
    reap_later(child);
    if word.trim() == READY { Ok(()) } else { Err(Failure::Failed(words(word.trim()))) }
}

/// Reaps an owner process that ends before this one, which may run for days.
fn reap_later(mut child: Child) {
    // Without the thread, the ended process stays in the process table until this one exits.
    std::thread::Builder::new().name("reaper".to_owned()).spawn(move || child.wait().ignored()).ignored();
}

/// The server that has this data folder, if there is one and it answers.
pub(crate) fn server(settings: &Settings) -> Option<u32> {
    match ServerNote::read(settings.data.root()) {
        Ok(Server::Running(note)) => ask(&settings.data, note.pid, OwnerRequest::Hello).is_ok().then_some(note.pid),
        Ok(Server::None | Server::Gone(_)) | Err(_) => None,
    }
}

/// Hands a run without an owner over to the server, if there is one and it accepts the run.
pub(crate) fn hand_to_server(settings: &Settings, run: RunId) -> Given {
    let taken = server(settings).map(|pid| ask(&settings.data, pid, OwnerRequest::TakeUp { run }));
    match taken {
        Some(Ok(OwnerReply::Done { .. })) => Given::Taken,
        Some(Ok(OwnerReply::Failed { error })) if error.kind == OwnerErrorKind::OtherVariables => {
            note(
                "the running server has other environment variables, so the run stays with this command and its variables",
            );
            Given::Refused
        }
        Some(Ok(OwnerReply::Failed { .. } | OwnerReply::Delegated { .. }) | Err(_)) | None => Given::Refused,
    }
}

/// Sends an answer to the server, which may have the variables that this process lacks. True if the server accepted it.
pub(crate) fn reply_by_server(settings: &Settings, run: RunId, reply: Reply) -> bool {
    let asked = server(settings).map(|pid| ask(&settings.data, pid, OwnerRequest::Reply { run, reply }));
    match asked {
        Some(Ok(OwnerReply::Done { .. })) => true,
        Some(Ok(OwnerReply::Failed { error })) => error.kind == OwnerErrorKind::Repeated,
        Some(Ok(OwnerReply::Delegated { .. }) | Err(_)) | None => false,
    }
}

/// Whether the server has taken a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    Taken,
    Refused,
}

/// Runs whose owner process died are taken over in the background.
pub(crate) fn take_over_orphans(settings: &Settings) {
    // A server takes them over by itself.
    if !crashed(&settings.data).is_empty() && server(settings).is_none() {
        // If this fails, the next command tries again: no command waits for the runs of others.
        background(settings, Take::All).spawn().map(reap_later).ignored();
    }
}
