//! Arguments of the commands that work without a skill: `ask` and `chat`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use skillrun_engine::Permission;

use super::Json;
use super::parsers::{named, seconds};

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = ASK_HELP)]
pub(crate) struct Ask {
    /// Prompt, or - to read it from stdin
    pub(crate) prompt: OsString,
    #[command(flatten)]
    pub(crate) request: PromptArgs,
    #[command(flatten)]
    pub(crate) json: Json,
}

const ASK_HELP: &str = "\
The answer alone is printed on stdout; notices and errors are on stderr. A turn
that fails is a failed run. Exit codes are those of `run`.

  skillrun ask 'Why is the sky blue?' --engine codex
  git diff | skillrun ask - --file CONTRIBUTING.md > review.md";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = CHAT_HELP)]
pub(crate) struct Chat {
    /// Conversation to continue: its id, a unique prefix of it, or "last" [default: a new one]
    #[arg(conflicts_with_all = ["engine", "file", "workspace", "model", "effort", "permission", "timeout", "stall", "script"])]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) request: PromptArgs,
}

const CHAT_HELP: &str = "\
Enter sends a prompt; a line that ends in \\ continues on the next line, and
pasted text may have several lines. Esc or Ctrl-C interrupts the running turn.
Ctrl-D or /quit leaves the conversation, which can be continued later; /close
ends it; /help lists the commands.

  skillrun chat --engine claude
  skillrun chat last";

/// Flags of a request without a skill.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PromptArgs {
    /// Engine that gets the prompt [default: the setting `engine`]
    #[arg(long, short, value_name = "E")]
    pub(crate) engine: Option<String>,
    /// File to send with the prompt (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Vec<PathBuf>,
    /// Folder the engine works in [default: a new folder inside the run]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Allow other runs to work in the workspace at the same time
    #[arg(long, requires = "workspace")]
    pub(crate) share: bool,
    /// Model to use, by the engine's name for it [default: the engine's own]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Reasoning effort, in the engine's own terms [default: the engine's own]
    #[arg(long, value_name = "WORD")]
    pub(crate) effort: Option<String>,
    /// What the engine may do without asking [default: the setting `permission`]
    #[arg(long, value_parser = named(Permission::ALL, Permission::as_str))]
    pub(crate) permission: Option<Permission>,
    /// Terminate a turn after this many seconds [default: the setting `hard_timeout_sec`]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Terminate a turn after this many seconds without output [default: the setting `stall_timeout_sec`]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) stall: Option<Duration>,
    /// Pass an environment variable to the engine (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    /// Pass an environment variable to the engine and mask its value in all output (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) secret: Vec<String>,
    /// Script for the engine `scripted` [default: none; the answer repeats the prompt]
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
}
