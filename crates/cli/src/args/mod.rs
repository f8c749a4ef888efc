//! Arguments as plain data: one file per command or group of commands, and [`parsers`] for the words in them.
//!
//! A new command has its arguments in a file of its own here, a line in [`Command`], and a file in `commands`.

mod access;
mod capture;
mod config;
mod consent;
mod engines;
mod looking;
mod normalize;
mod parsers;
mod runs;
mod serve;
mod skills;
mod test;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use access::{Token, TokenCommand};
pub(crate) use capture::Capture;
pub(crate) use config::{Config, ConfigCommand};
pub(crate) use consent::{CONSENT_HELP, Consent};
pub(crate) use engines::{Engines, EnginesCommand, EnginesInstall, EnginesList, EnginesRecord, EnginesVerify};
pub(crate) use looking::{Diff, Export, Gc, Interactions, LogForm, Logs, Ls, OneRun, ResultOf, Since, Verify};
pub(crate) use normalize::{Format, Normalize};
pub(crate) use runs::{Cancel, Own, Recover, Reply, Request, Retry, Run, Wait};
pub(crate) use serve::Serve;
pub(crate) use skills::{Skills, SkillsCommand};
pub(crate) use test::{ModelChoice, Test};

/// Runs agent skills on real coding agents and tells the truth about what happened.
#[derive(Debug, Parser)]
#[command(name = "skillrun", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What may stand before or after every command.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Folder for runs and installed skills
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// File with the settings
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Use colour; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value = "auto")]
    pub(crate) color: Color,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// How a command prints what it found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// One JSON document.
    Json,
}

/// `--json`, wherever there is something to print.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Json {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Json {
    pub(crate) fn form(self) -> Form {
        if self.json { Form::Json } else { Form::Text }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a skill on an engine
    Run(Box<Run>),
    /// Answer the question of a run
    Reply(Reply),
    /// End runs that are not over
    Cancel(Cancel),
    /// Run again what a run was about, with changes if you like
    Retry(Box<Retry>),
    /// Go on with runs whose owner is gone
    Recover(Recover),
    /// List runs, the newest first
    Ls(Ls),
    /// Show everything about a run
    Show(OneRun),
    /// Print the conversation of a run, its events, or what the engine wrote
    Logs(Logs),
    /// Print the result of a run
    Result(ResultOf),
    /// Show which files a run changed
    Diff(Diff),
    /// List questions that wait for an answer, or all questions of a run
    Interactions(Interactions),
    /// Write result and files of a run, or all of it, into a zip file
    Export(Export),
    /// Derive everything about a run again from the evidence, and compare
    Verify(Verify),
    /// Explain why a run is as it is, what looks wrong, and what to do
    Diagnose(OneRun),
    /// List, show, check, make and install skills
    Skills(Skills),
    /// Try a skill on several engines, and compare what they make of it
    Test(Test),
    /// List engines: what is installed, and how far each can be trusted
    Engines(Engines),
    /// Agree to engines that nothing holds back; list and revoke consent
    #[command(after_help = CONSENT_HELP)]
    Consent(Consent),
    /// Show and change settings
    Config(Config),
    /// Serve runs to programs and browsers over HTTP
    Serve(Serve),
    /// Make, list and revoke tokens for programs that use the server
    Token(Token),
    /// Print a link that opens the running server in a browser, once
    #[command(after_help = OPEN_HELP)]
    Open(Json),
    /// Remove what is older than the settings allow
    Gc(Gc),
    /// Show how much room runs take up
    Du(Json),
    /// Check that everything is as it should be
    Doctor(Json),
    /// Turn the recorded output of an engine into events, a conversation and a verdict
    Normalize(Normalize),
    /// Run an engine, or any command, and record every byte it writes
    Capture(Capture),
    /// Print the schema of a protocol or of the service, or our words
    Schema {
        /// Which
        #[arg(value_enum)]
        document: Published,
    },
    /// Explain a code, such as ENGINE_END_MISSING, or list all codes
    Explain {
        /// The code, in any case; without one, all codes are listed
        code: Option<String>,
    },
    /// Print what a shell needs to complete our commands
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// Which shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// An owner in the background
    #[command(hide = true)]
    Own(Own),
    /// An engine that plays a script, for demonstrations and tests
    #[command(hide = true, disable_help_flag = true)]
    SimulateScripted {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// A stand-in for the iFlow CLI, for tests
    #[command(hide = true, disable_help_flag = true)]
    SimulateIflow {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// A model on loopback that answers by script, for tests of real engines
    #[command(hide = true, disable_help_flag = true)]
    SimulateModel {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// An agent of the Agent Client Protocol that does as its scenario says
    #[command(hide = true, disable_help_flag = true)]
    SimulateAcp {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// An engine that does as it is told, for tests
    #[command(hide = true, disable_help_flag = true)]
    SimulateSteps {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
}

const OPEN_HELP: &str = "The link is good for ten minutes and for one browser, which stays in for 30 days.";

const COMPLETIONS_HELP: &str = "\
Write it to where the shell looks:
  bash  ~/.local/share/bash-completion/completions/skillrun
  zsh   _skillrun, in a folder of fpath
  fish  ~/.config/fish/completions/skillrun.fish";

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Published {
    /// The events of the Log, as JSON Schema
    Rasp,
    /// What a conversation frontend reads, as JSON Schema
    Fcmp,
    /// The HTTP service, as OpenAPI 3.1
    Openapi,
    /// What states and codes are called in English
    Words,
}

/// Prints help, or what is wrong. Exit code 2 would be taken for the command's where a command was to be run.
pub(crate) fn report(error: &clap::Error) -> ExitCode {
    // Nothing is left to do if the terminal is gone.
    let _ = error.print();
    ExitCode::from(match error.exit_code() {
        0 => 0,
        _ if runs_a_command(std::env::args_os().skip(1)) => 125,
        _ => 2,
    })
}

/// Whether we are started as the host of one attempt, which reads its plan from standard input.
pub(crate) fn is_host(words: impl IntoIterator<Item = OsString>) -> bool {
    words.into_iter().eq(["attempt-host"])
}

/// Whether the first word that is neither a global option nor its value is `capture`.
fn runs_a_command(words: impl IntoIterator<Item = OsString>) -> bool {
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if ["--data", "--config", "--color"].iter().any(|option| word == *option) {
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

    #[test]
    fn a_command_to_run_is_seen_behind_global_options() {
        let runs = |words: &[&str]| runs_a_command(words.iter().map(OsString::from));
        assert!(runs(&["capture"]));
        assert!(runs(&["--data", "x", "--color=never", "capture", "--wrong"]));
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
