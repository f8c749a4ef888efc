//! The beginning of a host: from the plan on its standard input to the answer on its standard output.

use std::ffi::CStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use rustix::stdio::{dup2_stdin, dup2_stdout};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use skillrun_base::files;
use skillrun_evidence::{OsText, names};

use super::owner_socket::OwnerSocket;
use super::run::Host;
use crate::claim::{Claim, Claimed, temporary_name};
use crate::environment::{TAG, TEMPORARY};
use crate::plan::{HostPlan, SnapshotPlan, StartWhen, Variable, VariableKind};
use crate::secrets::Secrets;
use crate::snapshot::{Rules, SnapshotLimits, Snapshots};
use crate::spawn::inherit_nothing;
use crate::start::{self, Ready};
use skillrun_model::IgnoredError;

/// The name of a host in the list of processes.
pub(crate) const NAME: &CStr = c"skillrun-host";

/// Largest plan; environments are limited to two megabytes by the kernel.
const PLAN_MAX: u64 = 16 << 20;

/// Reserved space that is released when the disk is full, so that the end can be recorded.
const RESERVE: u64 = 256 * 1024;

/// Everything a host holds before it starts a process.
pub(super) struct Begun {
    pub(super) plan: HostPlan,
    pub(super) audit: PathBuf,
    pub(super) claim: Claim,
    pub(super) owner_socket: OwnerSocket,
    pub(super) signals: Signals,
    pub(super) snapshots: Option<Snapshots>,
    pub(super) temporary: PathBuf,
}

/// Descriptors that become readable when a signal comes.
#[derive(Debug)]
pub(super) struct Signals {
    pub(super) child: UnixStream,
    pub(super) end: UnixStream,
}

/// Runs a host to its end. The exit code has no meaning; the record does.
pub fn main() -> ExitCode {
    // A host lives longer than its starter: a process that waits for the end of a pipe of the starter must not wait for
    // the host.
    inherit_nothing();
    // The host should be recognizable in a list of processes, whatever path it was started by.
    rustix::thread::set_name(NAME).ignored();
    // An interrupt from the terminal is for the starter, not for the host.
    rustix::process::setsid().ignored();
    let begun = read_plan().and_then(begin);
    let answer = match &begun {
        Ok(_) => Ready::Listening,
        Err(NotBegun::Refused(reason)) => Ready::Refused(reason.clone()),
        Err(NotBegun::Taken(reason)) => Ready::Taken(reason.clone()),
    };
    let answered = serde_json::to_vec(&answer).map_err(io::Error::from).and_then(|json| {
        let mut out = io::stdout();
        out.write_all(&json).and_then(|()| out.flush())
    });
    let_go_of_starter();
    match begun {
        Ok(begun) => {
            let host = Host::new(begun);
            match (host.plan.start, answered) {
                // The starter is gone, and no other process knows of this host: the next owner may have looked for it
                // before it had its claim. A host that waited would block the host that the next owner starts.
                (StartWhen::Told { .. }, Err(_)) => host.withdraw(),
                (StartWhen::Told { .. }, Ok(())) | (StartWhen::AtOnce, Ok(()) | Err(_)) => host.live(),
            }
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

/// Why nothing was started.
enum NotBegun {
    Refused(String),
    /// Another host has the attempt.
    Taken(String),
}

impl From<String> for NotBegun {
    fn from(reason: String) -> Self {
        Self::Refused(reason)
    }
}

fn read_plan() -> Result<HostPlan, NotBegun> {
    let mut bytes = Vec::new();
    io::stdin().take(PLAN_MAX).read_to_end(&mut bytes).map_err(|error| format!("failed to read the plan ({error})"))?;
    Ok(serde_json::from_slice(&bytes).map_err(|error| format!("failed to parse the plan ({error})"))?)
}

/// The starter's pipes are closed, so that it sees the end of the answer and the host does not hold open what it waits
/// for.
fn let_go_of_starter() {
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        dup2_stdin(null.as_fd()).ignored();
        dup2_stdout(null.as_fd()).ignored();
    }
}

fn begin(mut plan: HostPlan) -> Result<Begun, NotBegun> {
    let audit = plan.audit.as_path().to_owned();
    let why = |doing: &'static str| move |error: io::Error| format!("{doing} ({error})");
    let snapshots = match &plan.snapshot {
        SnapshotPlan::Off => None,
        SnapshotPlan::On { ignore } => {
            let rules = Rules::new(ignore).map_err(|error| error.to_string())?;
            let snapshots = Snapshots::new(plan.workspace.as_path(), &audit, rules, SnapshotLimits::default());
            Some(snapshots.without(Secrets::of(&plan)))
        }
    };
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| format!("failed to become the reaper of orphaned processes ({error})"))?;
    // Processes are terminated through handles (pidfd); without them none would be.
    let me = rustix::process::getpid();
    rustix::process::pidfd_open(me, rustix::process::PidfdFlags::empty())
        .map_err(|error| format!("this system does not support process handles (pidfd) ({error})"))?;
    let signals = Signals::watch().map_err(why("failed to watch signals"))?;
    refuse_beside_living_host(&audit, &plan)?;
    refuse_over_recording(&audit, &plan)?;
    let temporary = plan.temporary.as_path().join(temporary_name(&plan.nonce));
    let claim = Claim::new(&plan, &temporary).map_err(why("failed to claim the attempt"))?;
    claim.take(&audit).map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            already_begun(&plan)
        } else {
            NotBegun::Refused(format!("failed to claim the attempt in {} ({error})", audit.display()))
        }
    })?;
    let opened = (|| {
        let owner_socket = OwnerSocket::open(&audit, &plan.nonce).map_err(why("failed to create the socket"))?;
        let made = DirBuilder::new().mode(0o700).create(&temporary);
        made.map_err(why("failed to create a folder for temporary files"))
            .and_then(|()| {
                let reserve = reserve(&audit.join(names::reserve(plan.attempt)));
                reserve.map_err(why("failed to reserve disk space for the record"))
            })
            .inspect_err(|_| owner_socket.remove_socket())?;
        Ok(owner_socket)
    })();
    let owner_socket = opened.inspect_err(|_: &String| {
        // Nothing was started, so the claim is released.
        claim.release(&audit);
        fs::remove_dir(&temporary).ignored();
        fs::remove_file(audit.join(names::reserve(plan.attempt))).ignored();
    })?;
    complete_environment(&mut plan, &temporary);
    Ok(Begun { plan, audit, claim, owner_socket, signals, snapshots, temporary })
}

