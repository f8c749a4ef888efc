//! Reads the cases of a file. By hand and not by derive, so that every error names its case and key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::RegexBuilder;
use serde_json::{Map, Value};
use skillrun_base::files::{self, FileReadError};
use skillrun_base::yaml::{self, YamlSize};
use skillrun_model::{ExecutionMode, RunStatus};

use super::{Case, CaseAnswer, CasePlace, CasesError, CasesProblem, Expect};

/// Largest file that is read.
const BYTES_MAX: u64 = 4 << 20;
const CASES_MAX: usize = 1_000;
const REPLIES_MAX: usize = 100;
const ARTIFACTS_MAX: usize = 1_000;

/// Longest name of a case: it stands in tables and in names of reports.
const NAME_MAX: usize = 100;
/// Longest part of a library's error message that is passed on.
const WORDS_MAX: usize = 300;
/// A regular expression may take up this much memory once it is compiled.
const REGEX_MAX: usize = 1 << 20;

const CASE_KEYS: &[&str] = &["name", "input", "parameter", "files", "mode", "replies", "expect", "script"];
const EXPECT_KEYS: &[&str] = &["status", "error", "output", "artifacts", "max_duration_sec"];
const REPLY_KEYS: &[&str] = &["to", "text"];

/// Statuses in which a run can be left.
const STATUSES: &[RunStatus] = &[RunStatus::Succeeded, RunStatus::Failed, RunStatus::WaitingUser];

/// The cases of a file. Files that they name are looked for beside it.
pub fn read(path: &Path) -> Result<Vec<Case>, CasesError> {
    let text = files::read_text(path, BYTES_MAX).map_err(|error| {
        whole(
            path,
            match error {
                FileReadError::Io(error) => CasesProblem::Io(error),
                FileReadError::Problem(problem) => CasesProblem::File(problem),
            },
        )
    })?;
    let cases = parse(path, &text)?;
    for (case, number) in cases.iter().zip(1..) {
        let named = case.files.iter().map(|(slot, file)| (format!("files.{slot}"), file));
        let script = case.script.iter().map(|script| ("script".to_owned(), script));
        for (key, file) in named.chain(script) {
            if !file.is_file() {
                let place = CasePlace::Case { number, name: Some(case.name.clone()), key: Some(key) };
                return Err(CasesError { path: path.to_owned(), place, problem: CasesProblem::NoFile(file.clone()) });
            }
        }
    }
    Ok(cases)
}

fn whole(path: &Path, problem: CasesProblem) -> CasesError {
    CasesError { path: path.to_owned(), place: CasePlace::Whole, problem }
}

