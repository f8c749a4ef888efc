//! A folder, a workspace, and the means to run an engine there and to look at what is left.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use skillrun_collect::owner::HostMessage;
use skillrun_collect::plan::{
    self, HostPlan, Limits, Rung, SnapshotPlan, StartWhen, StdinPlan, Variable, VariableKind,
};
use skillrun_collect::protocol::{HostRequest, InputAnswer, Notice};
use skillrun_collect::signals::SignalName;
use skillrun_collect::{Attached, HostConnection, attach, start};
use skillrun_evidence::host_record::Label;
use skillrun_evidence::{HostRecord, OsText};
use skillrun_model::{AttemptNumber, EndedBy, RunId, Stream, Wiring};
use tempfile::TempDir;

use crate::{eventually, is_gone, processes, signal, skillrun, wait_until};

/// Far longer than anything here takes.
pub const LONG: Duration = Duration::from_secs(60);

pub const FIRST: AttemptNumber = AttemptNumber(1);

/// Marks every process a lab starts.
const MARK: &str = "SKILLRUN_LAB";

/// A place for one test. A test that passes leaves no process behind, which is checked when this is dropped; the
/// processes of a test that fails are killed.
#[derive(Debug)]
pub struct HostLab {
    dir: TempDir,
    mark: String,
}

impl Default for HostLab {
    fn default() -> Self {
        Self::new()
    }
}

impl HostLab {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder for temporary files");
        fs::create_dir(dir.path().join("workspace")).expect("a workspace");
        let mark = start::random_nonce().expect("randomness");
        Self { dir, mark }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn workspace(&self) -> PathBuf {
        self.path("workspace")
    }

    pub fn out(&self) -> PathBuf {
        self.path("out")
    }

    pub fn audit(&self) -> PathBuf {
        self.out().join(".audit")
    }

    /// `skillrun capture` in this lab, without a command.
    pub fn bare_capture(&self, options: &[&str]) -> Command {
        let mut command = Command::new(skillrun());
        command.arg("capture").arg("--workspace").arg(self.workspace()).arg("--out").arg(self.out());
        command.arg("--env").arg(format!("{MARK}={}", self.mark)).args(options).arg("--");
        command.stdin(Stdio::null());
        command
    }

    /// `skillrun capture OPTIONS -- stand-in steps STEPS`.
    pub fn capture(&self, options: &[&str], steps: &[&str]) -> Command {
        let mut command = self.bare_capture(options);
        command.args(engine(steps));
        command
    }

    /// Runs it to its end.
    pub fn run(&self, options: &[&str], steps: &[&str]) -> Output {
        output(&mut self.capture(options, steps))
    }

    /// A plan for a host that is started without the command.
    pub fn plan(&self, steps: &[&str]) -> HostPlan {
        fs::create_dir_all(self.out()).expect("a folder");
        let audit = start::prepare_folder(&self.out()).expect("a folder");
        let variable = |name: &str, value: OsString| Variable {
            name: name.into(),
            value: value.into(),
            kind: VariableKind::Plain,
        };
        HostPlan {
            confinement: None,
            resources: None,
            run_id: RunId::new(1, [7; 10]),
            attempt: FIRST,
            nonce: start::random_nonce().expect("randomness"),
            audit: audit.into(),
            workspace: self.workspace().into(),
            argv: engine(steps).into_iter().map(OsText::from).collect(),
            variables: vec![
                variable(MARK, self.mark.clone().into()),
                variable("PATH", std::env::var_os("PATH").unwrap_or_default()),
            ],
            wiring: Wiring::Pipes,
            stdin: StdinPlan::Null,
            label: Label::default(),
            limits: Limits::default(),
            ladder: plan::ladder(Duration::from_millis(200)),
            snapshot: SnapshotPlan::Off,
            temporary: self.dir.path().into(),
            keys: Vec::new(),
            start: StartWhen::AtOnce,
        }
    }

    /// Starts a host and attaches to it.
    pub fn start(&self, plan: &HostPlan) -> HostConnection {
        start_host(plan);
        self.attach(plan.attempt)
    }

    /// Attaches to a running attempt.
    pub fn attach(&self, attempt: AttemptNumber) -> HostConnection {
        match attach(&self.audit(), attempt).expect("attached") {
            Attached::Live(owner) => *owner,
            other @ (Attached::NotBegun | Attached::Ended(_) | Attached::Lost { .. }) => panic!("{other:?}"),
        }
    }

    /// The record of an attempt that has ended, as an owner receives it that comes later.
    pub fn attach_ended(&self, attempt: AttemptNumber) -> HostRecord {
        match attach(&self.audit(), attempt).expect("an answer") {
            Attached::Ended(record) => *record,
            other @ (Attached::NotBegun | Attached::Live(_) | Attached::Lost { .. }) => panic!("{other:?}"),
        }
    }

