//! Recorded attempts and what is expected of each.
//!
//! `expectations.json` of a folder of recordings has one member per attempt, `<folder>#<attempt>`, or
//! `<folder>#<attempt>@<variant>` where the same bytes are read a second time under other circumstances:
//!
//! ```text
//! session_id completion_state[] reason_code turn_state[] run_status    always; null where there is none
//! output                      a subset of the output
//! error warning diagnostic    a code that must be there; `diagnostic` may list several
//! pending                     kind, values of the options, default, default_decision_policy
//! prompt_contains no_done     words of the prompt; no marker was found
//! rule profile messages_lack  the corpus alone: row of the settle table, format, text that no message may show
//! args schema                 the corpus alone: more arguments; `false` for no output schema
//! ```

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::paths;

/// One folder, read once under certain circumstances.
#[derive(Debug)]
pub struct Case {
    /// `<folder>` or `<folder>@<variant>`.
    pub name: String,
    pub folder: PathBuf,
    /// What is expected of each attempt.
    pub attempts: BTreeMap<u64, Value>,
}

/// The cases of a folder of recordings.
pub fn cases(dir: &Path) -> Vec<Case> {
    let mut cases: BTreeMap<String, Case> = BTreeMap::new();
    let Value::Object(expectations) = read_json(&dir.join("expectations.json")) else {
        panic!("{}: expectations.json is not an object", dir.display())
    };
    for (key, expected) in expectations {
        let (attempt_of, variant) = key.split_once('@').map_or((&*key, None), |(of, variant)| (of, Some(variant)));
        let Some((folder, number)) = attempt_of.split_once('#') else { panic!("{key}: no attempt is named") };
        let number = number.parse().unwrap_or_else(|error| panic!("{key}: {error}"));
        let name = variant.map_or_else(|| folder.to_owned(), |variant| format!("{folder}@{variant}"));
        let case = cases.entry(name.clone()).or_insert_with(|| Case {
            name,
            folder: dir.join(folder),
            attempts: BTreeMap::new(),
        });
        if let Some(other) = case.attempts.values().next() {
            assert_eq!(
                (&other["args"], &other["schema"]),
                (&expected["args"], &expected["schema"]),
                "{key}: circumstances differ from those of another attempt of the folder"
            );
        }
        case.attempts.insert(number, expected);
    }
    cases.into_values().collect()
}

impl Case {
    fn circumstances(&self, name: &str) -> &Value {
        self.attempts.values().next().map_or(&Value::Null, |expected| &expected[name])
    }

    /// Arguments of `skillrun` beside the command and the folder.
    pub fn args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = Vec::new();
        if self.circumstances("schema") != &Value::Bool(false) {
            args.extend(["--schema".into(), paths::output_schema().into()]);
        }
        args.extend(strings(self.circumstances("args")).map(OsString::from));
        args
    }

    /// Mode in which an attempt is read.
    pub fn mode(&self, attempt: u64) -> String {
        let args: Vec<&str> = strings(self.circumstances("args")).collect();
        if let Some(at) = args.iter().position(|arg| *arg == "--mode") {
            return args[at + 1].to_owned();
        }
        let meta = self.folder.join(format!(".audit/meta.{attempt}.json"));
        let meta = if meta.is_file() { read_json(&meta) } else { Value::Null };
        meta["execution_mode"].as_str().unwrap_or("auto").to_owned()
    }
}

/// Runs `skillrun normalize` on a folder.
pub fn normalize<A: Into<OsString>>(binary: &str, folder: &Path, args: impl IntoIterator<Item = A>) -> Output {
    Command::new(binary)
        .arg("normalize")
        .arg(folder)
        .args(args.into_iter().map(Into::into))
        .output()
        .unwrap_or_else(|error| panic!("{binary}: {error}"))
}

