//! What every run is checked for, with a severity. The checks read the Log and the files of the run, and nothing else:
//! no model and no network.

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_evidence::HostRecord;
use skillrun_model::rasp::data::AttemptEnded;
use skillrun_model::rasp::{ControlData, Data, Event, EvidenceData};
use skillrun_model::{AttemptNumber, Code, RunStatus, TurnState, presenters, word_enum};
use skillrun_replay::{Item, LeftOut, LeftOutCount, NoticeKind, Replay, ReplayedTurn};

use super::story::{Attempt, Story};

/// Open tool calls that are remembered for each attempt; beyond this the pairing is not known.
const OPEN_CALLS: usize = 10_000;

word_enum! {
    /// How a check came out.
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub CheckSeverity {
        Passed = "passed",
        /// It could not be checked: the Log is damaged, not over, or of a version that did not write it.
        Unknown = "unknown",
        /// The record is in order, and what happened needs attention.
        Warning = "warning",
        /// The record of the run is not in order.
        Failed = "failed",
    }
}

word_enum! {
    /// What is checked.
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub CheckTopic {
        /// Every tool call has a start and an end.
        ToolPairing = "tool_pairing",
        /// Every attempt that began has exactly one turn record.
        TurnRecords = "turn_records",
        /// No turn that did not complete has an answer; text of such turns is reported.
        PartialAnswers = "partial_answers",
        /// Every turn that did not complete has the kind of its failure and next actions.
        FailureClass = "failure_class",
        /// Whether output is missing from the evidence or from the Log.
        OutputCut = "output_cut",
        /// Every turn has the message that began it.
        UserMessage = "user_message",
        /// In the replay every tool call has its result, and every call and result of the Log is replayed or counted as
        /// left out.
        ReplayBalance = "replay_balance",
    }
}

/// One check and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DiagnosisCheck {
    pub check: CheckTopic,
    pub severity: CheckSeverity,
    /// The attempts that it is about; empty where it is about the whole run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptNumber>,
    /// For people; the text may change.
    pub words: String,
}

/// What the checks need of one attempt.
#[derive(Debug, Default)]
pub(super) struct AttemptContent {
    records: u32,
    has_user_message: bool,
    open_calls: HashSet<String>,
    /// Ends of calls that never began.
    unopened_calls: u64,
    /// Calls that began, and results of tools, up to the record of the turn.
    calls: u64,
    results: u64,
    /// Calls that the turn left open, and that were closed for it.
    closed_calls: u64,
    /// Beyond this number of open calls, pairs are not known.
    has_too_many_calls: bool,
    has_text: bool,
    has_partial_message: bool,
    cut: Option<Code>,
}

impl AttemptContent {
    pub(super) fn event(&mut self, event: &Event) {
        let call = || event.correlation.tool_call_id.clone();
        match &event.data {
            Data::Control(ControlData::AttemptEnded(_)) => self.records += 1,
            Data::Control(ControlData::MessageUser(_)) => self.has_user_message = true,
            Data::Control(ControlData::ParserWarning(warning)) => self.warned(warning.code),
            Data::Control(_) => {}
            Data::Evidence(data) => match data {
                EvidenceData::ToolCallStarted(_) => {
                    self.calls += u64::from(self.records == 0);
                    self.call_began(call());
                }
                EvidenceData::ToolCallCompleted(_) => {
                    self.results += u64::from(self.records == 0);
                    self.call_ended(call());
                }
                EvidenceData::ToolCallFailed(failed) => {
                    self.closed_calls += u64::from(failed.synthetic);
                    // No tool has returned a result that was made up.
                    self.results += u64::from(self.records == 0 && !failed.synthetic);
                    self.call_ended(call());
                }
                EvidenceData::MessageFinal(message) => {
                    self.has_text |= !message.text.trim().is_empty();
                    self.has_partial_message |= message.partial;
                }
                EvidenceData::MessageDelta(_) => self.has_text = true,
                EvidenceData::ParserWarning(warning) => self.warned(warning.code),
                EvidenceData::RunStatus(_)
                | EvidenceData::ReasoningSummary(_)
                | EvidenceData::SubagentObserved(_)
                | EvidenceData::ParserError(_)
                | EvidenceData::EngineError(_)
                | EvidenceData::RawStdout(_)
                | EvidenceData::RawStderr(_) => {}
            },
        }
    }

