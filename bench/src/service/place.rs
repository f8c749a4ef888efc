//! A data folder with engines and a skill, and a server over it. Both go away by themselves.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::http::Client;

use super::children::Kept;
use crate::later;
use crate::problem::Problem;
use crate::program::Program;

const TOKEN: &str = "a-token-for-measuring-only";

/// Longest time for a start, a stop or a run.
pub(crate) const SERVER_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Place {
    root: PathBuf,
    program: PathBuf,
    user: User,
}

/// The user that the program runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    Ours,
    /// An ordinary user, with these limits.
    Ordinary {
        id: u32,
        open_files: u32,
        processes: u32,
    },
}

/// An engine of the folder: a name, how its output is read, and the words it is started with.
pub(crate) struct Engine<'a> {
    pub(crate) name: &'a str,
    pub(crate) profile: &'a str,
    pub(crate) program: &'a Path,
    pub(crate) words: &'a [&'a str],
}

impl Engine<'_> {
    fn descriptor(&self) -> String {
        let Self { name, profile, program, words } = self;
        let words: String = words.iter().map(|word| format!("{}, ", json!(word))).collect();
        format!(
            "name = \"{name}\"\ntitle = \"For measuring\"\nprofile = \"{profile}\"\ncontinuation = \"none\"\n\
             [executable]\npath = {}\n[start]\nargv = [{words}\"{{{{prompt_flags}}}}\"]\n\
             [prompt]\nargument = [\"{{{{prompt}}}}\"]\n[permission.workspace]\nposture = \"not_enforced\"\n\
             [permission.read_only]\nposture = \"not_enforced\"\n[permission.full]\nposture = \"not_enforced\"\n",
            json!(program)
        )
    }
}

impl Place {
    pub(crate) fn new(program: &Program, name: &str, engines: &[Engine<'_>]) -> Result<Self, Problem> {
        Self::at(Self::root(name), program.path(), engines)
    }

    /// The folder that [`Place::new`] creates under this name, for engines that need the path before.
    pub(crate) fn root(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("skillrun-bench-{}-service-{name}", std::process::id()))
    }

