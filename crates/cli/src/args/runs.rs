//! Arguments of the commands that create runs and act on them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Arg;
use skillrun_engine::Permission;
use skillrun_model::delegation::Delegation;
use skillrun_model::interaction::DecisionPolicy;
use skillrun_model::status::{Continuation, OnQuota};
use skillrun_model::{ExecutionMode, ProfileId};

use super::Json;
use super::confinement::BoxArgs;
use super::limits::LimitArgs;
use super::parsers::{continuation, count, delegation, named, seconds, whole_number, words};
use super::prompts::{PromptArgs, prompt_help};

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = RUN_HELP)]
pub(crate) struct Run {
    /// Skill: its name, or the path of its folder
    pub(crate) skill: String,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) wait: Wait,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceWait,
    /// Reuse the result of an earlier successful run with an identical request (auto mode only)
    #[arg(long)]
    pub(crate) cached: bool,
    #[command(flatten)]
    pub(crate) child: ChildArgs,
}

/// A run that becomes a child of another one.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ChildArgs {
    /// Start it as a child of this run, which must be allowed to delegate and have an open turn; only --engine, --model,
    /// --mode, --timeout, --input and --param can be given
    #[arg(long, value_name = "RUN")]
    pub(crate) parent: Option<String>,
    /// Name of the child in the turn of its parent: the same key gives the same child [default: the same request does]
    #[arg(long, value_name = "KEY", requires = "parent")]
    pub(crate) key: Option<String>,
}

const RUN_HELP: &str = "\
Exit codes: 0 succeeded or closed, 1 failed, 2 wrong usage, 3 timed out,
4 not found, 6 waiting for an answer or the next prompt, 7 output missing or
invalid, 8 canceled, 130 interrupted.
Ctrl-C cancels the run and waits for its end; a second Ctrl-C stops waiting, and
a background process completes the cancel. At a question, Ctrl-D leaves it open
for `skillrun reply`, and Ctrl-C has to be pressed twice to cancel the run. In
interactive and conversation mode, Esc interrupts the turn that is followed in a
terminal.

  skillrun run summarize --engine codex --input text=hello
  skillrun run ./my-skill --input input.json --file report=q3.pdf
  skillrun run tidy-up --workspace . --mode interactive";

/// Flags of every request, with or without a skill. Their help is about skills; `prompt_help` has that of
/// the commands without one.
#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub(crate) struct CommonArgs {
    /// Engine to run the skill on [default: the setting `engine`, else the only engine of the skill]
    #[arg(long, short, value_name = "E")]
    pub(crate) engine: Option<String>,
    /// Folder the engine works in [default: a new folder inside the run]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Allow other runs to work in the workspace at the same time
    #[arg(long, requires = "workspace")]
    pub(crate) share: bool,
    /// Work in a copy of the workspace; the command `apply` takes the changes over
    #[arg(long, requires = "workspace", conflicts_with = "share")]
    pub(crate) copy: bool,
    /// Model to use, by the engine's name for it [default: the engine's own]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Reasoning effort, in the engine's own terms [default: the engine's own]
    #[arg(long, value_name = "WORD")]
    pub(crate) effort: Option<String>,
    /// What the engine may do without asking [default: the setting `permission`]
    #[arg(long, value_parser = named(Permission::ALL, Permission::as_str))]
    pub(crate) permission: Option<Permission>,
    #[command(flatten)]
    pub(crate) confinement: BoxArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Let the engine take settings from the workspace that start programs or name addresses, such as MCP servers, hooks
    /// and plugins [default: they are ignored, with a warning]
    #[arg(long)]
    pub(crate) allow_workspace_settings: bool,
    /// Terminate an attempt after this many seconds [default: from the skill, else the setting `hard_timeout_sec`]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Terminate an attempt after this many seconds without output [default: from the skill, else the setting
    /// `stall_timeout_sec`]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) stall: Option<Duration>,
    /// Pass an environment variable to the engine (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    /// Pass an environment variable to the engine and mask its value in all output (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) secret: Vec<String>,
    /// MCP server for the engine: a name, and an address or a command line whose words are separated by spaces
    /// (repeatable)
    #[arg(long, value_name = "NAME=URL|COMMAND")]
    pub(crate) mcp: Vec<String>,
    /// File with MCP servers for the engine, such as an .mcp.json (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp_servers: Vec<PathBuf>,
    /// Allow the engine to start other runs; LIMITS is JSON such as {"engines":["codex"],"max_children":4} [default:
    /// off; without LIMITS all engines, 8 runs at once, 50 in all, 2 levels]
    #[arg(long, value_name = "LIMITS", num_args = 0..=1, require_equals = true, default_missing_value = "{}", value_parser = delegation)]
    pub(crate) delegate: Option<Delegation>,
    /// Command that must exit with code 0 in the workspace after the turn; if it fails, the run fails (repeatable)
    #[arg(long, value_name = "CMD")]
    pub(crate) check: Vec<String>,
    /// Script for the engine `scripted` [default: the skill's assets/scripted.yaml]
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
}