/// Two processes in one workspace would spoil each other's snapshots, and there is one socket.
fn refuse_beside_living_host(audit: &Path, plan: &HostPlan) -> Result<(), String> {
    let numbers = Claim::all(audit).map_err(|error| format!("failed to read {} ({error})", audit.display()))?;
    for number in numbers.into_iter().filter(|number| *number != plan.attempt) {
        if let Ok(Claimed::By(claim)) = Claim::read(audit, number)
            && claim.host_is_alive()
        {
            // A host that has written its record is about to exit.
            if skillrun_evidence::HostRecord::read(audit, number).is_ok_and(|record| record.is_some()) {
                continue;
            }
            return Err(format!("attempt {number} is still running in {}", audit.display()));
        }
    }
    Ok(())
}

/// A recording that was made without a claim, by an older version or by hand, is not overwritten either.
fn refuse_over_recording(audit: &Path, plan: &HostPlan) -> Result<(), NotBegun> {
    let numbers = start::recorded(audit).map_err(|error| format!("failed to read {} ({error})", audit.display()))?;
    if numbers.contains(&plan.attempt) {
        return Err(already_begun(plan));
    }
    Ok(())
}

fn already_begun(plan: &HostPlan) -> NotBegun {
    NotBegun::Taken(format!("attempt {} was already begun here", plan.attempt))
}

fn reserve(path: &Path) -> io::Result<()> {
    let file = files::create_private(path)?;
    let made = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, RESERVE);
    // Not every file system can reserve space; then there is none to release.
    match made {
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Adds the variables that the host itself sets for the process.
fn complete_environment(plan: &mut HostPlan, temporary: &Path) {
    let tag = format!("{}/{}/{}", plan.run_id, plan.attempt, plan.nonce);
    plan.variables.retain(|variable| ![TAG, TEMPORARY].contains(&variable.name.as_os_str().to_str().unwrap_or("")));
    let add = |name: &str, value: OsText| Variable { name: name.into(), value, kind: VariableKind::Plain };
    let own = [add(TAG, tag.as_str().into()), add(TEMPORARY, temporary.into())];
    plan.variables.extend(own);
}

impl Signals {
    fn watch() -> io::Result<Self> {
        let (child, child_writer) = UnixStream::pair()?;
        let (end, end_writer) = UnixStream::pair()?;
        child.set_nonblocking(true)?;
        end.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(SIGCHLD, child_writer)?;
        // The signal of a file size limit would kill the host; as a write error it is recorded.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            signal_hook::low_level::pipe::register(signal, end_writer.try_clone()?)?;
        }
        Ok(Self { child, end })
    }

    /// Whether a signal has arrived since the last check.
    pub(super) fn came(mut stream: &UnixStream) -> bool {
        let mut came = false;
        let mut buffer = [0; 256];
        while matches!(stream.read(&mut buffer), Ok(1..)) {
            came = true;
        }
        came
    }
}
