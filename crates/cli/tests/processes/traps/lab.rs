//! A place for one run of the program: a skill, and stand-ins in the place of the engines' own programs. The shipped
//! engine files find, start, read and end them as they would the real ones.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use lab::{eventually, processes, signal};
use testkit::recorded::read_json;

use crate::SKILLRUN;
use crate::traps::run::Run;
use crate::traps::tape::{Tape, Told};

/// Marks every process of a lab.
const MARK: &str = "TRAPS_LAB";

/// Whatever is left of its processes is ended when it is dropped.
pub(crate) struct Lab {
    place: lab::Lab,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let place = lab::Lab::new();
        for folder in ["bin", "out"] {
            fs::create_dir(place.path(folder)).expect("a folder");
        }
        // Those that nothing holds back must be agreed to.
        place.settings(r#"consent = ["claude", "codex", "gemini", "iflow", "opencode", "qwen"]"#);
        let skill = "---\nname: probe\ndescription: A skill for tests.\n---\n\nAnswer.\n";
        place.write("skill/SKILL.md", skill);
        Self { place }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path(name)
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        self.place.write(name, text);
    }

    /// Puts a program in the place of an engine's. It is a script for `sh`.
    pub(crate) fn stand_in(&self, engine: &str, does: &str) {
        self.program(&format!("bin/{engine}"), does);
    }

    /// A program that can also print its version.
    pub(crate) fn program(&self, name: &str, does: &str) {
        let version = "case \"$1\" in --version) echo 'codex-cli 0.166.0'; exit 0;; esac";
        self.place.write_program(name, &format!("#!/bin/sh\n{version}\n{does}\n"));
    }

    /// What a stand-in does: these steps of `stand-in steps`. `@name` is a file of the lab.
    pub(crate) fn steps(&self, steps: &str) -> String {
        let word = |word: &str| match word.strip_prefix('@') {
            Some(name) => format!(" '{}'", self.path(name).display()),
            None => format!(" '{word}'"),
        };
        let program = testkit::paths::stand_in(SKILLRUN);
        format!("exec '{}' steps{}", program.display(), steps.split_whitespace().map(word).collect::<String>())
    }

    /// The program, with the stand-ins and a clean environment.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.place.command(words);
        command.env(MARK, self.place.root());
        for key in ["ANTHROPIC_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY", "IFLOW_API_KEY", "OPENAI_API_KEY"] {
            command.env(key, "nobodys-key");
        }
        for entry in fs::read_dir(self.path("bin")).expect("a folder").flatten() {
            let name = entry.file_name().to_string_lossy().to_uppercase();
            command.env(format!("SKILLRUN_{name}"), entry.path());
        }
        command
    }

    fn run_command(&self, engine: &str, options: &[&str]) -> Command {
        let mut command = self.command(&["run", "./skill", "--engine", engine, "--env", MARK]);
        command.args(options);
        command
    }

    /// A run to its end.
    pub(crate) fn run(&self, engine: &str, options: &[&str]) -> Run<'_> {
        self.ended(&mut self.run_command(engine, options))
    }

    /// A run to its end, started by a shell after this line.
    pub(crate) fn run_after(&self, line: &str, engine: &str) -> Run<'_> {
        let run = self.run_command(engine, &[]);
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("{line}\n\"$@\"")).arg("sh").arg(run.get_program()).args(run.get_args());
        shell.env_clear().envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.ended(shell.current_dir(self.place.root()).stdin(Stdio::null()))
    }

    fn ended(&self, command: &mut Command) -> Run<'_> {
        let output = command.output().expect("started");
        let runs = fs::read_dir(self.path("data/runs")).into_iter().flatten().flatten();
        let run = runs.map(|entry| entry.path()).find(|path| path.join("run.json").is_file());
        let Some(folder) = run else { panic!("no run: {}", words(&output)) };
        Run::new(self, folder)
    }

    /// A run that continues by itself.
    pub(crate) fn start(&self, engine: &str, options: &[&str]) -> Run<'_> {
        self.ended(self.run_command(engine, options).arg("--no-wait"))
    }

    /// A run whose engine does this, has then written its process id to `main.pid`, and keeps writing. So only
    /// what it leaves behind can be silent for too long.
    pub(crate) fn busy(&self, engine: &str, steps: &str) -> Run<'_> {
        self.stand_in(engine, &self.steps(&format!("{steps} pid @main.pid repeat 6000 [ err .\\n sleep 100 ]")));
        let run = self.start(engine, &["--stall", "3", "--linger", "1"]);
        self.pid("main.pid");
        run
    }

    /// The stand-in of an engine without a host, in a process group of its own.
    pub(crate) fn alone(&self, engine: &str, steps: &str) -> Child {
        self.stand_in(engine, &self.steps(&format!("{steps} pid @main.pid forever")));
        let mut command = Command::new(self.path(&format!("bin/{engine}")));
        command.env(MARK, self.place.root()).process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn().expect("started");
        self.pid("main.pid");
        child
    }

    /// What is reported about a command that `skillrun capture` has recorded.
    pub(crate) fn captured(&self, engine: &str, options: &[&str], command: &[&str]) -> Told {
        let out = self.path("out").display().to_string();
        let mut capture = self.command(&["capture", "--engine", engine, "--out", &out, "--no-snapshot"]);
        let output = capture.args(options).arg("--").args(command).output().expect("started");
        assert!(output.status.success(), "{}", words(&output));
        Tape::at(&self.path("out")).auto()
    }

    /// The process id that a process of the engine writes into a file.
    pub(crate) fn pid(&self, name: &str) -> u32 {
        let read = || fs::read_to_string(self.path(name)).ok()?.trim().parse().ok();
        eventually(name, read)
    }

    /// Processes with the mark, each with its variables as they were at one moment.
    fn marked(&self) -> impl Iterator<Item = (u32, Vec<String>)> {
        let mark = format!("{MARK}={}", self.place.root().display());
        processes().filter(move |(_, variables)| variables.contains(&mark))
    }

    /// Processes of the engine: they have the mark, and not what only our own program was given.
    pub(crate) fn alive(&self) -> Vec<u32> {
        let is_ours = |variables: &[String]| variables.iter().any(|line| line.starts_with("SKILLRUN_DATA="));
        self.marked().filter(|(_, variables)| !is_ours(variables)).map(|(pid, _)| pid).collect()
    }

    #[track_caller]
    pub(crate) fn nobody_is_left(&self) {
        let left = self.alive().into_iter().map(|pid| (pid, fs::read_to_string(format!("/proc/{pid}/comm"))));
        assert_eq!(left.filter_map(|(pid, name)| Some((pid, name.ok()?))).collect::<Vec<_>>(), []);
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Owners as well, if a test has failed.
        self.marked().for_each(|(pid, _)| signal(pid, "KILL"));
    }
}

pub(crate) fn words(output: &Output) -> String {
    format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr))
}

/// What a stand-in does: writes what was recorded in an attempt of the corpus, and exits as that did.
pub(crate) fn plays(name: &str, attempt: u32) -> String {
    let audit = testkit::paths::corpus().join(name).join(".audit");
    let exit = read_json(&audit.join(format!("meta.{attempt}.json")))["exit_code"].as_u64().expect("an exit code");
    let file = |stream: &str| audit.join(format!("{stream}.{attempt}.log"));
    format!("cat {}; cat {} >&2; exit {exit}", quoted(&file("stdout")), quoted(&file("stderr")))
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display())
}
