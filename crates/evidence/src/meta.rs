//! `meta.N.json`: facts about an attempt. Reads today's form and the older recordings'; what is missing stays unknown.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use skillrun_model::{EndedBy, ExecutionMode, ProfileId, Timestamp};

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
    pub started_at: Option<Timestamp>,
    /// What in the file could not be understood, in words.
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
    started_at: Option<Value>,
    /// Older recordings have this in place of `ended_by`.
    killed_by_timeout: Option<Value>,
}

impl Meta {
    /// Never fails: a file that is missing or broken is a problem told in words, and all its facts are unknown.
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

    fn from_file(file: File) -> Self {
        let mut problems = Vec::new();
        let mut ended_by: Option<EndedBy> = word(file.ended_by, "ended_by", &mut problems);
        if ended_by.is_none() && file.killed_by_timeout == Some(Value::Bool(true)) {
            ended_by = Some(EndedBy::HardTimeout);
        }
        Self {
            engine: text(file.engine),
            engine_version: text(file.engine_version),
            profile: word(file.profile, "profile", &mut problems),
            execution_mode: word(file.execution_mode, "execution_mode", &mut problems),
            exit_code: file.exit_code.and_then(|v| v.as_i64()).and_then(|n| i32::try_from(n).ok()),
            signal: text(file.signal),
            ended_by,
            started_at: word(file.started_at, "started_at", &mut problems),
            problems,
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

fn text(value: Option<Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn word<T: std::str::FromStr>(value: Option<Value>, field: &str, problems: &mut Vec<String>) -> Option<T>
where
    T::Err: std::fmt::Display,
{
    let text = text(value)?;
    match text.parse() {
        Ok(word) => Some(word),
        Err(error) => {
            problems.push(format!("{field}: {error}"));
            None
        }
    }
}
