//! Families written as Logs, whole and broken on purpose.

use std::fs;

use skillrun_log::{Durability, EventLog, Seq};
use skillrun_model::codes::{ErrorCategory, NextAction, NextActionKind};
use skillrun_model::delegation::{OnParentEnd, SubagentRequested, SubagentStarted};
use skillrun_model::rasp::data::{RunCanceled, RunCompleted, RunFailed, RunStarted, TextBlob, Versions};
use skillrun_model::verdict::RunError;
use skillrun_model::{AttemptNumber, Code, EngineName, ExecutionMode};

use super::*;
use crate::diagnose::CheckSeverity;

const PARENT: u8 = 1;
const CHILD: u8 = 2;
const STRANGER: u8 = 3;

fn id(number: u8) -> RunId {
    RunId::new(1, [number; 10])
}

fn record(status: SubagentStatus) -> SubagentEnded {
    let next_actions = vec![NextAction { action: NextActionKind::Retry, command: "skillrun retry X".to_owned() }];
    SubagentEnded {
        child_run_id: id(CHILD),
        child_session_id: None,
        status,
        reason: Code::CleanFinal,
        child_seq: Some(3),
        summary: None,
        output_ref: None,
        details: None,
        elapsed_ms: 1,
        timeout_ms: Some(5_000),
        deadline_at: None,
        next_actions,
    }
}

fn started(parent: Option<u8>) -> ControlData {
    let versions = Versions { skillrun: "0".to_owned(), engine: None, profile: 1 };
    let link = |parent| ParentLink {
        run_id: id(parent),
        attempt: AttemptNumber(1),
        call_id: None,
        step_id: None,
        root: id(PARENT),
        depth: 1,
    };
    let started = RunStarted::new("scripted", ExecutionMode::Auto, versions);
    ControlData::RunStarted(RunStarted { parent: parent.map(link).map(Box::new), ..started })
}

fn requested() -> ControlData {
    ControlData::SubagentRequested(SubagentRequested {
        child_run_id: id(CHILD),
        key: "a".to_owned(),
        engine: "scripted".to_owned(),
        title: "Task".to_owned(),
        on_parent_end: OnParentEnd::Cancel,
        timeout_ms: Some(5_000),
        request: TextBlob { path: "x".to_owned(), bytes: 1, hash: "x".to_owned() },
    })
}

fn running() -> ControlData {
    ControlData::status(RunStatus::Running)
}

fn succeeded() -> ControlData {
    ControlData::RunCompleted(RunCompleted::new(Code::CleanFinal))
}

fn timed_out() -> ControlData {
    let error = RunError::new(ErrorCategory::Timeout, Code::Timeout, "too late");
    ControlData::RunFailed(RunFailed::new(error, Vec::new()))
}

fn canceled() -> ControlData {
    ControlData::RunCanceled(RunCanceled { reason_code: Code::Canceled, by: None })
}

/// A parent with one child.
struct Family {
    _place: tempfile::TempDir,
    data: DataFolder,
}

impl Family {
    fn empty() -> Self {
        let place = tempfile::tempdir().expect("a folder");
        let data = DataFolder::new(place.path());
        Self { _place: place, data }
    }

    /// `said` follows the request in the Log of the parent; `own` is the end of the child.
    fn of(said: Option<SubagentEnded>, parent_ends: bool, own: Option<ControlData>) -> Self {
        let family = Self::empty();
        let begun =
            [started(None), requested(), ControlData::SubagentStarted(SubagentStarted { child_run_id: id(CHILD) })];
        let end = parent_ends.then(succeeded);
        family.write(PARENT, begun.into_iter().chain(said.map(ControlData::SubagentEnded)).chain(end));
        family.write(CHILD, [started(Some(PARENT)), running()].into_iter().chain(own));
        family
    }

    fn write(&self, run: u8, events: impl IntoIterator<Item = ControlData>) {
        let log = FileLog::new(self.data.runs());
        log.create(id(run)).expect("a Log");
        let engine = EngineName::new("scripted");
        let event = |(seq, data)| Event::control(id(run), seq, Timestamp::EPOCH, engine.clone(), data);
        let events: Vec<Event> = (1..).zip(events).map(event).collect();
        log.append(id(run), Seq(1), &events, Durability::Derived).expect("appended");
        log.release(id(run));
    }

    fn diagnose(&self, run: u8, linked: &[LinkedRun]) -> FamilyDiagnosis {
        let log = FileLog::new(self.data.runs());
        diagnose(&self.data, &log, id(run), linked, &|_| RunOwner::NoProcess, Timestamp::EPOCH).expect("a diagnosis")
    }

    /// The checks that did not pass.
    fn faults(&self) -> Vec<(FamilyTopic, CheckSeverity, Vec<RunId>)> {
        faults(self.diagnose(PARENT, &[]))
    }
}

fn faults(found: FamilyDiagnosis) -> Vec<(FamilyTopic, CheckSeverity, Vec<RunId>)> {
    assert_eq!(found.checks.len(), FamilyTopic::ALL.len());
    let faults = found.checks.into_iter().filter(|check| check.severity != CheckSeverity::Passed);
    faults.map(|check| (check.check, check.severity, check.runs)).collect()
}

fn one(topic: FamilyTopic, severity: CheckSeverity) -> Vec<(FamilyTopic, CheckSeverity, Vec<RunId>)> {
    vec![(topic, severity, vec![id(CHILD)])]
}

