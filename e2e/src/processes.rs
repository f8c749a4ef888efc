//! Processes, known by a variable in their environment. Engines start tools in sessions of their own and lose them, but
//! what was started by them has their environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::bounded::{Deadline, until};
use crate::problem::Miss;

/// The variable; its value is another one for each trial.
pub(crate) const TAG: &str = "SKILLRUN_E2E";

/// How long processes may take to go after a run is over.
const GOING: Duration = Duration::from_secs(15);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pid: Pid,
    /// Its command line.
    pub(crate) words: Vec<String>,
}

/// The living processes that carry this value.
pub(crate) fn tagged(value: &str) -> Vec<Process> {
    let entry = format!("{TAG}={value}");
    let is_tagged = |folder: &Path| {
        // A process that has exited, or that belongs to another user, cannot be read.
        let environment = fs::read(folder.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
    };
    processes().filter(|(folder, _)| is_tagged(folder)).map(|(_, process)| process).collect()
}

/// Processes of skillrun that have files below a folder open. A host has an empty environment, so it is known by these.
fn holding(root: &Path) -> Vec<Process> {
    let holds = |folder: &Path| {
        let files = fs::read_dir(folder.join("fd")).into_iter().flatten().flatten();
        files.filter_map(|file| fs::read_link(file.path()).ok()).any(|path| path.starts_with(root))
    };
    let is_ours = |process: &Process| process.words.first().is_some_and(|word| word == "skillrun");
    processes().filter(|(folder, process)| is_ours(process) && holds(folder)).map(|(_, process)| process).collect()
}

fn processes() -> impl Iterator<Item = (PathBuf, Process)> {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    folders.filter_map(|folder| {
        let pid = Pid::from_raw(folder.file_name()?.to_str()?.parse().ok()?)?;
        let line = fs::read(folder.join("cmdline")).ok()?;
        let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        let words = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        Some((folder, Process { pid, words }))
    })
}

/// Waits until none is left that carries the value, nor one of skillrun that works below the folder.
pub(crate) fn gone(value: &str, root: &Path) -> Result<(), Miss> {
    let left = || [tagged(value), holding(root)].concat();
    until(&Deadline::after(GOING), "processes", || left().is_empty().then_some(())).map_err(|_| {
        let left: Vec<_> = left().iter().map(|process| process.words.join(" ")).collect();
        Miss::new("process left", format!("processes remain after the end: {}", left.join("; ")))
    })
}

/// Whether a process that carries the value was started with exactly this command line.
pub(crate) fn runs(value: &str, command: &[&str]) -> bool {
    tagged(value).iter().any(|process| process.words == command)
}

/// Waits until no such process is left.
pub(crate) fn command_gone(value: &str, command: &[&str]) -> Result<(), Miss> {
    until(&Deadline::after(GOING), "a command", || (!runs(value, command)).then_some(()))
        .map_err(|_| Miss::new("command left", format!("{} runs after the end of its turn", command.join(" "))))
}

/// Ends the engine, and what it started, as if it had crashed; skillrun lives on, whatever its file is called.
pub(crate) fn end_engine(value: &str, skillrun: &Path) {
    kill(tagged(value).into_iter().filter(|process| !is_skillrun(process, skillrun)));
}

fn is_skillrun(process: &Process, skillrun: &Path) -> bool {
    process.words.first().is_some_and(|word| word.ends_with("skillrun") || Path::new(word) == skillrun)
}

/// Ends what is left.
pub(crate) fn end(value: &str) {
    kill(tagged(value).into_iter());
}

fn kill(processes: impl Iterator<Item = Process>) {
    for process in processes {
        // It may be gone already.
        kill_process(process.pid, Signal::KILL).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn skillrun_is_recognized_whatever_its_file_is_called() {
        let runs = |word: &str| {
            let process = Process { pid: Pid::INIT, words: vec![word.to_owned(), "run".to_owned()] };
            is_skillrun(&process, Path::new("/programs/skillrun-1.2"))
        };
        assert_eq!(["/programs/skillrun-1.2", "skillrun", "/programs/codex"].map(runs), [true, true, false]);
    }

    #[test]
    fn a_process_is_found_by_its_tag_whatever_became_of_its_parent() {
        let value = format!("test-{}", std::process::id());
        let mut command = Command::new("sh");
        command.args(["-c", "setsid sleep 300 >/dev/null 2>&1 </dev/null &"]).env(TAG, &value);
        assert!(command.status().expect("run").success());
        let found = until(&Deadline::after(Duration::from_secs(60)), "sleep", || {
            tagged(&value).into_iter().find(|process| process.words == ["sleep", "300"])
        });
        end(&value);
        found.expect("the orphan");
        gone(&value, Path::new("/nowhere")).expect("ended");
        assert_eq!(tagged("another"), []);
    }
}