/// Flags that describe a request. `retry` shares them and has its own help for them, see [`retry_help`].
#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub(crate) struct RequestArgs {
    /// Whether the agent works alone (`auto`), may ask questions (`interactive`), or takes one prompt after another
    /// (`conversation`) [default: from the skill, else auto]
    #[arg(long, value_parser = words(ExecutionMode::ALL, ExecutionMode::as_str))]
    pub(crate) mode: Option<ExecutionMode>,
    /// Input: name=value, a JSON file, or - for JSON on stdin (repeatable)
    #[arg(long, short, value_name = "K=V|FILE|-")]
    pub(crate) input: Vec<String>,
    /// Parameter: name=value, or a JSON file (repeatable)
    #[arg(long, short, value_name = "K=V|FILE")]
    pub(crate) param: Vec<String>,
    /// Input file for a file slot of the skill (repeatable)
    #[arg(long, value_name = "SLOT=PATH")]
    pub(crate) file: Vec<String>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// Seconds the engine may keep running after it reports the end of its turn [default: the engine's own]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) linger: Option<Duration>,
    /// Seconds a question waits for an answer, with --no-reply-needed or while a process of the engine waits for it
    /// [default: from the skill, else the setting `session_timeout_sec`]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) session_timeout: Option<Duration>,
    /// Seconds a process of the engine waits for the next prompt of a conversation before it is ended [default: from
    /// the skill, else the setting `idle_sec`]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) idle: Option<Duration>,
    /// Decide a question automatically after --session-timeout [default: from the skill, else on if the setting
    /// `interactive_require_user_reply` is false]
    #[arg(long)]
    pub(crate) no_reply_needed: bool,
    /// How a question is decided automatically [default: from the skill, else from the question]
    #[arg(long, value_name = "POLICY", value_parser = words(DecisionPolicy::ALL, DecisionPolicy::as_str))]
    pub(crate) decide: Option<DecisionPolicy>,
    /// Fail an interactive run that is not done after N attempts [default: from the skill, else no limit]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max_attempt: Option<u32>,
    /// Fail an auto run whose agent writes no done marker [default: from the skill, else the setting `require_marker`]
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) require_marker: Option<bool>,
    /// Do not take a snapshot of the workspace files before and after
    #[arg(long)]
    pub(crate) no_snapshot: bool,
    /// When the engine's quota is exhausted: `fail`, or `wait` for it to reset and run again as a new run [default:
    /// from the skill, else fail]
    #[arg(long, value_name = "WORD", value_parser = words(OnQuota::ALL, OnQuota::as_str))]
    pub(crate) retry_quota: Option<OnQuota>,
    /// Maximum consecutive quota retries, up to 100 [default: from the skill, else 29]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=100))]
    pub(crate) retry_quota_max: Option<u32>,
    /// Priority in the queue; runs with a higher number start first [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) priority: Option<i32>,
    /// Format of the engine's output [default: the format of the engine]
    #[arg(long, hide = true, value_parser = words(ProfileId::ALL, ProfileId::as_str))]
    pub(crate) profile: Option<ProfileId>,
    /// How a later turn continues the session [default: as the engine's description says]
    #[arg(long, hide = true, value_parser = continuation())]
    pub(crate) continuation: Option<Continuation>,
}

