//! `meta.N.json`: facts about an attempt. Reads the current form and that of older recordings; missing facts stay
//! unknown.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use skillrun_model::{EndedBy, ExecutionMode, ProfileId, Timestamp};

use crate::host_record::{HostRecord, Warning};

/// What is known about how an attempt was started and ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meta {
    pub engine: Option<String>,
    pub engine_version: Option<String>,
    pub profile: Option<ProfileId>,
    pub execution_mode: Option<ExecutionMode>,
    pub exit_code: Option<i32>,
    pub signal: Option<String>,
    pub ended_by: Option<EndedBy>,
    /// The deadline at which the host ended the process.
    pub deadline_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    /// Why the process did not start, or what went wrong in the host.
    pub host_words: Option<String>,
    /// What the host noticed.
    pub warnings: Vec<Warning>,
    /// The parts of the file that could not be interpreted, as text.
    pub problems: Vec<String>,
}

#[derive(Deserialize)]
struct File {
    engine: Option<Value>,
    engine_version: Option<Value>,
    profile: Option<Value>,
    execution_mode: Option<Value>,
    exit_code: Option<Value>,
    signal: Option<Value>,
    ended_by: Option<Value>,
    deadline_at: Option<Value>,
    started_at: Option<Value>,
    /// Older recordings have this in place of `ended_by`.
    killed_by_timeout: Option<Value>,
}

impl Meta {
    /// Never fails: a missing or broken file is reported as a problem, and all its facts are unknown.
    pub fn read(path: &Path) -> Self {
        let problem = |text: String| Self { problems: vec![text], ..Self::default() };
        match fs::read(path) {
            Ok(bytes) => match serde_json::from_slice::<File>(&bytes) {
                Ok(file) => Self::from_file(file),
                Err(error) => problem(format!("{} is not readable: {error}", file_name(path))),
            },
            Err(error) => problem(format!("{} cannot be read: {error}", file_name(path))),
        }
    }

    /// The same attempt as its host recorded it. Facts that only a view has, such as an engine that was named later,
    /// stay.
    pub(crate) fn or_of(self, record: HostRecord) -> Self {
        let label = record.label;
        Self {
            engine: self.engine.or(label.engine),
            engine_version: self.engine_version.or(label.engine_version),
            profile: self.profile.or(label.profile),
            execution_mode: self.execution_mode.or(label.execution_mode),
            exit_code: record.exit_code,
            signal: record.signal,
            ended_by: record.ended_by,
            deadline_at: record.deadline_at,
            started_at: Some(record.started_at),
            host_words: record.error.map(|error| error.message),
            warnings: record.warnings,
            problems: Vec::new(),
        }
    }

