//! What came of a run against what must come of it. Pure: the words of engines go in, short sentences come out.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Map, Value};
use skillrun_base::text::shortened;
use skillrun_model::codes::ErrorCategory;
use skillrun_model::{Code, RunStatus, word_enum};
use skillrun_runs::result::RunResult;
use skillrun_skill::Schema;

use crate::cases::Expect;
use crate::drive::Ended;

/// Longest value that is quoted, and most differences of one output.
const VALUE_MAX: usize = 120;
const DIFFERENCES_MAX: usize = 5;

/// What was looked at, and why it is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Such as `status` or `output`.
    pub what: String,
    /// None: it is as it must be.
    pub problem: Option<String>,
}

word_enum! {
    /// What the skill's schema says to the output of a run.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub Validity {
        Valid = "valid",
        Invalid = "invalid",
        /// There is a schema, and nothing that could fit it.
        Missing = "missing",
        NoSchema = "no schema",
    }
}

impl Validity {
    /// Of the result of a run.
    pub fn of(result: Option<&RunResult>, schema: Option<&Schema>) -> Self {
        let Some(schema) = schema else { return Self::NoSchema };
        let output = result.and_then(|result| result.output.clone()).map(Value::Object);
        let refused = result.and_then(|result| result.error.as_ref());
        let reason = result.and_then(|result| result.completion).map(|completion| completion.reason_code);
        match output {
            Some(output) if schema.problems(&output).is_empty() => Self::Valid,
            Some(_) => Self::Invalid,
            None if reason == Some(Code::OutputMissing) => Self::Missing,
            None if refused.is_some_and(|error| error.code == Code::OutputMissing) => Self::Missing,
            // The runtime keeps no output that does not fit.
            None if refused.is_some_and(|error| error.code == Code::OutputSchemaInvalid) => Self::Invalid,
            None => Self::Missing,
        }
    }
}

/// Why nothing was found out about the skill: the engine had no login or quota, or could not be reached or started. A
/// case that expects any failure must not pass for that; one that names the error has asked for it.
pub fn hindrance(expect: &Expect, ended: &Ended) -> Option<String> {
    let error = ended.result.as_ref().and_then(|result| result.error.as_ref()).filter(|_| expect.error.is_none())?;
    match error.category {
        ErrorCategory::Auth
        | ErrorCategory::Quota
        | ErrorCategory::Network
        | ErrorCategory::Host
        | ErrorCategory::Internal => Some(format!("it could not be run: {}: {}", error.code, short(&error.message))),
        ErrorCategory::Usage
        | ErrorCategory::Input
        | ErrorCategory::Skill
        | ErrorCategory::Engine
        | ErrorCategory::Session
        | ErrorCategory::Output
        | ErrorCategory::Interaction
        | ErrorCategory::Workflow
        | ErrorCategory::Timeout
        | ErrorCategory::Canceled => None,
    }
}

/// Everything that was expected, in the order of the case.
pub fn checks(expect: &Expect, ended: &Ended, validity: Validity) -> Vec<Check> {
    let result = ended.result.as_ref();
    let mut checks = vec![Check { what: "status".to_owned(), problem: status(expect, ended) }];
    let mut add = |what: String, problem: Option<String>| checks.push(Check { what, problem });
    if let Some(code) = expect.error {
        let found = result.and_then(|result| result.error.as_ref()).map(|error| error.code);
        let problem = (found != Some(code)).then(|| match found {
            Some(found) => format!("the error is {found}, not {code}"),
            None => format!("there is no error; {code} was expected"),
        });
        add("error".to_owned(), problem);
    }
    // A run that succeeds has an output that fits; this notices if that were ever not so.
    if expect.status == RunStatus::Succeeded && validity != Validity::NoSchema {
        let problem = (validity != Validity::Valid).then(|| format!("the output is {}", validity.as_str()));
        add("schema".to_owned(), problem);
    }
    if let Some(wanted) = &expect.output {
        let problem = match result.and_then(|result| result.output.as_ref()) {
            Some(found) => output(wanted, found),
            None => Some("there is no output".to_owned()),
        };
        add("output".to_owned(), problem);
    }
    for path in &expect.artifacts {
        let is_there = result.is_some_and(|result| result.artifacts.iter().any(|artifact| artifact.path == *path));
        add(format!("artifact {path}"), (!is_there).then(|| format!("there is no artifact {path}")));
    }
    if let Some(most) = expect.max_duration {
        let took = result.map(|result| u128::from(result.timing.elapsed_ms));
        let problem = match took {
            Some(took) if took <= most.as_millis() => None,
            Some(took) => Some(format!("it took {took} ms; at most {} were expected", most.as_millis())),
            None => Some("it is unknown how long it took".to_owned()),
        };
        add("duration".to_owned(), problem);
    }
    checks
}

