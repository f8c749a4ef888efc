//! A data folder with engines and a skill, and a server over it. Both go away by themselves.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::http::Client;

use super::children::Kept;
use crate::problem::Problem;
use crate::program::Program;

const TOKEN: &str = "a-token-for-measuring-only";

/// Longest time for a start, a stop or a run.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Place {
    root: PathBuf,
    program: PathBuf,
}

/// An engine of the folder: a name, how its output is read, and the words it is started with.
pub(super) struct Engine<'a> {
    pub(super) name: &'a str,
    pub(super) profile: &'a str,
    pub(super) program: &'a Path,
    pub(super) words: &'a [&'a str],
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
    pub(super) fn new(program: &Program, name: &str, engines: &[Engine<'_>]) -> Result<Self, Problem> {
        let root = std::env::temp_dir().join(format!("skillrun-bench-{}-service-{name}", std::process::id()));
        let place = Self { root, program: fs::canonicalize(program.path())? };
        for folder in ["engines", "home", "data/skills/skill"] {
            fs::create_dir_all(place.path(folder))?;
        }
        for engine in engines {
            fs::write(place.path("engines").join(format!("{}.toml", engine.name)), engine.descriptor())?;
        }
        let names: Vec<_> = engines.iter().map(|engine| engine.name).collect();
        fs::write(place.path("config.toml"), format!("engines = \"engines\"\nconsent = {}\n", json!(names)))?;
        let skill = "---\nname: skill\ndescription: For measuring.\n---\n\nSay it.\n";
        fs::write(place.path("data/skills/skill/SKILL.md"), skill)?;
        fs::write(place.path("token"), TOKEN)?;
        fs::set_permissions(place.path("token"), fs::Permissions::from_mode(0o600))?;
        Ok(place)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(super) fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).arg("--data").arg(self.data()).arg("--config").arg(self.path("config.toml"));
        command.env("HOME", self.path("home")).current_dir(&self.root).stdin(Stdio::null());
        command
    }

    /// `skillrun serve`, not started yet.
    pub(super) fn serve_command(&self, listen: &str) -> Result<Command, Problem> {
        let mut command = self.command(&["serve", "--listen", listen]);
        command.arg("--token-file").arg(self.path("token")).stderr(File::create(self.path("server.err"))?);
        Ok(command)
    }

    pub(super) fn client(&self, address: std::net::SocketAddr) -> Client {
        Client { address, token: Some(TOKEN.to_owned()) }
    }

    /// A server on a free port, ready.
    pub(super) fn serve(&self) -> Result<Server, Problem> {
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
            return Err(Problem(format!("service: it does not serve: {line}{}", why.trim())));
        };
        server.client.address = address;
        Ok(server)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.end_hosts();
        fs::remove_dir_all(&self.root).ok();
    }
}

impl Place {
    /// Hosts outlive their server. Those that are still there were left by something that went wrong.
    fn end_hosts(&self) {
        for run in fs::read_dir(self.data().join("runs")).into_iter().flatten().flatten() {
            let claim = fs::read(run.path().join(".audit/claim.1")).ok();
            let claim = claim.and_then(|claim| serde_json::from_slice::<Value>(&claim).ok());
            let Some(pid) = claim.and_then(|claim| i32::try_from(claim["host_pid"].as_i64()?).ok()) else { continue };
            // The number may be that of another process by now.
            let is_ours = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&self.root))
                || fs::read_to_string(format!("/proc/{pid}/environ"))
                    .is_ok_and(|environ| environ.contains(&*self.root.to_string_lossy()));
            if let Some(pid) = Pid::from_raw(pid).filter(|_| is_ours) {
                kill_process(pid, Signal::KILL).ok();
            }
        }
    }
}

/// A server that runs. Killed when it is dropped.
pub(super) struct Server {
    child: Kept,
    pub(super) client: Client,
}

impl Server {
    pub(super) fn of(child: Kept, client: Client) -> Self {
        Self { child, client }
    }

    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks it to stop, and tells how long that took.
    pub(super) fn stop(mut self) -> Result<Duration, Problem> {
        let begin = Instant::now();
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| Problem("service: the server has no number".to_owned()))?;
        kill_process(pid, Signal::TERM).map_err(std::io::Error::from)?;
        while begin.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait()? {
                let is_well = status.success();
                return if is_well {
                    Ok(begin.elapsed())
                } else {
                    Err(Problem(format!("service: stopped with {status}")))
                };
            }
            sleep(Duration::from_millis(1));
        }
        Err(Problem("service: it does not stop".to_owned()))
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
    pub(super) fn memory(&self) -> Result<u64, Problem> {
        self.memory_of("VmRSS:")
    }

    /// The same without pages of files.
    pub(super) fn own_memory(&self) -> Result<u64, Problem> {
        self.memory_of("RssAnon:")
    }

    pub(super) fn peak_memory(&self) -> Result<u64, Problem> {
        self.memory_of("VmHWM:")
    }

    /// Processor time of the server alone.
    pub(super) fn cpu(&self) -> Result<Duration, Problem> {
        cpu_of(self.child.id())
    }

    pub(super) fn get(&self, path: &str) -> Result<Value, Problem> {
        let answer = self.client.get(path)?;
        if answer.status == 200 { Ok(answer.json()) } else { Err(refused(path, answer.status, &answer.text())) }
    }

    /// Starts a run, and waits for its end if so many seconds are given.
    pub(super) fn run(&self, engine: &str, wait: Option<u32>) -> Result<Value, Problem> {
        let query = wait.map(|seconds| format!("?wait={seconds}")).unwrap_or_default();
        let answer = self.client.post(&format!("/v1/runs{query}"), &json!({ "skill": "skill", "engine": engine }))?;
        if matches!(answer.status, 200 | 202) {
            Ok(answer.json())
        } else {
            Err(refused("POST /v1/runs", answer.status, &answer.text()))
        }
    }

    /// Starts a run and gives its name.
    pub(super) fn start(&self, engine: &str) -> Result<String, Problem> {
        let run = self.run(engine, None)?;
        run["run_id"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| Problem(format!("service: a run without a name: {run}")))
    }

    pub(super) fn wait(&self, run: &str) -> Result<Value, Problem> {
        let begin = Instant::now();
        loop {
            let view = self.get(&format!("/v1/runs/{run}?wait=20"))?;
            if is_over(&view) {
                return Ok(view);
            }
            if begin.elapsed() > PATIENCE {
                return Err(Problem(format!("service: {run} does not end: {}", view["status"])));
            }
        }
    }
}

fn refused(path: &str, status: u16, text: &str) -> Problem {
    Problem(format!("service: {path} was answered with {status} {text}"))
}

pub(super) fn is_over(view: &Value) -> bool {
    matches!(view["status"].as_str(), Some("succeeded" | "failed" | "canceled"))
}

/// Insists that a run came to a good end.
pub(super) fn succeeded(view: &Value) -> Result<(), Problem> {
    if view["status"] == "succeeded" { Ok(()) } else { Err(Problem(format!("service: a run did not succeed: {view}"))) }
}

/// Processor time of a process, without its children.
pub(super) fn cpu_of(pid: u32) -> Result<Duration, Problem> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    // utime and stime, in hundredths of a second on every Linux.
    let ticks: u64 =
        fields.split_ascii_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 10))
}