    /// Ends what is left of an attempt whose host is gone, and counts it.
    pub fn attach_lost(&self, attempt: AttemptNumber) -> usize {
        match attach(&self.audit(), attempt).expect("an answer") {
            Attached::Lost { survivors } => survivors.len(),
            other @ (Attached::NotBegun | Attached::Live(_) | Attached::Ended(_)) => panic!("{other:?}"),
        }
    }

    /// Waits for the record of an attempt.
    pub fn record(&self, attempt: u32) -> HostRecord {
        let number = AttemptNumber(attempt);
        eventually("a record", || HostRecord::read(&self.audit(), number).expect("a readable record"))
    }

    pub fn meta(&self, attempt: u32) -> Value {
        self.json(&format!("meta.{attempt}.json"))
    }

    /// A file of `.audit`.
    pub fn evidence(&self, name: &str) -> Vec<u8> {
        fs::read(self.audit().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A file of `.audit` that is JSON.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.evidence(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Whether `.audit` has this file.
    pub fn has(&self, name: &str) -> bool {
        self.audit().join(name).exists()
    }

    /// What every reader sees of the stdout of an attempt.
    pub fn read_stdout(&self, attempt: u32) -> String {
        text(of(&read_back(&self.out(), attempt), Stream::Stdout))
    }

    /// What `skillrun normalize` makes of it.
    pub fn normalize(&self, options: &[&str]) -> Output {
        output(Command::new(skillrun()).arg("normalize").arg(self.out()).args(options))
    }

    /// Processes that this lab has started and that have not ended: process ids and names.
    pub fn alive(&self) -> Vec<(u32, String)> {
        let mark = format!("{MARK}={}", self.mark);
        let ours = processes().filter(|(_, variables)| variables.contains(&mark));
        let name = |pid: u32| Some((pid, fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim().to_owned()));
        ours.filter_map(|(pid, _)| name(pid)).collect()
    }

    pub fn assert_no_process_is_left(&self) {
        assert_eq!(self.alive(), [], "processes are left");
    }

    pub fn wait_quiet(&self) {
        wait_until("the end of all processes", || self.alive().is_empty());
    }

    /// Ends the processes that a test leaves on purpose.
    pub fn kill_processes(&self) {
        self.signal_processes();
        self.wait_quiet();
    }

    fn signal_processes(&self) -> Vec<(u32, String)> {
        let alive = self.alive();
        alive.iter().for_each(|(pid, _)| signal(pid, "KILL"));
        alive
    }

    /// Waits until the engine has written a file of this name into the workspace, and reads it.
    pub fn await_file(&self, name: &str) -> String {
        let path = self.workspace().join(name);
        eventually(name, || fs::read_to_string(&path).ok().filter(|text| !text.is_empty()))
    }

    /// The process id that the engine wrote with its step `pid`.
    pub fn await_pid(&self, name: &str) -> u32 {
        self.await_file(name).trim().parse().expect("a process id")
    }
}

impl Drop for HostLab {
    fn drop(&mut self) {
        let alive = self.signal_processes();
        assert!(alive.is_empty() || std::thread::panicking(), "processes are left: {alive:?}");
    }
}

/// The command line of the scripted engine.
pub fn engine(steps: &[&str]) -> Vec<OsString> {
    let program = [testkit::paths::stand_in(skillrun()).into(), "steps".into()];
    program.into_iter().chain(steps.iter().map(OsString::from)).collect()
}

/// Starts a host as `capture` does.
pub fn start_host(plan: &HostPlan) {
    let mut command = Command::new(skillrun());
    command.arg("attempt-host");
    let mut host = start(command, plan).expect("a host");
    // It exits at some time; until it is waited for, it stays a zombie.
    std::thread::spawn(move || host.wait());
}

/// A host that runs these steps in a new lab, and its owner.
pub fn started(steps: &[&str]) -> (HostLab, HostConnection) {
    let lab = HostLab::new();
    let owner = lab.start(&lab.plan(steps));
    (lab, owner)
}

/// `skillrun capture` in a new lab, run to its end.
pub fn captured(options: &[&str], steps: &[&str]) -> (HostLab, Output) {
    let lab = HostLab::new();
    let output = lab.run(options, steps);
    (lab, output)
}

pub fn output(command: &mut Command) -> Output {
    spawn_piped(command).wait_with_output().expect("its output")
}

/// Starts a command whose output the test reads.
pub fn spawn_piped(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a process")
}

pub fn spawn(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a process")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Listens until a notice fits.
pub fn receive<T>(owner: &mut HostConnection, what: &str, mut fits: impl FnMut(&Notice) -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        match owner.receive(LONG).expect("a host that speaks") {
            HostMessage::Notice(notice) => {
                if let Some(found) = fits(&notice) {
                    return found;
                }
            }
            HostMessage::Nothing => {}
            HostMessage::Gone => panic!("the host hung up before {what}"),
        }
        assert!(begin.elapsed() < LONG, "{what} did not come");
    }
}

/// Listens until the host hangs up.
pub fn all_notices(owner: &mut HostConnection) -> Vec<Notice> {
    let mut notices = Vec::new();
    let begin = Instant::now();
    loop {
        match owner.receive(LONG).expect("a host that speaks") {
            HostMessage::Notice(notice) => notices.push(notice),
            HostMessage::Nothing => {}
            HostMessage::Gone => return notices,
        }
        assert!(begin.elapsed() < LONG, "the host does not end");
    }
}

/// Waits until stdout has this many bytes.
pub fn wait_for_stdout(owner: &mut HostConnection, bytes: u64) {
    receive(owner, "progress", |notice| {
        let Notice::Progress(progress) = notice else { return None };
        (progress.stdout >= bytes).then_some(())
    });
}

/// The bytes of a recorded attempt in the order and form in which every reader sees them: per stream, masked.
pub fn read_back(out: &Path, attempt: u32) -> [Vec<u8>; 3] {
    let folder = skillrun_evidence::Folder::open(out).expect("a recording");
    let attempt = folder.attempt(AttemptNumber(attempt)).expect("the attempt");
    let mut feed = attempt.feed().expect("its bytes");
    let mut streams: [Vec<u8>; 3] = Default::default();
    while let Some(step) = feed.next_step().expect("a step") {
        if let skillrun_evidence::feed::StepKind::Bytes { stream, bytes } = step.kind {
            streams[stream.index()].extend_from_slice(bytes);
        }
    }
    assert_eq!(feed.problems(), Vec::<String>::new());
    streams
}

/// What `flood` writes.
pub fn flood(bytes: usize) -> Vec<u8> {
    let mut expected = vec![0; bytes];
    skillrun_simulate::pattern(0, &mut expected);
    expected
}

/// One stream of what was read back.
pub fn of(streams: &[Vec<u8>; 3], stream: Stream) -> &[u8] {
    &streams[stream.index()]
}

impl HostLab {
    /// Waits until the host has taken a text from stdout into the evidence of an attempt.
    pub fn await_stdout(&self, attempt: u32, text: &str) {
        let path = self.audit().join(format!("stdout.{attempt}.log"));
        wait_until(text, || contains(&fs::read(&path).unwrap_or_default(), text));
    }

    /// A file of the workspace; engines wait for it with `wait-file`.
    pub fn put(&self, name: &str, text: &str) {
        fs::write(self.workspace().join(name), text).expect("a file in the workspace");
    }
}

pub fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// A ladder with the last rung alone.
pub fn at_once() -> Option<Vec<Rung>> {
    Some(vec![Rung { signal: SignalName::KILL, pause: Duration::ZERO }])
}

pub fn send(owner: &mut HostConnection, request: HostRequest) {
    owner.send(&request).expect("a host that listens");
}

/// Sends an input and waits for the answer.
pub fn input(owner: &mut HostConnection, id: &str, text: &str) -> InputAnswer {
    send(owner, HostRequest::Input { id: id.to_owned(), text: Some(text.to_owned()), hex: None });
    receive_answer(owner, id)
}

pub fn receive_answer(owner: &mut HostConnection, id: &str) -> InputAnswer {
    receive(owner, "an answer", |notice| {
        let Notice::Input { id: heard, answer } = notice else { return None };
        (heard == id).then_some(*answer)
    })
}

/// Listens until the engine has exited; its exit code.
pub fn receive_exit(owner: &mut HostConnection) -> Option<i32> {
    receive(owner, "the exit", |notice| {
        assert!(!matches!(notice, Notice::Ended { .. }), "the end came before the exit");
        if let Notice::Exited { exit_code, .. } = notice { Some(*exit_code) } else { None }
    })
}

/// Kills a host, and waits until it is gone.
pub fn kill_host(owner: &HostConnection) {
    signal(owner.host_pid(), "KILL");
    wait_until("the death of the host", || is_gone(owner.host_pid()));
}

/// Listens until the record is on disk.
pub fn receive_ended(owner: &mut HostConnection) -> EndedBy {
    receive(owner, "the end", |notice| if let Notice::Ended { ended_by } = notice { Some(*ended_by) } else { None })
}

/// Listens until a request was refused.
pub fn receive_refused(owner: &mut HostConnection) -> String {
    receive(
        owner,
        "a refusal",
        |notice| if let Notice::Refused { reason } = notice { Some(reason.clone()) } else { None },
    )
}

/// Words of an engine as they stand on a command line. A text has no space in it: it writes `\x20`.
pub fn steps(words: &str) -> Vec<&str> {
    words.split_whitespace().collect()
}

/// These bytes as a text of `out` and `err`.
pub fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect()
}

/// What `capture` itself said, without the stderr of the engine.
pub fn said(output: &Output) -> Vec<String> {
    text(&output.stderr).lines().filter(|line| line.starts_with("skillrun: ")).map(str::to_owned).collect()
}

impl HostLab {
    /// Names of everything in `.audit`, folders with a slash, in order.
    pub fn left(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(self.audit().join(&folder)).expect("a folder") {
                let entry = entry.expect("an entry");
                let path = folder.join(entry.file_name());
                let is_folder = entry.file_type().expect("a kind").is_dir();
                names.push(format!("{}{}", path.display(), if is_folder { "/" } else { "" }));
                folders.extend(is_folder.then_some(path));
            }
        }
        names.sort_unstable();
        names
    }

    /// The records of the chunk index.
    pub fn index(&self, attempt: u32) -> Vec<Value> {
        let index = self.evidence(&format!("chunks.{attempt}.jsonl"));
        assert!(index.is_empty() || index.ends_with(b"\n"), "half a line is left");
        let lines = index.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).expect("a record")).collect()
    }
}

