//! A stand-in for the iFlow CLI, which cannot be installed any more: plain text on streams that drift, and an
//! `<Execution Info>` block with the session at the end of a turn.
//!
//! ```text
//! stand-in iflow [--resume=SESSION] [--yolo] [--thinking] -p PROMPT
//! stand-in iflow --version
//! ```
//!
//! `SKILLRUN_IFLOW_SCENARIO` says what it does, `auto` when it is not set:
//!
//! | scenario | what it does |
//! | --- | --- |
//! | `auto` | a sentence and the final object on stdout, the block on stderr |
//! | `fenced` | the same, the object in a fence with prose around it |
//! | `interactive` | a question; the final object with what the user said when the session is resumed |
//! | `drift` | as `auto`, but text and block have changed streams |
//! | `noinfo` | as `auto`, without the block |
//! | `error` | an error on stderr, exit 1 |
//! | `quota` | too many requests: an error on stderr, exit 1 |
//!
//! The final object is `{"__SKILL_DONE__": true, "answer": TEXT}`: what the user said when the session was resumed, else
//! `done`. A session is a file of `$HOME/.iflow/sessions`, with all that the user said; one that is not there is refused
//! on stderr with exit 1. Words that make no sense end it with 64, a disk that takes nothing with 74.
//!
//! What the real one says about errors and unknown sessions was never recorded; these words are in the manner of the
//! CLI that it comes from.
//!
//! - `words`: the command line. `say`: what is written, pure. `session`: what the user said before.

mod say;
mod session;
mod words;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use say::{Scenario, Spoken};
use session::Sessions;
use words::Words;

use skillrun_simulate::process::{end_some_day, write_all};

/// The word by which the binary knows it; its sentences begin with it.
pub(crate) const SUBCOMMAND: &str = "iflow";

/// The variable that says what it does.
const SCENARIO_VARIABLE: &str = "SKILLRUN_IFLOW_SCENARIO";

const VERSION: &str = "0.5.0";
const USAGE: u8 = 64;
const TROUBLE: u8 = 74;

/// Does as the words and the scenario say.
pub(crate) fn main(words: Vec<OsString>) -> ExitCode {
    let scenario = std::env::var_os(SCENARIO_VARIABLE).unwrap_or_default();
    let home = std::env::var_os("HOME").unwrap_or_default();
    let spoken = match turn(&words, &scenario.to_string_lossy(), Path::new(&home)) {
        Ok(spoken) => spoken,
        Err((code, trouble)) => Spoken::refusal(code, &format!("{SUBCOMMAND}: {trouble}")),
    };
    let out = write_all(rustix::stdio::stdout(), spoken.stdout.as_bytes());
    let err = write_all(rustix::stdio::stderr(), spoken.stderr.as_bytes());
    ExitCode::from(if out.and(err).is_ok() { spoken.code } else { TROUBLE })
}

fn turn(words: &[OsString], scenario: &str, home: &Path) -> Result<Spoken, (u8, String)> {
    let usage = |error: String| (USAGE, error);
    let trouble = |error: std::io::Error| (TROUBLE, error.to_string());
    let scenario: Scenario = scenario.parse().map_err(usage)?;
    end_some_day().map_err(trouble)?;
    let sessions = Sessions::new(home);
    match words::parse(words).map_err(|error| usage(error.to_string()))? {
        Words::Version => Ok(Spoken { stdout: format!("{VERSION}\n"), ..Spoken::default() }),
        Words::Turn { resume: None, prompt } => {
            let id = sessions.begin(&prompt).map_err(trouble)?;
            Ok(say::spoken(scenario, &id, &[prompt]))
        }
        Words::Turn { resume: Some(id), prompt } => match sessions.go_on(&id, &prompt).map_err(trouble)? {
            Some(said) => Ok(say::spoken(scenario, &id, &said)),
            None => Ok(Spoken::refusal(1, &format!("Error: Session not found: {id}"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(home: &Path, scenario: &str, words: &[&str]) -> Spoken {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        turn(&words, scenario, home).expect("a turn")
    }

    #[test]
    fn a_session_is_remembered_from_turn_to_turn() {
        let home = tempfile::tempdir().expect("a home");
        let asked = run(home.path(), "interactive", &["--yolo", "--thinking", "-p", "Do it."]);
        assert!(asked.stdout.contains("which colour") && !asked.stdout.contains("__SKILL_DONE__"), "{asked:?}");
        let id = "session-00000000-0000-4000-8000-000000000001";
        assert!(asked.stderr.contains(&format!("\"session-id\": \"{id}\"")), "{asked:?}");
        let resume = format!("--resume={id}");
        let done = run(home.path(), "interactive", &[&resume, "--yolo", "--thinking", "-p", "blue"]);
        assert!(done.stdout.contains(r#"{"__SKILL_DONE__":true,"answer":"blue"}"#), "{done:?}");
        assert!(done.stderr.contains(id), "{done:?}");
    }

    #[test]
    fn another_home_knows_nothing_of_it() {
        let home = tempfile::tempdir().expect("a home");
        for id in ["session-00000000-0000-4000-8000-000000000001", "../x", ""] {
            let refused = run(home.path(), "auto", &[&format!("--resume={id}"), "-p", "blue"]);
            assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{id}");
            assert_eq!(refused.stderr, format!("Error: Session not found: {id}\n"));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let home = tempfile::tempdir().expect("a home");
        let refused = |scenario: &str, words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            turn(&words, scenario, home.path()).expect_err("no turn")
        };
        assert!(refused("nothing", &["-p", "x"]).1.contains("auto, fenced, interactive"));
        assert_eq!(refused("", &["--wrong"]).0, USAGE);
        assert_eq!(refused("", &[]).0, USAGE);
    }
}
