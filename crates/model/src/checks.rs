//! Checks: commands that skillrun itself runs in the workspace of a run that would succeed. An agent that says that the
//! tests pass is not evidence; the exit of a command that skillrun has run is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rasp::data::Exit;
use crate::status::wire_enum;

/// A command: a line for `sh -c`, or the words of the command itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "command must be a line, or a list of words")]
pub enum CheckCommand {
    Line(String),
    Words(Vec<String>),
}

impl CheckCommand {
    /// The words that are started.
    pub fn argv(&self) -> Vec<String> {
        match self {
            Self::Line(line) => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
            Self::Words(words) => words.clone(),
        }
    }

    /// One line for people.
    pub fn shown(&self) -> String {
        match self {
            Self::Line(line) => line.clone(),
            Self::Words(words) => words.join(" "),
        }
    }
}

/// A check, as a request or a skill asks for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckRequest {
    /// None: its number among the checks of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub command: CheckCommand,
    /// The longest time that it may take. None: 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_sec: Option<f64>,
}

impl CheckRequest {
    /// A line for `sh -c`, with the default for everything else.
    pub fn line(command: impl Into<String>) -> Self {
        Self { name: None, command: CheckCommand::Line(command.into()), timeout_sec: None }
    }
}

wire_enum! {
    /// How a check ended.
    CheckStatus {
        /// It exited with code 0.
        Passed = "passed",
        /// It exited with another code, was killed by a signal, wrote too much, or its host was lost too often.
        Failed = "failed",
        TimedOut = "timed_out",
        /// Its command could not be started.
        NotStarted = "not_started",
        /// The run was canceled first.
        Canceled = "canceled",
    }
}

/// What a check has written to one of its streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckOutput {
    pub bytes: u64,
    /// BLAKE3 of the file, in hexadecimal digits; absent where no host has recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// A check has ended. The run continues with the next check, and succeeds after the last one that has passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckEnded {
    /// Its number among the checks of the run, from 1.
    pub check: u32,
    pub name: String,
    pub command: CheckCommand,
    pub status: CheckStatus,
    pub exit: Exit,
    pub elapsed_ms: u64,
    pub stdout: CheckOutput,
    pub stderr: CheckOutput,
    /// The folder with its evidence, in the folder of the run.
    pub evidence: String,
    /// The number of the recording in that folder: a check whose host was lost is run again.
    pub recording: u32,
    /// BLAKE3 of the host's record of it; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_hash: Option<String>,
    /// The last lines of its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tail: Option<String>,
    /// Why it could not be started, or was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

impl CheckEnded {
    /// Why the run fails, in one sentence: the name, how it ended, and the last line of its output.
    pub fn failure(&self) -> String {
        let how = match self.status {
            CheckStatus::Passed => "passed".to_owned(),
            CheckStatus::TimedOut => "ran longer than allowed and was ended".to_owned(),
            CheckStatus::NotStarted => "could not be started".to_owned(),
            CheckStatus::Canceled => "was canceled".to_owned(),
            CheckStatus::Failed => match (self.exit.code, &self.exit.signal) {
                (Some(code), _) => format!("exited with code {code}"),
                (None, Some(signal)) => format!("was ended by {signal}"),
                (None, None) => "did not end".to_owned(),
            },
        };
        let last_line = self.output_tail.as_deref().and_then(|tail| tail.lines().rfind(|line| !line.trim().is_empty()));
        let why = self.details.as_deref().or(last_line).map(|why| format!(": {}", why.trim())).unwrap_or_default();
        format!("the check \"{}\" {how}{why}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(status: CheckStatus, code: Option<i32>, tail: Option<&str>) -> CheckEnded {
        let output = || CheckOutput { bytes: 0, hash: None };
        CheckEnded {
            check: 1,
            name: "tests".to_owned(),
            command: CheckCommand::Line("make test".to_owned()),
            status,
            exit: Exit { code, signal: None, ended_by: None },
            elapsed_ms: 1,
            stdout: output(),
            stderr: output(),
            evidence: ".audit/checks/1".to_owned(),
            recording: 1,
            host_hash: None,
            output_tail: tail.map(ToOwned::to_owned),
            details: None,
        }
    }

    #[test]
    fn failure_names_check_exit_and_last_line() {
        let failed = ended(CheckStatus::Failed, Some(2), Some("one\n  2 tests failed\n\n"));
        assert_eq!(failed.failure(), "the check \"tests\" exited with code 2: 2 tests failed");
        let killed =
            CheckEnded { exit: Exit { code: None, signal: Some("SIGKILL".to_owned()), ended_by: None }, ..failed };
        assert_eq!(CheckEnded { output_tail: None, ..killed }.failure(), "the check \"tests\" was ended by SIGKILL");
        let missing = CheckEnded {
            details: Some("x: not found in PATH".to_owned()),
            ..ended(CheckStatus::NotStarted, Some(127), None)
        };
        assert_eq!(missing.failure(), "the check \"tests\" could not be started: x: not found in PATH");
    }

    #[test]
    fn command_is_a_line_or_words() {
        let read = |text: &str| serde_json::from_str::<CheckRequest>(text);
        let line = read(r#"{"command": "make test"}"#).expect("a check");
        assert_eq!(line, CheckRequest::line("make test"));
        assert_eq!(line.command.argv(), ["sh", "-c", "make test"]);
        let words = read(r#"{"name": "t", "command": ["make", "a b"], "timeout_sec": 3}"#).expect("a check");
        assert_eq!(
            (words.command.argv(), words.command.shown()),
            (vec!["make".to_owned(), "a b".to_owned()], "make a b".to_owned())
        );
        assert!(read(r#"{"command": "x", "on_fail": "go on"}"#).is_err());
    }
}
