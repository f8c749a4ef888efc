//! Completion in real shells: engines, skills, runs, settings and codes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lab::Lab;

use crate::on_terminal::Terminal;

const DONE: &str = "- - output: {answer: yes}\n    done: true\n";

/// A folder with a skill and a run, and the program in PATH.
struct Place {
    lab: Lab,
    run: String,
}

impl Place {
    fn new() -> Self {
        let lab = Lab::new();
        lab.installed_skill("zebra", DONE);
        let done = lab.output(&["run", "zebra", "--engine", "scripted", "--json"]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let run = lab.runs().first().expect("a run").clone();
        std::fs::create_dir(lab.path("bin")).expect("a folder");
        std::os::unix::fs::symlink(lab::skillrun(), lab.path("bin/skillrun")).expect("a link");
        for shell in ["bash", "zsh", "fish"] {
            lab.write(&format!("completion.{shell}"), &lab.printed(&["completions", shell]));
        }
        // zsh loads a function from a file of its name.
        lab.write("functions/_skillrun", &lab.printed(&["completions", "zsh"]));
        Self { lab, run }
    }

    /// What a user types, and what it becomes.
    fn cases(&self) -> Vec<(String, String)> {
        let short = &self.run[..13];
        [
            ("skillrun run zeb", "skillrun run zebra"),
            ("skillrun run zebra --engine scri", "skillrun run zebra --engine scripted"),
            ("skillrun run zebra --engine=scri", "skillrun run zebra --engine=scripted"),
            ("skillrun config get slots.tot", "skillrun config get slots.total"),
            ("skillrun explain ENGINE_END_MIS", "skillrun explain ENGINE_END_MISSING"),
            (&format!("skillrun show {}", &short[..10]), &format!("skillrun show {short}")),
            ("skillrun engin", "skillrun engines"),
            ("skillrun normalize comp", "skillrun normalize completion."),
        ]
        .map(|(typed, line)| (typed.to_owned(), line.to_owned()))
        .to_vec()
    }

    /// A shell with the program in PATH.
    fn command(&self, shell: &Path) -> Command {
        let mut path = self.lab.path("bin").into_os_string();
        path.push(":/usr/bin:/bin");
        let (mut command, like) = (Command::new(shell), self.lab.command(&[]));
        command.env_clear().current_dir(self.lab.root());
        command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", path).env("TERM", "dumb").env("COLUMNS", "200").env("PS1", "ready> ");
        command
    }

    /// Types every line into an interactive shell, and presses Tab.
    fn type_into(&self, shell: &Path, flags: &[&str], setup: &str) {
        for (typed, line) in self.cases() {
            let mut command = self.command(shell);
            command.args(flags);
            let mut terminal = Terminal::new(command);
            terminal.wait_for("ready> ", 1);
            // The shell writes the marker only when the script is loaded; the typed line does not contain it.
            terminal.press(&format!("{setup}; echo lo''aded\r"));
            terminal.wait_for("loaded\n", 1);
            terminal.press(&format!("{typed}\t"));
            terminal.wait_for(&line, 1);
            terminal.kill();
        }
    }
}

/// Where a shell is; prints the reason to skip it.
fn shell(name: &str) -> Option<PathBuf> {
    let found = ["/usr/bin", "/bin", "/usr/local/bin"].map(|folder| Path::new(folder).join(name));
    let found = found.into_iter().find(|path| path.is_file());
    if found.is_none() {
        eprintln!("skipped: {name} is not installed");
    }
    found
}

#[test]
fn bash_completes_names_of_this_machine() {
    let place = Place::new();
    let bash = shell("bash").expect("bash is installed wherever tests run");
    place.type_into(&bash, &["--norc", "--noprofile", "-i"], "source ./completion.bash");
}

#[test]
fn zsh_completes_names_of_this_machine() {
    let Some(zsh) = shell("zsh") else { return };
    let place = Place::new();
    place.type_into(&zsh, &["-f", "-i"], "fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -D -u");
}

#[test]
fn fish_completes_names_of_this_machine() {
    let Some(fish) = shell("fish") else { return };
    let place = Place::new();
    for (typed, line) in place.cases() {
        let mut command = place.command(&fish);
        let script = format!("source ./completion.fish; complete --do-complete '{typed}'");
        let output = command.args(["--no-config", "-c", &script]).stdin(Stdio::null()).output().expect("fish");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let word = line.rsplit(' ').next().expect("a word");
        assert!(printed.lines().any(|candidate| candidate.starts_with(word)), "{typed}: {printed}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{typed}");
    }
}

#[test]
fn completion_is_quick_and_silent_with_unusable_settings() {
    let place = Place::new();
    place.lab.settings("slots = \"none\"\n");
    for words in [&["run", "x", "--engine", ""][..], &["show", ""], &["run", ""], &["token", "revoke", ""], &["\u{1b}"]]
    {
        let output = place.lab.output(&[&["complete", "--"], words].concat());
        assert_eq!((&output.stdout[..], &output.stderr[..]), (&b""[..], &b""[..]), "{words:?}");
    }
    // Far more than it takes; it must not wait for anything.
    let begin = Instant::now();
    place.lab.output(&["complete", "--", "show", ""]);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}
