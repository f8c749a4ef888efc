//! An agent of the Agent Client Protocol that follows a scenario, so that drivers of such agents can be tested
//! without a model. It reads strictly, as no real agent does, and says on stderr what a strict agent would refuse.
//!
//! ```text
//! stand-in acp --scenario NAME [--state DIR]
//! ```
//!
//! | scenario | what it does in a turn |
//! | --- | --- |
//! | `auto` | a tool call, then an answer with the marker |
//! | `question` | asks in its first turn, answers with what the user said in the second |
//! | `later` | as `question`, and its second turn is slow |
//! | `leaves` | as `question`, and exits a moment after each turn |
//! | `permission` | asks for permission before a call; its answer repeats what came back |
//! | `permissions` | the same, two at once, and their names are texts |
//! | `elicitation` | asks for a colour with a form; its answer repeats what came back |
//! | `files` | asks for a file and a terminal; its answer repeats what came back |
//! | `slow` | twenty pieces of text, then as `auto` |
//! | `hang` | begins and never ends, unless it is canceled |
//! | `deaf` | the same, and ignores a cancel too |
//! | `quota`, `auth` | the turn is answered with an error |
//! | `note` | the turn ends well, but its `_meta` has an error |
//! | `limit` | the turn ends because of a limit |
//! | `noise` | lines that are not messages, answers to nothing, and then as `auto` |
//! | `exits` | exits in the middle of the turn |
//! | `forgets` | as `leaves`, and cannot load sessions |
//! | `refuses` | as `leaves`, and says of every session that it does not know it |
//! | `resumes` | as `leaves`, and can resume sessions without sending their history again |
//! | `afterwards` | as `leaves`, and sends the history of a session piece by piece after it has reported that the session is loaded; the history contains an answer with the marker, and to `nothing` it answers nothing |
//! | `nameless` | makes sessions without a name |
//! | `moody` | says that it is in mode `agent` |
//!
//! Sessions are kept in `DIR/NAME.json`, or `.stand-in-acp` in the working folder, so that a process can load what
//! another one began. A turn is kept when it is over. A process ends with its stdin.
//!
//! - `words`: the command line, and the scenarios. `wire`: messages, read strictly. `store`: sessions.
//! - `agent`: the conversation. `turn`: one turn of it.

mod agent;
mod store;
#[cfg(test)]
mod tests;
mod turn;
mod wire;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

/// The word by which the binary knows it; its sentences begin with it.
pub(crate) const SUBCOMMAND: &str = "acp";

/// Speaks as its scenario says, until its stdin ends.
pub(crate) fn main(words: Vec<OsString>) -> ExitCode {
    match words::parse(&words) {
        Ok(words) => agent::run(&words).into(),
        Err(error) => {
            agent::complain(&error.to_string());
            ExitCode::from(64)
        }
    }
}