#[test]
fn a_family_in_order_passes_every_check() {
    let family = Family::of(Some(record(SubagentStatus::Completed)), true, Some(succeeded()));
    let found = family.diagnose(PARENT, &[LinkedRun { run_id: id(CHILD), parent: id(PARENT) }]);
    let seen: Vec<_> = found.runs.iter().map(|run| (run.run_id, run.depth, run.parent_says, run.ended)).collect();
    let completed = Some(SubagentStatus::Completed);
    assert_eq!(seen, [(id(PARENT), 0, None, None), (id(CHILD), 1, completed, completed)]);
    assert_eq!((found.runs[1].end_seq, found.runs[1].reconciled), (Some(3), false));
    assert_eq!(faults(found), []);
    // A child knows its parent, and its parent knows it.
    assert_eq!(faults(family.diagnose(CHILD, &[])), []);
}

/// The commonest complaint about subagents: the parent says that a child is completed while it works.
#[test]
fn a_parent_that_says_more_than_the_child_is_stale() {
    let failed = one(FamilyTopic::StaleChildren, CheckSeverity::Failed);
    for own in [None, Some(canceled())] {
        assert_eq!(Family::of(Some(record(SubagentStatus::Completed)), true, own).faults(), failed);
    }
    let other = SubagentEnded { child_seq: Some(1), ..record(SubagentStatus::Completed) };
    assert_eq!(Family::of(Some(other), true, Some(succeeded())).faults(), failed);
    // Without a record: it follows, or the rule was broken.
    assert_eq!(Family::of(None, true, None).faults(), failed);
    assert_eq!(Family::of(None, true, Some(succeeded())).faults(), failed);
    let warned = one(FamilyTopic::StaleChildren, CheckSeverity::Warning);
    assert_eq!(Family::of(None, false, Some(succeeded())).faults(), warned);
    assert_eq!(Family::of(None, false, None).faults(), []);
}

#[test]
fn a_detached_child_is_reconciled_from_its_own_log() {
    let detached =
        || Some(SubagentEnded { child_seq: None, next_actions: Vec::new(), ..record(SubagentStatus::Detached) });
    let family = Family::of(detached(), true, Some(succeeded()));
    let found = family.diagnose(PARENT, &[]);
    let child = &found.runs[1];
    assert_eq!((child.parent_says, child.ended), (Some(SubagentStatus::Detached), Some(SubagentStatus::Completed)));
    assert_eq!((child.reconciled, child.end_seq), (true, Some(3)));
    let check = found.checks.iter().find(|check| check.check == FamilyTopic::Detached).expect("a check");
    assert!(check.words.contains("is completed (event 3 of its Log)"), "{}", check.words);
    assert_eq!(faults(found), one(FamilyTopic::Detached, CheckSeverity::Warning));
    let open = Family::of(detached(), true, None);
    assert!(!open.diagnose(PARENT, &[]).runs[1].reconciled);
    assert_eq!(open.faults(), one(FamilyTopic::Detached, CheckSeverity::Warning));
}

#[test]
fn a_record_without_what_its_status_requires_fails() {
    let missing = one(FamilyTopic::MissingFields, CheckSeverity::Failed);
    let late = record(SubagentStatus::TimedOut);
    for incomplete in
        [SubagentEnded { timeout_ms: None, ..late.clone() }, SubagentEnded { next_actions: Vec::new(), ..late.clone() }]
    {
        let faults = Family::of(Some(incomplete), true, Some(timed_out())).faults();
        assert_eq!(faults[..1], missing[..]);
    }
    let family = Family::of(Some(late), true, Some(timed_out()));
    assert_eq!(family.faults(), one(FamilyTopic::Timeouts, CheckSeverity::Warning));
    // A child that does not name its parent.
    let family = Family::empty();
    family.write(PARENT, [started(None), requested()]);
    family.write(CHILD, [started(None), running()]);
    assert_eq!(family.faults(), missing);
}

#[test]
fn orphans_on_both_sides_are_found() {
    let family = Family::of(Some(record(SubagentStatus::Completed)), true, Some(succeeded()));
    family.write(STRANGER, [started(Some(PARENT)), succeeded()]);
    let stranger = LinkedRun { run_id: id(STRANGER), parent: id(PARENT) };
    let expected = (FamilyTopic::Orphans, CheckSeverity::Failed, vec![id(STRANGER)]);
    assert_eq!(faults(family.diagnose(PARENT, &[stranger])), std::slice::from_ref(&expected));
    assert_eq!(faults(family.diagnose(STRANGER, &[])), [expected]);
    // Its parent was removed.
    let family = Family::empty();
    family.write(CHILD, [started(Some(PARENT)), succeeded()]);
    assert_eq!(faults(family.diagnose(CHILD, &[])), one(FamilyTopic::Orphans, CheckSeverity::Warning));
    // Asked for, and neither made nor refused.
    let family = Family::empty();
    family.write(PARENT, [started(None), requested(), succeeded()]);
    assert_eq!(family.faults(), one(FamilyTopic::Orphans, CheckSeverity::Failed));
    let family = Family::empty();
    family.write(PARENT, [started(None), requested()]);
    assert_eq!(family.faults(), []);
}

#[test]
fn a_log_that_cannot_be_read_is_not_in_order() {
    let family = Family::of(Some(record(SubagentStatus::Completed)), true, Some(succeeded()));
    let log = family.data.run(id(CHILD)).root().join("events.jsonl");
    let text = fs::read_to_string(&log).expect("a Log");
    fs::write(&log, text.replacen("{\"", "{no JSON\"", 1)).expect("written");
    let found = family.diagnose(PARENT, &[]);
    assert!(found.checks.iter().all(|check| check.severity == CheckSeverity::Unknown), "{:?}", found.checks);
}