impl RequestArgs {
    /// The flags of a command without a skill.
    pub(crate) fn of_prompt(args: &PromptArgs) -> Self {
        let file = args.file.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        Self { file, common: args.common.clone(), ..Self::default() }
    }
}

/// How long the command keeps running.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Wait {
    /// Print the conversation while the run is active [default on a terminal]
    #[arg(long, conflicts_with = "no_wait")]
    pub(crate) follow: bool,
    /// Print the run id and exit; the run continues in the background
    #[arg(long)]
    pub(crate) no_wait: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// What happens if another run works in the workspace.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct WorkspaceWait {
    /// If another run works in the workspace, wait until it is over, at most S seconds [S: 3600]
    #[arg(
        long = "wait-for-workspace",
        value_name = "S",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "3600",
        value_parser = seconds
    )]
    pub(crate) limit: Option<Duration>,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Reply {
    /// Run: its id, a unique prefix of it, or "last"
    pub(crate) run: String,
    /// Answer or prompt, or - to read it from stdin
    pub(crate) text: OsString,
    /// File to send with the answer (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Vec<PathBuf>,
    /// Number of the question to answer [default: the open question]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) interaction: Option<u32>,
    /// Continue with the environment variables of this shell, even if the run was created with others
    #[arg(long)]
    pub(crate) use_my_variables: bool,
    /// Idempotency key: of several answers with the same key, only the first one counts
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    #[command(flatten)]
    pub(crate) wait: Wait,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Cancel {
    /// Runs: their ids, unique prefixes of them, or "last"
    #[arg(required = true)]
    pub(crate) run: Vec<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = INTERRUPT_HELP)]
pub(crate) struct Interrupt {
    /// Run: its id, a unique prefix of it, or "last"
    pub(crate) run: String,
    /// Next prompt, which is sent as soon as the turn is interrupted
    #[arg(long, value_name = "TEXT")]
    pub(crate) say: Option<OsString>,
    #[command(flatten)]
    pub(crate) json: Json,
}

const INTERRUPT_HELP: &str = "\
The run waits for the next prompt afterwards; `skillrun reply` sends it. If the
engine ended the turn before the interrupt, the turn keeps its verdict, and the
exit code is 2. A run in auto mode cannot be interrupted; cancel it instead.

  skillrun interrupt last
  skillrun interrupt last --say 'Use the other file.'";

const CLOSE_HELP: &str = "\
A conversation that waits for the next prompt is closed. Of a workflow that waits
for a decision about a step, only the question is closed: the step counts as not
decided, and no other step begins.";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = CLOSE_HELP)]
pub(crate) struct Close {
    /// Run: its id, a unique prefix of it, or "last"
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = RETRY_HELP, mut_args(retry_help))]
pub(crate) struct RetryArgs {
    /// Run to repeat: its id, a unique prefix of it, or "last"
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) wait: Wait,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceWait,
}

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = CONTINUE_HELP, mut_args(prompt_help))]
pub(crate) struct ContinueArgs {
    /// Run to continue: its id, a unique prefix of it, or "last"
    pub(crate) run: String,
    /// Prompt that follows the transcript, or - to read it from stdin [default: a sentence that asks to continue]
    pub(crate) prompt: Option<OsString>,
    #[command(flatten)]
    pub(crate) request: PromptArgs,
    #[command(flatten)]
    pub(crate) wait: Wait,
}

const CONTINUE_HELP: &str = "\
The new run is a conversation without a skill. Its first message is the
transcript that `skillrun replay` prints, followed by the prompt; the oldest
turns are left out if the transcript is too long. The old run is not changed. If
it had --workspace, the new run works in the same folder. Exit codes are those of
`run`.

  skillrun continue last --engine claude \"And now the tests.\"";

const RETRY_HELP: &str = "\
The old run is not changed. The skill is read again from where it came from; if
it is gone, the copy in the old run is used. Exit codes are those of `run`.

  skillrun retry last
  skillrun retry last --engine claude --input text=hello";

