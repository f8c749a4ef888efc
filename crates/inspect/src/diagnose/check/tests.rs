use skillrun_model::codes::ErrorCategory;
use skillrun_model::rasp::data::{
    AttemptStarted, Diagnostic, Exit, MessageFinal, MessageOrigin, ToolCallCompleted, ToolCallFailed, ToolCallStarted,
    TurnLimit, UserMessage,
};
use skillrun_model::rasp::{Correlation, EvidenceData};
use skillrun_model::status::{CompletionState, TurnState};
use skillrun_model::verdict::{Rule, Verdict};
use skillrun_model::{ProfileId, Timestamp};

use super::*;
use crate::testing::{Events, second};

#[derive(Default)]
struct Told {
    events: Events,
    all: Vec<Event>,
}

impl Told {
    fn control(mut self, attempt: u32, data: ControlData) -> Self {
        let event = self.events.next(attempt, data);
        self.all.push(event);
        self
    }

    fn begin(self, attempt: u32) -> Self {
        let started = AttemptStarted::new(ProfileId::PlainText, second(0));
        self.control(attempt, ControlData::AttemptStarted(started))
    }

    fn prompt(self, attempt: u32) -> Self {
        self.control(attempt, ControlData::MessageUser(UserMessage::new(MessageOrigin::User, "Go.")))
    }

    fn evidence(mut self, attempt: u32, call: Option<&str>, data: EvidenceData) -> Self {
        let event = self.events.next(attempt, ControlData::status(RunStatus::Running));
        let correlation = Correlation { tool_call_id: call.map(str::to_owned), ..Correlation::default() };
        self.all.push(Event { data: Data::Evidence(data), correlation, ..event });
        self
    }

    fn call(self, attempt: u32, id: &str) -> Self {
        let started = ToolCallStarted { name: "sh".to_owned(), input: None, truncated: false };
        self.evidence(attempt, Some(id), EvidenceData::ToolCallStarted(started))
    }

    fn done(self, attempt: u32, id: &str) -> Self {
        let completed = ToolCallCompleted { output: None, sanitized: false, truncated: false };
        self.evidence(attempt, Some(id), EvidenceData::ToolCallCompleted(completed))
    }

    fn says(self, attempt: u32, partial: bool) -> Self {
        let message = MessageFinal { partial, ..MessageFinal::new("m", "Blue.") };
        self.evidence(attempt, None, EvidenceData::MessageFinal(message))
    }

    fn end_with(self, attempt: u32, turn: TurnState, change: impl Fn(&mut AttemptEnded)) -> Self {
        let (completion, status) = (CompletionState::Unknown, RunStatus::WaitingUser);
        let verdict = Verdict::new(Rule::Waiting, turn, completion, Code::CleanFinal, status);
        let exit = Exit { code: Some(0), signal: None, ended_by: None };
        let kind = (turn != TurnState::Completed).then_some(ErrorCategory::Engine);
        let mut ended = AttemptEnded { error_kind: kind, ..AttemptEnded::new(verdict, exit) };
        change(&mut ended);
        self.control(attempt, ControlData::AttemptEnded(Box::new(ended)))
    }

    fn end(self, attempt: u32, turn: TurnState) -> Self {
        self.end_with(attempt, turn, |_| {})
    }

    fn checks_with(&self, damage: Option<&str>) -> Vec<DiagnosisCheck> {
        let mut story = Story::new(Timestamp::EPOCH);
        self.all.iter().for_each(|event| story.event(event));
        checks(&story, &BTreeMap::new(), Some(&skillrun_replay::fold::replay(&self.all, None)), damage)
    }

    fn severity(&self, topic: CheckTopic) -> CheckSeverity {
        let found = self.checks_with(None);
        found
            .into_iter()
            .find(|check| check.check == topic)
            .map(|check| check.severity)
            .expect("every topic is checked")
    }
}

fn told() -> Told {
    Told::default()
}

/// A turn without anything to remark on.
fn good() -> Told {
    told().begin(1).prompt(1).call(1, "a").done(1, "a").says(1, false).end(1, TurnState::Completed)
}

