//! The verdict once more, from the files alone: what `normalize` says about a run's evidence.

use std::path::Path;
use std::process::Command;

use lab::runtime::RuntimeLab;
use serde_json::Value;
use skillrun_model::verdict::Verdict;
use skillrun_model::{ExecutionMode, RunId};

use crate::SKILLRUN;

/// A verdict in one line: rule, turn, completion, reason, run, error if there is one, warnings.
fn row(verdict: &Verdict) -> String {
    let Verdict { rule, turn, completion, reason_code, run_status, .. } = verdict;
    let error = verdict.error.as_ref().map(|error| format!(" {}", error.code)).unwrap_or_default();
    let warnings: String = verdict.warnings.iter().map(|warning| format!(" +{warning}")).collect();
    format!("{rule} {turn} {completion} {reason_code} {run_status}{error}{warnings}")
}

/// The other input of the gate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told<'a> {
    pub(crate) mode: ExecutionMode,
    pub(crate) schema: Option<&'a Path>,
    pub(crate) max_attempt: Option<u32>,
    pub(crate) require_marker: bool,
}

/// The verdicts about all attempts, one line each.
pub(crate) fn verdicts(folder: &Path, told: Told<'_>) -> Vec<String> {
    let mut command = Command::new(SKILLRUN);
    command.arg("normalize").arg(folder).args(["--mode", told.mode.as_str()]);
    if let Some(schema) = told.schema {
        command.arg("--schema").arg(schema);
    }
    if let Some(max) = told.max_attempt {
        command.args(["--max-attempt", &max.to_string()]);
    }
    if told.require_marker {
        command.arg("--require-marker");
    }
    let output = command.output().expect("normalize");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter(|line| line["rule"].is_string()).map(|line| json_row(&line)).collect()
}

fn json_row(line: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let completion = &line["completion"];
    let error = line["error"]["code"].as_str().map(|code| format!(" {code}")).unwrap_or_default();
    let warnings: String =
        line["warnings"].as_array().into_iter().flatten().map(|code| format!(" +{}", word(code))).collect();
    format!(
        "{} {} {} {} {}{error}{warnings}",
        word(&line["rule"]),
        word(&line["turn_state"]),
        word(&completion["state"]),
        word(&completion["reason_code"]),
        word(&line["run_status"])
    )
}

/// The files of a run of the lab's own skill say the same as the Log.
pub(crate) fn check_probe(lab: &RuntimeLab, run: RunId, mode: ExecutionMode) {
    let schema = lab.path("skills").join("probe/assets/output.json");
    check_same(lab, run, Told { mode, schema: Some(&schema), max_attempt: None, require_marker: false });
}

/// The rows of all attempts, as the Log has them.
pub(crate) fn rows(lab: &RuntimeLab, run: RunId) -> Vec<String> {
    lab.verdicts(run).iter().map(row).collect()
}

/// The files say the same as the Log.
pub(crate) fn check_same(lab: &RuntimeLab, run: RunId, told: Told<'_>) {
    let live = rows(lab, run);
    let mut offline = verdicts(lab.data().run(run).root(), told);
    // A process that waits between two turns has files of a turn that never began.
    offline.truncate(live.len());
    assert_eq!(offline, live, "{run}: offline, live");
}