fn status(expect: &Expect, ended: &Ended) -> Option<String> {
    if ended.status == expect.status {
        return None;
    }
    let mut words = format!("it is {}, not {}", ended.status, expect.status);
    if let Some(question) = &ended.question {
        let _ = write!(words, "; no answer was given to: {}", short(question));
    } else if let Some(error) = ended.result.as_ref().and_then(|result| result.error.as_ref()) {
        let _ = write!(words, "; {}: {}", error.code, short(&error.message));
    }
    Some(words)
}

/// Members that are missing or other than wanted.
fn output(wanted: &Map<String, Value>, found: &Map<String, Value>) -> Option<String> {
    let mut differences = Vec::new();
    members("", wanted, found, &mut differences);
    let more = differences.len().saturating_sub(DIFFERENCES_MAX);
    differences.truncate(DIFFERENCES_MAX);
    let mut words = differences.join("; ");
    if more > 0 {
        let _ = write!(words, "; and {more} more");
    }
    (!words.is_empty()).then_some(words)
}

fn members(place: &str, wanted: &Map<String, Value>, found: &Map<String, Value>, differences: &mut Vec<String>) {
    for (name, wanted) in wanted {
        let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
        match found.get(name) {
            Some(found) => compare(&place, wanted, found, differences),
            None => differences.push(format!("{} is missing", short(&place))),
        }
    }
}

fn compare(place: &str, wanted: &Value, found: &Value, differences: &mut Vec<String>) {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => members(place, wanted, found, differences),
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            for (at, (wanted, found)) in wanted.iter().zip(found).enumerate() {
                compare(&format!("{place}[{at}]"), wanted, found, differences);
            }
        }
        // 9 and 9.0 are the same number.
        (Value::Number(wanted), Value::Number(found)) if wanted.as_f64() == found.as_f64() => {}
        (wanted, found) if wanted == found => {}
        (wanted, found) => {
            let value = |value: &Value| short(&value.to_string());
            differences.push(format!("{} is {}, not {}", short(place), value(found), value(wanted)));
        }
    }
}