#[test]
fn every_topic_is_checked_in_its_order() {
    let topics: Vec<CheckTopic> = good().checks_with(None).iter().map(|check| check.check).collect();
    assert_eq!(topics, CheckTopic::ALL);
    let (mut passed, mut lines) = (Vec::new(), Vec::new());
    for check in good().checks_with(None) {
        lines.push(check.words.len());
        passed.extend((check.severity == CheckSeverity::Passed).then_some(check.check));
    }
    // No host left a record here.
    let without_hosts: Vec<CheckTopic> =
        CheckTopic::ALL.iter().copied().filter(|topic| *topic != CheckTopic::OutputCut).collect();
    assert_eq!(passed, without_hosts);
    assert!(lines.iter().all(|length| *length > 0));
}

#[test]
fn calls_without_a_pair_are_failures() {
    let topic = CheckTopic::ToolPairing;
    let open = told().begin(1).prompt(1).call(1, "a").end(1, TurnState::Completed);
    assert_eq!(open.severity(topic), CheckSeverity::Failed);
    let unopened = told().begin(1).prompt(1).done(1, "b").end(1, TurnState::Completed);
    assert_eq!(unopened.severity(topic), CheckSeverity::Failed);
    let working = told().begin(1).prompt(1).call(1, "a");
    assert_eq!(working.severity(topic), CheckSeverity::Passed, "the turn is not over");
    let failed = ToolCallFailed {
        reason: "turn_ended".to_owned(),
        output: None,
        sanitized: false,
        truncated: false,
        synthetic: true,
    };
    let closed = told().begin(1).prompt(1).call(1, "a").evidence(1, Some("a"), EvidenceData::ToolCallFailed(failed));
    assert_eq!(closed.end(1, TurnState::Failed).severity(topic), CheckSeverity::Warning);
}

#[test]
fn a_turn_has_one_record() {
    let topic = CheckTopic::TurnRecords;
    let twice = good().end(1, TurnState::Completed);
    assert_eq!(twice.severity(topic), CheckSeverity::Failed);
    let missing = told().begin(1).prompt(1).begin(2).prompt(2).end(2, TurnState::Completed);
    assert_eq!(missing.severity(topic), CheckSeverity::Failed);
    let stray = good().end(7, TurnState::Completed);
    assert_eq!(stray.severity(topic), CheckSeverity::Failed);
    let open = good().begin(2).prompt(2);
    assert_eq!(open.severity(topic), CheckSeverity::Passed);
}

#[test]
fn text_of_a_broken_turn_is_a_warning_and_an_answer_of_one_a_failure() {
    let topic = CheckTopic::PartialAnswers;
    let text = told().begin(1).prompt(1).says(1, false).end(1, TurnState::PartialFailed);
    assert_eq!(text.severity(topic), CheckSeverity::Warning);
    let silent = told().begin(1).prompt(1).end(1, TurnState::Failed);
    assert_eq!(silent.severity(topic), CheckSeverity::Passed);
    let answers = told().begin(1).prompt(1).says(1, false).end_with(1, TurnState::Failed, |ended| {
        ended.verdict.answer_message_id = Some("m".to_owned());
    });
    assert_eq!(answers.severity(topic), CheckSeverity::Failed);
}

#[test]
fn a_failure_without_a_class_is_found() {
    let topic = CheckTopic::FailureClass;
    assert_eq!(good().severity(topic), CheckSeverity::Passed);
    let failed = told().begin(1).prompt(1).end(1, TurnState::Failed);
    assert_eq!(failed.severity(topic), CheckSeverity::Warning);
    let unclassified = told().begin(1).prompt(1).end_with(1, TurnState::Failed, |ended| ended.error_kind = None);
    assert_eq!(unclassified.severity(topic), CheckSeverity::Failed);
    let old = told().begin(1).prompt(1).end(1, TurnState::TimedOut);
    assert_eq!(old.severity(topic), CheckSeverity::Unknown, "a version before wrote no limit");
    let new =
        told().begin(1).prompt(1).end_with(1, TurnState::TimedOut, |ended| ended.limit = Some(TurnLimit::HardSec));
    assert_eq!(new.severity(topic), CheckSeverity::Warning);
}

#[test]
fn cut_output_is_known_or_unknown() {
    let topic = CheckTopic::OutputCut;
    assert_eq!(good().severity(topic), CheckSeverity::Unknown, "no host left a record");
    let cut = told().begin(1).prompt(1).says(1, true).end(1, TurnState::PartialFailed);
    assert_eq!(cut.severity(topic), CheckSeverity::Warning);
    let warning = Diagnostic::new(Code::EventsNotLogged, "full");
    let lost = good().begin(2).prompt(2).control(2, ControlData::ParserWarning(warning)).end(2, TurnState::Completed);
    assert_eq!(lost.severity(topic), CheckSeverity::Failed);
}