/// What the engine's step `report` wrote.
pub fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

/// The same command, started by a shell that does something first.
pub fn after(script: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{script}\nexec \"$@\"")).arg("sh").arg(command.get_program());
    shell.args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

impl HostLab {
    /// Gives the lab to an unprivileged user whose number is otherwise unused. None, with the reason
    /// printed, where that cannot be done.
    pub fn other_user(&self) -> Option<u32> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can act as another user");
            return None;
        }
        let user = 0x5000_0000 + std::process::id();
        for path in [self.dir.path().to_owned(), self.workspace()] {
            std::os::unix::fs::chown(path, Some(user), Some(user)).expect("handed over");
        }
        let mut command = Command::new(skillrun());
        std::os::unix::process::CommandExt::uid(&mut command, user);
        let can_run = command.arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
        if !can_run {
            eprintln!("skipped: another user cannot reach {}", skillrun());
        }
        can_run.then_some(user)
    }
}

/// The one sentence with which `capture` reports its failure.
pub fn error(output: &Output) -> String {
    let said = said(output);
    let errors: Vec<_> = said.iter().filter_map(|line| line.strip_prefix("skillrun: error: ")).collect();
    let [error] = errors[..] else { panic!("{} sentences report what is wrong: {said:?}", errors.len()) };
    error.to_owned()
}

