//! Reads the cases of a file. By hand and not by derive, so that every error names its case and key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::RegexBuilder;
use serde_json::{Map, Value};
use skillrun_base::fields::{Field, FieldError, FieldProblem};
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
                return Err(CasesError {
                    path: path.to_owned(),
                    place,
                    problem: Box::new(CasesProblem::NoFile(file.clone())),
                });
            }
        }
    }
    Ok(cases)
}

fn whole(path: &Path, problem: CasesProblem) -> CasesError {
    CasesError { path: path.to_owned(), place: CasePlace::Whole, problem: Box::new(problem) }
}

/// The cases in a text, which is JSON where the path says so. Looks at no other file.
pub fn parse(path: &Path, text: &str) -> Result<Vec<Case>, CasesError> {
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    let root = if is_json { json(text) } else { yaml(text) }.map_err(|problem| whole(path, problem.into()))?;
    let list = CaseField::json(&root).list_or("a list of cases").map_err(|error| whole(path, error.problem))?;
    if list.is_empty() {
        return Err(whole(path, CasesProblem::NoCase));
    }
    if list.len() > CASES_MAX {
        return Err(whole(path, CasesProblem::TooMany("1000 cases")));
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut cases: Vec<Case> = Vec::with_capacity(list.len());
    for (field, number) in list.into_iter().zip(1..) {
        let name = field.value().and_then(|value| value["name"].as_str()).filter(|name| is_name(name));
        let at = |error: CaseFieldError| CasesError {
            path: path.to_owned(),
            place: CasePlace::Case { number, name: name.map(str::to_owned), key: error.key.map(|key| short(&key)) },
            problem: Box::new(error.problem),
        };
        let case = case(&field, folder).map_err(at)?;
        if let Some(before) = cases.iter().position(|other| other.name == case.name) {
            return Err(at(field.with_key("name").problem(CasesProblem::SameName(before + 1))));
        }
        cases.push(case);
    }
    Ok(cases)
}

type CaseField<'a> = Field<'a, CasesProblem>;
type CaseFieldError = FieldError<CasesProblem>;

fn json(text: &str) -> Result<Value, FieldProblem> {
    let syntax = |error: serde_json::Error| FieldProblem::Syntax { format: "JSON", message: words(&error.to_string()) };
    serde_json::from_str(text).map_err(syntax)
}

fn yaml(text: &str) -> Result<Value, FieldProblem> {
    let syntax = |message| FieldProblem::Syntax { format: "YAML", message };
    yaml::parse(text, BYTES_MAX as usize, YamlSize::List).map_err(syntax)
}

fn case(field: &CaseField<'_>, folder: &Path) -> Result<Case, CaseFieldError> {
    let fields = field.table_or("a mapping with a name")?.with_known(CASE_KEYS)?;
    let name = fields.required("name")?;
    let name =
        name.as_str().filter(|name| is_name(name)).ok_or_else(|| name.wrong("one line of 1 to 100 characters"))?;
    let mapping = |key: &str| fields.get(key).map_or_else(|| Ok(Map::new()), |field| mapping(&field));
    let files = fields.get("files").map_or_else(|| Ok(Vec::new()), |files| files.entries())?;
    let files = files.into_iter().map(|(slot, file)| Ok((slot, relative(&file, folder)?)));
    let mode = |field: CaseField<'_>| {
        let mode = field.as_str().and_then(|word| word.parse::<ExecutionMode>().ok());
        mode.ok_or_else(|| field.wrong("auto, interactive or conversation"))
    };
    Ok(Case {
        name: name.to_owned(),
        input: mapping("input")?,
        parameter: mapping("parameter")?,
        files: files.collect::<Result<BTreeMap<String, PathBuf>, CaseFieldError>>()?,
        mode: fields.get("mode").map(mode).transpose()?,
        script: fields.get("script").map(|script| relative(&script, folder)).transpose()?,
        replies: fields.get("replies").map_or_else(|| Ok(Vec::new()), |field| replies(&field))?,
        expect: fields.get("expect").map_or_else(|| Ok(Expect::default()), |field| expect(&field))?,
    })
}