    fn call_began(&mut self, id: Option<String>) {
        self.has_too_many_calls |= self.open_calls.len() >= OPEN_CALLS;
        if !self.has_too_many_calls {
            self.open_calls.extend(id);
        }
    }

    fn call_ended(&mut self, id: Option<String>) {
        let is_known = id.is_none_or(|id| self.open_calls.remove(&id));
        self.unopened_calls += u64::from(!is_known);
    }

    fn warned(&mut self, code: Code) {
        let is_cut = [Code::EventsNotLogged, Code::MaskIncomplete, Code::ChunkIndexTorn, Code::EndEventCut];
        if is_cut.contains(&code) {
            self.cut = self.cut.or(Some(code));
        }
    }
}

/// All checks, in the order of [`CheckTopic`].
pub(super) fn checks(
    story: &Story,
    hosts: &BTreeMap<AttemptNumber, HostRecord>,
    replay: Option<&Replay>,
    damage: Option<&str>,
) -> Vec<DiagnosisCheck> {
    let outcome = |topic: &CheckTopic| match topic {
        CheckTopic::ToolPairing => tool_pairing(story),
        CheckTopic::TurnRecords => turn_records(story),
        CheckTopic::PartialAnswers => partial_answers(story),
        CheckTopic::FailureClass => failure_class(story),
        CheckTopic::OutputCut => output_cut(story, hosts),
        CheckTopic::UserMessage => user_message(story),
        CheckTopic::ReplayBalance => replay_balance(story, replay),
    };
    let check = |topic: &CheckTopic| {
        let Outcome { severity, attempts, words } = outcome(topic);
        // What a damaged Log does not have may have been in it.
        match (damage, severity) {
            (Some(_), CheckSeverity::Passed) => DiagnosisCheck {
                check: *topic,
                severity: CheckSeverity::Unknown,
                attempts,
                words: "the Log cannot be read to its end".to_owned(),
            },
            (Some(_), CheckSeverity::Unknown | CheckSeverity::Warning | CheckSeverity::Failed) | (None, _) => {
                DiagnosisCheck { check: *topic, severity, attempts, words }
            }
        }
    };
    CheckTopic::ALL.iter().map(check).collect()
}

struct Outcome {
    severity: CheckSeverity,
    attempts: Vec<AttemptNumber>,
    words: String,
}

fn outcome(severity: CheckSeverity, attempts: Vec<AttemptNumber>, words: impl Into<String>) -> Outcome {
    Outcome { severity, attempts, words: words.into() }
}

fn passed(words: &str) -> Outcome {
    outcome(CheckSeverity::Passed, Vec::new(), words)
}

fn numbers(story: &Story, is_wanted: impl Fn(&Attempt) -> bool) -> Vec<AttemptNumber> {
    story.attempts.iter().filter(|attempt| is_wanted(attempt)).map(|attempt| attempt.number).collect()
}

/// The record of a turn that did not complete.
fn broken(attempt: &Attempt) -> Option<&AttemptEnded> {
    attempt.ended.as_ref().filter(|ended| !presenters::is_answer(ended.verdict.turn))
}

/// The attempts in words: "attempt 2", "attempts 1, 2 and 5 more".
fn named(attempts: &[AttemptNumber]) -> String {
    const MOST: usize = 3;
    let list: Vec<String> = attempts.iter().take(MOST).map(ToString::to_string).collect();
    let noun = if attempts.len() == 1 { "attempt" } else { "attempts" };
    match attempts.len().saturating_sub(MOST) {
        0 => format!("{noun} {}", list.join(", ")),
        more => format!("{noun} {} and {more} more", list.join(", ")),
    }
}

fn tool_pairing(story: &Story) -> Outcome {
    let is_open = |attempt: &Attempt| attempt.ended.is_some() && !attempt.content.open_calls.is_empty();
    let unpaired = numbers(story, |attempt| is_open(attempt) || attempt.content.unopened_calls > 0);
    if !unpaired.is_empty() {
        let words = format!("{} has calls without a start or an end", named(&unpaired));
        return outcome(CheckSeverity::Failed, unpaired, words);
    }
    let uncounted = numbers(story, |attempt| attempt.content.has_too_many_calls);
    if !uncounted.is_empty() {
        let words = format!("{} has too many open calls to compare", named(&uncounted));
        return outcome(CheckSeverity::Unknown, uncounted, words);
    }
    let closed = numbers(story, |attempt| attempt.content.closed_calls > 0);
    if !closed.is_empty() {
        let words = format!("{} ended during a call, which was closed for it", named(&closed));
        return outcome(CheckSeverity::Warning, closed, words);
    }
    passed("every call has a start and an end")
}