/// The cases in a text, which is JSON where the path says so. Looks at no other file.
pub fn parse(path: &Path, text: &str) -> Result<Vec<Case>, CasesError> {
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    let root = if is_json { json(text) } else { yaml(text) }.map_err(|problem| whole(path, problem))?;
    let Value::Array(list) = root else {
        return Err(whole(path, CasesProblem::MustBe("a list of cases")));
    };
    if list.is_empty() {
        return Err(whole(path, CasesProblem::NoCase));
    }
    if list.len() > CASES_MAX {
        return Err(whole(path, CasesProblem::TooMany("1000 cases")));
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut cases: Vec<Case> = Vec::with_capacity(list.len());
    for (value, number) in list.into_iter().zip(1..) {
        let name = value.get("name").and_then(Value::as_str).filter(|name| is_name(name)).map(str::to_owned);
        let at = |(key, problem): At| CasesError {
            path: path.to_owned(),
            place: CasePlace::Case { number, name: name.clone(), key },
            problem,
        };
        let case = case(value, folder).map_err(at)?;
        if let Some(before) = cases.iter().position(|other| other.name == case.name) {
            return Err(at((Some("name".to_owned()), CasesProblem::SameName(before + 1))));
        }
        cases.push(case);
    }
    Ok(cases)
}

/// A problem and the key it is at.
type At = (Option<String>, CasesProblem);

fn at(key: &str) -> impl FnOnce(CasesProblem) -> At {
    move |problem| (Some(key.to_owned()), problem)
}

fn json(text: &str) -> Result<Value, CasesProblem> {
    serde_json::from_str(text).map_err(|error| CasesProblem::NotJson(words(&error.to_string())))
}

fn yaml(text: &str) -> Result<Value, CasesProblem> {
    yaml::parse(text, BYTES_MAX as usize, YamlSize::List).map_err(CasesProblem::NotYaml)
}

fn case(value: Value, folder: &Path) -> Result<Case, At> {
    let mut fields = object(value, "a mapping with a name").map_err(|problem| (None, problem))?;
    known(&fields, CASE_KEYS, "")?;
    let mut take = |key: &str| fields.shift_remove(key).filter(|value| !value.is_null());
    let name = match take("name") {
        Some(Value::String(name)) if is_name(&name) => name,
        Some(_) => return Err(at("name")(CasesProblem::MustBe("one line of 1 to 100 characters"))),
        None => return Err(at("name")(CasesProblem::Missing)),
    };
    let mut mapping = |key: &str| match take(key) {
        None => Ok(Map::new()),
        Some(value) => object(value, "a mapping").map_err(at(key)),
    };
    let (input, parameter) = (mapping("input")?, mapping("parameter")?);
    let files = mapping("files")?.into_iter().map(|(slot, file)| {
        let file = relative(&file, folder).map_err(at(&format!("files.{slot}")))?;
        Ok((slot, file))
    });
    let files = files.collect::<Result<BTreeMap<String, PathBuf>, At>>()?;
    let mode = match take("mode") {
        None => None,
        Some(value) => {
            let word = value.as_str().and_then(|word| word.parse::<ExecutionMode>().ok());
            Some(word.ok_or_else(|| at("mode")(CasesProblem::MustBe("auto or interactive")))?)
        }
    };
    let script = take("script").map(|script| relative(&script, folder)).transpose().map_err(at("script"))?;
    let replies = take("replies").map_or_else(|| Ok(Vec::new()), replies)?;
    let expect = take("expect").map_or_else(|| Ok(Expect::default()), expect)?;
    Ok(Case { name, input, parameter, files, mode, replies, expect, script })
}

fn replies(value: Value) -> Result<Vec<CaseAnswer>, At> {
    let list = list(value, "a list of answers").map_err(at("replies"))?;
    if list.len() > REPLIES_MAX {
        return Err(at("replies")(CasesProblem::TooMany("100 answers")));
    }
    list.into_iter().zip(1..).map(|(value, number)| reply(value, &format!("replies, answer {number}"))).collect()
}

fn reply(value: Value, place: &str) -> Result<CaseAnswer, At> {
    const SHAPE: &str = "a text, or a mapping with to and text";
    if let Value::String(text) = value {
        return Ok(CaseAnswer::Next(text));
    }
    let mut fields = object(value, SHAPE).map_err(at(place))?;
    known(&fields, REPLY_KEYS, place)?;
    match (fields.shift_remove("to"), fields.shift_remove("text")) {
        (Some(Value::String(question)), Some(Value::String(text))) => {
            let question = RegexBuilder::new(&question).case_insensitive(true).size_limit(REGEX_MAX).build();
            let not_regex = |error: regex::Error| at(place)(CasesProblem::NotRegex(words(&error.to_string())));
            Ok(CaseAnswer::To { question: question.map_err(not_regex)?, text })
        }
        (_, _) => Err(at(place)(CasesProblem::MustBe(SHAPE))),
    }
}

fn expect(value: Value) -> Result<Expect, At> {
    let mut fields = object(value, "a mapping").map_err(at("expect"))?;
    known(&fields, EXPECT_KEYS, "expect")?;
    let mut take = |key: &str| fields.shift_remove(key).filter(|value| !value.is_null());
    let error = match take("error") {
        None => None,
        Some(Value::String(word)) => {
            let unknown = |_| at("expect.error")(CasesProblem::UnknownCode(short(&word, NAME_MAX)));
            Some(word.parse().map_err(unknown)?)
        }
        Some(_) => return Err(at("expect.error")(CasesProblem::MustBe("a code"))),
    };
    let status = match take("status") {
        // Only a failed run has an error.
        None if error.is_some() => RunStatus::Failed,
        None => RunStatus::Succeeded,
        Some(value) => {
            let named = |status: &&RunStatus| value.as_str() == Some(status.as_str());
            let wrong = || at("expect.status")(CasesProblem::MustBe("succeeded, failed or waiting_user"));
            *STATUSES.iter().find(named).ok_or_else(wrong)?
        }
    };
    if error.is_some() && status != RunStatus::Failed {
        return Err(at("expect.error")(CasesProblem::MustBe("left out where the status is not failed")));
    }
    let output = take("output").map(|output| object(output, "a mapping")).transpose().map_err(at("expect.output"))?;
    let artifacts = take("artifacts").map_or_else(|| Ok(Vec::new()), artifacts).map_err(at("expect.artifacts"))?;
    let max_duration = match take("max_duration_sec") {
        None => None,
        Some(value) => {
            let duration = value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            let wrong = || at("expect.max_duration_sec")(CasesProblem::MustBe("a number of seconds above 0"));
            Some(duration.filter(|duration| !duration.is_zero()).ok_or_else(wrong)?)
        }
    };
    Ok(Expect { status, error, output, artifacts, max_duration })
}

fn artifacts(value: Value) -> Result<Vec<String>, CasesProblem> {
    const SHAPE: &str = "a list of paths, as in the result of a run";
    let list = list(value, SHAPE)?;
    if list.len() > ARTIFACTS_MAX {
        return Err(CasesProblem::TooMany("1000 paths"));
    }
    let path = |value: Value| value.as_str().filter(|path| !path.is_empty()).map(str::to_owned);
    list.into_iter().map(|value| path(value).ok_or(CasesProblem::MustBe(SHAPE))).collect()
}

fn known(fields: &Map<String, Value>, keys: &[&str], place: &str) -> Result<(), At> {
    let Some(key) = fields.keys().find(|key| !keys.contains(&key.as_str())) else { return Ok(()) };
    let key = short(key, NAME_MAX);
    let key = if place.is_empty() { key } else { format!("{place}.{key}") };
    Err((Some(key), CasesProblem::UnknownKey(keys.join(", "))))
}

fn object(value: Value, shape: &'static str) -> Result<Map<String, Value>, CasesProblem> {
    match value {
        Value::Object(fields) => Ok(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(CasesProblem::MustBe(shape))
        }
    }
}

fn list(value: Value, shape: &'static str) -> Result<Vec<Value>, CasesProblem> {
    match value {
        Value::Array(list) => Ok(list),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Err(CasesProblem::MustBe(shape))
        }
    }
}

/// A path, relative to the folder of the cases.
fn relative(value: &Value, folder: &Path) -> Result<PathBuf, CasesProblem> {
    let path = value.as_str().filter(|path| !path.is_empty() && !path.contains('\0'));
    path.map(|path| folder.join(path)).ok_or(CasesProblem::MustBe("a path"))
}

fn is_name(name: &str) -> bool {
    let length = name.chars().count();
    !name.trim().is_empty() && length <= NAME_MAX && !name.chars().any(char::is_control)
}

fn short(text: &str, max: usize) -> String {
    text.chars().take(max).collect()
}

/// The error message of a library, on one line.
fn words(text: &str) -> String {
    short(&text.split_whitespace().collect::<Vec<_>>().join(" "), WORDS_MAX)
}
