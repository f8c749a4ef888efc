//! Arguments of the commands that inspect runs, and of those that maintain the data folder.

use std::path::PathBuf;
use std::time::Duration;

use skillrun_inspect::verify::NotedHead;
use skillrun_model::{RunStatus, Timestamp};
use skillrun_replay::Dialect;

use super::Json;
use super::parsers::{age, count, named, natural_number, seconds, words};

/// Rows of a list unless `--number` or `--all` is given.
const ROWS: u32 = 20;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Ls {
    /// Only runs with this status (repeatable)
    #[arg(long, value_name = "STATUS", value_parser = words(RunStatus::ALL, RunStatus::as_str))]
    pub(crate) status: Vec<RunStatus>,
    /// Only runs of this skill
    #[arg(long, value_name = "NAME")]
    pub(crate) skill: Option<String>,
    /// Only runs on this engine
    #[arg(long, short, value_name = "E")]
    pub(crate) engine: Option<String>,
    /// Also list runs that other runs have asked for
    #[arg(long)]
    pub(crate) children: bool,
    /// Only runs created within a time such as 30min, 2h or 3d, or since a date such as 2026-01-31 (UTC)
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub(crate) since: Option<Since>,
    /// Maximum number of runs, newest first
    #[arg(short = 'n', long = "number", value_name = "N", default_value_t = ROWS, value_parser = count)]
    pub(crate) number: u32,
    /// List all runs
    #[arg(long, conflicts_with = "number")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    Ago(Duration),
    At(Timestamp),
}

fn since(text: &str) -> Result<Since, &'static str> {
    const WRONG: &str = "neither a time such as 30min, 2h or 3d nor a date such as 2026-01-31";
    if let Ok(ago) = age(text) {
        return Ok(Since::Ago(ago));
    }
    let midnight = format!("{text}T00:00:00Z");
    text.parse().or_else(|_| midnight.parse()).map(Since::At).map_err(|_| WRONG)
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OneRun {
    /// Run: its id, a unique prefix of it, or "last"
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Diagnose {
    /// Run: its id, a unique prefix of it, or "last"
    pub(crate) run: String,
    /// Compare what the run and all runs below it say of each other
    #[arg(long)]
    pub(crate) tree: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Verify {
    /// Run: its id, a unique prefix of it, or "last"
    pub(crate) run: String,
    /// A log_head noted earlier, which the Log must still contain
    #[arg(long, value_name = "[SEQ:]HASH")]
    pub(crate) head: Option<NotedHead>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = REPLAY_HELP)]
pub(crate) struct ReplayOf {
    /// Run: its id, a unique prefix of it, or "last"
    pub(crate) run: String,
    /// Form of the replay: a transcript, or a part of a request to an API
    #[arg(long, value_name = "DIALECT", default_value = "text", conflicts_with = "json",
        value_parser = named(Dialect::ALL, Dialect::as_str))]
    pub(crate) dialect: Dialect,
    /// Only turns that ended at or before the event with this sequence number
    #[arg(long, value_name = "SEQ", value_parser = natural_number)]
    pub(crate) upto: Option<u64>,
    #[command(flatten)]
    pub(crate) json: Json,
}

const REPLAY_HELP: &str = "\
A turn that completed is replayed with its messages and its finished tool calls.
Any other turn is replayed without its messages, and a turn that was refused not
at all. Reasoning is never replayed. stderr says what was left out; --json
prints the items of each turn, what was left out of it and why, and a hash that
identifies the replay up to that turn.

  skillrun replay last --dialect anthropic-messages > messages.json";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = LOGS_HELP)]
pub(crate) struct Logs {
    /// Run: its id, a unique prefix of it, or "last"
    pub(crate) run: String,
    /// Keep printing until the run is over
    #[arg(long, short)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) form: LogForm,
    /// Only this attempt
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) attempt: Option<u32>,
    /// Only what follows the event with this sequence number
    #[arg(long, value_name = "SEQ", conflicts_with = "raw", value_parser = natural_number)]
    pub(crate) since_seq: Option<u64>,
}

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = WAIT_HELP)]
pub(crate) struct WaitFor {
    /// Run: its id, a unique prefix of it, or "last"
    pub(crate) run: String,
    /// Seconds to wait [default: until the run is over]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) json: Json,
}

const WAIT_HELP: &str = "\
Exit codes: 0 succeeded or closed, 1 failed, 3 timed out, 4 not found, 5 not
over when --timeout has passed, or a workflow that is partial, 6 waiting for an
answer or the next prompt, 7 output missing or invalid, 8 canceled,
130 interrupted.
A question without a deadline ends the wait, and so does a run that waits for
the next prompt. A question with a deadline does not: it is answered or decided
by then. Ctrl-C ends the wait, not the run.

  skillrun wait last --timeout 600 && skillrun result last --output";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = RM_HELP)]
