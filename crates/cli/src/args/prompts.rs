//! Arguments of the commands that work without a skill: `ask` and `chat`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Arg;

use super::Json;
use super::runs::{ChildArgs, CommonArgs};

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = ASK_HELP, mut_args(prompt_help))]
pub(crate) struct Ask {
    /// Prompt, or - to read it from stdin
    pub(crate) prompt: OsString,
    #[command(flatten)]
    pub(crate) request: PromptArgs,
    #[command(flatten)]
    pub(crate) child: ChildArgs,
    #[command(flatten)]
    pub(crate) json: Json,
}

const ASK_HELP: &str = "\
The answer alone is printed on stdout; notices and errors are on stderr. A turn
that fails is a failed run. Exit codes are those of `run`.

  skillrun ask 'Why is the sky blue?' --engine codex
  git diff | skillrun ask - --file CONTRIBUTING.md > review.md";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = CHAT_HELP, mut_args(prompt_help))]
pub(crate) struct Chat {
    /// Conversation to continue: its id, a unique prefix of it, or "last" [default: a new one]
    #[arg(conflicts_with_all = ["engine", "file", "workspace", "model", "effort", "permission", "timeout", "stall", "mcp", "mcp_servers", "script"])]
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
    /// File to send with the prompt (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// Help of the flags that commands without a skill share with `run`.
pub(super) fn prompt_help(arg: Arg) -> Arg {
    let help = match arg.get_id().as_str() {
        "engine" => "Engine that gets the prompt [default: the setting `engine`]",
        "timeout" => "Terminate a turn after this many seconds [default: the setting `hard_timeout_sec`]",
        "stall" => "Terminate a turn after this many seconds without output [default: the setting `stall_timeout_sec`]",
        "script" => "Script for the engine `scripted` [default: none; the answer repeats the prompt]",
        _ => return arg,
    };
    arg.help(help)
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command};

    use super::*;

    #[test]
    fn help_of_commands_without_a_skill_does_not_mention_one() {
        let commands = [
            Ask::augment_args(Command::new("ask")),
            Chat::augment_args(Command::new("chat")),
            super::super::ContinueArgs::augment_args(Command::new("continue")),
        ];
        for command in commands {
            let helps: Vec<String> =
                command.get_arguments().filter_map(|arg| arg.get_help().map(ToString::to_string)).collect();
            assert!(helps.len() > 10, "{helps:?}");
            assert!(helps.iter().all(|help| !help.contains("skill")), "{helps:?}");
        }
    }
}