fn turn_records(story: &Story) -> Outcome {
    let is_over = story.status().is_terminal();
    let last = story.attempts.last().map(|attempt| attempt.number);
    let is_wrong = |attempt: &Attempt| match attempt.content.records {
        // The open turn of a run that is not over has none yet.
        0 => is_over || Some(attempt.number) != last,
        1 => false,
        2.. => true,
    };
    let wrong = numbers(story, is_wrong);
    if !wrong.is_empty() || story.stray_records > 0 {
        let words = if wrong.is_empty() {
            "a turn record belongs to no attempt".to_owned()
        } else {
            format!("{} does not have exactly one turn record", named(&wrong))
        };
        return outcome(CheckSeverity::Failed, wrong, words);
    }
    passed("every turn that ended has one record")
}

fn partial_answers(story: &Story) -> Outcome {
    let wrong =
        numbers(story, |attempt| broken(attempt).is_some_and(|ended| ended.verdict.answer_message_id.is_some()));
    if !wrong.is_empty() {
        let words = format!("{} did not complete, and has an answer", named(&wrong));
        return outcome(CheckSeverity::Failed, wrong, words);
    }
    let texts = numbers(story, |attempt| broken(attempt).is_some() && attempt.content.has_text);
    if !texts.is_empty() {
        let words = format!("{} broke off after text, which is not an answer", named(&texts));
        return outcome(CheckSeverity::Warning, texts, words);
    }
    passed("no turn broke off in the middle of an answer")
}

fn failure_class(story: &Story) -> Outcome {
    let all = numbers(story, |attempt| broken(attempt).is_some());
    if all.is_empty() {
        return passed("every turn that ended has completed");
    }
    let unclassified = numbers(story, |attempt| broken(attempt).is_some_and(|ended| ended.error_kind.is_none()));
    if !unclassified.is_empty() {
        let words = format!("{} did not complete, and its record does not say why", named(&unclassified));
        return outcome(CheckSeverity::Failed, unclassified, words);
    }
    let timed_out = |attempt: &Attempt| {
        broken(attempt).is_some_and(|ended| ended.verdict.turn == TurnState::TimedOut && ended.limit.is_none())
    };
    let unlimited = numbers(story, timed_out);
    if !unlimited.is_empty() {
        let words = format!("{} ran out of time; its record is of a version without limits", named(&unlimited));
        return outcome(CheckSeverity::Unknown, unlimited, words);
    }
    let mut kinds: Vec<&str> = Vec::new();
    for kind in story.attempts.iter().filter_map(|attempt| broken(attempt)?.error_kind) {
        if !kinds.contains(&kind.as_str()) {
            kinds.push(kind.as_str());
        }
    }
    let words = format!("{} did not complete ({})", named(&all), kinds.join(", "));
    outcome(CheckSeverity::Warning, all, words)
}

fn output_cut(story: &Story, hosts: &BTreeMap<AttemptNumber, HostRecord>) -> Outcome {
    let discarded = |attempt: &Attempt| hosts.get(&attempt.number).is_some_and(|host| host.capture.discarded > 0);
    let cut = numbers(story, |attempt| attempt.content.cut.is_some() || discarded(attempt));
    if !cut.is_empty() {
        let words = format!("yes: {} has output that is not in the Log or not in the evidence", named(&cut));
        return outcome(CheckSeverity::Failed, cut, words);
    }
    let partial = numbers(story, |attempt| attempt.content.has_partial_message);
    if !partial.is_empty() {
        let words = format!("yes: {} has a message without its end", named(&partial));
        return outcome(CheckSeverity::Warning, partial, words);
    }
    // Without its host's record it is not known whether everything was recorded.
    let unrecorded = numbers(story, |attempt| attempt.ended.is_some() && !hosts.contains_key(&attempt.number));
    if !unrecorded.is_empty() {
        let words = format!("the host of {} left no record", named(&unrecorded));
        return outcome(CheckSeverity::Unknown, unrecorded, words);
    }
    passed("no")
}