pub(crate) struct Rm {
    /// Runs: their ids, unique prefixes of them, or "last"
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

const RM_HELP: &str = "\
A run is removed with its Log, its evidence and its own workspace; a folder that
was given with --workspace stays. A run that is not over is refused: cancel it
first. The exit code is 0 if all runs were removed, 4 if a run does not exist,
and 2 if a run cannot be removed.";

/// What is printed; the conversation as text if no form is chosen.
#[derive(Debug, Clone, Copy, clap::Args)]
#[group(multiple = false)]
pub(crate) struct LogForm {
    /// Print the Log, one RASP event per line
    #[arg(long)]
    pub(crate) rasp: bool,
    /// Print the conversation, one FCMP event per line
    #[arg(long)]
    pub(crate) fcmp: bool,
    /// Print the raw output of the engine, with secrets masked
    #[arg(long)]
    pub(crate) raw: bool,
    /// Print the conversation as one JSON document
    #[arg(long, conflicts_with = "follow")]
    pub(crate) json: bool,
}

const LOGS_HELP: &str = "\
On a terminal, --raw prints control characters escaped; when redirected, it
writes the bytes unchanged. SEQ is the sequence number of a RASP event; with
--fcmp and --json, of an FCMP event.
With --follow, the exit code says how the run ended, as that of `run` does.";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = RESULT_HELP)]
pub(crate) struct ResultOf {
    /// Run: its id, a unique prefix of it, or "last"
    pub(crate) run: String,
    /// Print only the output, as JSON
    #[arg(long, conflicts_with_all = ["text", "json"])]
    pub(crate) output: bool,
    /// Print only the final text of the agent
    #[arg(long, conflicts_with = "json")]
    pub(crate) text: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

const RESULT_HELP: &str = "\
Exit codes: 0 succeeded or closed, 1 failed, 3 timed out, 4 not found,
5 not over, 6 waiting for an answer or the next prompt, 7 output missing or
invalid, 8 canceled.";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = DIFF_HELP)]
pub(crate) struct Diff {
    /// Run: its id, a unique prefix of it, or "last"
    pub(crate) run: String,
    /// Print a patch that `git apply` accepts
    #[arg(long, conflicts_with = "json")]
    pub(crate) patch: bool,
    /// Only this attempt
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) attempt: Option<u32>,
    #[command(flatten)]
    pub(crate) json: Json,
}

const DIFF_HELP: &str = "\
A patch has text files and links. It has the content of a new file only while
the file is as the run left it. Files that cannot be in the patch (binary files,
texts above 64 KiB, texts with masked secrets) are named on stderr, and the exit
code is 1.

  skillrun diff last --patch | git apply";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = APPLY_HELP)]
pub(crate) struct Apply {
    /// Run: its id, a unique prefix of it, or "last"
    pub(crate) run: String,
    /// Folder to change [default: the folder that was copied]
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
    /// Change nothing; report what would be changed
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

const APPLY_HELP: &str = "\
All changes are applied, or none. If a file has changed since the run began, the
command names it and changes nothing. A second call finds the changes applied.
Hooks and other programs of a repository are not started. Files that git ignores
in the copy are not applied, and neither is anything in .git: to take over
commits, fetch them from the workspace of the run.

  skillrun apply last --check
  skillrun apply last";

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Interactions {
    /// List all questions of this run, including answered ones
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Export {
    /// Run: its id, a unique prefix of it, or "last"
    pub(crate) run: String,
    /// Zip file to write [default: SKILL-ID.zip in the current folder]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Also include the Log, the conversation and the evidence
    #[arg(long)]
    pub(crate) full: bool,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Gc {
    /// Show what would be removed, without removing it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove every run that ended longer ago than this, such as 12h, 30d or 2w, instead of what the settings say
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) older_than: Option<Duration>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_accepts_durations_and_dates() {
        let ago = |seconds| Ok(Since::Ago(Duration::from_secs(seconds)));
        let at = |text: &str| Ok(Since::At(text.parse().expect("a moment")));
        let cases = [
            ("30s", ago(30)),
            ("5m", ago(300)),
            ("5 min", ago(300)),
            ("2h", ago(7200)),
            ("3d", ago(259_200)),
            ("1w", ago(604_800)),
            ("2026-01-31", at("2026-01-31T00:00:00Z")),
            ("2026-01-31T12:00:00+01:00", at("2026-01-31T11:00:00Z")),
        ];
        for (text, expected) in cases {
            assert_eq!(since(text), expected, "{text}");
        }
        for text in
            ["", "h", "2", "-2h", "2y", "yesterday", "2026-13-01", "99999999999999999999d", "18446744073709551615w"]
        {
            assert!(since(text).is_err(), "{text}");
        }
    }
}
