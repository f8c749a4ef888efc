//! Arguments as plain data: one file per command or group of commands, and [`parsers`] for their values.
//!
//! A new command has its arguments in a file of its own here, a line in [`Command`], and a file in `commands`.

mod access;
mod capture;
mod config;
mod confinement;
mod consent;
mod engines;
mod limits;
mod looking;
mod normalize;
mod parsers;
mod prompts;
mod runs;
mod serve;
mod skills;
mod test;
mod workflow;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use access::{Token, TokenCommand};
pub(crate) use capture::Capture;
pub(crate) use config::{Config, ConfigCommand};
pub(crate) use consent::{CONSENT_HELP, Consent};
pub(crate) use engines::{
    Engines, EnginesCommand, EnginesInstall, EnginesList, EnginesRecord, EnginesUpgrade, EnginesVerify,
};
pub(crate) use looking::{
    Apply, Diagnose, Diff, Export, Gc, Interactions, LogForm, Logs, Ls, OneRun, ReplayOf, ResultOf, Rm, Since, Verify,
    WaitFor,
};
pub(crate) use normalize::{Format, Normalize};
pub(crate) use prompts::{Ask, Chat, PromptArgs};
pub(crate) use runs::{
    Cancel, ChildArgs, Close, CommonArgs, ContinueArgs, Interrupt, Own, Recover, Reply, RequestArgs, RetryArgs, Run,
    Wait, WorkspaceWait,
};
pub(crate) use serve::Serve;
pub(crate) use skills::{Skills, SkillsCommand};
pub(crate) use test::{ModelChoice, Test};
pub(crate) use workflow::{Workflow, WorkflowCommand, WorkflowFileArgs, WorkflowRetry, WorkflowRun};

/// Run agent skills on real coding agents and report what really happened.
#[derive(Debug, Parser)]
#[command(name = "skillrun", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that are allowed before or after every command.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Data folder, with the runs and the installed skills [default: the setting `data`]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Settings file [default: see `skillrun config path`]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Use colour; `auto` means on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value = "auto")]
    pub(crate) color: Color,
    /// Log to stderr: error, warn, info, debug, trace, or a filter such as skillrun_runtime=debug
    /// [default: RUST_LOG, else off; serve: info]
    #[arg(long, global = true, value_name = "FILTER", verbatim_doc_comment)]
    pub(crate) log: Option<String>,
    /// Format of the log lines
    #[arg(long, global = true, value_name = "FORMAT", value_enum, default_value = "text")]
    pub(crate) log_format: LogFormat,
}

impl From<&Global> for skillrun_settings::SettingOptions {
    fn from(global: &Global) -> Self {
        Self { data: global.data.clone(), config: global.config.clone() }
    }
}

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// How a command prints its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputForm {
    /// For people.
    Text,
    /// One JSON document.
    Json,
}