fn user_message(story: &Story) -> Outcome {
    let without = numbers(story, |attempt| !attempt.content.has_user_message);
    let is_begun = |attempt: &Attempt| attempt.ended.is_some() || story.status() != RunStatus::Running;
    if without.is_empty() {
        return passed("every turn has the message that began it");
    }
    if without.len() == story.attempts.len() {
        let is_new = story.attempts.iter().all(|attempt| !is_begun(attempt));
        let words = if is_new { "the turn begins" } else { "the Log is of a version that did not write them" };
        return outcome(CheckSeverity::Unknown, Vec::new(), words);
    }
    // A run that another version continued has messages from then on.
    let first = story.attempts.iter().position(|attempt| attempt.content.has_user_message).unwrap_or(0);
    let lost: Vec<AttemptNumber> = story
        .attempts
        .iter()
        .skip(first)
        .filter(|attempt| !attempt.content.has_user_message && is_begun(attempt))
        .map(|attempt| attempt.number)
        .collect();
    if lost.is_empty() {
        return outcome(CheckSeverity::Unknown, without, "older turns are of a version that did not write them");
    }
    let words = format!("{} has no message that began it", named(&lost));
    outcome(CheckSeverity::Failed, lost, words)
}

/// `replay` is that of the events of the story; none if it could not be read.
fn replay_balance(story: &Story, replay: Option<&Replay>) -> Outcome {
    let Some(replay) = replay else {
        return outcome(CheckSeverity::Unknown, Vec::new(), "the replay cannot be read");
    };
    let content = |turn: &ReplayedTurn| {
        story.attempts.iter().find(|attempt| attempt.number == turn.turn).map(|attempt| &attempt.content)
    };
    let is_unbalanced =
        |turn: &&ReplayedTurn| !is_paired(&turn.items) || !content(turn).is_some_and(|content| adds_up(turn, content));
    let unbalanced: Vec<AttemptNumber> = replay.turns.iter().filter(is_unbalanced).map(|turn| turn.turn).collect();
    if !unbalanced.is_empty() {
        let words =
            format!("{} is replayed with calls that have no result, or without some of them", named(&unbalanced));
        return outcome(CheckSeverity::Failed, unbalanced, words);
    }
    let left_out = left_out_words(&replay.left_out);
    let unread = replay.notices.iter().find(|notice| match notice.kind {
        NoticeKind::UserMessageUnreadable | NoticeKind::NewerEvent => true,
        // The damage and the messages have checks of their own.
        NoticeKind::UserMessageMissing | NoticeKind::DamagedLog => false,
    });
    if let Some(notice) = unread {
        let words = format!("the replay is not whole: {}; {left_out}", notice.kind.words());
        return outcome(CheckSeverity::Warning, Vec::new(), words);
    }
    passed(&format!("every replayed call has its result; {left_out}"))
}

/// Whether each call is followed by its result, and each result follows its call.
fn is_paired(items: &[Item]) -> bool {
    let mut open = None;
    for item in items {
        open = match (open, item) {
            (None, Item::ToolCall { id, .. }) => Some(id),
            (Some(call), Item::ToolResult { id, .. }) if call == id => None,
            (None, Item::User { .. } | Item::Agent { .. } | Item::Child { .. }) => None,
            (
                Some(_),
                Item::User { .. }
                | Item::Agent { .. }
                | Item::Child { .. }
                | Item::ToolCall { .. }
                | Item::ToolResult { .. },
            )
            | (None, Item::ToolResult { .. }) => return false,
        };
    }
    open.is_none()
}

/// Whether the calls and results of the Log are those of the replay and those that were left out.
fn adds_up(turn: &ReplayedTurn, content: &AttemptContent) -> bool {
    let left_out = |reason| turn.left_out.iter().filter(|it| it.reason == reason).map(|it| it.count).sum::<u64>();
    if left_out(LeftOut::RefusedTurn) > 0 {
        // Nothing of it is replayed, whatever it contains.
        return turn.items.is_empty();
    }
    let pairs = turn.items.iter().filter(|item| matches!(item, Item::ToolCall { .. })).count() as u64;
    content.calls == pairs + left_out(LeftOut::OpenCall)
        && content.results == pairs + left_out(LeftOut::ResultWithoutCall)
}

/// What was left out, as the end of a sentence.
fn left_out_words(left_out: &[LeftOutCount]) -> String {
    if left_out.is_empty() {
        return "nothing is left out".to_owned();
    }
    let part = |one: &LeftOutCount| format!("{} {}", one.count, skillrun_replay::left_out_words(one.reason, one.count));
    format!("left out: {}", left_out.iter().map(part).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests;