    fn from_file(file: File) -> Self {
        let mut problems = Vec::new();
        let mut ended_by: Option<EndedBy> = word(file.ended_by, "ended_by", &mut problems);
        if ended_by.is_none() && file.killed_by_timeout == Some(Value::Bool(true)) {
            ended_by = Some(EndedBy::HardTimeout);
        }
        Self {
            engine: text(file.engine, "engine", &mut problems),
            engine_version: text(file.engine_version, "engine_version", &mut problems),
            profile: word(file.profile, "profile", &mut problems),
            execution_mode: word(file.execution_mode, "execution_mode", &mut problems),
            exit_code: exit_code(file.exit_code, &mut problems),
            signal: text(file.signal, "signal", &mut problems),
            ended_by,
            deadline_at: word(file.deadline_at, "deadline_at", &mut problems),
            started_at: word(file.started_at, "started_at", &mut problems),
            // Only hosts write these, and the host's record takes precedence where there is one.
            host_words: None,
            warnings: Vec::new(),
            problems,
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// An exit code is a number, and nothing else: a wrong guess here would be a wrong verdict.
fn exit_code(value: Option<Value>, problems: &mut Vec<String>) -> Option<i32> {
    let value = value.filter(|v| !v.is_null())?;
    let code = value.as_i64().and_then(|n| i32::try_from(n).ok());
    if code.is_none() {
        problems.push(format!("exit_code: {value} is not an exit code"));
    }
    code
}

fn text(value: Option<Value>, field: &str, problems: &mut Vec<String>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Null => None,
        other @ (Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            problems.push(format!("{field}: {other} is not text"));
            None
        }
    }
}

fn word<T: std::str::FromStr>(value: Option<Value>, field: &str, problems: &mut Vec<String>) -> Option<T>
where
    T::Err: std::fmt::Display,
{
    let text = text(value, field, problems)?;
    match text.parse() {
        Ok(word) => Some(word),
        Err(error) => {
            problems.push(format!("{field}: {error}"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Recording;

    fn meta(content: &str) -> Meta {
        Recording::new(&[("stdout.1.log", b""), ("meta.1.json", content.as_bytes())]).attempt().meta
    }

    #[test]
    fn facts_of_today() {
        let meta = meta(concat!(
            r#"{"engine":"codex","engine_version":"0.166.0","profile":"codex_ndjson","execution_mode":"interactive","#,
            r#""exit_code":3,"signal":null,"ended_by":"linger","started_at":"2026-11-15T01:02:03Z","#,
            r#""deadline_at":"2026-11-15T01:02:13Z","argv":["x"]}"#,
        ));
        let expected = Meta {
            engine: Some("codex".to_owned()),
            engine_version: Some("0.166.0".to_owned()),
            profile: Some(ProfileId::CodexNdjson),
            execution_mode: Some(ExecutionMode::Interactive),
            exit_code: Some(3),
            signal: None,
            ended_by: Some(EndedBy::Linger),
            deadline_at: "2026-11-15T01:02:13Z".parse().ok(),
            started_at: "2026-11-15T01:02:03Z".parse().ok(),
            host_words: None,
            warnings: Vec::new(),
            problems: Vec::new(),
        };
        assert_eq!(meta, expected);
    }

    #[test]
    fn facts_of_older_recordings() {
        let old = meta(r#"{"engine":"codex","signal":15,"killed_by_timeout":true,"survivors":0,"env":{"A":"b"}}"#);
        assert_eq!((old.ended_by, old.signal.as_deref()), (Some(EndedBy::HardTimeout), Some("15")));
        assert_eq!(meta(r#"{"killed_by_timeout":false}"#).ended_by, None);
        assert_eq!(meta(r#"{"killed_by_timeout":true,"ended_by":"linger"}"#).ended_by, Some(EndedBy::Linger));
    }

    #[test]
    fn a_missing_or_broken_file_is_reported_and_has_no_facts() {
        let missing = Recording::new(&[("stdout.1.log", b"")]);
        assert!(!missing.attempt().has_meta());
        let missing = missing.attempt().meta;
        let broken = meta("{\"engine\":\"co");
        let list = meta("[]");
        for (meta, words) in [
            (missing, "meta.1.json cannot be read"),
            (broken, "meta.1.json is not readable"),
            (list, "meta.1.json is not readable"),
        ] {
            let [problem] = &meta.problems[..] else { panic!("{meta:?}") };
            assert!(problem.starts_with(words), "{problem}");
            assert_eq!(Meta { problems: Vec::new(), ..meta }, Meta::default());
        }
    }

    #[test]
    fn a_fact_that_cannot_be_understood_spoils_no_other() {
        let meta =
            meta(r#"{"engine":"x","profile":"never_heard_of","started_at":"yesterday","exit_code":"0","ended_by":7}"#);
        assert_eq!((meta.engine.as_deref(), meta.profile, meta.exit_code), (Some("x"), None, None));
        let fields: Vec<_> = meta.problems.iter().filter_map(|problem| problem.split(':').next()).collect();
        assert_eq!(fields, ["ended_by", "profile", "exit_code", "started_at"]);
    }
}