/// `--json`, for every command that prints results.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Json {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Json {
    pub(crate) fn form(self) -> OutputForm {
        if self.json { OutputForm::Json } else { OutputForm::Text }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a skill on an engine
    Run(Box<Run>),
    /// Send a prompt to an engine and print the answer
    Ask(Box<Ask>),
    /// Talk with an engine in the terminal
    Chat(Box<Chat>),
    /// Answer the open question of a run, or send the next prompt
    Reply(Reply),
    /// Cancel runs that are not over
    Cancel(Cancel),
    /// Stop the open turn of a run; it then waits for a prompt
    Interrupt(Interrupt),
    /// Close a run that waits for a prompt or a decision
    Close(Close),
    /// Wait until a run is over; the exit code says how it ended
    Wait(WaitFor),
    /// Start a new run with the same request, optionally with changes
    Retry(Box<RetryArgs>),
    /// Run several steps in a declared order, as one run with one result
    Workflow(Workflow),
    /// Continue the conversation of a run on another engine
    Continue(Box<ContinueArgs>),
    /// Resume runs left behind by a process that died
    Recover(Recover),
    /// List runs, newest first
    Ls(Ls),
    /// Show everything about a run
    Show(OneRun),
    /// List a run and all runs below it, which it has asked for
    Tree(OneRun),
    /// Print the conversation, the events, or the raw engine output of a run
    Logs(Logs),
    /// Print the result of a run
    Result(ResultOf),
    /// Print what a model would see again of a run
    Replay(ReplayOf),
    /// Show which files a run changed
    Diff(Diff),
    /// Apply the changes that a run made in a copy of a folder
    Apply(Apply),
    /// List open questions, or all questions of a run
    Interactions(Interactions),
    /// Export the result and files of a run, or all of it, as a zip file
    Export(Export),
    /// Derive a run again from its evidence and compare it with what is stored
    Verify(Verify),
    /// Explain the state of a run, what looks wrong, and what to do
    Diagnose(Diagnose),
    /// List, show, validate, create and install skills
    Skills(Skills),
    /// Test a skill on several engines and compare the results
    Test(Test),
    /// List, install, upgrade, uninstall and verify engines
    Engines(Engines),
    /// Give, list and revoke consent for engines that do not enforce permissions
    #[command(after_help = CONSENT_HELP)]
    Consent(Consent),
    /// Show and change settings
    Config(Config),
    /// Start the HTTP server for programs and browsers
    Serve(Serve),
    /// Offer tools for runs to an agent, over MCP
    #[command(after_help = MCP_HELP)]
    Mcp,
    /// Create, list and revoke tokens for programs that use the server
    Token(Token),
    /// Print a one-time link that opens the running server in a browser
    #[command(after_help = OPEN_HELP)]
    Open(Json),
    /// Remove runs that are over
    Rm(Rm),
    /// Remove runs and evidence that exceed the retention settings
    Gc(Gc),
    /// Show the disk usage of runs, and what is large in them
    Du(Json),
    /// Check the settings, the data folder, the machine and the engines
    Doctor(Json),
    /// Turn recorded engine output into events, a conversation and a verdict
    Normalize(Normalize),
    /// Run an engine, or any command, and record every byte it writes
    Capture(Capture),
    /// Print a JSON Schema, the OpenAPI document, or the texts of all codes
    Schema {
        /// Document to print
        #[arg(value_enum)]
        document: Published,
    },
    /// Explain a code, such as ENGINE_END_MISSING, or list all codes
    Explain {
        /// Code, in upper or lower case; without one, all codes are listed
        code: Option<String>,
        #[command(flatten)]
        json: Json,
    },
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// Shell to print the script for
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// What completion scripts call
    #[command(hide = true, disable_help_flag = true)]
    Complete {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// The owner process in the background
    #[command(hide = true)]
    Own(Own),
    /// An engine that plays a script, for demonstrations and tests
    #[command(hide = true, disable_help_flag = true)]
    SimulateScripted {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// A scripted model on the loopback interface, for tests of real engines
    #[command(hide = true, disable_help_flag = true)]
    SimulateModel {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
}

const OPEN_HELP: &str = "\
The link is valid for ten minutes and for one browser. The browser stays logged
in for 30 days.";

const MCP_HELP: &str = "\
An agent starts it; docs/delegation.md has the configuration of Claude Code and
codex. The tools start runs, wait for them, answer their questions and read their
results. With SKILLRUN_DELEGATION_SOCKET and SKILLRUN_DELEGATION_TOKEN, which an
attempt sets, they are about the children of its run.";

const COMPLETIONS_HELP: &str = "\
Write the script to a place where the shell looks for it:
  bash  ~/.local/share/bash-completion/completions/skillrun
  zsh   _skillrun, in a folder of fpath
  fish  ~/.config/fish/completions/skillrun.fish
In these three shells, engines, skills, runs, settings, codes and tokens are
completed too.";

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Published {
    /// The events of the Log, as JSON Schema
    Rasp,
    /// What a conversation frontend reads, as JSON Schema
    Fcmp,
    /// The HTTP service, as OpenAPI 3.1
    Openapi,
    /// Workflow files, as JSON Schema
    Workflow,
    /// The English texts of states and codes
    Words,
    /// How the command line, the page and the protocols show each state, as Markdown
    Presenters,
}

/// Prints help, or what is wrong. `capture` exits with 125 instead of 2, which could be the exit code of the command.
pub(crate) fn report(error: &clap::Error) -> ExitCode {
    // If the terminal is gone, there is nothing left to do.
    let _ = error.print();
    ExitCode::from(match error.exit_code() {
        0 => 0,
        _ if runs_a_command(std::env::args_os().skip(1)) => 125,
        _ => 2,
    })
}

/// Whether this process is started as the host of one attempt, which reads its plan from standard input.
pub(crate) fn is_host(words: impl IntoIterator<Item = OsString>) -> bool {
    words.into_iter().eq(["attempt-host"])
}

/// Whether the first word that is neither a global option nor its value is `capture`.
fn runs_a_command(words: impl IntoIterator<Item = OsString>) -> bool {
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if ["--data", "--config", "--color", "--log", "--log-format"].iter().any(|option| word == *option) {
            words.next();
        } else if !word.as_encoded_bytes().starts_with(b"-") {
            return word == OsStr::new("capture");
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_fit_together() {
        Args::command().debug_assert();
    }

    /// Commands without `--json`; README.md names them with the reason.
    const WITHOUT_JSON: [&str; 7] =
        ["capture", "chat", "completions", "engines reference", "mcp", "normalize", "schema"];

    fn leaves(command: &clap::Command, above: &str, found: &mut Vec<(String, bool)>) {
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
            let name = format!("{above}{}", inner.get_name());
            if inner.has_subcommands() {
                leaves(inner, &format!("{name} "), found);
            }
            if !inner.has_subcommands() || inner.get_arguments().any(|arg| arg.get_id() == "json") {
                found.push((name, inner.get_arguments().any(|arg| arg.get_id() == "json")));
            }
        }
    }

    #[test]
    fn every_command_has_json_or_readme_says_so() {
        let mut found = Vec::new();
        leaves(&Args::command(), "", &mut found);
        let mut without: Vec<&str> = found.iter().filter(|(_, has)| !has).map(|(name, _)| name.as_str()).collect();
        without.sort_unstable();
        assert_eq!(without, WITHOUT_JSON);
        let readme = std::fs::read_to_string(testkit::paths::workspace().join("README.md")).expect("a page");
        for name in WITHOUT_JSON {
            assert!(readme.contains(&format!("`{name}`")), "README.md does not name {name}");
        }
    }

    #[test]
    fn a_command_to_run_is_seen_behind_global_options() {
        let runs = |words: &[&str]| runs_a_command(words.iter().map(OsString::from));
        assert!(runs(&["capture"]));
        assert!(runs(&["--data", "x", "--color=never", "capture", "--wrong"]));
        assert!(runs(&["--log", "debug", "--log-format", "json", "capture"]));
        assert!(!runs(&["--data", "capture", "skills"]));
        assert!(!runs(&["skills", "capture"]));
        assert!(!runs(&[]));
    }

    #[test]
    fn a_host_is_asked_for_by_one_word_alone() {
        let asks = |words: &[&str]| is_host(words.iter().map(OsString::from));
        assert!(asks(&["attempt-host"]));
        assert!(!asks(&["attempt-host", "--help"]) && !asks(&["run", "attempt-host"]) && !asks(&[]));
    }
}
