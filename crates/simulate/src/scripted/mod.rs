//! The engine `scripted`: plays a small YAML file in the stream format of any engine, as a process of its own, so that
//! demonstrations and tests need no model and no network.
//!
//! ```text
//! skillrun simulate-scripted [--script FILE] --profile PROFILE [--resume SESSION] [--state DIR] [--run FILE]
//!                            [--sticky] [--prompt TEXT | --prompt -]
//! ```
//!
//! Without a script every turn repeats what the user said to it.
//!
//! A script is a list of turns, a turn a list of acts. The first turn is played at the start, the next one with
//! `--resume`, or with the next line of stdin when the process is `--sticky`.
//!
//! ```yaml
//! - - think: The user has not said which colour.
//!   - tool: {name: shell, input: {command: ls}, output: "notes.md\n"}
//!   - ask: {kind: choose_one, prompt: Which colour?, options: [red, blue]}
//! - - expect_reply: blue
//!   - write: {path: artifacts/report.md, content: "The colour is {{reply}}.\n"}
//!   - usage: {input: 200, output: 40}
//!   - output: {colour: "{{reply}}", report: artifacts/report.md}
//!     done: true
//! ```
//!
//! It may also be a mapping: `{session: NAME, variants: […], turns: […]}`. Without a name the session has one that
//! follows from the bytes of the script, in the form the engine's own have. A variant is `{given: input.NAME, mode: MODE,
//! turns: […]}`: the first whose value the run has, and whose mode the run is in, is played in place of `turns`.
//!
//! | act | what it does |
//! | --- | --- |
//! | `say: TEXT` | a finished message of the assistant's |
//! | `think: TEXT` | reasoning |
//! | `ask: {kind, prompt, options, …}` | a question: a message with these fields, unchecked, as YAML between the tags |
//! | `tool: {name, input, output, status}` | a call; `completed` when left out, `failed`, or `open`: no end |
//! | `permission: {tool, input}` | asks whether this may be called, and waits for the answer; `--sticky` only |
//! | `delegate: {do, …}` | asks the owner of the run for another run, or about one, as a call of a tool |
//! | `output: {…}` | a message that is this object; with `done: true` beside it, it has the marker |
//! | `echo_reply`, `echo_prompt` | says what the user said to this turn, or to the first one |
//! | `usage: {input, output, cached, reasoning}` | written with the end, 0 where left out |
//! | `write: {path, content}` | writes a file below the working folder, and the folders to it; follows no link |
//! | `stderr: TEXT`, `raw: TEXT` | a line on stderr; a line on stdout as it is |
//! | `flood: BYTES` | this many bytes of [`pattern`](crate::pattern()) on stdout, the last one a newline |
//! | `sleep_ms: N` | waits, ten minutes at most |
//! | `expect_reply: TEXT` | continues only if this is in the user's message of this turn; else a sentence and exit 65 |
//! | `ignore: [SIGINT, …]` | these signals do nothing from now on |
//! | `cut: N` | of the next line only N bytes are written, or all but N when it is negative; then exit 0 |
//! | `end` | the success end, now; comes by itself at the end of a turn |
//! | `fail: TEXT`, `limit: TEXT` | the failure or limit end; the engine's exit code follows when the turn is over |
//! | `exit: N`, `crash: SIGNAL` | exits, or dies, at once, and writes no end |
//! | `hang` | never exits; comes after `end` to hang after it, without one it hangs in the middle of the turn |
//!
//! - The texts of `say`, `think`, `ask`, `tool`, `output`, the content of `write` and the input of `permission` are
//!   templates. `{{reply}}` and `{{prompt}}` are replaced by what the user said to this turn, and to the first one;
//!   `{{permission}}` by the answer to the last `permission` of this turn, `allow` or `deny: MESSAGE`;
//!   `{{delegated}}` by the response to the last `delegate` as JSON, and `{{delegated.FIELD}}` by a field of it;
//!   `{{input.NAME}}`, `{{parameter.NAME}}` and `{{file.SLOT}}`, a path, by values of the run, which `--run` names by
//!   its `run.json`. `{{VALUE | FUNCTION}}` is what a function makes of a value, or of the content of a file: `words`,
//!   `longest_word`, `rows`, `columns`, `column_table`, or `choose KEY: TEXT, …, else: TEXT`. A text that is one
//!   placeholder and no more has the type of its value. `docs/testing-skills.md` describes them for authors.
//! - After the end of a turn come only `write`, `stderr`, `raw`, `flood`, `sleep_ms`, `ignore`, `cut`, `expect_reply`,
//!   and `exit`, `crash` or `hang`; after one of these three nothing.
//! - The engine names its session before the first act that is not `exit`, `crash`, `ignore`, `cut`, `stderr` or
//!   `expect_reply`: one that dies at once has said nothing.
//! - Acts are `key: value`, or the key alone where there is no value. Texts that look like numbers need quotes.
//!
//! `acp_jsonrpc` is a protocol, and a script only writes; the stand-in `acp` speaks it.
//!
//! What a format does not show, because the engine does not, is left out; an end or a question that it does not have is
//! a mistake in the script. What the real engines do stands in `docs/engines.md`.
//!
//! | | codex | gemini stream | gemini document | opencode | claude | qwen | iflow | plain |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | `say`, `ask`, `output` | each | each, in pieces | joined | each | each | each | joined | joined |
//! | `think` | yes | | | yes | yes | yes | | |
//! | `tool` | yes | yes | | yes | yes | yes | | |
//! | `permission` | | | | | yes | yes | | |
//! | `usage` | all | no reasoning | all | all | all | all | input, output | |
//! | session's name | `thread.started` | `init` | at the end | every line | every line | every line | at the end | |
//! | success end | event | event | document | event | event | event | exit 0 | exit 0 |
//! | `fail` | event, 1 | event, 1 | on stderr, 1 | event, 1 | event, 1 | event, 1 | text, 1 | text, 1 |
//! | `limit` | event, 1 | | | event, 0 | event, 1 | | | |
//! | `exit: 0` alone | missing | missing | missing | missing | missing | missing | success | success |
//! | end with `cut: -2` | cut | cut | missing | cut | cut | cut | success | success |
//! | unknown session | 1 | 42 | 42 | 1 | event, 1 | 1 | 1 | |
//! | resumable | yes | yes | yes | yes | yes | yes | yes | |
//! | sticky | yes | yes | yes | yes | yes | yes | | |
//!
//! Numbers are exit codes. "Joined": all that is said in a turn is one message, with blank lines between, and in the
//! two text formats `raw` and `flood` are part of it. "Missing": judged `ENGINE_END_MISSING`. "Cut": a success end with
//! `END_EVENT_CUT`. The text of `fail` stands on stderr for iflow and plain, and only a bad exit makes it a failure;
//! opencode's limit has no text. A line for `cut` is what is written at once: in the text formats a whole message, and
//! the document as a whole. The text of iflow about an unknown session is a guess, since it was never recorded.
//!
//! **Sessions.** A turn is counted when it begins, in `SESSION.json` under `--state`, or `.scripted` in the working
//! folder; a session that is not there is refused as the engine would, with its words and its exit code. A start
//! without `--resume` begins a new session. Two runs of one script at the same time need state folders of their own.
//!
//! **Sticky.** The first turn has `--prompt`, or the first line of stdin with `--prompt -`. Then a line is read for
//! each turn: the text itself, a JSON string, an object with `text`, or a user's message as claude takes it. It ends
//! with 0 after its last turn and when stdin ends, with the engine's code after `fail` and `limit`.
//!
//! **Permissions.** The question is a `control_request` of the id `permission_tTURN_ACT`, and a call is not made by it:
//! a `tool` after it shows one. The next line of stdin must be the `control_response` with that id, as claude takes it:
//! an `allow` has `updatedInput`, a `deny` has `message`. Another line, and the end of stdin, is not what the script is
//! for.
//!
//! **Exit codes of its own**, each with a sentence on stderr: 64 when words or script make no sense, before anything is
//! done; 65 when what happens is not what the script is for (a reply or an answer that was not expected, a turn that it
//! does not have); 74 when it cannot continue, silently when a stream takes no more bytes; 75 after ten minutes,
//! whatever it is doing. A script has at most 1 MiB, 1,000 turns and 10,000 acts.
//!
//! - `words`: the command line. `script`: the script and how it is read. `said`: what the user said. `request`: the
//!   request of the run. `template`: texts with values of both. `csv`: functions for tables.
//! - `play`: a turn to what is done, pure. `ask`: the question's envelope. `formats`: one file per format.
//! - `session`: names and progress. `act`: does it.

mod act;
mod ask;
mod csv;
mod formats;
mod play;
mod request;
mod said;
mod script;
mod session;
mod template;
#[cfg(test)]
mod tests;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

/// The subcommand by which the binary that calls [`main`] should know the engine; its sentences begin with it.
pub const SUBCOMMAND: &str = "simulate-scripted";

/// Plays what the words say.
pub fn main(words: Vec<OsString>) -> ExitCode {
    run(&words).into()
}

fn run(words: &[OsString]) -> u8 {
    match words::parse(words) {
        Ok(words) => act::run(&words),
        Err(error) => act::refuse(&error),
    }
}