fn replies(field: &CaseField<'_>) -> Result<Vec<CaseAnswer>, CaseFieldError> {
    let list = field.list_or("a list of answers")?;
    if list.len() > REPLIES_MAX {
        return Err(field.problem(CasesProblem::TooMany("100 answers")));
    }
    list.into_iter()
        .zip(1..)
        .map(|(field, number)| reply(&field.with_key(format!("replies, answer {number}"))))
        .collect()
}

fn reply(field: &CaseField<'_>) -> Result<CaseAnswer, CaseFieldError> {
    const SHAPE: &str = "a text, or a mapping with to and text";
    if let Some(text) = field.as_str() {
        return Ok(CaseAnswer::Next(text.to_owned()));
    }
    let fields = field.table_or(SHAPE)?.with_known(REPLY_KEYS)?;
    let text = |name: &str| fields.get(name).and_then(|field| field.as_str());
    let (Some(question), Some(text)) = (text("to"), text("text")) else { return Err(field.wrong(SHAPE)) };
    let question = RegexBuilder::new(question).case_insensitive(true).size_limit(REGEX_MAX).build();
    let not_regex = |error: regex::Error| field.problem(CasesProblem::NotRegex(words(&error.to_string())));
    Ok(CaseAnswer::To { question: question.map_err(not_regex)?, text: text.to_owned() })
}

fn expect(field: &CaseField<'_>) -> Result<Expect, CaseFieldError> {
    let fields = field.section(EXPECT_KEYS)?;
    let error = |field: &CaseField<'_>| {
        let word = field.as_str().ok_or_else(|| field.wrong("a code"))?;
        word.parse().map_err(|_| field.problem(CasesProblem::UnknownCode(short(word))))
    };
    let error = fields.get("error").map(|field| error(&field).map(|code| (code, field))).transpose()?;
    let status = match fields.get("status") {
        // Only a failed run has an error.
        None if error.is_some() => RunStatus::Failed,
        None => RunStatus::Succeeded,
        Some(field) => {
            let named = |status: &&RunStatus| field.as_str() == Some(status.as_str());
            *STATUSES.iter().find(named).ok_or_else(|| field.wrong("succeeded, failed or waiting_user"))?
        }
    };
    if let Some((_, field)) = error.as_ref().filter(|_| status != RunStatus::Failed) {
        return Err(field.wrong("left out where the status is not failed"));
    }
    let duration = |field: CaseField<'_>| {
        let duration = field.as_number().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        duration.filter(|duration| !duration.is_zero()).ok_or_else(|| field.wrong("a number of seconds above 0"))
    };
    Ok(Expect {
        status,
        error: error.map(|(code, _)| code),
        output: fields.get("output").map(|field| mapping(&field)).transpose()?,
        artifacts: fields.get("artifacts").map_or_else(|| Ok(Vec::new()), |field| artifacts(&field))?,
        max_duration: fields.get("max_duration_sec").map(duration).transpose()?,
    })
}

fn artifacts(field: &CaseField<'_>) -> Result<Vec<String>, CaseFieldError> {
    const SHAPE: &str = "a list of paths, as in the result of a run";
    let list = field.list_or(SHAPE)?;
    if list.len() > ARTIFACTS_MAX {
        return Err(field.problem(CasesProblem::TooMany("1000 paths")));
    }
    let path = |field: &CaseField<'_>| field.as_str().filter(|path| !path.is_empty()).map(str::to_owned);
    list.iter().map(|one| path(one).ok_or_else(|| field.wrong(SHAPE))).collect()
}

fn mapping(field: &CaseField<'_>) -> Result<Map<String, Value>, CaseFieldError> {
    field.value().and_then(Value::as_object).cloned().ok_or_else(|| field.wrong("a mapping"))
}

/// A path, relative to the folder of the cases.
fn relative(field: &CaseField<'_>, folder: &Path) -> Result<PathBuf, CaseFieldError> {
    let path = field.as_str().filter(|path| !path.is_empty() && !path.contains('\0'));
    path.map(|path| folder.join(path)).ok_or_else(|| field.wrong("a path"))
}

fn is_name(name: &str) -> bool {
    let length = name.chars().count();
    !name.trim().is_empty() && length <= NAME_MAX && !name.chars().any(char::is_control)
}

fn short(text: &str) -> String {
    text.chars().take(NAME_MAX).collect()
}

/// The error message of a library, on one line.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(WORDS_MAX).collect()
}