/// What `skillrun normalize` said about each attempt of a folder, or why it did not.
pub fn summaries(output: &Output) -> Result<BTreeMap<u64, Value>, String> {
    if !output.status.success() {
        return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let mut summaries = BTreeMap::new();
    for line in json_lines(&output.stdout) {
        if let Some(number) = line["attempt_number"].as_u64() {
            summaries.insert(number, line);
        }
    }
    Ok(summaries)
}

/// JSON Lines.
pub fn json_lines(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .map(|line| {
            serde_json::from_slice(line).unwrap_or_else(|error| panic!("{error} in {}", String::from_utf8_lossy(line)))
        })
        .collect()
}

pub fn read_json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Where a summary is not what is expected of its attempt, in words.
pub fn differences(expected: &Value, found: &Value) -> Vec<String> {
    let mut compare = Comparison { expected, differences: Vec::new() };
    compare.same("rule", &found["rule"]);
    compare.same("profile", &found["profile"]);
    compare.same("session_id", &found["session_id"]);
    compare.one_of("completion_state", &found["completion"]["state"]);
    compare.same("reason_code", &found["completion"]["reason_code"]);
    compare.one_of("turn_state", &found["turn_state"]);
    compare.same("run_status", &found["run_status"]);
    compare.same("error", &found["error"]["code"]);
    compare.contains("warning", found["warnings"].as_array().into_iter().flatten());
    compare.contains("diagnostic", found["diagnostics"].as_array().into_iter().flatten().map(|d| &d["code"]));
    compare.output(&found["output"]);
    compare.pending(&found["pending"]);
    compare.texts(found);
    compare.coverage(&found["coverage"]);
    compare.differences
}

/// Bytes that no event covers, in words.
pub fn uncovered(summary: &Value) -> Vec<String> {
    let mut compare = Comparison { expected: &Value::Null, differences: Vec::new() };
    compare.coverage(&summary["coverage"]);
    compare.differences
}

struct Comparison<'a> {
    expected: &'a Value,
    differences: Vec<String>,
}

impl<'a> Comparison<'a> {
    fn check(&mut self, name: &str, agrees: bool, wanted: &Value, found: &Value) {
        if !agrees {
            self.differences.push(format!("{name}: {found}, not {wanted}"));
        }
    }

    fn wanted(&self, name: &str) -> Option<&'a Value> {
        self.expected.get(name)
    }

    fn same(&mut self, name: &str, found: &Value) {
        if let Some(wanted) = self.wanted(name) {
            self.check(name, found == wanted, wanted, found);
        }
    }

    fn one_of(&mut self, name: &str, found: &Value) {
        if let Some(wanted) = self.wanted(name) {
            let agrees = wanted.as_array().map_or(found.is_null(), |wanted| wanted.contains(found));
            self.check(name, agrees, wanted, found);
        }
    }

    fn contains<'b>(&mut self, name: &str, found: impl Iterator<Item = &'b Value>) {
        if let Some(wanted) = self.wanted(name) {
            let found: Vec<Value> = found.cloned().collect();
            let agrees = match wanted.as_array() {
                Some(codes) => codes.iter().all(|code| found.contains(code)),
                None => found.contains(wanted),
            };
            self.check(name, agrees, wanted, &Value::Array(found));
        }
    }

    fn output(&mut self, found: &Value) {
        if let Some(wanted) = self.wanted("output") {
            let agrees = wanted.as_object().into_iter().flatten().all(|(key, value)| found.get(key) == Some(value));
            self.check("output", agrees && found.is_object(), wanted, found);
        }
    }

    fn pending(&mut self, found: &Value) {
        let Some(wanted) = self.wanted("pending") else { return };
        let options = || found["options"].as_array().into_iter().flatten();
        let values: Vec<&Value> = options().map(|option| &option["value"]).collect();
        let default: Vec<&Value> = options().filter(|o| o["default"] == true).map(|option| &option["value"]).collect();
        let wanted_values: Vec<&Value> = wanted["options"].as_array().into_iter().flatten().collect();
        let wanted_default: Vec<&Value> = Some(&wanted["default"]).into_iter().filter(|d| !d.is_null()).collect();
        let agrees = found["kind"] == wanted["kind"]
            && found["default_decision_policy"] == wanted["default_decision_policy"]
            && values == wanted_values
            && default == wanted_default;
        self.check("pending", agrees, wanted, found);
    }

    fn texts(&mut self, found: &Value) {
        if let Some(wanted) = self.wanted("prompt_contains") {
            let (prompt, words) = (found["prompt"].as_str().unwrap_or_default(), wanted.as_str().unwrap_or_default());
            self.check("prompt", !words.is_empty() && prompt.contains(words), wanted, &found["prompt"]);
        }
        if self.wanted("no_done") == Some(&Value::Bool(true)) {
            self.check("marker", found["marker"]["found"] == false, &Value::Bool(false), &found["marker"]);
        }
        if let Some(secret) = self.wanted("messages_lack").and_then(Value::as_str) {
            let shown = found["messages"].to_string().contains(secret);
            self.check("messages", !shown, &Value::String(format!("without {secret}")), &found["messages"]);
        }
    }

    fn coverage(&mut self, found: &Value) {
        for stream in ["stdout", "stderr"] {
            let (bytes, covered) = (&found[format!("{stream}_bytes")], &found[format!("{stream}_covered")]);
            self.check(&format!("bytes covered of {stream}"), bytes.is_u64() && bytes == covered, bytes, covered);
        }
    }
}