    pub(crate) fn at(root: PathBuf, program: &Path, engines: &[Engine<'_>]) -> Result<Self, Problem> {
        let place = Self { root, program: fs::canonicalize(program)?, user: User::Ours };
        for folder in ["engines", "home", "data/skills/skill"] {
            fs::create_dir_all(place.path(folder))?;
        }
        for engine in engines {
            fs::write(place.path("engines").join(format!("{}.toml", engine.name)), engine.descriptor())?;
        }
        let names: Vec<_> = engines.iter().map(|engine| engine.name).collect();
        fs::write(
            place.path("config.toml"),
            format!("box = \"off\"\nengines = \"engines\"\nconsent = {}\n", json!(names)),
        )?;
        let skill = "---\nname: skill\ndescription: For measuring.\n---\n\nSay it.\n";
        fs::write(place.path("data/skills/skill/SKILL.md"), skill)?;
        fs::write(place.path("token"), TOKEN)?;
        fs::set_permissions(place.path("token"), fs::Permissions::from_mode(0o600))?;
        Ok(place)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// The number of runs at once.
    pub(crate) fn allow(&self, runs: usize) -> Result<(), Problem> {
        let mut config = fs::read_to_string(self.path("config.toml"))?;
        config += &format!("[slots]\ntotal = {runs}\nper_engine = {runs}\n");
        Ok(fs::write(self.path("config.toml"), config)?)
    }

    /// From now on the program runs as this user, who owns all of it.
    pub(crate) fn hand_over(&mut self, user: User) -> Result<(), Problem> {
        self.user = user;
        match user {
            User::Ours => Ok(()),
            User::Ordinary { id, .. } => give(&self.root, id),
        }
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = match self.user {
            User::Ours => Command::new(&self.program),
            User::Ordinary { id, open_files, processes } => {
                let mut command = Command::new("prlimit");
                command.arg(format!("--nofile={open_files}")).arg(format!("--nproc={processes}"));
                command.arg("--").arg(&self.program).uid(id).gid(id).env("TMPDIR", self.path("home"));
                command
            }
        };
        command.args(words).arg("--data").arg(self.data()).arg("--config").arg(self.path("config.toml"));
        command.env("HOME", self.path("home")).current_dir(&self.root).stdin(Stdio::null());
        command
    }

    /// `skillrun serve`, not started yet.
    pub(crate) fn serve_command(&self, listen: &str) -> Result<Command, Problem> {
        let mut command = self.command(&["serve", "--listen", listen]);
        command.arg("--token-file").arg(self.path("token")).stderr(File::create(self.path("server.err"))?);
        Ok(command)
    }

    pub(crate) fn client(&self, address: std::net::SocketAddr) -> Client {
        Client { address, token: Some(TOKEN.to_owned()) }
    }

    /// A server on a free port, ready.
    pub(crate) fn serve(&self) -> Result<Server, Problem> {
        let mut child = Kept::spawn(self.serve_command("127.0.0.1:0")?.stdout(Stdio::piped()))?;
        let stdout = child.stdout.take();
        let mut server = Server { child, client: self.client(std::net::SocketAddr::from(([127, 0, 0, 1], 0))) };
        let mut line = String::new();
        if let Some(stdout) = stdout {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let address = line.trim().strip_prefix("serving").and_then(|url| url.trim().strip_prefix("http://"));
        let Some(address) = address.and_then(|address| address.parse().ok()) else {
            let why = fs::read_to_string(self.path("server.err")).unwrap_or_default();
            return Err(Problem(format!("service: failed to serve: {line}{}", why.trim())));
        };
        server.client.address = address;
        Ok(server)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.end_hosts();
        later::remove(&self.root);
    }
}

impl Place {
    /// Hosts outlive their server. Those that are still there were left by something that went wrong.
    fn end_hosts(&self) {
        for pid in self.hosts() {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                kill_process(pid, Signal::KILL).ok();
            }
        }
    }

    /// The hosts that are alive.
    pub(crate) fn hosts(&self) -> Vec<u32> {
        let runs = fs::read_dir(self.data().join("runs")).into_iter().flatten().flatten();
        let claims = runs.filter_map(|run| {
            let claim: Value = serde_json::from_slice(&fs::read(run.path().join(".audit/claim.1")).ok()?).ok()?;
            Some((u32::try_from(claim["host_pid"].as_u64()?).ok()?, claim["host_began"].as_u64()?))
        });
        // The number may be that of another process by now; the moment of its beginning is not.
        claims.filter(|(pid, began)| began_of(*pid) == Some(*began)).map(|(pid, _)| pid).collect()
    }
}

fn give(path: &Path, id: u32) -> Result<(), Problem> {
    std::os::unix::fs::lchown(path, Some(id), Some(id))?;
    if path.is_dir() {
        for entry in fs::read_dir(path)?.flatten() {
            give(&entry.path(), id)?;
        }
    }
    Ok(())
}

/// A server that runs. Killed when it is dropped.
pub(crate) struct Server {
    child: Kept,
    pub(crate) client: Client,
}

impl Server {
    pub(crate) fn of(child: Kept, client: Client) -> Self {
        Self { child, client }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks it to stop, and returns how long that took.
    pub(crate) fn stop(mut self) -> Result<Duration, Problem> {
        let begin = Instant::now();
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| Problem("service: the server has no process id".to_owned()))?;
        kill_process(pid, Signal::TERM).map_err(std::io::Error::from)?;
        while begin.elapsed() < SERVER_TIMEOUT {
            if let Some(status) = self.child.try_wait()? {
                let is_well = status.success();
                return if is_well {
                    Ok(begin.elapsed())
                } else {
                    Err(Problem(format!("service: the server exited with {status}")))
                };
            }
            sleep(Duration::from_millis(1));
        }
        Err(Problem("service: the server does not stop".to_owned()))
    }

    fn of_proc(&self, file: &str) -> Result<String, Problem> {
        Ok(fs::read_to_string(format!("/proc/{}/{file}", self.child.id()))?)
    }

    /// A number of bytes in its `/proc/PID/status`.
    fn memory_of(&self, name: &str) -> Result<u64, Problem> {
        let status = self.of_proc("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        kib.map(|kib| kib * 1024).ok_or_else(|| Problem(format!("service: no {name} in its status")))
    }

    /// Memory it has at this moment, pages of its program included.
    pub(crate) fn memory(&self) -> Result<u64, Problem> {
        self.memory_of("VmRSS:")
    }

    /// The same without pages of files.
    pub(crate) fn own_memory(&self) -> Result<u64, Problem> {
        self.memory_of("RssAnon:")
    }

    pub(crate) fn peak_memory(&self) -> Result<u64, Problem> {
        self.memory_of("VmHWM:")
    }

    /// Processor time of the server alone.
    pub(crate) fn cpu(&self) -> Result<Duration, Problem> {
        cpu_of(self.child.id())
    }

    pub(crate) fn get(&self, path: &str) -> Result<Value, Problem> {
        let answer = self.client.get(path)?;
        if answer.status == 200 { Ok(answer.json()) } else { Err(refused(path, answer.status, &answer.text())) }
    }

    /// Starts a run, and waits for its end if a number of seconds is given.
    pub(crate) fn run(&self, engine: &str, wait: Option<u32>) -> Result<Value, Problem> {
        let query = wait.map(|seconds| format!("?wait={seconds}")).unwrap_or_default();
        let answer = self.client.post(&format!("/v1/runs{query}"), &json!({ "skill": "skill", "engine": engine }))?;
        if matches!(answer.status, 200 | 202) {
            Ok(answer.json())
        } else {
            Err(refused("POST /v1/runs", answer.status, &answer.text()))
        }
    }

    /// Starts a run and gives its name.
    pub(crate) fn start(&self, engine: &str) -> Result<String, Problem> {
        let run = self.run(engine, None)?;
        run["run_id"].as_str().map(str::to_owned).ok_or_else(|| Problem(format!("service: a run without an id: {run}")))
    }

    pub(crate) fn wait(&self, run: &str) -> Result<Value, Problem> {
        let begin = Instant::now();
        loop {
            let view = self.get(&format!("/v1/runs/{run}?wait=20"))?;
            if is_over(&view) {
                return Ok(view);
            }
            if begin.elapsed() > SERVER_TIMEOUT {
                return Err(Problem(format!("service: {run} does not end: {}", view["status"])));
            }
        }
    }
}

fn refused(path: &str, status: u16, text: &str) -> Problem {
    Problem(format!("service: {path} was answered with {status} {text}"))
}

pub(crate) fn is_over(view: &Value) -> bool {
    matches!(view["status"].as_str(), Some("succeeded" | "failed" | "canceled"))
}

/// Insists that a run came to a good end.
pub(crate) fn succeeded(view: &Value) -> Result<(), Problem> {
    if view["status"] == "succeeded" { Ok(()) } else { Err(Problem(format!("service: a run did not succeed: {view}"))) }
}

/// When a process began, in ticks since the start of the machine; none where it is gone.
fn began_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Processor time of a process, without its children.
pub(crate) fn cpu_of(pid: u32) -> Result<Duration, Problem> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    // utime and stime, in hundredths of a second on every Linux.
    let ticks: u64 =
        fields.split_ascii_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 10))
}