/// On one line and not too long.
pub(crate) fn short(text: &str) -> String {
    shortened(&text.split_whitespace().collect::<Vec<_>>().join(" "), VALUE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn differences(wanted: Value, found: Value) -> Option<String> {
        let (Value::Object(wanted), Value::Object(found)) = (wanted, found) else { panic!("objects") };
        output(&wanted, &found)
    }

    #[test]
    fn an_output_may_have_more_than_was_expected() {
        let found = json!({"words": 9, "longest": "quick", "more": {"a": [1, {"b": 2, "c": 3}]}});
        for wanted in
            [json!({}), json!({"words": 9.0}), json!({"longest": "quick", "more": {"a": [1, {"b": 2}]}}), found.clone()]
        {
            assert_eq!(differences(wanted.clone(), found.clone()), None, "{wanted}");
        }
    }

    #[test]
    fn differences_are_reported_with_their_place() {
        let found = json!({"words": 8, "more": {"a": [1, {"b": 2}]}});
        let cases = [
            (json!({"words": 9}), "words is 8, not 9"),
            (json!({"words": "8"}), "words is 8, not \"8\""),
            (json!({"none": null}), "none is missing"),
            (json!({"more": {"a": [1, {"b": 3}]}}), "more.a[1].b is 2, not 3"),
            (json!({"more": {"a": [1]}}), "more.a is [1,{\"b\":2}], not [1]"),
            (json!({"more": []}), "more is {\"a\":[1,{\"b\":2}]}, not []"),
        ];
        for (wanted, words) in cases {
            assert_eq!(differences(wanted, found.clone()).as_deref(), Some(words));
        }
    }

    /// A result as it stands in a file.
    fn result(status: &str, output: Value, error: Value, reason: &str) -> RunResult {
        let mut result = testkit::run_files::run_result("01900000-0000-7000-8000-000000000000", status);
        let artifact = json!({"path": "artifacts/a.md", "size": 1, "hash": "", "type": "text/markdown", "role": null});
        (result["output"], result["artifacts"]) = (output, json!([artifact]));
        result["completion"] = json!({"state": "completed", "reason_code": reason, "confidence": 1.0});
        result["timing"]["elapsed_ms"] = json!(1500);
        if !error.is_null() {
            result["error"] = error;
        }
        serde_json::from_value(result).unwrap()
    }

    fn misfit() -> Value {
        json!({"category": "output", "code": "OUTPUT_SCHEMA_INVALID", "message": "no"})
    }

    #[test]
    fn an_output_fits_or_not_or_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("schema.json");
        std::fs::write(&path, r#"{"type": "object", "required": ["a"]}"#).unwrap();
        let schema = Schema::read(&path).unwrap();
        let cases = [
            (result("succeeded", json!({"a": 1}), Value::Null, "OUTPUT_VALID"), Validity::Valid),
            (result("succeeded", json!({"b": 1}), Value::Null, "OUTPUT_VALID"), Validity::Invalid),
            (result("failed", Value::Null, misfit(), "OUTPUT_INVALID"), Validity::Invalid),
            (result("failed", Value::Null, misfit(), "OUTPUT_MISSING"), Validity::Missing),
            (result("canceled", Value::Null, Value::Null, "CANCELED"), Validity::Missing),
        ];
        for (result, validity) in cases {
            assert_eq!(Validity::of(Some(&result), Some(&schema)), validity, "{result:?}");
            assert_eq!(Validity::of(Some(&result), None), Validity::NoSchema);
        }
        assert_eq!(Validity::of(None, Some(&schema)), Validity::Missing);
    }

    #[test]
    fn everything_that_was_expected_is_looked_at() {
        let ended = |status: RunStatus, question: Option<&str>, result: RunResult| Ended {
            run: result.run_id,
            status,
            question: question.map(str::to_owned),
            result: Some(result),
            because: crate::drive::Because::Itself,
        };
        let problems = |expect: &Expect, ended: &Ended| {
            let all = checks(expect, ended, Validity::NoSchema);
            all.into_iter().filter_map(|check| check.problem).collect::<Vec<_>>()
        };
        let Value::Object(wanted) = json!({"a": 1}) else { panic!("an object") };
        let all = Expect {
            output: Some(wanted),
            artifacts: vec!["artifacts/a.md".to_owned()],
            max_duration: Some(std::time::Duration::from_millis(1_500)),
            ..Expect::default()
        };
        let good = result("succeeded", json!({"a": 1}), Value::Null, "OUTPUT_VALID");
        assert_eq!(problems(&all, &ended(RunStatus::Succeeded, None, good.clone())), Vec::<String>::new());
        let less = Expect {
            artifacts: vec!["artifacts/b.md".to_owned()],
            max_duration: Some(std::time::Duration::from_millis(1_499)),
            ..all
        };
        let found = problems(&less, &ended(RunStatus::Succeeded, None, good));
        let late = "it took 1500 ms; at most 1499 were expected";
        assert_eq!(found, ["there is no artifact artifacts/b.md", late]);
        let waiting = result("canceled", Value::Null, Value::Null, "CANCELED");
        let found = problems(&Expect::default(), &ended(RunStatus::WaitingUser, Some("Which?"), waiting));
        assert_eq!(found, ["it is waiting_user, not succeeded; no answer was given to: Which?"]);
        let failing = Expect { status: RunStatus::Failed, error: Some(Code::OutputSchemaInvalid), ..Expect::default() };
        let failed = result("failed", Value::Null, misfit(), "OUTPUT_MISSING");
        assert_eq!(problems(&failing, &ended(RunStatus::Failed, None, failed.clone())), Vec::<String>::new());
        let other = Expect { error: Some(Code::Timeout), ..failing };
        let found = problems(&other, &ended(RunStatus::Failed, None, failed));
        assert_eq!(found, ["the error is OUTPUT_SCHEMA_INVALID, not TIMEOUT"]);
    }

    #[test]
    fn a_failure_that_is_not_the_skills_is_none_of_its_own() {
        let told = |category: &str, code: &str, expect: &Expect| {
            let error = json!({"category": category, "code": code, "message": "no"});
            let result = result("failed", Value::Null, error, "ENGINE_FAILED");
            let because = crate::drive::Because::Itself;
            let run = result.run_id;
            hindrance(expect, &Ended { run, status: RunStatus::Failed, question: None, result: Some(result), because })
        };
        let any = Expect { status: RunStatus::Failed, ..Expect::default() };
        for category in ["auth", "quota", "network", "host", "internal"] {
            let why = told(category, "ENGINE_FAILED", &any);
            assert_eq!(why.as_deref(), Some("it could not be run: ENGINE_FAILED: no"), "{category}");
            let named = Expect { error: Some(Code::EngineFailed), ..any.clone() };
            assert_eq!(told(category, "ENGINE_FAILED", &named), None, "{category} was asked for");
        }
        for category in ["engine", "output", "timeout", "skill"] {
            assert_eq!(told(category, "ENGINE_FAILED", &any), None, "{category}");
        }
    }

    #[test]
    fn many_and_long_differences_stay_short() {
        let wanted: Map<String, Value> = (0..1_000).map(|n| (format!("key{n}"), json!("x".repeat(10_000)))).collect();
        let found: Map<String, Value> = (0..1_000).map(|n| (format!("key{n}"), json!("y".repeat(10_000)))).collect();
        let words = output(&wanted, &found).unwrap();
        assert!(words.len() < 2_000, "{}", words.len());
        assert!(words.ends_with("; and 995 more"), "{words}");
    }
}
