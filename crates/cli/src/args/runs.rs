//! Arguments of the commands that make runs and act on them.

use std::path::PathBuf;
use std::time::Duration;

use skillrun_engine::Permission;
use skillrun_model::interaction::DecisionPolicy;
use skillrun_model::status::{Continuation, OnQuota};
use skillrun_model::{ExecutionMode, ProfileId};

use super::Json;
use super::parsers::{continuation, count, named, seconds, words};

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = RUN_HELP)]
pub(crate) struct Run {
    /// The skill: its name, or the path of its folder
    pub(crate) skill: String,
    #[command(flatten)]
    pub(crate) request: Request,
    #[command(flatten)]
    pub(crate) wait: Wait,
    /// Use the result of an earlier run of exactly this, if one succeeded (auto mode)
    #[arg(long)]
    pub(crate) cached: bool,
}

const RUN_HELP: &str = "\
Exit codes: 0 succeeded, 1 failed, 2 wrong usage, 3 timed out, 4 not found,
6 waits for an answer, 7 output does not fit, 8 canceled, 130 interrupted.
Ctrl-C cancels and waits for the end; a second one leaves the run going on.

  skillrun run summarize --engine codex --input text=hello
  skillrun run ./my-skill --input input.json --file report=q3.pdf
  skillrun run tidy-up --workspace . --mode interactive";

/// What to run it on and with.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Request {
    /// Engine to run it on [default: the setting `engine`]
    #[arg(long, short, value_name = "E")]
    pub(crate) engine: Option<String>,
    /// Whether you can be asked [default: as the skill says, else auto]
    #[arg(long, value_parser = words(ExecutionMode::ALL, ExecutionMode::as_str))]
    pub(crate) mode: Option<ExecutionMode>,
    /// Input: name=value, a JSON file, or - for JSON on stdin
    #[arg(long, short, value_name = "K=V|FILE|-")]
    pub(crate) input: Vec<String>,
    /// Parameter: name=value, or a JSON file
    #[arg(long, short, value_name = "K=V|FILE")]
    pub(crate) param: Vec<String>,
    /// A file for the skill, under a name it knows
    #[arg(long, value_name = "SLOT=PATH")]
    pub(crate) file: Vec<String>,
    /// Work in this folder [default: a new one inside the run]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Other runs may work in that folder at the same time
    #[arg(long, requires = "workspace")]
    pub(crate) share: bool,
    /// Model of the engine
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// How hard the model should think
    #[arg(long, value_name = "WORD")]
    pub(crate) effort: Option<String>,
    /// What the engine may do without asking
    #[arg(long, value_parser = named(Permission::ALL, Permission::as_str))]
    pub(crate) permission: Option<Permission>,
    /// End an attempt after this many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// End it after this many seconds without output
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) stall: Option<Duration>,
    /// How long it may take to exit after its last word
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) linger: Option<Duration>,
    /// Wait for an answer this many seconds, where there is a limit
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) session_timeout: Option<Duration>,
    /// A question is decided without you when the time is up
    #[arg(long)]
    pub(crate) no_reply_needed: bool,
    /// How it is decided then
    #[arg(long, value_name = "POLICY", value_parser = words(DecisionPolicy::ALL, DecisionPolicy::as_str))]
    pub(crate) decide: Option<DecisionPolicy>,
    /// Fail an interactive run that is not done after this many attempts
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max_attempt: Option<u32>,
    /// Fail an auto run whose agent gives no done marker [default: as the skill says, else the setting]
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) require_marker: Option<bool>,
    /// Pass a variable of yours on
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    /// Pass a variable on and mask its value in everything that is shown
    #[arg(long, value_name = "NAME")]
    pub(crate) secret: Vec<String>,
    /// Do not list the files of the workspace before and after
    #[arg(long)]
    pub(crate) no_snapshot: bool,
    /// What to do when the engine has no quota left: `wait` tries the same again, as a new run, when it is there again
    #[arg(long, value_name = "WORD", value_parser = words(OnQuota::ALL, OnQuota::as_str))]
    pub(crate) retry_quota: Option<OnQuota>,
    /// So many times in a row, at most 100 [default: 29]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) retry_quota_max: Option<u32>,
    /// Higher is sooner, where runs wait for each other
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) priority: i32,
    /// Script for the engine `scripted` [default: the skill's assets/scripted.yaml]
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Format of the engine's output, instead of its own
    #[arg(long, hide = true, value_parser = words(ProfileId::ALL, ProfileId::as_str))]
    pub(crate) profile: Option<ProfileId>,
    /// Whether a later turn can go on in the same session, instead of what the engine says
    #[arg(long, hide = true, value_parser = continuation())]
    pub(crate) continuation: Option<Continuation>,
}

/// How long the command stays.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Wait {
    /// Show the conversation as it goes [default in a terminal]
    #[arg(long, conflicts_with = "no_wait")]
    pub(crate) follow: bool,
    /// Print the id and leave; the run goes on by itself
    #[arg(long)]
    pub(crate) no_wait: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Reply {
    /// The run, or the beginning of its id
    pub(crate) run: String,
    /// The answer; - reads it from stdin
    pub(crate) text: String,
    /// A file that goes with it
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Vec<PathBuf>,
    /// The question it is for [default: the one that is open]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) interaction: Option<u32>,
    /// Go on with the variables of this shell, though the run was made with others
    #[arg(long)]
    pub(crate) use_my_variables: bool,
    /// A name of yours for this answer: given twice, it counts once
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    #[command(flatten)]
    pub(crate) wait: Wait,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Cancel {
    /// Runs, or the beginnings of their ids
    #[arg(required = true)]
    pub(crate) run: Vec<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Retry {
    /// The run, or the beginning of its id
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) request: Request,
    #[command(flatten)]
    pub(crate) wait: Wait,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Recover {
    /// Cut the damaged Log of this run where the damage begins; the rest is kept aside
    #[arg(long, value_name = "RUN")]
    pub(crate) cut: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// For ourselves: an owner in the background.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Own {
    pub(crate) run: Vec<String>,
    /// All runs that nobody owns.
    #[arg(long)]
    pub(crate) all: bool,
}
