//! Reports of trials that never ran.

use skillrun_model::RunId;
use skillrun_model::codes::ErrorCategory;
use skillrun_model::rasp::data::TurnUsage;
use skillrun_model::verdict::RunError;
use skillrun_runs::result::RunResult;
use skillrun_runtime::Options;
use skillrun_skill::Skill;

use super::*;
use crate::cases::Case;
use crate::drive::{Because, Ended};
use crate::judge::Check;
use crate::junit;
use crate::trials::{Engine, Plays};

fn result(status: RunStatus, ms: u64) -> RunResult {
    let failed = || RunError::new(ErrorCategory::Engine, Code::EngineFailed, "<&\u{1b}");
    let mut result = testkit::run_files::run_result(&RunId::new(0, [0; 10]).to_string(), status.as_str());
    result["timing"]["elapsed_ms"] = ms.into();
    RunResult {
        error: (status == RunStatus::Failed).then(failed),
        usage: Some(TurnUsage { input_tokens: Some(100 * ms), ..TurnUsage::default() }),
        ..serde_json::from_value(result).unwrap()
    }
}

fn ended(status: RunStatus, ms: u64, because: Because) -> TrialEnd {
    let problem = (status == RunStatus::Failed).then(|| "it is failed, not succeeded; <oh & \u{1b}no>".to_owned());
    TrialEnd::Ended {
        ended: Box::new(Ended {
            run: RunId::new(0, [0; 10]),
            status,
            question: None,
            result: Some(result(status, ms)),
            because,
        }),
        checks: vec![Check { what: "status".to_owned(), problem }, Check { what: "output".to_owned(), problem: None }],
        validity: Validity::Valid,
        hindrance: None,
    }
}

fn good(ms: u64) -> TrialEnd {
    ended(RunStatus::Succeeded, ms, Because::Itself)
}

fn bad(ms: u64) -> TrialEnd {
    ended(RunStatus::Failed, ms, Because::Itself)
}

/// A report of two cases on two engines; what came of each, in the order case, engine, time.
fn report(times: u32, came: Vec<TrialEnd>) -> TrialReport {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("SKILL.md"), "---\nname: probe\ndescription: d\n---\n").unwrap();
    let skill = Skill::load(folder.path()).unwrap();
    let case = |name: &str| Case { name: name.to_owned(), ..Case::without_input() };
    let engine = |name: &str| Engine { name: name.to_owned(), plays: Plays::Nothing, model: None };
    let (cases, engines) = ([case("one"), case("two")], [engine("left"), engine("right")]);
    let options = Options::default();
    let plan = TrialPlan { skill: &skill, cases: &cases, engines: &engines, times, at_once: 1, options: &options };
    let mut came = came.into_iter();
    let mut trials = Vec::new();
    for case in 0..2 {
        for engine in 0..2 {
            for time in 1..=times {
                trials.push(Trial { case, engine, time, came: came.next().unwrap() });
            }
        }
    }
    let about = About {
        cases_file: None,
        versions: [("left".to_owned(), "1.2.3".to_owned())].into(),
        skipped: vec![("gone".to_owned(), "it is not installed".to_owned())],
    };
    TrialReport::of(plan, about, &trials)
}

#[test]
fn all_is_as_expected() {
    let report = report(1, vec![good(1), good(2), good(3), good(4)]);
    assert_eq!(report.verdict, Overall::Passed);
    assert!(report.disagreements.is_empty() && report.flaky.is_empty());
    let rows: Vec<_> = report.rows.iter().map(|row| (row.case.as_str(), row.engine.as_str())).collect();
    assert_eq!(rows, [("one", "left"), ("one", "right"), ("two", "left"), ("two", "right")]);
    assert_eq!(report.engines[0].version.as_deref(), Some("1.2.3"));
    assert_eq!(report.engines[2].skipped.as_deref(), Some("it is not installed"));
}

#[test]
fn disagreeing_engines_are_reported() {
    let report = report(1, vec![good(1), bad(2), good(3), good(4)]);
    assert_eq!(report.verdict, Overall::Failed);
    let [one] = &report.disagreements[..] else { panic!("{:?}", report.disagreements) };
    assert_eq!(one.case, "one");
    let verdicts: Vec<_> = one.told.iter().map(|(engine, told)| (engine.as_str(), told.verdict)).collect();
    assert_eq!(verdicts, [("left", RowVerdict::Passed), ("right", RowVerdict::Failed)]);
    assert_eq!(report.rows[1].runs[0].error, Some(Code::EngineFailed));
    assert_eq!((report.rows[1].met, report.rows[1].checks), (1, 2));
}