/// Help of the flags that `retry` shares with `run`. They default to the old run, not to the skill or the settings.
fn retry_help(arg: Arg) -> Arg {
    let default = match arg.get_id().as_str() {
        "engine" | "mode" | "priority" => "that of the old run",
        "model" | "effort" | "script" => "that of the old run, if the engine is the same",
        "profile" | "continuation" => "as in the old run, if the engine is the same",
        "workspace" => "the --workspace of the old run, else a new folder inside the run",
        "permission"
        | "box"
        | "network"
        | "allow_workspace_settings"
        | "memory"
        | "processes"
        | "cpu"
        | "disk"
        | "timeout"
        | "stall"
        | "linger"
        | "session_timeout"
        | "idle"
        | "no_reply_needed"
        | "decide"
        | "max_attempt"
        | "require_marker"
        | "no_snapshot"
        | "retry_quota"
        | "retry_quota_max"
        | "delegate" => "as in the old run",
        id => {
            let help = match id {
                "input" => {
                    "Input to change: name=value, a JSON file, or - for JSON on stdin; other names keep their values \
                     (repeatable)"
                }
                "param" => {
                    "Parameter to change: name=value, or a JSON file; other names keep their values (repeatable)"
                }
                "file" => "New input file for a file slot of the skill; other slots keep their files (repeatable)",
                "env" => {
                    "Pass an environment variable to the engine, instead of those named for the old run (repeatable)"
                }
                "secret" => {
                    "Pass an environment variable to the engine and mask its value in all output, instead of those \
                     named for the old run (repeatable)"
                }
                "require_enforced" => "The same as `--box required`, whatever box the old run has",
                "allow_hosts" => {
                    "Host that the run reaches in addition to the model of its engine, instead of those of the old run \
                     (repeatable)"
                }
                "check" => {
                    "Command that must exit with code 0 in the workspace after the turn, instead of those of the old run; if \
                     it fails, the run fails (repeatable)"
                }
                "mcp" => {
                    "MCP server for the engine, instead of those of the old run: a name, and an address or a command \
                     line whose words are separated by spaces (repeatable)"
                }
                "mcp_servers" => {
                    "File with MCP servers for the engine, such as an .mcp.json, instead of those of the old run \
                     (repeatable)"
                }
                _ => return arg,
            };
            return arg.help(help);
        }
    };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let what = help.split_once(" [default:").map_or(help.as_str(), |(what, _)| what);
    let help = format!("{what} [default: {default}]");
    arg.help(help)
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Recover {
    /// Truncate the damaged Log of this run where the damage begins; the rest is kept in a separate file
    #[arg(long, value_name = "RUN")]
    pub(crate) cut: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// For internal use: the owner process in the background.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Own {
    pub(crate) run: Vec<String>,
    /// All runs that no process owns.
    #[arg(long)]
    pub(crate) all: bool,
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Args, Command};

    use super::*;

    fn help(arg: &Arg) -> String {
        arg.get_help().map(ToString::to_string).unwrap_or_default()
    }

    #[test]
    fn retry_has_its_own_defaults_in_help() {
        let shared = RequestArgs::augment_args(Command::new("request"));
        let retry = RetryArgs::augment_args(Command::new("retry"));
        for arg in shared.get_arguments() {
            let own = retry.get_arguments().find(|own| own.get_id() == arg.get_id()).expect("shared with retry");
            match arg.get_id().as_str() {
                // They have no default: they go with --workspace.
                "share" | "copy" => assert_eq!(help(own), help(arg)),
                id => assert!(help(own).contains("old run") || help(own).contains("keep their"), "{id}: {}", help(own)),
            }
        }
    }

    #[test]
    fn priority_0_is_not_the_same_as_no_priority() {
        let priority = |words: &[&str]| {
            let retry = RetryArgs::augment_args(Command::new("retry"));
            let matches = retry.try_get_matches_from(words).expect("arguments");
            <RetryArgs as clap::FromArgMatches>::from_arg_matches(&matches).expect("arguments").request.priority
        };
        assert_eq!(priority(&["retry", "last"]), None);
        assert_eq!(priority(&["retry", "last", "--priority", "0"]), Some(0));
        assert_eq!(priority(&["retry", "last", "--priority", "-3"]), Some(-3));
    }
}