#[test]
fn logs_of_older_versions_have_no_user_messages() {
    let topic = CheckTopic::UserMessage;
    assert_eq!(good().severity(topic), CheckSeverity::Passed);
    let old = told().begin(1).end(1, TurnState::Completed);
    assert_eq!(old.severity(topic), CheckSeverity::Unknown);
    let upgraded = old.begin(2).prompt(2).end(2, TurnState::Completed);
    assert_eq!(upgraded.severity(topic), CheckSeverity::Unknown);
    let lost = good().begin(2).end(2, TurnState::Completed);
    assert_eq!(lost.severity(topic), CheckSeverity::Failed);
}

#[test]
fn a_damaged_log_passes_no_check() {
    let checks = good().checks_with(Some("damaged at line 7"));
    assert!(checks.iter().all(|check| check.severity != CheckSeverity::Passed), "{checks:?}");
}

fn balance(told: &Told, change: impl FnOnce(&mut Replay)) -> DiagnosisCheck {
    let mut story = Story::new(Timestamp::EPOCH);
    told.all.iter().for_each(|event| story.event(event));
    let mut replay = skillrun_replay::fold::replay(&told.all, None);
    change(&mut replay);
    let found = checks(&story, &BTreeMap::new(), Some(&replay), None);
    found.into_iter().find(|check| check.check == CheckTopic::ReplayBalance).expect("every topic is checked")
}

#[test]
fn replay_of_every_kind_of_turn_is_balanced() {
    let made_up = |told: Told, id: &str| {
        let reason = "cut off".to_owned();
        let failed = ToolCallFailed { reason, output: None, sanitized: false, truncated: false, synthetic: true };
        told.evidence(1, Some(id), EvidenceData::ToolCallFailed(failed))
    };
    let sentence = |told: Told| {
        let check = balance(&told, |_| ());
        assert_eq!(check.severity, CheckSeverity::Passed, "{check:?}");
        check.words
    };
    assert_eq!(sentence(good()), "every replayed call has its result; nothing is left out");
    let cut = made_up(told().begin(1).prompt(1).call(1, "a").done(1, "a").call(1, "b"), "b").says(1, false);
    assert_eq!(
        sentence(cut.end(1, TurnState::Failed)),
        "every replayed call has its result; left out: 1 message of a turn that did not complete, 1 tool call without \
         a result"
    );
    // An id that is used again, a result without its call, and what follows the record.
    let odd = told().begin(1).prompt(1).call(1, "a").call(1, "a").done(1, "a").done(1, "a").done(1, "c");
    assert_eq!(
        sentence(odd.end(1, TurnState::Completed).call(1, "late").done(1, "late")),
        "every replayed call has its result; left out: 1 tool call without a result, 2 tool results without their calls"
    );
    let refused = told().begin(1).prompt(1).call(1, "a").end_with(1, TurnState::Failed, |ended| {
        ended.verdict.refused = true;
    });
    let words = "every replayed call has its result; left out: 1 turn that was refused, 1 turn that is not over";
    assert_eq!(sentence(refused.begin(2).call(2, "open")), words);
}

#[test]
fn replay_that_loses_a_call_or_a_result_is_a_failure() {
    type Change = fn(&mut Replay);
    let changes: [(&str, Change); 4] = [
        ("a result is missing", |replay| {
            replay.turns[0].items.retain(|item| !matches!(item, Item::ToolResult { .. }));
        }),
        ("a call is missing", |replay| {
            replay.turns[0].items.retain(|item| !matches!(item, Item::ToolCall { .. }));
        }),
        ("a pair is missing and not counted", |replay| {
            replay.turns[0].items.retain(|item| matches!(item, Item::User { .. } | Item::Agent { .. }));
        }),
        ("something is between the call and its result", |replay| replay.turns[0].items.swap(2, 3)),
    ];
    for (what, change) in changes {
        let check = balance(&good(), change);
        assert_eq!((check.severity, check.attempts), (CheckSeverity::Failed, vec![AttemptNumber(1)]), "{what}");
    }
    let story = Story::new(Timestamp::EPOCH);
    let unread = checks(&story, &BTreeMap::new(), None, None);
    assert_eq!(unread.last().map(|check| check.severity), Some(CheckSeverity::Unknown));
}