impl HostLab {
    /// `skillrun capture` whose processes are this lab's, without a workspace, a place for the recording and a command.
    pub fn placeless_capture(&self) -> Command {
        let mut command = Command::new(skillrun());
        command.arg("capture").arg("--env").arg(format!("{MARK}={}", self.mark)).stdin(Stdio::null());
        command
    }
}

/// Whether this process may mount something in a namespace of its own; a test that may not is skipped.
pub fn can_mount() -> bool {
    let may = Command::new("unshare").args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
    let can = may.is_ok_and(|output| output.status.success());
    if !can {
        eprintln!("skipped: nothing can be mounted here");
    }
    can
}

/// Runs it in a mount namespace in which a script has mounted something. None, with the reason printed, where mounting
/// is not allowed.
pub fn in_own_mounts(script: &str, command: &Command) -> Option<Output> {
    if !can_mount() {
        return None;
    }
    let inner = after(script, command);
    let mut unshare = Command::new("unshare");
    unshare.arg("-m").arg(inner.get_program()).args(inner.get_args()).stdin(Stdio::null());
    Some(output(&mut unshare))
}

/// Leaves without a word. Closing alone would not do: a process that another test is about to start has a copy of every
/// descriptor for a moment.
pub fn hang_up(owner: HostConnection) {
    // The host may have hung up before.
    rustix::net::shutdown(&owner, rustix::net::Shutdown::Both).ok();
}

/// A process that does nothing until this is dropped, whatever becomes of the test.
#[derive(Debug)]
pub struct Stopped(u32);

impl Stopped {
    pub fn new(pid: u32) -> Self {
        signal(pid, "STOP");
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal(self.0, "CONT");
    }
}