#[test]
fn what_is_not_the_same_every_time_is_flaky() {
    let came =
        vec![good(5), bad(1), good(3), good(1), good(1), good(1), bad(1), bad(1), bad(1), good(9), good(8), good(7)];
    let report = report(3, came);
    assert_eq!(report.flaky, [Flaky { case: "one".to_owned(), engine: "left".to_owned(), passed: 2, of: 3 }]);
    let verdicts: Vec<_> = report.rows.iter().map(|row| row.verdict).collect();
    assert_eq!(verdicts, [RowVerdict::Flaky, RowVerdict::Passed, RowVerdict::Failed, RowVerdict::Passed]);
    assert_eq!((report.rows[0].duration_ms, report.rows[0].tokens), (Some(3), Some(300)));
    assert_eq!(report.rows[3].duration_ms, Some(8));
    assert_eq!(report.verdict, Overall::Failed);
}

#[test]
fn what_was_stopped_is_no_disagreement() {
    let stopped = ended(RunStatus::Canceled, 1, Because::Stopped);
    let report = report(1, vec![good(1), stopped, TrialEnd::NotRun, TrialEnd::Trouble("no".to_owned())]);
    assert_eq!(report.verdict, Overall::Interrupted);
    assert!(report.disagreements.is_empty(), "{:?}", report.disagreements);
    let verdicts: Vec<_> = report.rows.iter().map(|row| row.verdict).collect();
    let interrupted = RowVerdict::Interrupted;
    assert_eq!(verdicts, [RowVerdict::Passed, interrupted, interrupted, RowVerdict::Error]);
}

#[test]
fn the_median_is_the_one_in_the_middle() {
    assert_eq!(median(vec![]), None);
    assert_eq!(median(vec![7]), Some(7));
    assert_eq!(median(vec![9, 1]), Some(1));
    assert_eq!(median(vec![9, 1, 5]), Some(5));
}

/// Tags that are open at the end of a document, or why it is none. Strict about what we write, and nothing else.
fn check_xml(xml: &str) -> Result<usize, String> {
    let mut rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").ok_or("no head")?;
    let (mut open, mut elements) = (Vec::new(), 0);
    while let Some(at) = rest.find('<') {
        text(&rest[..at])?;
        let end = rest[at..].find('>').ok_or("a tag without an end")? + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("{name} is closed and not open"));
            }
            continue;
        }
        elements += 1;
        let body = tag.strip_suffix('/').unwrap_or(tag);
        let (name, attributes) = body.split_once(' ').unwrap_or((body, ""));
        for (number, part) in attributes.split('"').enumerate() {
            if number % 2 == 1 {
                text(part)?;
            } else if !part.is_empty() && !part.ends_with('=') {
                return Err(format!("{part:?} is not an attribute"));
            }
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    text(rest)?;
    if open.is_empty() { Ok(elements) } else { Err(format!("{open:?} are open")) }
}

fn text(text: &str) -> Result<(), String> {
    for part in text.split('&').skip(1) {
        let entity = part.split_once(';').map(|(entity, _)| entity).ok_or("a bare &")?;
        if !["amp", "lt", "gt", "quot", "apos", "#10"].contains(&entity) {
            return Err(format!("{entity} is not an entity"));
        }
    }
    let bad = |c: char| c == '<' || c == '>' || (c.is_control() && c != '\n');
    text.chars().find(|c| bad(*c)).map_or(Ok(()), |c| Err(format!("{c:?} in a text")))
}

#[test]
fn junit_is_xml_and_counts() {
    let stopped = ended(RunStatus::Canceled, 1, Because::Stopped);
    let report = report(1, vec![good(1_500), bad(2), stopped, TrialEnd::Trouble("\u{0}no & \"never\"".to_owned())]);
    let xml = junit::xml(&report);
    assert_eq!(check_xml(&xml), Ok(1 + 3 + 5 + 4), "{xml}");
    let left =
        "<testsuite name=\"probe on left\" tests=\"2\" skipped=\"1\" errors=\"0\" failures=\"0\" time=\"1.501\">";
    assert!(xml.contains(left), "{xml}");
    let right =
        "<testsuite name=\"probe on right\" tests=\"2\" skipped=\"0\" errors=\"1\" failures=\"1\" time=\"0.002\">";
    assert!(xml.contains(right), "{xml}");
    assert!(
        xml.contains("<failure message=\"it is failed, not succeeded; &lt;oh &amp; no&gt;\" type=\"ENGINE_FAILED\">")
    );
    assert!(xml.contains("<error message=\"no &amp; &quot;never&quot;\" type=\"error\">"), "{xml}");
    assert!(xml.contains("<skipped message=\"it is not installed\"/>"));
}
